"""The packs of a run in the order a sweep takes them. If a study searches, later packs depend on earlier results; if a
shape's best number of lanes is not known yet, it is measured before the packs are cut.
"""

import math
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

import pandas as pd

from ..declare.trial import Start
from ..plan.plan import Plan, PlannedPack, make_pack
from ..plan.starts import nothing_left_of
from .jobs import Job, JobQueue


class Proposer(Protocol):
    def __call__(self, plan: Plan, trials: pd.DataFrame) -> Plan: ...


class PackQueue:
    """Hands out packs; asks for the plan's next state when all that were handed out are settled.

    A pack waits for the trials that its own start from; if one of these is given up, so are they.

    job_of: what trains a pack; propose: the plan's next state from all stored trials; stored, done, states: the trials that the
    ledger holds, their digests, and the checkpoints that trials can start from; added, removed, orphaned: hear of every pack
    that is queued, of those that were split, and of those that have nothing to start from.
    """

    def __init__(
        self,
        plan: Plan,
        job_of: Callable[[PlannedPack], Job],
        propose: Proposer,
        stored: Callable[[], pd.DataFrame],
        done: Callable[[], set[str]],
        added: Callable[[PlannedPack], None] = lambda pack: None,
        removed: Callable[[PlannedPack], None] = lambda pack: None,
        states: Callable[[], Collection[Start]] = tuple,
        orphaned: Callable[[PlannedPack], None] = lambda pack: None,
    ):
        self.plan, self.job_of, self.propose, self.stored, self.done = plan, job_of, propose, stored, done
        self.added, self.removed, self.states, self.orphaned = added, removed, states, orphaned
        self.packs: dict[str, PlannedPack] = {}
        self.given_up: set[str] = set()
        self.exhausted = False
        self._waiting: deque[str] = deque()
        self._running: set[str] = set()
        self._untrained: set[str] = set()  # digests of trials that wait or run
        # Shape key -> lanes that memory holds, of shapes that were once too large.
        self._most_lanes: dict[str, int] = {}
        self._refill()

    def next(self) -> tuple[str, Job] | None:
        """A pack's key and job to run now; None where there is none yet, or (exhausted) none any more."""
        if not self._waiting and not self._running and not self.exhausted:
            self._refill()
        while (key := next(filter(self._can_start, self._waiting), None)) is not None:
            if len(self.packs[key].trials) <= self._most(key):
                break
            self._split(key)
        if key is None:
            return None
        self._waiting.remove(key)
        self._running.add(key)
        return key, self.job_of(self.packs[key])

    def settled(self, key: str, failed: bool = False) -> None:
        """A pack is in the ledger, or was given up."""
        self._running.discard(key)
        digests = {trial.digest for trial in self.packs[key].trials}
        self._untrained -= digests
        if failed:
            self.given_up |= digests
            self._give_up_orphans()

    def _can_start(self, key: str) -> bool:
        return not any(trial.start and trial.start.digest in self._untrained for trial in self.packs[key].trials)

    def _give_up_orphans(self) -> None:
        """Gives up waiting trials that start from a given-up one, and those that start from these."""
        for key in tuple(self._waiting):
            lost = [trial for trial in self.packs[key].trials if trial.start and trial.start.digest in self.given_up]
            others = [trial for trial in self.packs[key].trials if trial not in lost]
            if lost and others:
                self._replace(key, make_pack(lost), make_pack(others))
                return self._give_up_orphans()
            if lost:
                self._waiting.remove(key)
                self.orphaned(self.packs[key])
                return self.settled(key, failed=True)
        return None

    def halve(self, key: str) -> bool:
        """Splits a pack; waiting packs of the same shape are cut to fewer lanes, too."""
        pack = self.packs[key]
        if len(pack.trials) == 1:
            return False
        self._running.discard(key)
        self._most_lanes[pack.trials[0].configuration.shape_key] = math.ceil(len(pack.trials) / 2)
        self._split(key)
        return True

    def _most(self, key: str) -> float:
        return self._most_lanes.get(self.packs[key].trials[0].configuration.shape_key, math.inf)

    def _split(self, key: str) -> None:
        """Two packs in place of one, next in turn."""
        trials = self.packs[key].trials
        middle = math.ceil(len(trials) / 2)
        self._replace(key, make_pack(trials[middle:]), make_pack(trials[:middle]))

    def _replace(self, key: str, *parts: PlannedPack) -> None:
        if key in self._waiting:
            self._waiting.remove(key)
        self.removed(self.packs.pop(key))
        for part in parts:
            self.packs[part.key] = part
            self._waiting.appendleft(part.key)
            self.added(part)

    def _refill(self) -> None:
        if self.plan.study.search_at(self.plan.scale) is not None:
            self.plan = self.propose(self.plan, self.stored())
        done = nothing_left_of(self.plan.trials, self.done() | self.given_up, self.states)
        for pack in self.plan.without(done):
            self.packs[pack.key] = pack
            self._waiting.append(pack.key)
            self._untrained |= {trial.digest for trial in pack.trials}
            self.added(pack)
        self.exhausted = not self._waiting


class MeasuredFirst:
    """Some jobs before all others; the others' queue is made when these are settled, whatever became of them."""

    def __init__(self, first: Mapping[str, Job], then: Callable[[], JobQueue]):
        self._waiting, self._running, self.then = dict(first), set[str](), then
        self._rest: JobQueue | None = None

    @property
    def exhausted(self) -> bool:
        return self._rest is not None and self._rest.exhausted

    def next(self) -> tuple[str, Job] | None:
        if self._waiting:
            key = next(iter(self._waiting))
            self._running.add(key)
            return key, self._waiting.pop(key)
        if self._running:
            return None
        if self._rest is None:
            self._rest = self.then()
        return self._rest.next()

    def settled(self, pack: str, failed: bool = False) -> None:
        if pack in self._running:
            self._running.discard(pack)
        elif self._rest is not None:
            self._rest.settled(pack, failed)

    def halve(self, pack: str) -> bool:
        return pack not in self._running and self._rest is not None and self._rest.halve(pack)


class InTurn:
    """Several queues: a job of the first that has one. Later ones fill the time in which earlier ones wait for results."""

    def __init__(self, queues: Sequence[JobQueue]):
        self.queues = queues
        self._from: dict[str, JobQueue] = {}

    @property
    def exhausted(self) -> bool:
        return all(queue.exhausted for queue in self.queues)

    def next(self) -> tuple[str, Job] | None:
        for queue in self.queues:
            next_job = queue.next()
            if next_job is not None:
                self._from[next_job[0]] = queue
                return next_job
        return None

    def settled(self, pack: str, failed: bool = False) -> None:
        self._from[pack].settled(pack, failed)

    def halve(self, pack: str) -> bool:
        return self._from[pack].halve(pack)
