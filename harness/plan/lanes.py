"""Chooses the lanes and the program of packs: measured if that pays, and remembered on the store.

widths/DEVICE/SHAPE.json     what was measured of one shape on one kind of device
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass

import torch

from ...models import Model
from ..declare import Configuration, Workload, fingerprint
from ..declare.trial import Trial
from ..train.machine.description import Device, worker_memory_bytes
from ..train.programs import EAGER, default_program
from ..train.throughput import NEAR, Timing
from ..train.workloads import workload_of
from . import cost
from .plan import PlannedPack
from .store.comparisons import refusals
from .store.remembered import recall, remember
from .store.store import Store

# Floating-point operations of a pack's step beyond which more lanes gain little (cpu: reports/log; cuda: not measured yet).
ENOUGH_FLOPS = {"cpu": 4e8, "cuda": 4e11}
# Two lanes share what a step costs beside its arithmetic, however large they are.
FEWEST_LANES = {"cpu": 2, "cuda": 1}
MOST_LANES = {"cpu": 128, "cuda": 1024}
# Measuring a shape costs about forty steps of its pack; it is done where that is a small share of the shape's training.
STEPS_WORTH_MEASURING = 2000
# No pack takes more than this share of what each worker has to do: the last one would keep the others waiting.
LONGEST_SHARE = 1 / 3
# Begins the source of a choice if lanes cannot share a program; the reason follows.
APART = "alone: "


@dataclass(frozen=True)
class Choice:
    """source: given by the user, measured on this kind of device, nominal (from the size of the model), or alone, for trials
    whose time and memory are measured; 'alone: REASON' for a workload whose lanes cannot share a program."""

    lanes: int
    program: str
    source: str


def reasons_apart(choices: Iterable[Choice]) -> list[str]:
    """Why lanes cannot share programs, each reason once."""
    return sorted({choice.source.removeprefix(APART) for choice in choices if choice.source.startswith(APART)})


@dataclass(frozen=True)
class Shape:
    """Trials that can share packs but for their length. steps: of the longest; lane_steps: of all of them together."""

    configuration: Configuration
    dataset: str
    trials: int
    steps: int
    lane_steps: int


def shapes(trials: Iterable[Trial], datasets: Mapping[str, str]) -> dict[str, Shape]:
    """Shape key -> what is to be trained of it. Trials that are measured alone have no number of lanes to choose."""
    groups: dict[str, list[Configuration]] = defaultdict(list)
    for trial in trials:
        if not trial.configuration.measurement.solo:
            groups[trial.configuration.shape_key].append(trial.configuration)
    return {
        key: Shape(
            configuration=group[0],
            dataset=datasets[group[0].workload.data],
            trials=len(group),
            steps=max(configuration.training.steps for configuration in group),
            lane_steps=sum(configuration.training.steps for configuration in group),
        )
        for key, group in groups.items()
    }


class Packing:
    """Chooses lanes and program for every shape of a plan. given, program: the user's wish, which goes before all else."""

    def __init__(
        self,
        store: Store,
        device: Device,
        model_of: Callable[[Workload], Model],
        given: int | None = None,
        program: str | None = None,
    ):
        self.store, self.device, self.model_of, self.given, self.program = store, device, model_of, given, program
        self._expected: dict[tuple[str, bool], float] = {}  # seconds of a lane's step, by shape and whether alone

    def choices(self, shapes: Mapping[str, Shape]) -> dict[str, Choice]:
        """Shape key -> the choice as far as is known now: measured if it was, else nominal; never more than memory holds."""
        timings = {key: self.remembered(key) for key in shapes}
        rates = {key: self._lane_seconds(shape.configuration, timings[key]) for key, shape in shapes.items()}
        whole = sum(shape.lane_steps * rates[key] for key, shape in shapes.items())
        longest = LONGEST_SHARE * whole / self.device.count
        chosen = {}
        for key, shape in shapes.items():
            choice = self._choice(shape, timings[key])
            if choice.source != "given":
                lanes = min(choice.lanes, max(1, math.floor(longest / (shape.steps * rates[key]))))
                choice = Choice(lanes, choice.program, choice.source)
            chosen[key] = choice
        return chosen

    def pack_seconds(self, pack: PlannedPack) -> float:
        """How long the steps of a pack should take: by what was measured of its shape, else by the nominal rates."""
        first = pack.trials[0].configuration
        key = (first.shape_key, first.measurement.solo)
        if key not in self._expected:  # read once a shape: the store may be far away
            timings = [] if first.measurement.solo else self.remembered(first.shape_key)
            self._expected[key] = self._lane_seconds(first, timings)
        return len(pack.trials) * first.training.steps * self._expected[key]

    def worth_measuring(self, shapes: Mapping[str, Shape]) -> dict[str, Shape]:
        """The shapes without remembered timings that train long enough for measuring to pay."""
        if self.given is not None:
            return {}
        return {
            key: shape
            for key, shape in shapes.items()
            if not _apart(shape)
            and shape.lane_steps >= STEPS_WORTH_MEASURING * self.nominal(shape.configuration)
            and not self.remembered(key)
        }

    def nominal(self, configuration: Configuration) -> int:
        """The number of lanes, a power of two, at which a pack's step, or each of its micro-batches, has enough to do."""
        flops = 3.0 * configuration.training.micro_batch_size * self.model_of(configuration.workload).flops_per_example
        wanted = 1 << max(0, round(math.log2(ENOUGH_FLOPS[self.device.kind] / flops)))
        return min(max(wanted, FEWEST_LANES[self.device.kind]), MOST_LANES[self.device.kind], self._fitting(configuration))

    def alone(self) -> Choice:
        """The choice for trials that are measured alone: the same program for all, whatever was measured of packs."""
        return Choice(1, self.program or self._default, "alone")

    def tried(self, shape: Shape) -> tuple[int, int]:
        """The number of lanes that measuring a shape starts with, and the most that it tries."""
        most = min(MOST_LANES[self.device.kind], shape.trials, self._fitting(shape.configuration))
        return min(self.nominal(shape.configuration), most), most

    def remembered(self, key: str) -> list[Timing]:
        """The timings of a shape on this kind of device, without programs that this machine refuses."""
        name = _measured_file(self.device, key)
        measured = recall(self.store, name, key, lambda value: [Timing(**timing) for timing in value]) or []
        refused = refusals(self.store, key) if measured else {}
        return [timing for timing in measured if timing.program not in refused]

    def _choice(self, shape: Shape, timings: list[Timing]) -> Choice:
        fallback = self.program or self._default
        if reason := _apart(shape):
            return Choice(1, EAGER.name, f"{APART}{reason}")
        if self.given is not None:
            return Choice(min(self.given, self._fitting(shape.configuration)), fallback, "given")
        usable = [timing for timing in timings if self.program in (None, timing.program)]
        if not usable:
            return Choice(self.nominal(shape.configuration), fallback, "nominal")
        best = min(timing.lane_seconds for timing in usable)
        near = min((timing for timing in usable if timing.lane_seconds <= NEAR * best), key=lambda timing: timing.lanes)
        return Choice(min(near.lanes, self._fitting(shape.configuration)), near.program, "measured")

    @property
    def _default(self) -> str:
        return default_program(torch.device(self.device.kind)).name

    def _fitting(self, configuration: Configuration) -> int:
        model = self.model_of(configuration.workload)
        return max(1, cost.lanes_that_fit(configuration, model, worker_memory_bytes(self.device)))

    def _lane_seconds(self, configuration: Configuration, timings: list[Timing]) -> float:
        if timings:
            # Timed with the first batches; larger ones take longer in proportion.
            training = configuration.training
            larger = training.examples / training.steps / training.batch_size
            return larger * min(timing.lane_seconds for timing in timings)
        model = self.model_of(configuration.workload)
        lanes = 1 if configuration.measurement.solo else self.nominal(configuration)
        return cost.lane_step_seconds(configuration, model, self.device.kind, lanes)


def _apart(shape: Shape) -> str:
    """Why lanes cannot share a program."""
    return workload_of(shape.configuration.workload).apart(shape.configuration.training)


def remember_timings(store: Store, device: Device, key: str, timings: Iterable[Timing]) -> None:
    """Keep what was measured of a shape on this kind of device."""
    remember(store, _measured_file(device, key), key, [asdict(timing) for timing in timings])


def _measured_file(device: Device, key: str) -> str:
    return f"widths/{re.sub(r'[^A-Za-z0-9]+', '-', device.name).strip('-')}/{fingerprint(key)}.json"
