"""A computed job as work for a sweep: a call a seed, on one thread, and its result into the ledger."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from ..declare import Study
from ..declare.computed import ComputedJob, Worked, called
from ..plan.store.computations import computation
from ..plan.store.ledger import Ledger
from ..plan.store.store import Store
from ..train import ENGINE_VERSION
from ..train.machine.description import environment
from .jobs import Job, Progress


@dataclass(frozen=True)
class ComputingJob:
    """Everything a worker needs; it travels pickled."""

    study: Study
    job: ComputedJob
    store_uri: str

    def open(self) -> "ComputingWork":
        return ComputingWork(self)


class ComputingWork:
    """Makes at least one call an advance; the last advance writes the result."""

    def __init__(self, job: ComputingJob):
        self.job = job
        self.calls: list[int | None] = list(job.job.seeds) or [None]
        self.worked: list[Worked] = []
        self.seconds = 0.0

    def advance(self, seconds: float) -> Progress:
        started = time.process_time()
        with one_thread():
            while len(self.worked) < len(self.calls):
                self.worked.append(called(self.job.job, self.calls[len(self.worked)]))
                if time.process_time() - started >= seconds:
                    break
        self.seconds += time.process_time() - started
        done = len(self.worked) == len(self.calls)
        if done:
            self._record()
        return Progress(done=done, share=len(self.worked) / len(self.calls), lanes=0)

    def _record(self) -> None:
        study = self.job.study
        machine = {**environment(), "threads": "1", "cpu_capability": torch.backends.cpu.get_cpu_capability()}
        result = computation(study.name, study.version, ENGINE_VERSION, self.job.job, self.worked, machine, self.seconds)
        Ledger(Store(self.job.store_uri), study.name).write_computation(result)

    def close(self) -> None:
        """Calls that were made are lost with a job that is interrupted: they take seconds."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Runs on one thread, for the order of a sum depends on their number; a GPU's worker goes on with as many as it had."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class ComputingQueue:
    """The computed jobs of a study, by digest, one after the other."""

    def __init__(self, jobs: Mapping[str, Job], added: Callable[[str], None]):
        self._waiting = dict(jobs)
        for digest in jobs:
            added(digest)

    @property
    def exhausted(self) -> bool:
        return not self._waiting

    def next(self) -> tuple[str, Job] | None:
        digest = next(iter(self._waiting), None)
        return None if digest is None else (digest, self._waiting.pop(digest))

    def settled(self, pack: str, failed: bool = False) -> None:
        """Nothing waits for it."""

    def halve(self, pack: str) -> bool:
        return False
