"""Commands that train without a study: worlds for the judge, and the LR range test."""

from pathlib import Path
from typing import Annotated

import typer

from folklore.harness.cli import choices
from folklore.harness.cli.base import AsJson, OwnWorkload, command
from folklore.harness.cli.output import counting, json_lines, out, print_calibration, print_json, print_picks
from folklore.harness.errors import UserError, invalid, unknown


@command(
    "calibrate",
    "folklore calibrate --worlds 50 --only gap   # one kind, quickly",
    "folklore calibrate --output reports/evidence/calibration.json   # all of it: half an hour on 2 cores",
)
def calibrate(
    worlds: Annotated[int, typer.Option("--worlds", help="for each kind, condition, number of seeds and effect")] = 300,
    only: Annotated[list[str] | None, typer.Option("--only", help="kinds of observation; default: all")] = None,
    seed: Annotated[int, typer.Option("--seed", help="of the worlds")] = 0,
    methods: Annotated[bool, typer.Option("--methods", help="compare other methods for intervals, too; slow")] = False,
    output: Annotated[str | None, typer.Option("--output", help="a .json file for the results")] = None,
    as_json: AsJson = False,
) -> None:
    """Is the judge right as often as it says? Draws worlds whose truth is known, observes, judges, and counts."""
    from folklore.harness.calibration import BY_NAME
    from folklore.harness.calibration import calibrate as draw

    for name in only or ():
        if name not in BY_NAME:
            raise unknown("kind of observation", name, BY_NAME)
    if output is not None and not Path(output).absolute().parent.is_dir():
        raise UserError(f"--output {output}: its folder is not there")
    with counting("worlds") as progress:
        rows = draw(choices.count("--worlds", worlds) or 1, seed, only or (), compare=methods, progress=progress)
    if output is not None:
        Path(output).write_text(json_lines(rows), encoding="utf-8")
    if as_json:
        print_json(rows)
    else:
        print_calibration(rows)


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
        str, typer.Option("--data", help="python-docs, python-source, digits, text:PATH or images:PATH")
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
    plot: Annotated[str, typer.Option("--plot", help="where to draw it: .svg or .png")] = "lr-find.svg",
    as_json: AsJson = False,
) -> None:
    """Run an LR range test and say what six published rules read off it. Which of them to believe: see `lr_finder`."""
    from pydantic import ValidationError

    from folklore.harness.machine.description import local_device
    from folklore.harness.reading.pages import site
    from folklore.harness.running.lr_find import run_range_test
    from folklore.harness.spec import Training, Workload

    fields: dict[str, object] = {
        "model": model,
        "dataset": dataset,
        "width": width,
        "depth": depth,
        "heads": heads,
        "context": context,
    }
    if workload is not None:
        from folklore.harness.workloads.own.finding import find

        fields = find(workload).declared.model_dump()
    trained = {"optimizer": optimizer, "batch_size": batch_size, "steps": steps}
    try:
        chosen = Workload.model_validate(fields)
        training = Training.model_validate({**trained, "warmup_fraction": 0.0})
    except ValidationError as error:
        raise invalid("lr-find", error) from None
    count = choices.count("--seeds", seeds) or 1
    drawn = Path(plot)
    if drawn.suffix not in (".svg", ".png") or not drawn.absolute().parent.is_dir():
        raise UserError(f"--plot {plot}: must end in .svg or .png, in a folder that is there")
    found = run_range_test(chosen, training, range(count), start, end, steps, local_device())
    site().draw_range_test(found, drawn)
    if as_json:
        print_json(found.summary())
        return
    print_picks(found.summary())
    out.print(f"plot: {drawn.absolute()}", highlight=False, soft_wrap=True)
    out.print(found.advice(), highlight=False, soft_wrap=True)
