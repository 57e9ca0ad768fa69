"""Prepares, declares and trains studies; whoever asks for a launch writes its pages.

Modules that training needs are imported when it begins.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..declare import Study
from ..errors import UserError, unknown
from ..judge.power import pilot_of, require_power
from ..judge.sequential import DEFAULT_TIMES, planned_looks, undecided
from ..judge.trends import predictions
from ..judge.trial_sets import at_its_look, at_last_look, stored_set
from ..options import Options
from ..plan.prepare import Prepared, datasets_named, default_scale, extended, prepare, progress
from ..plan.store.declaration import declarations, declare, looks_of, require_declarable
from ..plan.store.ledger import Ledger
from ..plan.store.store import Store
from ..plan.variation import Changes, vary
from .events import EVENTS
from .facts import known_sets, run_facts
from .progress import duration
from .ray_connection import Resources, cluster_device, require_reachable
from .ray_process import RayProcess
from .reporter import Reporter
from .tracking.sync import sync

if TYPE_CHECKING:
    from .campaign import LaunchOutcome


# A run shorter than this, in seconds, ends before its verdicts so far could be shown.
SECONDS_WITH_ROUNDS = 60.0


@dataclass(frozen=True)
class UntilDecided:
    """Seeds are added until claims are decided; most_seeds: an arm at most, by default four times the study's own."""

    most_seeds: int | None = None


@dataclass(frozen=True)
class Launched:
    """studies: as they were trained, at their latest interim analysis. outcomes: one for each study and each interim analysis.
    unfinished: whether the launch was interrupted and some of its trials are missing."""

    studies: "list[Prepared]"
    outcomes: "list[LaunchOutcome]"
    unfinished: bool

    @property
    def in_mlflow(self) -> bool:
        """Whether MLflow has all of it."""
        return not any(outcome.not_in_mlflow or outcome.run_id is None for outcome in self.outcomes)

    def count(self, what: str) -> int:
        """trained, given_up or not_in_mlflow: over all outcomes."""
        return sum(getattr(outcome, what) for outcome in self.outcomes)


def changed_as_wished(
    study: Study, scale: str | None, changes: Changes, workload: str | None, options: Options, say: Callable[[str], None]
) -> tuple[Study, str | None]:
    """The study as it is declared, varied, or on the own workload at an address; and the scale, which a variation fixes.

    say: gets, line by line, what a variation changes. Raises UserError.
    """
    if changes:
        if scale is None:
            scale = default_scale(study, None if options.address is None else cluster_device(options.address))
        study = vary(study, scale, changes)
        for line in study.changes[-1].why:
            say(line)
    if workload is not None:
        from ..plan.own_study import own_study

        study = own_study(study, workload, options)
    return study, scale


def launch(
    store: Store,
    studies: Sequence[Study],
    scale: str | None,
    options: Options,
    deadline: float | None,
    until_decided: UntilDecided | None,
    reporter: Reporter,
    at_the_end: Callable[[], object],
    after_round: Callable[[Prepared], object],
) -> Launched:
    """Train what is missing of some studies. at_the_end: called in a thread of its own while Ray ends. after_round: in another,
    after each round of seeds of a study that is trained alone (rounds.py). Raises UserError.
    """
    # The training machine is inspected in place: the machine that starts a cluster's run may have no GPU itself.
    cluster = None if options.address is None else cluster_device(options.address)
    pairs = _with_own_datasets(studies, scale, options)
    # One ledger a study, for a ledger keeps what it has read.
    ready = [
        prepare(study, scale or default_scale(study, cluster), own, Ledger(store, study.name), cluster=cluster)
        for study, own in pairs
    ]
    _declare_all(ready, until_decided)
    ready = [_at_look(prepared) for prepared in ready]
    shown = after_round if len(ready) == 1 and until_decided is None and _has_rounds(ready[0]) else None
    outcomes = _train_or_sync(ready, options, deadline, reporter, at_the_end, shown)
    every = list(outcomes)
    while until_decided and not any(outcome.interrupted or outcome.given_up for outcome in outcomes):
        further = [following for prepared in ready if (following := _at_next_look(prepared, reporter)) is not None]
        if not further:
            break
        outcomes = _train_or_sync(further, options, deadline, reporter, at_the_end)
        every += outcomes
        names = [prepared.plan.study.name for prepared in further]
        ready = [prepared for prepared in ready if prepared.plan.study.name not in names] + further
    unfinished = any(outcome.interrupted for outcome in outcomes) and _tell_what_is_left(ready, reporter)
    return Launched(ready, every, unfinished)


def _has_rounds(ready: Prepared) -> bool:
    """Whether a run is long enough to be shown on the way, and its trials are known beforehand."""
    study, scale = ready.plan.study, ready.plan.scale
    judged = study.scale(scale).judged and not looks_of(declarations(ready.ledger.store, study, scale), study)
    return judged and study.search_at(scale) is None and ready.estimate.seconds >= SECONDS_WITH_ROUNDS


def _declare_all(ready: Sequence[Prepared], until_decided: UntilDecided | None) -> None:
    """Declare all studies before the first trial, or none of them if one cannot be declared."""
    planned = [(prepared, _looks(prepared, until_decided)) for prepared in ready]
    counted = [(prepared, looks, _stored(prepared, looks)) for prepared, looks in planned]
    for prepared, looks, stored in counted:
        there = require_declarable(prepared.ledger.store, prepared.plan.study, prepared.plan.scale, stored, looks)
        # A study's own stored trials are no reason to refuse it, and looks add the seeds that it needs.
        if there is None and not stored and looks is None:
            _require_power(prepared)
    for prepared, looks, stored in counted:
        expected = () if stored else _predictions(prepared)
        declare(prepared.ledger.store, prepared.plan.study, prepared.plan.scale, stored, looks, expected)


def _predictions(ready: Prepared) -> list[dict[str, str | float]]:
    """Predictions for a rung of a ladder from the rungs below it, stored or published."""
    study, scale = ready.plan.study, ready.plan.scale
    ladder = study.ladder or ()
    if scale not in ladder:
        return []
    below = ladder[: ladder.index(scale)]
    known = known_sets(ready, lambda at, device: at in below)
    return predictions(study, scale, [verdict for trial_set in known if trial_set.complete for verdict in trial_set.verdicts()])


def _require_power(ready: Prepared) -> None:
    study, scale = ready.plan.study, ready.plan.scale
    expecting = any(criterion.expected for judgement in study.judgements for criterion in judgement.criteria_at(scale))
    # Expectations of the declared study need not hold for a variation.
    if study.scale(scale).judged and expecting and study.variation_of is None:
        # Its own published trials do not count: whoever repeats a study must be able to.
        require_power(study, scale, pilot_of(known_sets(ready, lambda at, device: at != scale), scale))


def _looks(ready: Prepared, until_decided: UntilDecided | None) -> tuple[int, ...] | None:
    if until_decided is None:
        return None
    study, scale = ready.plan.study, ready.plan.scale
    if not study.scale(scale).judged:
        raise UserError(f"--until-decided: scale '{scale}' is never judged; choose another --scale")
    own = study.declared_seeds_at(scale)
    return planned_looks(own, DEFAULT_TIMES * own if until_decided.most_seeds is None else until_decided.most_seeds)


def _stored(ready: Prepared, looks: tuple[int, ...] | None) -> int:
    """Number of the plan's trials that are stored; with looks, at the last look. Raises UserError if that cannot be had."""
    plan = at_last_look(ready.plan, looks) if looks else ready.plan
    return len(plan.digests & ready.ledger.digests())


def _at_look(ready: Prepared) -> Prepared:
    """The study with the seeds of its current interim analysis, if it is judged by such."""
    plan, ledger = ready.plan, ready.ledger
    looks = looks_of(declarations(ledger.store, plan.study, plan.scale), plan.study)
    study = at_its_look(plan, ledger.trials(), looks).study if looks else plan.study
    return ready if study is plan.study else extended(ready, study)


def _at_next_look(ready: Prepared, reporter: Reporter) -> Prepared | None:
    """The study with the seeds of its next look; None if there is none, or no claim that more seeds could decide."""
    records = stored_set(ready.plan, ready.ledger)
    open_claims = undecided(records.verdicts())
    study, scale = records.study, records.scale
    following = [look for look in records.looks or () if look > study.seeds_at(scale)]
    if not open_claims or not following:
        return None
    why = f"{len(open_claims)} claims are not decided by {study.seeds_at(scale)} seeds"
    reporter.say(f"{study.name}: {why}: {following[0]} are next")
    return extended(ready, study.with_seeds(scale, following[0], why))


def _with_own_datasets(studies: Sequence[Study], scale: str | None, options: Options) -> list[tuple[Study, Options]]:
    """Gives each of several studies the datasets it names; refuses a dataset that none of them names."""
    if len(studies) == 1 or not options.datasets:
        return [(study, options) for study in studies]
    named = {study.name: datasets_named(study, scale or default_scale(study)) for study in studies}
    for dataset in options.datasets:
        if not any(dataset in names for names in named.values()):
            raise unknown("dataset of these studies", dataset, sorted(set[str]().union(*named.values())))
    return [
        (study, replace(options, datasets={k: v for k, v in options.datasets.items() if k in named[study.name]}))
        for study in studies
    ]


def _train_or_sync(
    ready: Sequence[Prepared],
    options: Options,
    deadline: float | None,
    reporter: Reporter,
    at_the_end: Callable[[], object],
    after_round: Callable[[Prepared], object] | None = None,
) -> "list[LaunchOutcome]":
    """Train what is left; if nothing is, only bring MLflow up to date."""
    for prepared in ready:
        facts = run_facts(prepared)
        reporter.emit("planned", **_planned(prepared, facts))
        reporter.say(f"{facts['study']} at scale {facts['scale']} on {facts['device']}: {facts['trials']} trials")
        if prepared.jobs_left:
            reporter.say(f"computing {len(prepared.jobs_left)} of {len(prepared.jobs)} jobs, which train nothing")
        if not prepared.left:
            reporter.say("nothing to train: all trials are in the ledger")
        if not (prepared.left or prepared.jobs_left):
            _sync_if_it_can(prepared, options, reporter)
            continue
        if not prepared.left:
            continue
        reporter.say(
            f"training {facts['trials_left']} trials in about {facts['packs_left']} packs on {facts['workers']} workers,"
            f" about {facts['time']} ({facts['time_from']})"
        )
        from ..plan.lanes import reasons_apart

        for reason in reasons_apart(prepared.choices().values()):
            reporter.say(f"one trial a pack: {reason}")
    unfinished = [prepared for prepared in ready if prepared.left or prepared.jobs_left]
    if not unfinished:
        return []
    if len(unfinished) > 1:
        trials = sum(len(pack.trials) for prepared in unfinished for pack in prepared.left)
        reporter.say(
            f"all together {trials} trials, about {duration(sum(prepared.estimate.seconds for prepared in unfinished))}"
        )
    reporter.say("starting Ray and MLflow (about 10 s)" if options.address is None else "reaching Ray")
    require_reachable(options.address)
    with RayProcess(_resources(unfinished, options)) as ray:
        # Beside Ray's start: it imports torch.
        from .campaign import most_valuable_first, train

        return train(most_valuable_first(unfinished), options, reporter.view(), ray, deadline, at_the_end, after_round)


def _resources(unfinished: Sequence[Prepared], options: Options) -> Resources:
    """Resources that Ray is started with. A computed job takes the place of a pack."""

    def workers(ready: Prepared) -> int:
        return max(ready.estimate.workers, min(ready.device.count, len(ready.left) + len(ready.jobs_left)))

    at_most = options.workers if options.address else None
    return Resources(unfinished[0].device.kind, max(map(workers, unfinished)), options.address, at_most)


def _planned(ready: Prepared, facts: Mapping[str, Any]) -> dict[str, Any]:
    study = ready.plan.study
    departures = list(study.departures) if study.variation_of is not None else []
    return {name: value for name, value in facts.items() if name in EVENTS["planned"]} | {"departures": departures}


def _sync_if_it_can(ready: Prepared, options: Options, reporter: Reporter) -> None:
    """Verdicts do not wait for an MLflow that is away."""
    try:
        sync(ready.plan.study, options, ready.ledger)
    except UserError as error:
        reporter.warn(f"{error}: `folklore sync` completes it later")


def _tell_what_is_left(ready: Sequence[Prepared], reporter: Reporter) -> bool:
    """Whether anything is left; warns with a line for each such study."""
    counts = {prepared.plan.study.name: progress(prepared) for prepared in ready}
    unfinished = {name: (done, whole) for name, (done, whole) in counts.items() if done < whole}
    for name, (done, whole) in unfinished.items():
        reporter.warn(f"{name}: interrupted: {done} of {whole} trials and computed jobs are kept; the same command goes on")
    return bool(unfinished)
