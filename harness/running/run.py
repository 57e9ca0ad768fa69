"""One `folklore run`: plan, train what is missing, judge, write pages. What training needs is imported when it is needed."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UserError, one_line, unknown
from ..judging.power import pilot_of, require_power, resolutions, whole_seeds
from ..judging.sequential import DEFAULT_TIMES, planned_looks, undecided
from ..judging.trial_sets import (
    TrialSet,
    Wanted,
    at_its_look,
    at_last_look,
    everywhere,
    published_sets,
    stored_set,
    stored_sets,
)
from ..judging.verdict import Verdict
from ..options import Options, checkpoint_seconds
from ..planning.prepare import Prepared, datasets_named, default_scale, extended, prepare, progress
from ..planning.recipe import study_recipe
from ..planning.variation import Changes, vary
from ..reading.pages import self_contained, write_pages
from ..reading.stored_studies import every_study
from ..spec import Study
from ..storing.declaration import declarations, declare, looks_of, require_declarable
from ..storing.ledger import Ledger
from ..storing.pages_folder import pages_folder
from ..storing.store import Store
from ..tracking.server import how_to_browse
from ..tracking.sync import open_tracker, sync
from ..tracking.uri import require_known
from .events import EVENTS
from .lease import leases
from .progress import duration
from .ray_connection import cluster_device
from .reporter import NullReporter, Reporter

if TYPE_CHECKING:
    from .campaign import Outcome

FINE, FAILED, INTERRUPTED = 0, 1, 130


@dataclass(frozen=True)
class UntilDecided:
    """Seeds are added until claims are decided; most_seeds: an arm at most, by default four times the study's own."""

    most_seeds: int | None = None


def launch(
    studies: Sequence[Study],
    scale: str | None,
    options: Options,
    deadline: float | None,
    until_decided: UntilDecided | None = None,
    reporter: Reporter | None = None,
) -> int:
    """Run some studies; returns the exit code. Prints nothing: reporter hears of it, by default nobody."""
    require_known(options.tracking)
    checkpoint_seconds()
    store = Store(options.store)
    store.check_writable()
    pages_folder(store)
    with leases(store, [study.name for study in studies]):
        return _launch(store, studies, scale, options, deadline, until_decided, reporter or NullReporter())


def changed_as_wished(
    study: Study, scale: str | None, changes: Changes, workload: str | None, options: Options, say: Callable[[str], None]
) -> tuple[Study, str | None]:
    """The study as it is declared, varied, or on the own workload at an address; and the scale, which a variation fixes.

    say: is told line by line what a variation changes. Raises UserError.
    """
    if changes:
        if scale is None:
            scale = default_scale(study, None if options.address is None else cluster_device(options.address))
        study = vary(study, scale, changes)
        for line in study.changes[-1].why:
            say(line)
    if workload is not None:
        from ..planning.own_study import own_study

        study = own_study(study, workload, options)
    return study, scale


def _launch(
    store: Store,
    studies: Sequence[Study],
    scale: str | None,
    options: Options,
    deadline: float | None,
    until_decided: UntilDecided | None,
    reporter: Reporter,
) -> int:
    started = time.monotonic()
    # The training machine is inspected in place: the machine that starts a cluster's run may have no GPU itself.
    cluster = None if options.address is None else cluster_device(options.address)
    pairs = _with_own_datasets(studies, scale, options)
    # One ledger a study, for a ledger keeps what it has read.
    ready = [
        prepare(study, scale or default_scale(study, cluster), own, Ledger(store, study.name), cluster=cluster)
        for study, own in pairs
    ]
    _declare_all(ready, until_decided)
    ready = [_at_look(each) for each in ready]
    outcomes = _train_or_sync(ready, options, deadline, reporter)
    every = list(outcomes)
    while until_decided and not any(outcome.interrupted or outcome.given_up for outcome in outcomes):
        further = [following for each in ready if (following := _at_next_look(each, reporter)) is not None]
        if not further:
            break
        outcomes = _train_or_sync(further, options, deadline, reporter)
        every += outcomes
        names = [each.plan.study.name for each in further]
        ready = [each for each in ready if each.plan.study.name not in names] + further
    left = _tell_what_is_left(ready, reporter) if any(outcome.interrupted for outcome in outcomes) else False
    stopped = left and deadline is None
    if not stopped:
        in_mlflow = not any(outcome.not_in_mlflow or outcome.run_id is None for outcome in every)
        pages, verdicts = _show(ready, store, options, reporter, in_mlflow)
        _attach(ready, every, pages, verdicts, options, reporter)
    missed, given_up = (sum(getattr(each, name) for each in outcomes) for name in ("not_in_mlflow", "given_up"))
    if missed and not stopped:
        reporter.warn(f"{missed} packs are not in MLflow yet: `folklore sync` brings them")
    if given_up and not stopped:
        reporter.warn(f"{given_up} trials or computed jobs were given up; their claims are invalid until they are done")
    code = INTERRUPTED if stopped else FAILED if given_up else FINE
    reporter.emit(
        "finished",
        exit_code=code,
        trained=sum(each.trained for each in every),
        given_up=given_up,
        interrupted=left,
        not_in_mlflow=missed,
        seconds=round(time.monotonic() - started, 1),
    )
    return code


def _declare_all(ready: Sequence[Prepared], until_decided: UntilDecided | None) -> None:
    """Write down what is fixed, before the first trial: of all studies, or if one cannot be, of none."""
    planned = [(each, _looks(each, until_decided)) for each in ready]
    counted = [(each, looks, _stored(each, looks)) for each, looks in planned]
    for each, looks, stored in counted:
        there = require_declarable(each.ledger.store, each.plan.study, each.plan.scale, stored, looks)
        # What was seen of its own trials is no reason to refuse them, and looks add the seeds that it takes.
        if there is None and not stored and looks is None:
            _require_power(each)
    for each, looks, stored in counted:
        declare(each.ledger.store, each.plan.study, each.plan.scale, stored, looks)


def _require_power(ready: Prepared) -> None:
    study, scale = ready.plan.study, ready.plan.scale
    expecting = any(each.expected for judgement in study.judgements for each in judgement.criteria_at(scale))
    # A variation asks what would be; what is expected of the study as it is declared need not hold for it.
    if study.scale(scale).judged and expecting and study.variation_of is None:
        # Nor are its own trials that are published: whoever repeats a study must be able to.
        require_power(study, scale, pilot_of(_seen(ready, lambda at, device: at != scale), scale))


def _seen(ready: Prepared, wanted: Wanted = everywhere) -> list[TrialSet]:
    study, plans = ready.plan.study, ready.plans
    return [*stored_sets(study, ready.ledger, wanted, plans), *published_sets(study, wanted, plans)]


def _looks(ready: Prepared, until_decided: UntilDecided | None) -> tuple[int, ...] | None:
    if until_decided is None:
        return None
    study, scale = ready.plan.study, ready.plan.scale
    if not study.scale(scale).judged:
        raise UserError(f"--until-decided: scale '{scale}' is never judged; choose another --scale")
    own = study.declared_seeds_at(scale)
    return planned_looks(own, DEFAULT_TIMES * own if until_decided.most_seeds is None else until_decided.most_seeds)


def _stored(ready: Prepared, looks: tuple[int, ...] | None) -> int:
    """Trials of the plan that are stored; with looks, of all seeds they come to. Raises UserError where those cannot be had."""
    plan = at_last_look(ready.plan, looks) if looks else ready.plan
    return len(plan.digests & ready.ledger.digests())


def _at_look(ready: Prepared) -> Prepared:
    """With the seeds of the look that it has come to, if it is judged by looks."""
    plan, ledger = ready.plan, ready.ledger
    looks = looks_of(declarations(ledger.store, plan.study, plan.scale), plan.study)
    study = at_its_look(plan, ledger.trials(), looks).study if looks else plan.study
    return ready if study is plan.study else extended(ready, study)


def _at_next_look(ready: Prepared, reporter: Reporter) -> Prepared | None:
    """With the seeds of the next look; None if there is none, or no claim that more seeds could decide."""
    records = stored_set(ready.plan, ready.ledger)
    open_claims = undecided(records.verdicts())
    study, scale = records.study, records.scale
    following = [look for look in records.looks or () if look > study.seeds_at(scale)]
    if not open_claims or not following:
        return None
    why = f"{len(open_claims)} claims are not decided by {study.seeds_at(scale)} seeds"
    reporter.say(f"{study.name}: {why}: {following[0]} are next")
    return extended(ready, study.with_seeds(scale, following[0], why))


def run_facts(ready: Prepared) -> dict[str, Any]:
    """What a run says of its plan before it trains."""
    plan, estimate = ready.plan, ready.estimate
    return {
        "study": plan.study.name,
        "version": plan.study.version,
        "study_hash": plan.study.hash,
        "scale": plan.scale,
        "device": f"{ready.device.count} x {ready.device.name}",
        "seeds": plan.study.seeds_at(plan.scale),
        "trials": len(plan.digests),
        "trials_left": sum(len(pack.trials) for pack in ready.left),
        "computed_jobs": len(ready.jobs),
        "computed_jobs_left": len(ready.jobs_left),
        "packs_left": len(ready.left),
        "workers": estimate.workers,
        "seconds": round(estimate.seconds, 1),
        "time": duration(estimate.seconds),
        "time_from": estimate.source,
    }


def _read(ready: Prepared) -> str:
    """What was read of a user's data; several datasets by name."""
    said = {used: ready.facts[name].contents for name, used in ready.datasets.items() if ready.facts[name].contents}
    return "; ".join(f"{used}: {contents}" for used, contents in said.items()) if len(said) > 1 else "".join(said.values())


def plan_facts(ready: Prepared) -> dict[str, Any]:
    """`run_facts`, and what training takes."""
    plan, estimate, facts = ready.plan, ready.estimate, run_facts(ready)
    first = ("study", "version", "study_hash", "scale", "device")
    return {
        **{name: facts[name] for name in first},
        "datasets": ", ".join(f"{used} ({ready.data_hashes[name]})" for name, used in ready.datasets.items()),
        **({"data_read": read} if (read := _read(ready)) else {}),
        **({"workload": ready.proof} if ready.proof else {}),
        "parameters": ready.parameters,
        "arms": len(plan.study.arms),
        **facts,
        "lanes": _lanes(ready),
        "memory_gib": round(estimate.workers * estimate.pack_bytes / 2**30, 2),
        "recipe": study_recipe(plan.study, plan.scale),
    }


def power_facts(ready: Prepared) -> dict[str, Any] | None:
    """What the plan's seeds can show, by the spread of stored or published trials, or the one that the study declares; None if
    there is neither."""
    study, scale = ready.plan.study, ready.plan.scale
    if not study.scale(scale).judged:
        return None
    pilot = pilot_of(_seen(ready), scale)
    found = list(resolutions(study, scale, study.seeds_at(scale), pilot))
    if pilot is None and all(each.power is None for each in found):
        return None
    return {
        "from": "what the study declares of a pilot"
        if pilot is None
        else f"{len(whole_seeds(pilot))} seeds at scale {pilot.scale} ({pilot.device}, {pilot.source})",
        "seeds": study.seeds_at(scale),
        "claims": len(study.judgements),
        "criteria": [asdict(each) for each in found],
    }


def _lanes(ready: Prepared) -> str:
    """Lanes of the packs, what they run as, and where that comes from."""
    choices = ready.choices().values()
    if not choices:
        return "1 (alone)"
    few, many = min(each.lanes for each in choices), max(each.lanes for each in choices)
    sources, programs = sorted({each.source for each in choices}), sorted({each.program for each in choices})
    return f"{few} to {many} ({', '.join(sources)}; {', '.join(programs)})"


def _with_own_datasets(studies: Sequence[Study], scale: str | None, options: Options) -> list[tuple[Study, Options]]:
    """Of several studies each gets the datasets it names; one that none of them names is refused."""
    if len(studies) == 1 or not options.datasets:
        return [(study, options) for study in studies]
    named = {study.name: datasets_named(study, scale or default_scale(study)) for study in studies}
    for given in options.datasets:
        if not any(given in names for names in named.values()):
            raise unknown("dataset of these studies", given, sorted(set[str]().union(*named.values())))
    return [
        (study, replace(options, datasets={k: v for k, v in options.datasets.items() if k in named[study.name]}))
        for study in studies
    ]


def _train_or_sync(ready: Sequence[Prepared], options: Options, deadline: float | None, reporter: Reporter) -> "list[Outcome]":
    """Train what is left; where nothing is, only bring MLflow up to date."""
    for each in ready:
        facts = run_facts(each)
        reporter.emit("planned", **_planned(each, facts))
        reporter.say(f"{facts['study']} at scale {facts['scale']} on {facts['device']}: {facts['trials']} trials")
        if each.jobs_left:
            reporter.say(f"computing {len(each.jobs_left)} of {len(each.jobs)} jobs, which train nothing")
        if not each.left:
            reporter.say("nothing to train: all trials are in the ledger")
        if not (each.left or each.jobs_left):
            _sync_if_it_can(each, options, reporter)
            continue
        if not each.left:
            continue
        reporter.say(
            f"training {facts['trials_left']} trials in about {facts['packs_left']} packs on {facts['workers']} workers,"
            f" about {facts['time']} ({facts['time_from']})"
        )
        from ..planning.lanes import reasons_apart

        for reason in reasons_apart(each.choices().values()):
            reporter.say(f"one trial a pack: {reason}")
    left = [each for each in ready if each.left or each.jobs_left]
    if not left:
        return []
    if len(left) > 1:
        trials = sum(len(pack.trials) for each in left for pack in each.left)
        reporter.say(f"all together {trials} trials, about {duration(sum(each.estimate.seconds for each in left))}")
    reporter.say("starting Ray and MLflow (about 10 s)" if options.address is None else "reaching Ray")
    from .campaign import most_valuable_first, train

    return train(most_valuable_first(left), options, reporter.view(), deadline)


def _planned(ready: Prepared, facts: Mapping[str, Any]) -> dict[str, Any]:
    study = ready.plan.study
    departures = list(study.departures) if study.variation_of is not None else []
    return {name: facts[name] for name in EVENTS["planned"] if name in facts} | {"departures": departures}


def _sync_if_it_can(ready: Prepared, options: Options, reporter: Reporter) -> None:
    """An MLflow that is away keeps nobody from the verdicts."""
    try:
        sync(ready.plan.study, options, ready.ledger)
    except UserError as error:
        reporter.warn(f"{error}: `folklore sync` completes it later")


def _tell_what_is_left(ready: Sequence[Prepared], reporter: Reporter) -> bool:
    """Whether anything is; a line for each study that it is of."""
    counts = {each.plan.study.name: progress(each) for each in ready}
    left = {name: (done, whole) for name, (done, whole) in counts.items() if done < whole}
    for name, (done, whole) in left.items():
        reporter.warn(f"{name}: interrupted: {done} of {whole} trials and computed jobs are kept; the same command goes on")
    return bool(left)


def _attach(
    ready: Sequence[Prepared],
    outcomes: "Sequence[Outcome]",
    pages: Path,
    verdicts: Mapping[str, Sequence[Verdict]],
    options: Options,
    reporter: Reporter,
) -> None:
    """Pages and verdicts to the launches in MLflow; where it does not take them they are in their folder all the
    same."""
    for outcome in outcomes:
        if outcome.run_id is None:
            continue
        own = next(each for each in ready if each.plan.study.name == outcome.study)
        try:
            tracker = open_tracker(own.plan.study, options, own.ledger.store)
            tracker.judged(outcome.run_id, verdicts[outcome.study])
            about = [*pages.glob(f"{outcome.study}.html"), *pages.glob(f"{outcome.study}-*.html")]
            tracker.attach(outcome.run_id, {page.name: self_contained(page) for page in about})
        except Exception as error:  # whatever MLflow's backend raises
            reporter.warn(f"MLflow did not take the page ({one_line(error)[:200]})")


def _show(
    ready: Sequence[Prepared], store: Store, options: Options, reporter: Reporter, in_mlflow: bool
) -> tuple[Path, dict[str, list[Verdict]]]:
    """Write the pages, and tell the verdicts that are on them; returns the pages' folder, and each study's verdicts."""
    studies = [each.plan.study for each in ready]
    names = [study.name for study in studies]
    others = [study for study in every_study(store) if study.name not in names]
    plans = {each.plan.study.name: each.plans for each in ready}
    pages, found = write_pages(store, [*others, *studies], only=names, plans=plans)
    shown: dict[str, list[Verdict]] = {}
    for each in ready:
        own = [v for v in found.get(each.plan.study.name, ()) if (v.scale, v.device) == (each.plan.scale, each.plan.device)]
        own = own or stored_set(each.plan, each.ledger).verdicts()
        shown[each.plan.study.name] = own
        reporter.judged(own)
        for verdict in own:
            said = {**verdict.row(), "unit": verdict.unit, "variation": each.plan.study.variation_of is not None}
            reporter.emit("verdict", **said)
    page = names[0] if len(names) == 1 else "index"
    reporter.say(f"page: {pages / page}.html")
    for name in names:
        reporter.emit("page", path=f"{pages / name}.html")
    if in_mlflow:
        reporter.say(f"MLflow: {how_to_browse(options, store)}")
    return pages, shown
