"""How wide packs are, and as what program they run: measured where that pays, and remembered on the store.

widths/DEVICE/SHAPE.json     what was measured of one shape on one kind of device
programs/KIND/SHAPE.json     programs of one shape that do something else than the eager step on one kind of machine, and why
"""

import json
import logging
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass

import torch

from harness import cost, data
from harness.errors import TooLargeError, UnwritableError, one_line
from harness.machine import Device, worker_memory_bytes
from harness.own.raising import raised_by_user
from harness.plan import PlannedPack, Trial
from harness.spec import Configuration, Workload, canonical_json, fingerprint
from harness.store import Store
from harness.training.compile_cache import machine_kind
from harness.training.memory import free_device_memory, too_large_where_memory_ends
from harness.training.programs import EAGER, Program, default_program, program_named
from harness.training.throughput import NEAR, DiffersError, Timing, WidthSearch, measure
from harness.work import Progress
from models import Model, OwnModule

log = logging.getLogger(__name__)

# Floating-point operations of a pack's step beyond which more lanes gain little (cpu: LOG.md; cuda: not measured yet).
ENOUGH_FLOPS = {"cpu": 4e8, "cuda": 4e11}
# Two lanes share what a step costs beside its arithmetic, however large they are.
NARROWEST = {"cpu": 2, "cuda": 1}
WIDEST = {"cpu": 128, "cuda": 1024}
# Measuring a shape costs about forty steps of its pack; it is done where that is a small share of the shape's training.
STEPS_WORTH_MEASURING = 2000
# No pack takes more than this share of what each worker has to do: the last one would keep the others waiting.
LONGEST_SHARE = 1 / 3
# A compilation takes about half a minute a worker; it is tried where a shape trains much longer than that.
SECONDS_WORTH_COMPILING = 900.0


# What the source of a width begins with where lanes cannot share a program; the reason follows.
APART = "alone: "


@dataclass(frozen=True)
class Choice:
    """source: given by the user, measured on this kind of device, nominal (from the size of the model), or alone, for trials
    whose time and memory are measured; 'alone: REASON' for an own module whose lanes cannot share a program."""

    lanes: int
    program: str
    source: str


def reasons_apart(choices: Iterable[Choice]) -> list[str]:
    """Why lanes cannot share programs, each reason once."""
    return sorted({each.source.removeprefix(APART) for each in choices if each.source.startswith(APART)})


@dataclass(frozen=True)
class Shape:
    """Trials that can share packs but for their length. steps: of the longest; lane_steps: of all of them together."""

    configuration: Configuration
    dataset: str
    trials: int
    steps: int
    lane_steps: int


def shapes(trials: Iterable[Trial], datasets: Mapping[str, str]) -> dict[str, Shape]:
    """Shape key -> what is to be trained of it. Trials that are measured alone have no width to choose."""
    groups: dict[str, list[Configuration]] = defaultdict(list)
    for trial in trials:
        if not trial.configuration.measurement.solo:
            groups[trial.configuration.shape_key].append(trial.configuration)
    return {
        key: Shape(
            configuration=group[0],
            dataset=datasets[group[0].workload.dataset],
            trials=len(group),
            steps=max(each.training.steps for each in group),
            lane_steps=sum(each.training.steps for each in group),
        )
        for key, group in groups.items()
    }


class Packing:
    """The width and program of every shape of a plan. given, program: the user's wish, which goes before all else."""

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

    def choices(self, found: Mapping[str, Shape]) -> dict[str, Choice]:
        """What is known now: measured where it was measured, else nominal; never more than memory holds."""
        timings = {key: self.remembered(key) for key in found}
        rates = {key: self._lane_seconds(shape.configuration, timings[key]) for key, shape in found.items()}
        whole = sum(shape.lane_steps * rates[key] for key, shape in found.items())
        longest = LONGEST_SHARE * whole / self.device.count
        chosen = {}
        for key, shape in found.items():
            choice = self._choice(shape, timings[key])
            if choice.source != "given":
                width = min(choice.lanes, max(1, math.floor(longest / (shape.steps * rates[key]))))
                choice = Choice(width, choice.program, choice.source)
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

    def worth_measuring(self, found: Mapping[str, Shape]) -> dict[str, Shape]:
        """The shapes that nothing is remembered of and that train long enough for it to pay."""
        if self.given is not None:
            return {}
        return {
            key: shape
            for key, shape in found.items()
            if not self._apart(shape)
            and shape.lane_steps >= STEPS_WORTH_MEASURING * self.nominal(shape.configuration)
            and not self.remembered(key)
        }

    def nominal(self, configuration: Configuration) -> int:
        """The width, a power of two, at which a pack's step has enough to do."""
        flops = 3.0 * configuration.training.batch_size * self.model_of(configuration.workload).flops_per_example
        wanted = 1 << max(0, round(math.log2(ENOUGH_FLOPS[self.device.kind] / flops)))
        return min(max(wanted, NARROWEST[self.device.kind]), WIDEST[self.device.kind], self._fitting(configuration))

    def alone(self) -> Choice:
        """Of trials that are measured alone: the same program for all, whatever was measured of packs."""
        return Choice(1, self.program or self._default, "alone")

    def job(self, key: str, shape: Shape) -> "WidthJob":
        most = min(WIDEST[self.device.kind], shape.trials, self._fitting(shape.configuration))
        return WidthJob(
            key, shape, self.device, self.store.root_uri, min(self.nominal(shape.configuration), most), most, self.program
        )

    def remembered(self, key: str) -> list[Timing]:
        """What was measured of a shape on this kind of device, but for programs that this machine refuses; a file that cannot
        be read counts as none."""
        measured = self._measured(key)
        refused = refusals(self.store, key) if measured else {}
        return [each for each in measured if each.program not in refused]

    def _measured(self, key: str) -> list[Timing]:
        name = _file(self.device, key)
        if not self.store.exists(name):
            return []
        try:
            return [Timing(**each) for each in json.loads(self.store.read(name))["timings"]]
        except (ValueError, KeyError, TypeError) as error:
            log.warning("%s cannot be read (%s): measured again", name, error)
            return []

    def _choice(self, shape: Shape, timings: list[Timing]) -> Choice:
        fallback = self.program or self._default
        if reason := self._apart(shape):
            return Choice(1, EAGER.name, f"{APART}{reason}")
        if self.given is not None:
            return Choice(min(self.given, self._fitting(shape.configuration)), fallback, "given")
        usable = [each for each in timings if self.program in (None, each.program)]
        if not usable:
            return Choice(self.nominal(shape.configuration), fallback, "nominal")
        best = min(each.lane_seconds for each in usable)
        near = min((each for each in usable if each.lane_seconds <= NEAR * best), key=lambda each: each.lanes)
        return Choice(min(near.lanes, self._fitting(shape.configuration)), near.program, "measured")

    @property
    def _default(self) -> str:
        return default_program(torch.device(self.device.kind)).name

    def _fitting(self, configuration: Configuration) -> int:
        model = self.model_of(configuration.workload)
        return max(1, cost.lanes_that_fit(configuration, model, worker_memory_bytes(self.device)))

    def _apart(self, shape: Shape) -> str:
        """Why the lanes of an own module cannot share a program; '' where they can, as all models here can."""
        model = self.model_of(shape.configuration.workload)
        return model.alone if isinstance(model, OwnModule) else ""

    def _lane_seconds(self, configuration: Configuration, timings: list[Timing]) -> float:
        if timings:
            return min(each.lane_seconds for each in timings)
        model = self.model_of(configuration.workload)
        lanes = 1 if configuration.measurement.solo else self.nominal(configuration)
        return cost.lane_step_seconds(configuration, model, self.device.kind, lanes)


def _file(device: Device, key: str) -> str:
    return f"widths/{re.sub(r'[^A-Za-z0-9]+', '-', device.name).strip('-')}/{fingerprint(key)}.json"


def refusals(store: Store, key: str) -> dict[str, str]:
    """Programs of a shape that are not run on this kind of machine -> why; a file that cannot be read counts as none."""
    name = refusals_file(key)
    if not store.exists(name):
        return {}
    try:
        refused = json.loads(store.read(name))["refused"]
        return {str(program): str(why) for program, why in refused.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        log.warning("%s cannot be read (%s): programs are compared anew", name, error)
        return {}


def refuse(store: Store, key: str, program: str, why: str) -> None:
    """Remember that a program does something else than the eager step, so that no later pack of the shape tries it."""
    content = {"shape": json.loads(key), "refused": {**refusals(store, key), program: why}}
    try:
        store.write(refusals_file(key), canonical_json(content).encode())
    except UnwritableError as error:
        log.warning("not remembered that %s: %s", why, one_line(error))


def refusals_file(key: str) -> str:
    """What is refused of a shape on machines of this kind; without the file programs are compared anew."""
    return f"programs/{machine_kind()}/{fingerprint(key)}.json"


@dataclass(frozen=True)
class WidthJob:
    """Measures one shape on whatever worker it lands on; it travels pickled."""

    key: str
    shape: Shape
    device: Device
    store_uri: str
    start: int
    most: int
    program: str | None

    def open(self) -> "WidthWork":
        return WidthWork(self)


class WidthWork:
    """One width a call; the last call writes what was found."""

    def __init__(self, job: WidthJob):
        self.job = job
        self.dataset = data.load(job.shape.dataset)
        if job.device.kind == "cpu":
            torch.set_num_threads(1)
        self.search = WidthSearch(job.start, job.most)
        device = torch.device(job.device.kind)
        self.program = default_program(device) if job.program is None else program_named(job.program, device)
        self.compiled: list[Timing] = []
        self.store = Store(job.store_uri)
        if self.program.name in refusals(self.store, job.key):
            self.program = EAGER

    def advance(self, seconds: float) -> Progress:
        width = self.search.following
        if width is not None:
            try:
                self.search.tell(self._measured(width, self.program), self._free_bytes())
            except TooLargeError:
                self.search.refuse(width)
            except DiffersError as error:
                refuse(self.store, self.job.key, self.program.name, str(error))
                self.program = EAGER  # the same width again, at the next call
        if not self.search.timings and self.search.following is None:
            raise TooLargeError(f"memory does not hold one lane of {self.job.key}")
        if self.search.following is None:
            if self._compiling_may_pay:
                self._measure_compiled()
            self._write()
            self.close()  # while the worker waits for what comes next, the driver looks at how much memory is free
        return Progress(done=self.search.following is None, share=len(self.search.timings) / 5, lanes=0)

    def close(self) -> None:
        free_device_memory(self.job.device.kind)

    @property
    def _compiling_may_pay(self) -> bool:
        left = self.job.shape.lane_steps * self.search.best.lane_seconds / self.job.device.count
        refused = self._also_compiled.name in refusals(self.store, self.job.key)
        return self.job.program is None and left > SECONDS_WORTH_COMPILING and not refused

    @property
    def _also_compiled(self) -> Program:
        return Program(True, self.program.captured)

    def _measure_compiled(self) -> None:
        """A compiled pack may need more memory than the eager one it is compared with, or do something else: then it is out
        of the question."""
        try:
            with suppress(TooLargeError):
                self.compiled.append(self._measured(self.search.chosen.lanes, self._also_compiled))
        except DiffersError as error:
            refuse(self.store, self.job.key, self._also_compiled.name, str(error))

    def _measured(self, width: int, program: Program) -> Timing:
        with raised_by_user(self.job.shape.dataset), too_large_where_memory_ends():
            return measure(self.job.shape.configuration, self.dataset, self.job.device.kind, width, program)

    def _free_bytes(self) -> int | None:
        if self.job.device.kind != "cuda":
            return None
        free, _ = torch.cuda.mem_get_info()
        return int(cost.MEMORY_SHARE * (free + torch.cuda.memory_reserved()))

    def _write(self) -> None:
        timings = [asdict(each) for each in (*self.search.timings.values(), *self.compiled)]
        found = {"shape": json.loads(self.job.key), "device": self.job.device.name, "timings": timings}
        self.store.write(_file(self.job.device, self.job.key), canonical_json(found).encode())
