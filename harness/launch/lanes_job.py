"""Measuring how many lanes packs of a shape should have, as a job on a worker."""

from contextlib import suppress
from dataclasses import dataclass

import torch

from ..errors import TooLargeError
from ..plan import cost
from ..plan.lanes import Packing, Shape, remember_timings
from ..plan.store.comparisons import agree, comparisons, refusals, refuse
from ..plan.store.store import Store
from ..train.machine.description import Device
from ..train.machine.device_memory import free_device_memory, keep_host_memory, too_large_where_memory_ends
from ..train.programs import EAGER, Program, default_program, program_named
from ..train.throughput import DiffersError, LanesSearch, Timing, measure
from ..train.workloads import workload_of
from .jobs import Progress

# A compilation takes about half a minute a worker; it is tried where a shape trains much longer than that.
SECONDS_WORTH_COMPILING = 900.0


def lanes_job(packing: Packing, key: str, shape: Shape) -> "LanesJob":
    """The job that measures a shape of a plan."""
    start, most = packing.tried(shape)
    uri, workload = packing.store.root_uri, workload_of(shape.configuration.workload).pickled()
    return LanesJob(key, shape, packing.device, uri, start, most, packing.program, workload)


@dataclass(frozen=True)
class LanesJob:
    """Measures one shape on whatever worker it lands on; it travels pickled."""

    key: str
    shape: Shape
    device: Device
    store_uri: str
    start: int
    most: int
    program: str | None
    workload: bytes | None = None  # what BaseWorkload.pickled gives

    def open(self) -> "LanesWork":
        return LanesWork(self)


class LanesWork:
    """Measures one number of lanes a call; the last call writes the timings."""

    def __init__(self, job: LanesJob):
        self.job = job
        self.workload = workload_of(job.shape.configuration.workload)
        self.workload.receive(job.workload)
        self.dataset = self.workload.data(job.shape.dataset)
        if job.device.kind == "cpu":
            torch.set_num_threads(1)
            keep_host_memory()
        self.search = LanesSearch(job.start, job.most)
        device = torch.device(job.device.kind)
        self.program = default_program(device) if job.program is None else program_named(job.program, device)
        self.compiled: list[Timing] = []
        self.store = Store(job.store_uri)
        known = comparisons(self.store, job.key)
        self.agreed = known.agreed
        if self.program.name in known.refused:
            self.program = EAGER

    def advance(self, seconds: float) -> Progress:
        lanes = self.search.following
        if lanes is not None:
            try:
                self.search.tell(self._measured(lanes, self.program), self._free_bytes())
            except TooLargeError:
                self.search.refuse(lanes)
            except DiffersError as error:
                refuse(self.store, self.job.key, self.program.name, str(error))
                self.program = EAGER  # as many lanes again, at the next call
        if not self.search.timings and self.search.following is None:
            raise TooLargeError(f"memory does not hold one lane of {self.job.key}")
        if self.search.following is None:
            if self._compiling_may_pay:
                self._measure_compiled()
            timings = (*self.search.timings.values(), *self.compiled)
            remember_timings(self.store, self.job.device, self.job.key, timings)
            self.close()  # while the worker waits for what comes next, the driver looks at how much memory is free
        return Progress(done=self.search.following is None, share=len(self.search.timings) / 5, lanes=0)

    def close(self) -> None:
        free_device_memory(self.job.device.kind)

    @property
    def _compiling_may_pay(self) -> bool:
        seconds_left = self.job.shape.lane_steps * self.search.best.lane_seconds / self.job.device.count
        refused = self._also_compiled.name in refusals(self.store, self.job.key)
        return self.job.program is None and seconds_left > SECONDS_WORTH_COMPILING and not refused

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

    def _measured(self, lanes: int, program: Program) -> Timing:
        remembered, shape = len(self.agreed), self.job.shape
        with self.workload.raising(), too_large_where_memory_ends():
            timing = measure(shape.configuration, self.dataset, self.job.device.kind, lanes, program, self.agreed)
        if len(self.agreed) > remembered:
            agree(self.store, self.job.key, self.agreed)
        return timing

    def _free_bytes(self) -> int | None:
        if self.job.device.kind != "cuda":
            return None
        free, _ = torch.cuda.mem_get_info()
        return int(cost.MEMORY_SHARE * (free + torch.cuda.memory_reserved()))
