"""Commands that train without a study: worlds for the judge, and the LR range test."""

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import ValidationError

from ...errors import UserError, invalid, unknown
from ...train.machine.description import available_cores, local_device
from . import choices
from .base import AsJson, OwnWorkload, command
from .output import counting, json_lines, out, print_calibration, print_calibration_of_runs, print_json, print_picks

if TYPE_CHECKING:
    from ...declare import Training, Workload


@command(
    "calibrate",
    "folklore calibrate --worlds 50 --only gap   # one kind, quickly",
    "folklore calibrate --only gap --output reports/evidence/calibration.json   # the other kinds stay in the file",
    "folklore calibrate --output reports/evidence/calibration.json   # all of it: half an hour on 2 cores",
    "folklore calibrate --runs --worlds 2000 --output reports/evidence/judged_runs_calibration.json   # of `folklore judge`",
)
def calibrate(
    worlds: Annotated[int, typer.Option("--worlds", help="for each kind, condition, number of seeds and effect")] = 300,
    only: Annotated[list[str] | None, typer.Option("--only", help="kinds of observation; default: all")] = None,
    seed: Annotated[int, typer.Option("--seed", help="of the worlds")] = 0,
    methods: Annotated[bool, typer.Option("--methods", help="compare other methods for intervals, too; slow")] = False,
    runs: Annotated[bool, typer.Option("--runs", help="the tests of `folklore judge` instead, on simulated runs")] = False,
    output: Annotated[
        str | None, typer.Option("--output", help="a .json file for the results; with --only, other kinds' stay in it")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Is the judge right as often as it says? Draws worlds whose truth is known, observes, judges, and counts."""
    from ...elsewhere import calibrating
    from ...judge.calibration import BY_NAME
    from ...judge.calibration import calibrate as draw

    kinds = calibrating.tests() if runs else tuple(BY_NAME)
    for name in only or ():
        if name not in kinds:
            raise unknown("test" if runs else "kind of observation", name, kinds)
    if runs and methods:
        raise UserError("--runs: compares no other methods; leave out --methods")
    if output is not None and not Path(output).absolute().parent.is_dir():
        raise UserError(f"--output {output}: its folder is not there")
    named = "test" if runs else "observable"
    others = _rows_of(Path(output), named) if only and output is not None else []
    with counting("worlds") as progress:
        count = choices.count("--worlds", worlds) or 1
        if runs:
            rows = calibrating.rows(count, seed, only or (), available_cores(), progress)
        else:
            rows = draw(count, seed, only or (), compare=methods, progress=progress)
    if output is not None:
        Path(output).write_text(json_lines(among_others(rows, others, named, kinds)), encoding="utf-8")
    if as_json:
        print_json(rows)
    else:
        (print_calibration_of_runs if runs else print_calibration)(rows)


def _rows_of(file: Path, named: str) -> list[dict[str, Any]]:
    """What an earlier calibration wrote; none where there is no file. Raises UserError where it is something else."""
    if not file.exists():
        return []
    try:
        rows = [{**row, named: row[named]} for row in json.loads(file.read_text("utf-8"))]
    except (OSError, ValueError, TypeError, KeyError):
        raise UserError(f"--output {file}: holds no such calibration to go into; name another file") from None
    return rows


def among_others(
    rows: list[dict[str, Any]], others: list[dict[str, Any]], named: str, kinds: Sequence[str]
) -> list[dict[str, Any]]:
    """These in place of the others of the same kinds, in the order of all kinds."""
    new = {row[named] for row in rows}
    order = {kind: place for place, kind in enumerate(kinds)}
    whole = [*(row for row in others if row[named] not in new), *rows]
    return sorted(whole, key=lambda row: order.get(row[named], len(order)))


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
        str, typer.Option("--data", help="python-docs, python-source, digits, mnist-5k, text:PATH or images:PATH")
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
        found = run_range_test(chosen, training, range(count), start, end, steps, local_device(), progress)
    site().draw_range_test(found, drawn)
    if as_json:
        print_json({"start": found.start, "grid": found.grid, "plot": str(drawn.absolute()), "picks": found.summary()})
        return
    print_picks(found.summary())
    out.print(f"plot: {drawn.absolute()}")
    out.print(found.advice())


def _trained(fields: dict[str, object], own: str | None, trained: dict[str, object]) -> "tuple[Workload, Training]":
    """What a range test trains. own: where a user's workload is, in place of what the fields say."""
    from ...declare import Training, Workload

    if own is not None:
        from ...train.workloads.own.finding import find

        fields = find(own).declared.model_dump()
    try:
        return Workload.model_validate(fields), Training.model_validate({**trained, "warmup_fraction": 0.0})
    except ValidationError as error:
        raise invalid("lr-find", error) from None


def _plot_path(given: str | None, force: bool) -> Path:
    """Where to draw: nothing is overwritten unless that is asked for."""
    if given is None:
        names = itertools.chain(["lr-find.svg"], (f"lr-find-{number}.svg" for number in itertools.count(2)))
        return next(path for path in map(Path, names) if not path.exists())
    path = Path(given)
    if path.suffix not in (".svg", ".png") or not path.absolute().parent.is_dir():
        raise UserError(f"--plot {given}: must end in .svg or .png, in a folder that is there")
    if path.exists() and not force:
        raise UserError(f"--plot {given}: is there already; name another file, or add --force to overwrite it")
    return path
