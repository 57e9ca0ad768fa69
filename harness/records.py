"""Stored trials sorted into sets that can be judged: one declaration, scale, kind of device, data and engine each."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from harness.judge import Verdict, judge
from harness.ledger import Ledger
from harness.plan import Plan, make_plan
from harness.spec import Study
from harness.table import HEAVY, SCHEMA

# Everything an observation or a page reads.
COLUMNS = tuple(name for name in SCHEMA.names if name not in (*HEAVY, "layers", "taps"))
HERE, PUBLISHED = "this store", "published"


@dataclass(frozen=True)
class RecordSet:
    """Trials that belong together, and where they come from."""

    study: Study
    scale: str
    device: str
    source: str
    trials: pd.DataFrame
    failures: Mapping[str, str] = field(default_factory=dict)

    def verdicts(self) -> list[Verdict]:
        return judge(self.study, self.scale, self.device, self.trials, self.failures)


def record_sets(study: Study, trials: pd.DataFrame, source: str, failures: Mapping[str, str] | None = None) -> list[RecordSet]:
    """A set for each scale and kind of device that this study, as it is declared now, has trials of.

    A trial belongs to a scale by its digest, whatever it was called when it ran. Trials on other data or by another
    engine version are never mixed: where there are several, the set with the newest trial is taken.
    """
    sets: dict[tuple[str, str], RecordSet] = {}
    origins = trials[["device", "engine_version", "data_hash"]].drop_duplicates().itertuples(index=False)
    for device, engine_version, data_hash in origins:
        for scale in study.scales:
            plan = make_plan(study, scale, device, data_hash, engine_version=int(engine_version))
            found = planned_set(plan, trials, source, failures)
            other = sets.get((scale, device))
            if len(found.trials) and (other is None or _newest(found) > _newest(other)):
                sets[scale, device] = found
    order = list(study.scales)
    return sorted(sets.values(), key=lambda each: (not study.scale(each.scale).judged, order.index(each.scale), each.device))


def planned_set(plan: Plan, trials: pd.DataFrame, source: str = HERE, failures: Mapping[str, str] | None = None) -> RecordSet:
    """The stored trials of one plan, and the errors of those of its trials that were given up."""
    errors = {digest: error for digest, error in (failures or {}).items() if digest in plan.digests}
    return RecordSet(plan.study, plan.scale, plan.device, source, plan.select(trials), errors)


def stored_sets(study: Study, ledger: Ledger) -> list[RecordSet]:
    return record_sets(study, ledger.trials(COLUMNS), HERE, ledger.failures())


def stored_set(plan: Plan, ledger: Ledger) -> RecordSet:
    """The set of one plan, empty where nothing is stored."""
    return planned_set(plan, ledger.trials(COLUMNS), HERE, ledger.failures())


def _newest(records: RecordSet) -> str:
    return str(records.trials["finished_at"].max())
