"""Commands that train without a study: the LR range test."""

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import ValidationError

from ...errors import UserError, invalid
from ...train.machine.description import local_device
from . import choices
from .base import AsJson, OwnWorkload, command
from .output import counting, out, print_json, print_picks

if TYPE_CHECKING:
    from ...declare import Training, Workload


@command(
    "lr-find",
    "folklore lr-find --model gpt --data text:my-text.txt",
    "folklore lr-find --workload my_module:workload   # your own model, loss and data",
    "folklore lr-find --model mlp --data digits --optimizer sgd --seeds 5 --plot digits.png",
)
def lr_find(
    workload: OwnWorkload = None,
    model: Annotated[str, typer.Option("--model", help="gpt, mlp or cnn")] = "gpt",
    dataset: Annotated[
        str,
        typer.Option("--data", help="python-docs, python-source, python-packages, digits, mnist-5k, text:PATH or images:PATH"),
    ] = "python-docs",
    width: Annotated[int, typer.Option("--width")] = 32,
    depth: Annotated[int, typer.Option("--depth")] = 2,
    heads: Annotated[int, typer.Option("--heads", help="of a gpt")] = 2,
    context: Annotated[int, typer.Option("--context", help="tokens a sequence, of a gpt")] = 32,
    optimizer: Annotated[str, typer.Option("--optimizer", help="adamw, sgd or another that a study may name")] = "adamw",
    batch_size: Annotated[int, typer.Option("--batch-size", help="sequences or examples a step")] = 16,
    steps: Annotated[int, typer.Option("--steps", help="length of the ramp")] = 300,
    start: Annotated[float, typer.Option("--from", help="first LR")] = 1e-6,
    end: Annotated[float, typer.Option("--to", help="last LR")] = 100.0,
    seeds: Annotated[int, typer.Option("--seeds", help="repetitions")] = 3,
    plot: Annotated[
        str | None,
        typer.Option("--plot", help="a new .svg or .png; default: lr-find.svg, or lr-find-2.svg …"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="overwrite the file that --plot names")] = False,
    as_json: AsJson = False,
) -> None:
    """Run an LR range test: where to start, a grid of LRs around it, and what published rules read off the test.

    No rule was good on every workload of study `lr_finder`; `folklore why finder.margin --published` says on which.
    """
    from ...launch.lr_find import run_range_test
    from ..reading.pages import site

    fields: dict[str, object] = {
        "model": model,
        "dataset": dataset,
        "width": width,
        "depth": depth,
        "heads": heads,
        "context": context,
    }
    chosen, training = _trained(fields, workload, {"optimizer": optimizer, "batch_size": batch_size, "steps": steps})
    count = choices.count("--seeds", seeds) or 1
    drawn = _plot_path(plot, force)
    with counting("range test") as progress:
        range_test = run_range_test(chosen, training, range(count), start, end, steps, local_device(), progress)
    site().draw_range_test(range_test, drawn)
    if as_json:
        print_json(
            {"start": range_test.start, "grid": range_test.grid, "plot": str(drawn.absolute()), "picks": range_test.summary()}
        )
        return
    print_picks(range_test.summary())
    out.print(f"plot: {drawn.absolute()}")
    out.print(range_test.advice())


def _trained(fields: dict[str, object], own: str | None, trained: dict[str, object]) -> "tuple[Workload, Training]":
    """Workload and training of a range test. own: address of a user's workload, in place of the fields."""
    from ...declare import Training, Workload

    if own is not None:
        from ...train.workloads.own.finding import find

        fields = find(own).declared.model_dump()
    try:
        return Workload.model_validate(fields), Training.model_validate({**trained, "warmup_fraction": 0.0})
    except ValidationError as error:
        raise invalid("lr-find", error) from None


def _plot_path(plot: str | None, force: bool) -> Path:
    """The file to draw into: nothing is overwritten unless that is asked for."""
    if plot is None:
        names = itertools.chain(["lr-find.svg"], (f"lr-find-{number}.svg" for number in itertools.count(2)))
        return next(path for path in map(Path, names) if not path.exists())
    path = Path(plot)
    if path.suffix not in (".svg", ".png") or not path.absolute().parent.is_dir():
        raise UserError(f"--plot {plot}: must end in .svg or .png, in a folder that is there")
    if path.exists() and not force:
        raise UserError(f"--plot {plot}: is there already; name another file, or add --force to overwrite it")
    return path
