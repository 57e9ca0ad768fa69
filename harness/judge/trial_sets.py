"""Stored trials sorted into sets that can be judged: one declaration, scale, kind of device, data and engine each."""

import itertools
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from ..declare import Judgement, Study
from ..declare.configuration import data_name
from ..declare.study import MINIMUM_JUDGED_SEEDS
from ..errors import UserError
from ..plan.computing import computed_jobs, digest, jobs_of
from ..plan.plan import Plan, Plans
from ..plan.search_results import searched_plan
from ..plan.store import evidence
from ..plan.store.computations import Computation, Computations
from ..plan.store.declaration import (
    Declaration,
    declarations,
    declared_otherwise,
    earlier_judgements,
    looks_of,
    stored_declarations,
)
from ..plan.store.ledger import Ledger
from ..plan.store.source_check import SourceCheck, SourceDefect, findings, mixed_sources
from ..plan.store.trial_schema import JUDGED
from ..train.machine.repository import OURS, Repository
from . import verdict_history
from .attempts import repeated
from .cautions import published_calibration
from .judge import judge
from .outcomes import INVALID
from .robustness import Robustness, robustness
from .sequential import judge_in_looks, seeds_reached
from .trial_arrays import TrialArrays
from .verdict import Verdict
from .withdrawing import as_judged, as_they_stand

HERE, PUBLISHED = "this store", "published"
# Whether the set of a scale and kind of device is asked for.
Wanted = Callable[[str, str], bool]


def everywhere(scale: str, device: str) -> bool:
    return True


@dataclass(frozen=True)
class TrialSet:
    """Trials that belong together, and where they come from. source_check: None if they are not published, or were published
    before there were checks. earlier: declarations of earlier versions, whose judgements are alternative readings.
    seeds_so_far: number of judged seeds of an unfinished run, the first ones that are complete in all arms."""

    study: Study
    scale: str
    device: str
    source: str
    trials: pd.DataFrame
    failures: Mapping[str, str] = field(default_factory=dict)
    complete: bool = False
    declarations: tuple[Declaration, ...] = ()
    computations: Computations = field(default_factory=dict)
    source_check: SourceCheck | None = None
    earlier: tuple[Declaration, ...] = ()
    seeds_so_far: int | None = None

    @cached_property
    def table(self) -> TrialArrays:
        """The trials as arrays, for observations and figures."""
        numbers = self.study.seed_numbers_at(self.scale)[: self.seeds_so_far]
        further = self.seeds_so_far is None
        return TrialArrays(
            self.study, self.scale, self.trials, dict(self.failures), numbers, self.computations, with_further=further
        )

    @property
    def so_far(self) -> str:
        """The judged seeds of an unfinished run; '' if all are judged."""
        return f"{self.seeds_so_far} of {self.study.seeds_at(self.scale)} seeds" if self.seeds_so_far else ""

    @property
    def computed(self) -> list[Computation]:
        """Stored computations of its study's jobs."""
        jobs = computed_jobs(self.study, self.scale)
        return [computation for key, computation in self.computations.items() if key in jobs]

    def computed_for(self, judgement: Judgement) -> list[Computation]:
        """Stored computations of a claim's jobs, in declared order."""
        digests = (digest(self.study, job) for job in jobs_of(judgement, self.study, self.scale))
        return [self.computations[key] for key in digests if key in self.computations]

    @property
    def ran_under(self) -> list[str]:
        """Hashes of other declarations than today's that its trials ran under."""
        return sorted(set(self.trials["study_hash"]) - {self.study.hash})

    @property
    def predicted(self) -> list[dict[str, Any]]:
        """Predictions of the rungs below, kept by the declaration that was written before any of these trials."""
        before = (fixed for fixed in self.declarations if fixed.hash == self.study.hash and not fixed.trials_before)
        return [dict(row) for fixed in before for row in fixed.predicted]

    @property
    def looks(self) -> tuple[int, ...] | None:
        """Numbers of seeds after which it is judged, if seeds are added until claims are decided; else None."""
        return looks_of(self.declarations, self.study)

    @property
    def declared_otherwise(self) -> str:
        """How its rules differ from those declared before its trials; '' if they do not."""
        return declared_otherwise(self.declarations, self.study, self.ran_under)

    def verdicts(self) -> list[Verdict]:
        """Verdicts as they stand: withdrawn ones say so, and so do those judged by other rules than declared."""
        rules = verdict_history.history().rules
        judged = [repeated(verdict, self.study, rules) if verdict.findings else verdict for verdict in self._judge()]
        if mixed := mixed_sources(self.trials):
            judged = [replace(verdict, cautions=(mixed, *verdict.cautions)) for verdict in judged]
        if otherwise := self.declared_otherwise:
            judged = [replace(verdict, declared_otherwise=True, cautions=(otherwise, *verdict.cautions)) for verdict in judged]
        return as_they_stand(
            self.study, [replace(verdict, so_far=self.so_far) for verdict in judged] if self.so_far else judged
        )

    def _judge(self) -> list[Verdict]:
        if self.looks:
            return judge_in_looks(
                self.study, self.scale, self.device, self.trials, self.looks, self.failures, self.computations
            )
        calibration = published_calibration()
        return judge(self.study, self.scale, self.device, self.trials, self.failures, self.table, calibration=calibration)

    def robustness(self, verdicts: Sequence[Verdict]) -> list[Robustness]:
        """Whether the verdicts hold under other choices; only for trials judged once, at the end of their run."""
        if self.looks or self.seeds_so_far or not self.study.scale(self.scale).judged:
            return []
        return robustness(
            self.study,
            self.scale,
            self.device,
            self.trials,
            [as_judged(verdict) for verdict in verdicts],
            self.computations,
            earlier_judgements((*self.earlier, *self.declarations), self.study.version),
        )


def trial_sets(
    study: Study,
    trials: pd.DataFrame,
    source: str,
    failures: Mapping[str, str] | None = None,
    declared: Callable[[str], Sequence[Declaration]] = lambda scale: (),
    computations: Computations | None = None,
    wanted: Wanted = everywhere,
    plans: Plans | None = None,
) -> list[TrialSet]:
    """A set for each scale and kind of device that this study, as it is declared now, has trials of.

    A trial belongs to a scale by its digest, whatever it was called when it ran. A scale that merely shares some trials with
    one that ran has no set. Trials on other data or by another engine version are never mixed: of several sets, the one with
    the newest trial is taken. declared: declarations fixed for a scale before it ran. computations: of the study's jobs.
    wanted: whether a set of a scale and device is asked for. plans: those that the command has made of the study.
    """
    sets: dict[tuple[str, str], TrialSet] = {}
    plans = plans or Plans()
    for device, engine_version, data_hashes in _origins(trials):
        for scale in (name for name in study.scales if wanted(name, device)):
            if not _may_have_a_set(study, scale, device, trials) or not _datasets(study, scale) <= data_hashes.keys():
                continue
            fixed = tuple(declared(scale))
            plan = plans.plan(study, scale, device, data_hashes, engine_version)
            plan = at_its_look(plan, trials, looks_of(fixed, study))
            records = replace(planned_set(plan, trials, source, failures), declarations=fixed, computations=computations or {})
            if not _is_of_scale(records, trials):
                continue
            other = sets.get((scale, device))
            if len(records.trials) and (other is None or _newest(records) > _newest(other)):
                sets[scale, device] = records
    order = list(study.scales)
    return sorted(
        sets.values(), key=lambda records: (not study.scale(records.scale).judged, order.index(records.scale), records.device)
    )


def planned_set(plan: Plan, trials: pd.DataFrame, source: str = HERE, failures: Mapping[str, str] | None = None) -> TrialSet:
    """The stored trials of one plan, and the errors of those of its trials that were given up."""
    plan = searched_plan(plan, trials)
    errors = {digest: error for digest, error in (failures or {}).items() if digest in plan.digests}
    selected = plan.select(trials)
    complete = len(selected) == len(plan.trials)
    records = TrialSet(plan.study, plan.scale, plan.device, source, selected, errors, complete)
    return records if complete or errors else replace(records, seeds_so_far=_seeds_so_far(plan, selected))


def _seeds_so_far(plan: Plan, trials: pd.DataFrame) -> int | None:
    """Number of seeds, from the first on, that are complete in all arms; None if too few to judge, or if training depends on
    results."""
    study, scale = plan.study, plan.scale
    if study.search_at(scale) is not None or not study.scale(scale).judged:
        return None
    count = trials["seed"].value_counts().to_dict()
    numbers = study.seed_numbers_at(scale)
    whole = len(list(itertools.takewhile(lambda seed: count.get(seed, 0) == len(plan.grid[seed]), numbers)))
    return whole if whole >= MINIMUM_JUDGED_SEEDS else None


def at_its_look(plan: Plan, trials: pd.DataFrame, looks: tuple[int, ...] | None) -> Plan:
    """The plan with the seeds of the last interim analysis that its trials have reached."""
    if not looks:
        return plan
    study, scale = plan.study, plan.scale
    whole = at_last_look(plan, looks)
    seeds = seeds_reached(looks, study.seed_numbers_at(scale), searched_plan(whole, trials).select(trials))
    return whole.with_seeds(study.with_seeds(scale, seeds, f"it is judged after {', '.join(map(str, looks))} seeds"))


def at_last_look(plan: Plan, looks: tuple[int, ...]) -> Plan:
    return plan.with_seeds(plan.study.with_seeds(plan.scale, looks[-1], "its looks come to them"))


def stored_sets(study: Study, ledger: Ledger, wanted: Wanted = everywhere, plans: Plans | None = None) -> list[TrialSet]:
    sets = trial_sets(
        study,
        ledger.trials(JUDGED),
        HERE,
        ledger.failures(),
        lambda scale: declarations(ledger.store, study, scale),
        ledger.computations(),
        wanted,
        plans,
    )
    earlier = (*evidence.earlier(study.name), *stored_declarations(ledger.store, study.name))
    return [replace(records, earlier=earlier) for records in sets]


def published_sets(study: Study, wanted: Wanted = everywhere, plans: Plans | None = None) -> list[TrialSet]:
    """Sets of the published evidence."""
    trials = evidence.trials(study.name)
    if trials is None:
        return []
    sets = trial_sets(
        study,
        trials,
        PUBLISHED,
        declared=lambda scale: evidence.declarations(study.name, scale),
        computations=evidence.computations(study.name),
        wanted=wanted,
        plans=plans,
    )
    earlier = tuple(evidence.earlier(study.name))
    return [
        replace(records, source_check=evidence.source_check(study.name, records.scale, records.device), earlier=earlier)
        for records in sets
    ]


def checked(records: TrialSet, as_is: str | None = None, repository: Repository = OURS) -> SourceCheck:
    """The check of a set's origin that its readers see. as_is: why it is published despite defects.

    Raises UserError for defects without such a reason.
    """
    defects = findings(records.study, records.trials, records.declarations, records.computed, repository)
    if invalid := [verdict.claim for verdict in records.verdicts() if verdict.verdict == INVALID]:
        way_out = f"`folklore run {records.study.name} --scale {records.scale}` goes on"
        what = f"{', '.join(invalid)} cannot be judged, for trials or computed numbers are missing"
        defects.append(SourceDefect(what, way_out))
    if records.so_far:
        defects.append(SourceDefect(f"it is judged by {records.so_far} so far", "the same command trains the rest"))
    if defects and as_is is None:
        reasons = "; ".join(f"{what} ({way_out})" for what, way_out in defects)
        place = f"study '{records.study.name}' at scale '{records.scale}' on {records.device}"
        raise UserError(f"{place} is not published: {reasons}; or give --as-is REASON, which its page shows")
    return SourceCheck(tuple(what for what, _ in defects), as_is if defects else None)


def publish(records: TrialSet, check: SourceCheck) -> Path:
    """Writes a set's trials and its study's computations into the published evidence, with the check of their origin."""
    evidence.write_computations(records.study.name, records.computed)
    return evidence.write(records.study.name, records.scale, records.device, records.trials, records.declarations, check)


def stored_set(plan: Plan, ledger: Ledger) -> TrialSet:
    """The set of one plan, empty if nothing is stored."""
    fixed = tuple(declarations(ledger.store, plan.study, plan.scale))
    records = planned_set(plan, ledger.trials(JUDGED), HERE, ledger.failures())
    return replace(records, declarations=fixed, computations=ledger.computations())


def _may_have_a_set(study: Study, scale: str, device: str, trials: pd.DataFrame) -> bool:
    """False if `_is_of_scale` would surely say no; without expanding the scale's plan, which takes longer."""
    chosen = study.scale(scale)
    if chosen.judged and device == chosen.device:
        return True
    return bool((trials["scale"] == scale).any()) or set(study.seed_numbers_at(scale)) <= set(trials["seed"])


def _is_of_scale(records: TrialSet, trials: pd.DataFrame) -> bool:
    """Whether some of a set ran as its scale, or it is complete, or it has trials of all arms of a judged scale meant for its
    device: then only seeds or grid points are missing."""
    scale = records.study.scale(records.scale)
    meant = scale.judged and records.device == scale.device
    if meant and set(records.trials["arm"]) == set(records.study.arms_at(records.scale)):
        return True
    ran_as = trials.loc[trials["digest"].isin(records.trials["digest"]), "scale"]
    return bool((ran_as == records.scale).any()) or records.complete


def _origins(trials: pd.DataFrame) -> Iterator[tuple[str, int, dict[str, str]]]:
    """Every device, engine version and combination of data that trials were made with."""
    data_hashes: dict[tuple[str, int], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    first = trials.drop_duplicates(["device", "engine_version", "data_hash", "pack"])
    columns = (first[name] for name in ("device", "engine_version", "configuration", "data_hash"))
    for device, engine_version, configuration, data_hash in zip(*columns, strict=True):
        data_hashes[device, int(engine_version)][data_name(**json.loads(configuration)["workload"])].add(data_hash)
    for (device, engine_version), hashes in data_hashes.items():
        for combination in itertools.product(*(sorted(versions) for versions in hashes.values())):
            yield device, engine_version, dict(zip(hashes, combination, strict=True))


def _datasets(study: Study, scale: str) -> set[str]:
    """The datasets a study names at a scale."""
    return {study.configuration(scale, arm, {}).workload.data for arm in study.arms_at(scale)}


def _newest(records: TrialSet) -> str:
    return str(records.trials["finished_at"].max())
