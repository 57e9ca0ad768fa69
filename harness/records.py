"""Stored trials sorted into sets that can be judged: one study version, scale, kind of device, data and engine each."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from harness.judge import Verdict, judge
from harness.ledger import Ledger
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
    """A set for each scale and device that has trials of this version of the study.

    Trials on other data or by another engine version are never mixed: the pair with the newest trial is taken.
    """
    sets = []
    current = trials[(trials["version"] == study.version) & trials["scale"].isin(list(study.scales))]
    for (scale, device), group in current.groupby(["scale", "device"], sort=True):
        newest = group.sort_values("finished_at").iloc[-1]
        same = group[(group["engine_version"] == newest["engine_version"]) & (group["data_hash"] == newest["data_hash"])]
        sets.append(RecordSet(study, str(scale), str(device), source, same.reset_index(drop=True), failures or {}))
    return sets


def stored_sets(study: Study, ledger: Ledger) -> list[RecordSet]:
    return record_sets(study, ledger.trials(COLUMNS), HERE, ledger.failures())


def stored_set(study: Study, scale: str, device: str, ledger: Ledger) -> RecordSet:
    """The set of one scale, empty where nothing is stored."""
    for found in stored_sets(study, ledger):
        if (found.scale, found.device) == (scale, device):
            return found
    return RecordSet(study, scale, device, HERE, pd.DataFrame(columns=list(COLUMNS)), ledger.failures())
