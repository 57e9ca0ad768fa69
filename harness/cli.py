"""The `folklore` command. It wires the parts together and turns errors into one line.

Exit codes: 0 fine · 1 a run failed (packs given up, a check failed) · 2 bad input or an unusable environment ·
130 interrupted, with everything finished kept. What takes long to import is imported where a command needs it.
"""

import re
import sys
import time
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from harness.errors import UserError, invalid, one_line, unknown
from harness.options import Options
from harness.output import (
    counting,
    err,
    json_lines,
    out,
    print_calibration,
    print_json,
    print_picks,
    print_plan,
    print_rows,
    print_verdicts,
)

if TYPE_CHECKING:
    from harness.spec import Study

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    help="Put claims about training neural networks to the test.\n\n"
    "Exit codes: 0 fine, 1 a run failed, 2 bad input, 130 interrupted.",
)

StudyName = Annotated[
    str, typer.Argument(metavar="STUDY", help="a study's name (see `folklore list`) or a .json or .yaml file")
]
ScaleName = Annotated[
    str | None, typer.Option("--scale", help="smoke, laptop, gpu or cluster; default: what fits this machine")
]
StoreUri = Annotated[str, typer.Option("--store", envvar="FOLKLORE_STORE", help="where results lie: a folder, s3://…, gs://…")]
TrackingUri = Annotated[
    str | None, typer.Option("--tracking", envvar="FOLKLORE_TRACKING", help="MLflow; default: STORE/mlflow.db")
]
Workers = Annotated[int | None, typer.Option("--workers", help="packs side by side; default: one a core, or one a GPU")]
Lanes = Annotated[int | None, typer.Option("--lanes", help="most trials a pack; default: measured, or by the model's size")]
ProgramName = Annotated[
    str | None,
    typer.Option("--program", help="eager, compiled, captured or 'compiled and captured'; default: measured"),
]
Datasets = Annotated[
    list[str] | None, typer.Option("--data", metavar="NAME=DATASET", help="use DATASET where a study names NAME")
]
OwnWorkload = Annotated[
    str | None,
    typer.Option("--workload", metavar="MODULE:ATTRIBUTE", help="your own model, loss and data in place of the study's"),
]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON instead of a table")]

Command = TypeVar("Command", bound=Callable[..., Any])


def one_line_errors(command: Command) -> Command:
    """Bad input ends in one line and exit code 2, never in a traceback."""

    @wraps(command)
    def guarded(*args: Any, **options: Any) -> Any:
        try:
            return command(*args, **options)
        except (UserError, OSError) as error:  # a path or a disk that cannot be used is the user's to mend, too
            err.print(f"error: {one_line(error)}", style="red", highlight=False, markup=False, soft_wrap=True)
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            err.print("interrupted: what is finished is kept; the same command goes on", highlight=False)
            raise typer.Exit(INTERRUPTED) from None

    return guarded  # type: ignore[return-value]


@app.command("list")
@one_line_errors
def list_studies(as_json: AsJson = False) -> None:
    """The studies, their scales, and how many claims of the register each judges."""
    from harness import catalog

    claims = catalog.register().claims
    rows = []
    for name in catalog.study_names():
        study = catalog.load_study(name)
        filed = sum(claim.study == name for claim in claims)
        rows.append(
            {
                "study": name,
                "judges": len(study.judgements),
                "registered": filed,
                "scales": list(study.scales),
                "question": study.question,
            }
        )
    studied = {row["study"] for row in rows}
    unstudied = [claim for claim in claims if claim.study not in studied]
    print_rows(rows, as_json)
    if not as_json:
        out.print(
            f"{len(claims)} claims registered; {len(unstudied)} of them belong to studies not written yet", highlight=False
        )


@app.command()
@one_line_errors
def plan(
    study: StudyName,
    scale: ScaleName = None,
    store: StoreUri = "results",
    workers: Workers = None,
    lanes: Lanes = None,
    program: ProgramName = None,
    data: Datasets = None,
    workload: OwnWorkload = None,
    as_json: AsJson = False,
) -> None:
    """Trials, packs, an estimate of time and memory, and which effects its seeds can resolve. Trains nothing."""
    options = Options(store, None, None, _count("--workers", workers), _count("--lanes", lanes), program, _datasets(data))
    chosen = _on_own_workload(_study(study), workload, options)
    from harness.launch import plan_facts, power_facts
    from harness.ledger import Ledger
    from harness.run import default_scale, prepare
    from harness.store import Store

    ready = prepare(chosen, scale or default_scale(chosen), options, Ledger(Store(store), chosen.name), only_plan=True)
    print_plan(plan_facts(ready), power_facts(ready), as_json)


@app.command()
@one_line_errors
def run(
    study: Annotated[str | None, typer.Argument(metavar="[STUDY]", help="a study's name or a .json or .yaml file")] = None,
    every: Annotated[bool, typer.Option("--all", help="all studies, most claims for the time first")] = False,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="TIME", help="stop training after 90s, 9m or 2h; the same command goes on")
    ] = None,
    until_decided: Annotated[
        bool, typer.Option("--until-decided", help="add seeds, by looks fixed beforehand, until claims are decided")
    ] = False,
    most_seeds: Annotated[
        int | None, typer.Option("--most-seeds", help="where --until-decided ends; default: four times the study's own")
    ] = None,
    scale: ScaleName = None,
    store: StoreUri = "results",
    tracking: TrackingUri = None,
    address: Annotated[str | None, typer.Option("--address", help="a Ray cluster; default: this machine")] = None,
    workers: Workers = None,
    lanes: Lanes = None,
    program: ProgramName = None,
    data: Datasets = None,
    workload: OwnWorkload = None,
) -> None:
    """Train what is missing, judge, and write the page. Finished packs are never trained again."""
    if (study is None) != every:
        raise UserError("name one study, or give --all")
    seconds = _duration("--budget", budget)
    deadline = None if seconds is None else time.time() + seconds
    options = Options(
        store, tracking, address, _count("--workers", workers), _count("--lanes", lanes), program, _datasets(data)
    )
    if workload is not None and study is None:
        raise UserError("--workload takes the place of one study's: name it")
    chosen = [_on_own_workload(_study(study), workload, options)] if study else _all_studies()
    if most_seeds is not None and not until_decided:
        raise UserError("--most-seeds says where --until-decided ends: give both, or neither")
    from harness.launch import UntilDecided, launch

    code = launch(chosen, scale, options, deadline, UntilDecided(_count("--most-seeds", most_seeds)) if until_decided else None)
    if code:
        raise typer.Exit(code)


@app.command()
@one_line_errors
def verdicts(
    study: Annotated[str | None, typer.Argument(metavar="[STUDY]", help="default: all studies")] = None,
    scale: ScaleName = None,
    store: StoreUri = "results",
    published: Annotated[bool, typer.Option("--published", help="judge the published evidence, not the store")] = False,
    as_json: AsJson = False,
) -> None:
    """Judge stored trials anew, and say in one sentence why."""
    chosen_studies = _studies(study, scale)
    from harness.judge import Verdict
    from harness.ledger import Ledger
    from harness.pages import published_sets
    from harness.records import stored_sets
    from harness.store import Store

    found: list[Verdict] = []
    for chosen in chosen_studies:
        sets = published_sets(chosen) if published else stored_sets(chosen, Ledger(Store(store), chosen.name))
        found += [verdict for each in sets if scale in (None, each.scale) for verdict in each.verdicts()]
    print_verdicts(found, as_json)
    if not found and not as_json:
        err.print("no stored trials to judge: run a study first, or judge the published evidence with --published")


@app.command()
@one_line_errors
def report(
    store: StoreUri = "results", output: Annotated[str | None, typer.Option("--output", help="default: STORE/pages")] = None
) -> None:
    """Write all pages again from stored and published trials. Trains nothing."""
    from harness.pages import write_pages
    from harness.store import Store

    folder, _ = write_pages(Store(store), _all_studies(), Path(output) if output else None)
    out.print(f"pages: {folder / 'index.html'}", highlight=False, soft_wrap=True)


@app.command("sync")
@one_line_errors
def sync_mlflow(
    study: Annotated[str | None, typer.Argument(metavar="[STUDY]", help="default: all studies")] = None,
    store: StoreUri = "results",
    tracking: TrackingUri = None,
    everything: Annotated[bool, typer.Option("--all", help="look at every pack, also those marked as there")] = False,
) -> None:
    """Bring MLflow up to the ledger: whatever it lacks is written, what it has is left alone."""
    chosen_studies = _studies(study)
    from harness.lease import leases
    from harness.ledger import Ledger
    from harness.run import sync
    from harness.store import Store

    files = Store(store)
    for chosen in chosen_studies:
        with leases(files, [chosen.name]):
            count = sync(chosen, Options(store, tracking), Ledger(files, chosen.name), everything)
        out.print(f"{chosen.name}: {count} packs brought to MLflow", highlight=False)


@app.command()
@one_line_errors
def publish(
    study: Annotated[str | None, typer.Argument(metavar="[STUDY]", help="default: judge what is published anew")] = None,
    scale: ScaleName = None,
    store: StoreUri = "results",
) -> None:
    """Copy a scale's trials into the published evidence, from which the pages are built without training."""
    from harness import catalog
    from harness.ledger import Ledger
    from harness.records import stored_sets
    from harness.run import default_scale
    from harness.store import Store

    evidence, judged = catalog.extension("evidence"), catalog.extension("judged")
    if study is None:
        out.print(f"published: {judged.publish_verdicts(_all_studies())}", highlight=False, soft_wrap=True)
        return
    chosen = catalog.load_study(study)
    wanted = scale or default_scale(chosen)
    sets = [each for each in stored_sets(chosen, Ledger(Store(store), chosen.name)) if each.scale == wanted]
    if not sets:
        raise UserError(f"study '{chosen.name}' has no stored trials at scale '{wanted}': run it first")
    for each in sets:
        out.print(f"published: {evidence.publish(each)}", highlight=False, soft_wrap=True)
    judged.publish_verdicts([chosen])


@app.command()
@one_line_errors
def calibrate(
    worlds: Annotated[int, typer.Option("--worlds", help="for each kind, condition, number of seeds and effect")] = 300,
    only: Annotated[list[str] | None, typer.Option("--only", help="kinds of observation; default: all")] = None,
    seed: Annotated[int, typer.Option("--seed", help="of the worlds")] = 0,
    methods: Annotated[bool, typer.Option("--methods", help="compare other methods for intervals, too; slow")] = False,
    output: Annotated[str | None, typer.Option("--output", help="a .json file for the results")] = None,
    as_json: AsJson = False,
) -> None:
    """Is the judge right as often as it says? Draws worlds whose truth is known, observes, judges, and counts."""
    from harness.calibration import BY_NAME
    from harness.calibration import calibrate as draw

    for name in only or ():
        if name not in BY_NAME:
            raise unknown("kind of observation", name, BY_NAME)
    if output is not None and not Path(output).absolute().parent.is_dir():
        raise UserError(f"--output {output}: its folder is not there")
    with counting("worlds") as progress:
        rows = draw(_count("--worlds", worlds) or 1, seed, only or (), compare=methods, progress=progress)
    if output is not None:
        Path(output).write_text(json_lines(rows), encoding="utf-8")
    if as_json:
        print_json(rows)
    else:
        print_calibration(rows)


@app.command("mlflow")
@one_line_errors
def browse(
    store: StoreUri = "results",
    tracking: TrackingUri = None,
    host: Annotated[str, typer.Option("--host", help="where others reach it only with --auth")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535)] = 5000,
    auth: Annotated[bool, typer.Option("--auth", help="ask for accounts (MLflow's basic-auth)")] = False,
) -> None:
    """Browse the runs in MLflow, on this machine only unless it asks for accounts."""
    from harness.mlflow_server import serve

    serve(Options(store, tracking), host, port, auth)


@app.command()
@one_line_errors
def deploy(where: Annotated[str, typer.Argument(help="kuberay, slurm or ray-up")]) -> None:
    """Print a ready file that starts a study on a cluster: folklore deploy slurm > slurm.sh."""
    from importlib.resources import files

    known = {Path(each.name).stem: each for each in (files("harness") / "deploy").iterdir()}
    if where not in known:
        raise unknown("place to deploy to", where, known)
    sys.stdout.write(known[where].read_text(encoding="utf-8"))


@app.command()
@one_line_errors
def bundle(
    folder: Annotated[str, typer.Argument(help="where to put it; a new or empty folder")] = "folklore-bundle",
    extras: Annotated[str, typer.Option("--extras", help="s3, postgresql, dev")] = "s3,postgresql",
) -> None:
    """Gather everything an installation without internet needs: wheels of this project and of all it depends on."""
    from harness.bundle import make_bundle

    count, size = make_bundle(Path(folder), extras)
    out.print(
        f"{count} files, {size / 2**20:.0f} MiB in {folder}; there: sh {folder}/install.sh", highlight=False, soft_wrap=True
    )


@app.command("lr-find")
@one_line_errors
def lr_find(
    model: Annotated[str, typer.Option("--model", help="gpt, mlp or cnn")] = "gpt",
    dataset: Annotated[str, typer.Option("--data", help="python-docs, digits, text:PATH or images:PATH")] = "python-docs",
    width: Annotated[int, typer.Option("--width")] = 32,
    depth: Annotated[int, typer.Option("--depth")] = 2,
    heads: Annotated[int, typer.Option("--heads", help="of a gpt")] = 2,
    context: Annotated[int, typer.Option("--context", help="tokens a sequence, of a gpt")] = 32,
    optimizer: Annotated[str, typer.Option("--optimizer", help="adamw, adam, radam or sgd")] = "adamw",
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

    from harness import catalog
    from harness.lr_find import run_range_test
    from harness.machine import local_device
    from harness.spec import Training, Workload

    fields = {"model": model, "dataset": dataset, "width": width, "depth": depth, "heads": heads, "context": context}
    trained = {"optimizer": optimizer, "batch_size": batch_size, "steps": steps}
    try:
        workload = Workload.model_validate(fields)
        training = Training.model_validate({**trained, "warmup_fraction": 0.0})
    except ValidationError as error:
        raise invalid("lr-find", error) from None
    count = _count("--seeds", seeds) or 1
    drawn = Path(plot)
    if drawn.suffix not in (".svg", ".png") or not drawn.absolute().parent.is_dir():
        raise UserError(f"--plot {plot}: must end in .svg or .png, in a folder that is there")
    found = run_range_test(workload, training, range(count), start, end, steps, local_device())
    catalog.extension("figures").draw_range_test(found, drawn)
    if as_json:
        print_json(found.summary())
        return
    print_picks(found.summary())
    out.print(f"plot: {drawn.absolute()}", highlight=False, soft_wrap=True)


@app.command()
@one_line_errors
def schema() -> None:
    """The JSON Schema of a study, for editors and for studies written as JSON or YAML."""
    from harness.spec import Study

    print_json(Study.model_json_schema())


@app.command()
@one_line_errors
def doctor(store: StoreUri = "results", tracking: TrackingUri = None, as_json: AsJson = False) -> None:
    """Check versions, devices, memory, store and MLflow, and say how to mend what is wrong."""
    from harness.doctor import examine

    checks = list(examine(Options(store, tracking)))
    print_rows(
        [{"check": c.name, "ok": "yes" if c.ok else "NO", "found": c.found, "mend": "" if c.ok else c.mend} for c in checks],
        as_json,
    )
    if not all(check.ok for check in checks):
        raise typer.Exit(FAILED)


def _duration(option: str, text: str | None) -> float | None:
    """'90s', '9m', '1.5h' in seconds."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text.strip())
    if found is None or not float(found[1]):
        raise UserError(f"{option} {text}: give a time such as 90s, 9m or 2h")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]


def _study(name: str) -> "Study":
    """A study whose claims are all known: a page cannot be written of others."""
    from harness import catalog

    chosen = catalog.load_study(name)
    known = catalog.register().including(chosen)
    for judgement in chosen.judgements:
        known.claim(judgement.claim)
    return chosen


def _on_own_workload(study: "Study", address: str | None, options: Options) -> "Study":
    """The study, or its variation on a user's workload."""
    if address is None:
        return study
    from harness.own.study import own_study

    return own_study(study, address, options)


def _all_studies() -> "list[Study]":
    from harness import catalog

    return [catalog.load_study(name) for name in catalog.study_names()]


def _studies(name: str | None, scale: str | None = None) -> "list[Study]":
    """One study, or all. scale: one that each of them must have."""
    from harness import catalog

    chosen = [catalog.load_study(name)] if name else _all_studies()
    if scale is not None:
        for study in chosen:
            study.scale(scale)
    return chosen


def _count(option: str, value: int | None) -> int | None:
    if value is not None and value < 1:
        raise UserError(f"{option} {value}: must be at least 1; leave it out for the default")
    return value


def _datasets(pairs: Sequence[str] | None) -> dict[str, str]:
    chosen = dict(pair.partition("=")[::2] for pair in pairs or ())
    for name, dataset in chosen.items():
        if not name or not dataset:
            raise UserError(f"--data {name}: write it as NAME=DATASET, for example web-text=text:/data/web.txt")
    return chosen
