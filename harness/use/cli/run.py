"""Commands that come before training, and the one that trains."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import RunFailedError, UserError, one_line
from ...launch.events import JsonLines, Silent
from ...options import Options
from ...plan.store.store import Store
from . import choices, completion
from .base import (
    AsJson,
    Datasets,
    Lanes,
    OwnWorkload,
    ProgramName,
    ScaleName,
    StoreUri,
    StudyName,
    TrackingUri,
    Workers,
    command,
)
from .output import err, out, print_plan, print_studies

if TYPE_CHECKING:
    from ...declare import Study
    from ...launch.events import Events
    from ...launch.studies import UntilDecided
    from ...plan.variation import Changes


@command("list", "folklore list", "folklore list --store s3://bucket/folklore", "folklore list --json   # for scripts")
def list_studies(store: StoreUri = "results", as_json: AsJson = False) -> None:
    """The studies, and all that the store holds: own workloads, variations and studies from files among them.

    Every command that reads takes their names, either one.
    """
    from ...plan import catalog
    from ..reading.stored_studies import listed_studies

    rows = listed_studies(Store(store))
    print_studies(rows, as_json)
    if not as_json:
        claims = {claim.id for claim in catalog.register().claims}
        judged = {judgement.claim for study in catalog.all_studies() for judgement in study.judgements}
        rest = f"; no study judges {len(claims - judged)} of them yet" if claims - judged else ", each judged by a study"
        out.print(f"\n{len(claims)} claims registered{rest}")


Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE[,VALUE…]",
        help="a variation: the values of a factor, or another field for all arms",
        autocompletion=completion.settings,
    ),
]
Seeds = Annotated[int | None, typer.Option("--seeds", help="a variation: this many seeds; fewer than 5 are not judged")]
Only = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="ARM", help="a variation: keep this arm (repeat)", autocompletion=completion.arms),
]


@command(
    "plan",
    "folklore plan warmup   # at the scale that fits this machine",
    "folklore plan warmup --scale gpu --json   # a GPU's plan, for scripts",
    "folklore plan warmup --set peak_lr=0.004,0.016 --seeds 3   # what the same run would take",
    "folklore plan my-study.yaml --scale cluster --data web-text=text:/data/web",
)
def plan(
    study: StudyName,
    settings: Settings = None,
    seeds: Seeds = None,
    only: Only = None,
    scale: ScaleName = None,
    store: StoreUri = "results",
    workers: Workers = None,
    lanes: Lanes = None,
    program: ProgramName = None,
    data: Datasets = None,
    workload: OwnWorkload = None,
    as_json: AsJson = False,
) -> None:
    """Trials, packs, an estimate of time and memory, and which effects its seeds can resolve. Trains nothing.

    A study is refused before its first trial if its seeds would show an expected value with less than 80% power; the message
    says how many seeds suffice.
    """
    options = Options(
        store, None, None, choices.count("--workers", workers), choices.count("--lanes", lanes), program, choices.datasets(data)
    )
    changes = _changes(settings, seeds, only)
    from ...launch.facts import plan_facts
    from ...launch.studies import changed_as_wished
    from ...plan.prepare import default_scale, prepare
    from ...plan.store.ledger import Ledger

    declared = _judgeable(study, store)
    chosen, scale = changed_as_wished(declared, scale, changes, workload, options, _warn)
    ready = prepare(chosen, scale or default_scale(chosen), options, Ledger(Store(store), chosen.name), only_plan=True)
    print_plan(plan_facts(ready), as_json)


@command(
    "run",
    "folklore run warmup   # at the scale that fits this machine",
    "folklore run --all --budget 9m   # all studies; stops in time and goes on later",
    "folklore run warmup --scale smoke --set peak_lr=0.004,0.016 --seeds 1 --only none   # a quick variation",
    "folklore run warmup --workload my_module:workload   # your own model, loss and data",
    "folklore run warmup --until-decided --most-seeds 28",
    "folklore run warmup --scale cluster --address head:6379 --store s3://bucket/folklore",
    "folklore run warmup --json | jq -r .event   # one JSON object a line; see folklore schema events",
)
def run(
    study: Annotated[
        str | None,
        typer.Argument(metavar="[STUDY]", help="a study's name or a .py, .yaml, .json file", autocompletion=completion.studies),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="all studies without a ladder that have the scale, most claims for the time first")
    ] = False,
    ladders: Annotated[bool, typer.Option("--ladders", help="all studies with a ladder, at one rung: the scale")] = False,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="TIME", help="stop training after 90s, 9m or 2h; the same command goes on")
    ] = None,
    until_decided: Annotated[
        bool, typer.Option("--until-decided", help="add seeds, by looks fixed beforehand, until claims are decided")
    ] = False,
    most_seeds: Annotated[
        int | None, typer.Option("--most-seeds", help="where --until-decided ends; default: four times the study's own")
    ] = None,
    settings: Settings = None,
    seeds: Seeds = None,
    only: Only = None,
    scale: ScaleName = None,
    store: StoreUri = "results",
    tracking: TrackingUri = None,
    address: Annotated[str | None, typer.Option("--address", help="a Ray cluster; default: this machine")] = None,
    workers: Workers = None,
    lanes: Lanes = None,
    program: ProgramName = None,
    data: Datasets = None,
    workload: OwnWorkload = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="print verdicts and warnings alone")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="events, one JSON object a line (folklore schema events); all else to stderr")
    ] = False,
) -> None:
    """Train what is missing, judge, and write the page. Finished packs are never trained again.

    With --set, --seeds, --only or --workload it runs a variation: a study of its own name and ledger, which says what differs
    from the declared one and never counts as it. The index does not show it and it cannot be published. The same changes give
    the same name, which every command that reads takes.

    --until-decided judges at interim analyses that are planned before the first trial. A study that was judged without them
    cannot be given any later, and a plan cannot be changed or dropped, except by a new version on fresh seeds.
    """
    with _events(as_json) as events:
        chosen, until_decided_at = (
            _chosen(study, every, ladders, scale, store, quiet),
            _until_decided(until_decided, most_seeds),
        )
        seconds = choices.duration("--budget", budget)
        deadline = None if seconds is None else time.monotonic() + seconds
        counts = choices.count("--workers", workers), choices.count("--lanes", lanes)
        options = Options(store, tracking, address, *counts, program, choices.datasets(data))
        from ...launch.studies import changed_as_wished
        from ..run_studies import run_studies
        from .terminal import Terminal

        changes = _changes(settings, seeds, only)
        if changes and (study is None or until_decided):
            several = "--all, --ladders and --until-decided"
            raise UserError(f"--set, --seeds and --only vary one study, judged once: leave {several} out")
        if workload is not None and study is None:
            raise UserError("--workload takes the place of one study's: name it, and leave --all and --ladders out")
        if study is not None:
            one, scale = changed_as_wished(chosen[0], scale, changes, workload, options, _warn)
            chosen = [one]
        code = run_studies(chosen, scale, options, deadline, until_decided_at, Terminal(events, quiet))
    if code:
        raise typer.Exit(code)


def _changes(settings: list[str] | None, seeds: int | None, only: list[str] | None) -> "Changes":
    from ...plan.variation import Changes

    return Changes.parse(settings or (), choices.count("--seeds", seeds), only or ())


def _warn(line: str) -> None:
    err.print(line, style="yellow")


def _chosen(study: str | None, every: bool, ladders: bool, scale: str | None, store: str, quiet: bool) -> "list[Study]":
    """One study, or all that have the scale."""
    from ...plan.catalog import all_studies

    if sum((study is not None, every, ladders)) != 1:
        raise UserError("name one study, or give --all or --ladders")
    if not quiet:  # before anything that takes seconds to import
        out.print(f"planning {study or ('all studies' if every else 'all ladders')}")
    if study:
        return [_judgeable(study, store)]
    studies = [candidate for candidate in all_studies() if (candidate.ladder is not None) == ladders]
    # Not every study has every scale; a scale that none has is refused in planning.
    return [candidate for candidate in studies if scale in candidate.scales] or studies


def _judgeable(name: str, store: str) -> "Study":
    """A study that can be judged; warns of what its file leaves to defaults."""
    from ...plan.catalog import is_file
    from ...plan.defaults import defaults_in_words, same_runs_in_words

    study = choices.judgeable_study(name, store)
    if is_file(name):
        for line in filter(None, (defaults_in_words(study, name), same_runs_in_words(study))):
            _warn(line)
    return study


def _until_decided(wanted: bool, most_seeds: int | None) -> "UntilDecided | None":
    if most_seeds is not None and not wanted:
        raise UserError("--most-seeds says where --until-decided ends: give both, or neither")
    from ...launch.studies import UntilDecided

    return UntilDecided(choices.count("--most-seeds", most_seeds)) if wanted else None


@contextmanager
def _events(as_json: bool) -> "Iterator[Events]":
    """The receiver of events: with --json standard output is theirs alone, and an error is one of them."""
    if not as_json:
        yield Silent()
        return
    events = JsonLines(sys.stdout)
    with redirect_stdout(sys.stderr):
        try:
            yield events
        except (UserError, RunFailedError, OSError) as error:
            events.emit("failed", error=one_line(error))
            raise
        except KeyboardInterrupt:  # before or after training, which ends in an event of its own
            events.emit("failed", error="interrupted")
            raise
