"""Interfaces of a sweep: jobs that open as work, and a listener that hears how they go."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Progress:
    """A worker's report about its pack; `share` of its steps are done.

    best_loss: lowest recent training loss. diverged: lanes that have, as far as is known before they are done.
    gpu_memory_bytes: the most the pack has held on a GPU; None on a CPU. too_large: it
    ends here, for memory did not hold it; says why. unwritable: it ends here, for the store takes nothing; says why. raised: it
    ends here, for a user's code raises, and will again; says what and where. notes: what the worker would tell a person.
    """

    done: bool
    share: float
    lanes: int
    best_loss: float | None = None
    best_arm: str | None = None
    diverged: int = 0
    gpu_memory_bytes: int | None = None
    too_large: str = ""
    unwritable: str = ""
    raised: str = ""
    notes: tuple[str, ...] = ()

    @property
    def ended(self) -> bool:
        return self.done or bool(self.too_large or self.unwritable or self.raised)


class Work(Protocol):
    def advance(self, seconds: float) -> Progress: ...

    def close(self) -> None: ...


class Job(Protocol):
    """Something picklable that a worker can open and work on until done."""

    def open(self) -> Work: ...


class JobQueue(Protocol):
    """Hands out jobs one by one; what comes later may depend on how earlier ones ended."""

    @property
    def exhausted(self) -> bool: ...

    def next(self) -> tuple[str, Job] | None:
        """A pack and its job; None where the next is not known yet, or (exhausted) there is none."""

    def settled(self, pack: str, failed: bool = False) -> None:
        """A pack is done, or given up."""

    def halve(self, pack: str) -> bool:
        """Splits a pack that memory did not hold into packs of fewer lanes; False if it has one lane."""


class Listener(Protocol):
    """Hears of every report, and of every pack that is finished, halved, tried again or given up, in the driver's thread."""

    def progress(self, pack: str, progress: Progress) -> None: ...

    def finished(self, pack: str) -> None: ...

    def halved(self, pack: str, reason: str) -> None: ...

    def retried(self, pack: str, reason: str) -> None: ...

    def failed(self, pack: str, error: str) -> None: ...
