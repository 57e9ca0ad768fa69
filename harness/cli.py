"""The `folklore` command. It wires the parts together and turns errors into one line.

Exit codes: 0 fine · 1 a run failed (packs given up, a check failed) · 2 bad input or an unusable environment ·
130 interrupted, with everything finished kept.
"""

import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from harness import catalog, records
from harness.campaign import Outcome, most_valuable_first, seconds_from_now, train
from harness.errors import UserError, invalid, one_line, unknown
from harness.judge import Verdict
from harness.ledger import Ledger
from harness.packing import shapes
from harness.run import Options, Prepared, datasets_named, default_scale, prepare, progress, sync
from harness.spec import Study, Training, Workload
from harness.store import Store
from harness.view import RunView, duration

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
COLOURS = {"supported": "green", "refuted": "red"}

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    help="Put claims about training neural networks to the test.\n\n"
    "Exit codes: 0 fine, 1 a run failed, 2 bad input, 130 interrupted.",
)
out = Console()
err = Console(stderr=True)

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
    _print_rows(rows, as_json)
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
    as_json: AsJson = False,
) -> None:
    """Trials, packs, and an estimate of time and memory. Trains nothing."""
    chosen = _study(study)
    options = Options(store, None, None, _count("--workers", workers), _count("--lanes", lanes), program, _datasets(data))
    ready = prepare(chosen, scale or default_scale(chosen), options, Ledger(Store(store), chosen.name), only_plan=True)
    facts = _plan_facts(ready)
    if as_json:
        _print_json(facts)
        return
    table = Table(show_header=False, box=None)
    for name, value in facts.items():
        table.add_row(name.replace("_", " "), str(value))
    out.print(table)


@app.command()
@one_line_errors
def run(
    study: Annotated[str | None, typer.Argument(metavar="[STUDY]", help="a study's name or a .json or .yaml file")] = None,
    every: Annotated[bool, typer.Option("--all", help="all studies, most claims for the time first")] = False,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="TIME", help="stop training after 90s, 9m or 2h; the same command goes on")
    ] = None,
    scale: ScaleName = None,
    store: StoreUri = "results",
    tracking: TrackingUri = None,
    address: Annotated[str | None, typer.Option("--address", help="a Ray cluster; default: this machine")] = None,
    workers: Workers = None,
    lanes: Lanes = None,
    program: ProgramName = None,
    data: Datasets = None,
) -> None:
    """Train what is missing, judge, and write the page. Finished packs are never trained again."""
    if (study is None) != every:
        raise UserError("name one study, or give --all")
    deadline = seconds_from_now(_duration("--budget", budget))
    chosen = [_study(study)] if study else [catalog.load_study(name) for name in catalog.study_names()]
    options = Options(
        store, tracking, address, _count("--workers", workers), _count("--lanes", lanes), program, _datasets(data)
    )
    files = Store(store)
    files.check_writable()
    ready = [
        prepare(each, scale or default_scale(each), own, Ledger(files, each.name))
        for each, own in _with_own_datasets(chosen, scale, options)
    ]
    outcomes = _train_or_sync(most_valuable_first(ready), options, deadline)
    left = _print_what_is_left(ready) if any(outcome.interrupted for outcome in outcomes) else False
    if left and deadline is None:
        raise typer.Exit(INTERRUPTED)
    others = [other for other in _registered_but(chosen[0]) if other.name not in {each.name for each in chosen}]
    pages, found = _write_pages(files, [*others, *chosen], only=[each.name for each in chosen])
    for each in ready:
        own = [v for v in found[each.plan.study.name] if (v.scale, v.device) == (each.plan.scale, each.plan.device)]
        _print_verdicts(own or records.stored_set(each.plan, each.ledger).verdicts(), as_json=False)
    out.print(f"page: {pages / ('index' if every else chosen[0].name)}.html", highlight=False, soft_wrap=True)
    out.print(f"MLflow: {_browse(options, files)}", highlight=False, soft_wrap=True)
    given_up = sum(outcome.given_up for outcome in outcomes)
    if given_up:
        err.print(f"{given_up} trials were given up; their claims are invalid until they train", style="red")
        raise typer.Exit(FAILED)


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
    names = [study] if study else catalog.study_names()
    found: list[Verdict] = []
    for name in names:
        chosen = catalog.load_study(name)
        if scale is not None:
            chosen.scale(scale)
        sets = _published(chosen) if published else records.stored_sets(chosen, Ledger(Store(store), chosen.name))
        found += [verdict for each in sets if scale in (None, each.scale) for verdict in each.verdicts()]
    _print_verdicts(found, as_json)
    if not found and not as_json:
        err.print("no stored trials to judge: run a study first, or judge the published evidence with --published")


@app.command()
@one_line_errors
def report(
    store: StoreUri = "results", output: Annotated[str | None, typer.Option("--output", help="default: STORE/pages")] = None
) -> None:
    """Write all pages again from stored and published trials. Trains nothing."""
    studies = [catalog.load_study(name) for name in catalog.study_names()]
    folder, _ = _write_pages(Store(store), studies, Path(output) if output else None)
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
    for name in [study] if study else catalog.study_names():
        chosen = catalog.load_study(name)
        count = sync(chosen, Options(store, tracking), Ledger(Store(store), chosen.name), everything)
        out.print(f"{chosen.name}: {count} packs brought to MLflow", highlight=False)


@app.command()
@one_line_errors
def publish(
    study: Annotated[str | None, typer.Argument(metavar="[STUDY]", help="default: judge what is published anew")] = None,
    scale: ScaleName = None,
    store: StoreUri = "results",
) -> None:
    """Copy a scale's trials into the published evidence, from which the pages are built without training."""
    judged = catalog.extension("judged")
    if study is None:
        path = judged.publish_verdicts([catalog.load_study(name) for name in catalog.study_names()])
        out.print(f"published: {path}", highlight=False, soft_wrap=True)
        return
    chosen = catalog.load_study(study)
    wanted = scale or default_scale(chosen)
    sets = [each for each in records.stored_sets(chosen, Ledger(Store(store), chosen.name)) if each.scale == wanted]
    if not sets:
        raise UserError(f"study '{chosen.name}' has no stored trials at scale '{wanted}': run it first")
    for each in sets:
        out.print(f"published: {catalog.extension('evidence').publish(each)}", highlight=False, soft_wrap=True)
    judged.publish_verdicts([chosen])


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
    from harness.lr_find import run_range_test
    from harness.machine import local_device

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
        _print_json(found.summary())
        return
    _print_picks(found.summary())
    out.print(f"plot: {drawn.absolute()}", highlight=False, soft_wrap=True)


def _print_picks(rows: Sequence[dict[str, Any]]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("rule", "LR", "over seeds"):
        table.add_column(column)
    for row in rows:
        if row["lr"] is None:
            table.add_row(row["rule"], "no suggestion", escape(row["no_suggestion"]))
        else:
            table.add_row(
                row["rule"], f"{row['lr']:.3g}", f"{row['lowest']:.3g} to {row['highest']:.3g} ({row['seeds']} seeds)"
            )
    out.print(table)


@app.command()
@one_line_errors
def schema() -> None:
    """The JSON Schema of a study, for editors and for studies written as JSON or YAML."""
    _print_json(Study.model_json_schema())


@app.command()
@one_line_errors
def doctor(store: StoreUri = "results", tracking: TrackingUri = None, as_json: AsJson = False) -> None:
    """Check versions, devices, memory, store and MLflow, and say how to mend what is wrong."""
    from harness.doctor import examine

    checks = list(examine(Options(store, tracking)))
    _print_rows(
        [{"check": c.name, "ok": "yes" if c.ok else "NO", "found": c.found, "mend": "" if c.ok else c.mend} for c in checks],
        as_json,
    )
    if not all(check.ok for check in checks):
        raise typer.Exit(FAILED)


def _train_or_sync(ready: Sequence[Prepared], options: Options, deadline: float | None) -> list[Outcome]:
    """Train what is left; where nothing is, only bring MLflow up to date."""
    for each in ready:
        facts = _plan_facts(each)
        out.print(f"{facts['study']} at scale {facts['scale']} on {facts['device']}: {facts['trials']} trials", highlight=False)
        if not each.left:
            out.print("nothing to train: all trials are in the ledger")
            sync(each.plan.study, options, each.ledger)
            continue
        out.print(
            f"training {facts['trials_left']} trials in about {facts['packs_left']} packs on {facts['workers']} workers,"
            f" about {facts['time']} ({facts['time_from']})",
            highlight=False,
        )
    left = [each for each in ready if each.left]
    return train(left, options, RunView({}), deadline) if left else []


def _print_what_is_left(ready: Sequence[Prepared]) -> bool:
    """Whether anything is; a line for each study that it is of."""
    counts = {each.plan.study.name: progress(each) for each in ready}
    left = {name: (done, whole) for name, (done, whole) in counts.items() if done < whole}
    for name, (done, whole) in left.items():
        kept = f"{name}: interrupted: {done} of {whole} trials are kept; the same command goes on"
        err.print(kept, highlight=False, soft_wrap=True)
    return bool(left)


def _with_own_datasets(studies: Sequence[Study], scale: str | None, options: Options) -> list[tuple[Study, Options]]:
    """Of several studies each gets the datasets it names; one that none of them names is refused."""
    if len(studies) == 1:
        return [(studies[0], options)]
    named = {study.name: datasets_named(study, scale or default_scale(study)) for study in studies}
    for given in options.datasets:
        if not any(given in names for names in named.values()):
            raise unknown("dataset of these studies", given, sorted(set[str]().union(*named.values())))
    return [
        (study, replace(options, datasets={k: v for k, v in options.datasets.items() if k in named[study.name]}))
        for study in studies
    ]


def _duration(option: str, text: str | None) -> float | None:
    """'90s', '9m', '1.5h' in seconds."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text.strip())
    if found is None or not float(found[1]):
        raise UserError(f"{option} {text}: give a time such as 90s, 9m or 2h")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]


def _widths(ready: Prepared) -> str:
    """Lanes of the packs, what they run as, and where that comes from."""
    choices = ready.packing.choices(shapes(ready.plan.trials, ready.datasets)).values()
    if not choices:
        return "1 (alone)"
    few, many = min(each.lanes for each in choices), max(each.lanes for each in choices)
    sources, programs = sorted({each.source for each in choices}), sorted({each.program for each in choices})
    return f"{few} to {many} ({', '.join(sources)}; {', '.join(programs)})"


def _plan_facts(ready: Prepared) -> dict[str, Any]:
    plan, estimate = ready.plan, ready.estimate
    return {
        "study": plan.study.name,
        "version": plan.study.version,
        "study_hash": plan.study.hash,
        "scale": plan.scale,
        "device": f"{ready.device.count} x {ready.device.name}",
        "datasets": ", ".join(
            f"{used} ({plan.data_hashes if isinstance(plan.data_hashes, str) else plan.data_hashes[name]})"
            for name, used in ready.datasets.items()
        ),
        "parameters": ready.parameters,
        "arms": len(plan.study.arms),
        "seeds": plan.study.seeds_at(plan.scale),
        "trials": len(plan.digests),
        "trials_left": sum(len(pack.trials) for pack in ready.left),
        "packs_left": len(ready.left),
        "lanes": _widths(ready),
        "workers": estimate.workers,
        "seconds": round(estimate.seconds, 1),
        "time": duration(estimate.seconds),
        "time_from": estimate.source,
        "memory_gib": round(estimate.workers * estimate.pack_bytes / 2**30, 2),
    }


def _study(name: str) -> Study:
    """A study whose claims are all registered: a page cannot be written of others."""
    chosen = catalog.load_study(name)
    for judgement in chosen.judgements:
        catalog.register().claim(judgement.claim)
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


def _published(study: Study) -> list[records.RecordSet]:
    return list(catalog.extension("evidence").published_sets(study))


def _registered_but(study: Study) -> list[Study]:
    return [catalog.load_study(name) for name in catalog.study_names() if name != study.name]


def _write_pages(
    store: Store, studies: Sequence[Study], output: Path | None = None, only: Sequence[str] | None = None
) -> tuple[Path, dict[str, list[Verdict]]]:
    """The index and all pages, or those of some studies, from the store where it has a study's scale, else from the
    published evidence. Returns the folder, and each study's verdicts."""
    if output is None:
        output = Path(store.root if store.is_local else "results").absolute() / "pages"

    def sets_of(study: Study) -> list[records.RecordSet]:
        own = records.stored_sets(study, Ledger(store, study.name))
        have = {(each.scale, each.device) for each in own}
        return own + [each for each in _published(study) if (each.scale, each.device) not in have]

    ordered = sorted(studies, key=lambda study: study.name)
    memory = catalog.extension("judged").Memory(store)
    found = catalog.extension("site").write(output, ordered, catalog.register(), sets_of, only, memory.recall)
    for study in ordered:
        memory.remember(study, found[study.name])
    return output, {name: [verdict for each in judged for verdict in each.verdicts] for name, judged in found.items()}


def _browse(options: Options, store: Store) -> str:
    if options.tracking is not None:
        return options.tracking
    return (
        "make mlflow, then open http://127.0.0.1:5000"
        if store.is_local
        else "mlflow ui --backend-store-uri sqlite:///results/mlflow.db"
    )


def _print_verdicts(found: Sequence[Verdict], as_json: bool) -> None:
    if as_json:
        _print_json([verdict.row() for verdict in found])
        return
    for place, group in groupby(found, key=lambda verdict: (verdict.study, verdict.scale, verdict.device)):
        verdicts_here = list(group)
        out.print(f"\n[bold]{place[0]}[/] · {place[1]} scale · {place[2]} · {verdicts_here[0].trials} trials", highlight=False)
        if all(not verdict.findings for verdict in verdicts_here):
            out.print(f"  {verdicts_here[0].reason}", highlight=False)
            continue
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column()
        for verdict in verdicts_here:
            table.add_row(f"[{COLOURS.get(verdict.verdict, 'yellow')}]{verdict.verdict}", verdict.claim, escape(verdict.reason))
        out.print(table)


def _print_rows(rows: Sequence[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        _print_json(list(rows))
        return
    table = Table(*(rows[0] if rows else ()))
    for row in rows:
        table.add_row(*(", ".join(value) if isinstance(value, list) else str(value) for value in row.values()))
    out.print(table)


def _print_json(value: Any) -> None:
    json.dump(value, sys.stdout, indent=1, ensure_ascii=False)
    sys.stdout.write("\n")
