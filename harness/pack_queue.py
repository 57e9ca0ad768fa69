"""The packs of a run in the order a sweep takes them. Where a study searches, later packs depend on earlier results; and
where a shape's best width is not known yet, it is measured before the packs are cut.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Protocol

import pandas as pd

from harness.plan import Plan, PlannedPack
from harness.work import Job


class Proposer(Protocol):
    def __call__(self, plan: Plan, trials: pd.DataFrame) -> Plan: ...


class PackQueue:
    """Hands out packs; asks for the plan's next state when all that were handed out are settled.

    job_of: what trains a pack; propose: the plan's next state from all stored trials; stored, done: the trials that the
    ledger holds, and their digests; added: hears of every pack that is queued; measurements: what runs before all packs, and
    measured: the plan as they let it be packed.
    """

    def __init__(
        self,
        plan: Plan,
        job_of: Callable[[PlannedPack], Job],
        propose: Proposer,
        stored: Callable[[], pd.DataFrame],
        done: Callable[[], set[str]],
        added: Callable[[PlannedPack], None] = lambda pack: None,
        measurements: Mapping[str, Job] | None = None,
        measured: Callable[[Plan], Plan] = lambda plan: plan,
    ):
        self.plan, self.job_of, self.propose, self.stored, self.done, self.added = plan, job_of, propose, stored, done, added
        self.packs: dict[str, PlannedPack] = {}
        self.given_up: set[str] = set()
        self.exhausted = False
        self._waiting: deque[str] = deque()
        self._running: set[str] = set()
        self.measured = measured
        self.measurements = dict(measurements or {})
        self._waiting.extend(self.measurements)
        if not self.measurements:
            self._refill()

    def next(self) -> tuple[str, Job] | None:
        """A pack's key and job to run now; None where there is none yet, or (exhausted) none any more."""
        if not self._waiting and not self._running and not self.exhausted:
            if self.measurements:
                self.plan, self.measurements = self.measured(self.plan), {}
            self._refill()
        if not self._waiting:
            return None
        key = self._waiting.popleft()
        self._running.add(key)
        return key, self.measurements[key] if key in self.measurements else self.job_of(self.packs[key])

    def settled(self, key: str, failed: bool = False) -> None:
        """A pack is in the ledger, or was given up; or a measurement is done, or failed and is gone without."""
        self._running.discard(key)
        if failed and key in self.packs:
            self.given_up |= {trial.digest for trial in self.packs[key].trials}

    def _refill(self) -> None:
        if self.plan.study.search_at(self.plan.scale) is not None:
            self.plan = self.propose(self.plan, self.stored())
        for pack in self.plan.without(self.done() | self.given_up):
            self.packs[pack.key] = pack
            self._waiting.append(pack.key)
            self.added(pack)
        self.exhausted = not self._waiting
