"""Measured speed of packs of one shape with several numbers of lanes, by which lanes are chosen."""

from dataclasses import dataclass

from ..declare import Configuration
from .machine.device_memory import free_device_memory
from .pack import Lane, Pack
from .programs import STEPS_BEFORE_CAPTURE, Program
from .workloads.data import Dataset

# More lanes are tried as long as a pack is this much faster a trial; the fewest lanes within this factor of the best are taken.
GAIN, NEAR = 1.1, 1.05
# Blocks of steps that a pack is timed by. The fastest counts: whatever else the machine does only ever slows a block down.
BLOCKS, BLOCK_STEPS, BLOCK_SECONDS = 5, 3, 0.03


@dataclass(frozen=True)
class Timing:
    """So many lanes, measured. step_seconds: of a plain step of the whole pack; pack_bytes: peak, if the device counts it."""

    lanes: int
    program: str
    step_seconds: float
    pack_bytes: int | None = None

    @property
    def lane_seconds(self) -> float:
        return self.step_seconds / self.lanes


class LanesSearch:
    """Doubles the lanes from `start` while trials get faster, then halves them while they get hardly slower.

    `following` is how many to measure next, or None. most: lanes there are trials for, or memory.
    """

    def __init__(self, start: int, most: int):
        self.most, self.timings = most, dict[int, Timing]()
        self.following: int | None = max(1, min(start, most))
        self.fits = True

    def tell(self, timing: Timing, free_bytes: int | None = None) -> None:
        """free_bytes: what packs may take of the device, where it counts memory."""
        self.timings[timing.lanes] = timing
        if free_bytes is not None and self._bytes_at(2 * timing.lanes) > free_bytes:
            self.most = min(self.most, timing.lanes)
        highest, fewest = max(self.timings), min(self.timings)
        before = self.timings.get(highest // 2)
        if 2 * highest <= self.most and (before is None or GAIN * self.timings[highest].lane_seconds < before.lane_seconds):
            self.following = 2 * highest
        elif fewest > 1 and self.timings[fewest].lane_seconds <= NEAR * self.best.lane_seconds:
            self.following = fewest // 2
        else:
            self.following = None

    def refuse(self, lanes: int) -> None:
        """Memory did not hold this many: no larger number is tried."""
        self.most = min(self.most, lanes - 1)
        self.following = None if self.timings or lanes == 1 else lanes // 2

    @property
    def best(self) -> Timing:
        return min(self.timings.values(), key=lambda timing: timing.lane_seconds)

    @property
    def chosen(self) -> Timing:
        """The knee: the fewest of those that are nearly the fastest."""
        near = [timing for timing in self.timings.values() if timing.lane_seconds <= NEAR * self.best.lane_seconds]
        return min(near, key=lambda timing: timing.lanes)

    def _bytes_at(self, lanes: int) -> float:
        """Memory of this many lanes from two that were measured: a share that all packs have and one a lane."""
        known = [(timing.lanes, timing.pack_bytes) for timing in self.timings.values() if timing.pack_bytes is not None]
        if not known:
            return 0.0
        (few, low), (many, high) = min(known), max(known)
        a_lane = (high - low) / (many - few) if many > few else high / many
        return high + a_lane * (lanes - many)


def time_one_step(configuration: Configuration, dataset: Dataset, device: str, lanes: int) -> float:
    """Seconds of one plain step of a pack of this many lanes, after one that is not counted."""
    pack = Pack([Lane(configuration, seed) for seed in range(lanes)], dataset, device)
    try:
        pack.time_steps(1)
        return pack.time_steps(1)
    finally:
        pack.close()


class DiffersError(Exception):
    """A program does something else than the eager step, as the message says: its time is worth nothing."""


def measure(
    configuration: Configuration, dataset: Dataset, device: str, lanes: int, program: Program, agreed: set[str] | None = None
) -> Timing:
    """Train this many lanes of a configuration for a few steps. The first ones, which prepare and compare, are not counted.

    agreed: as of Pack. Raises DiffersError.
    """
    free_device_memory(device)
    pack = Pack([Lane(configuration, seed) for seed in range(lanes)], dataset, device, program, agreed)
    try:
        pack.time_steps(STEPS_BEFORE_CAPTURE + 2)
        while not pack.runner.settled:
            pack.time_steps(1)
        if pack.runner.differs:
            raise DiffersError(pack.runner.note)
        steps = max(BLOCK_STEPS, round(BLOCK_SECONDS / pack.time_steps(1)))
        seconds = min(pack.time_steps(steps) for _ in range(BLOCKS))
        return Timing(lanes, pack.runner.program.name, seconds, pack.gpu_memory_bytes())
    finally:
        pack.close()
