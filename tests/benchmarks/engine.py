"""The packed engine beside what a user could do otherwise: steps per second, makespan, and whether the curves agree."""

import multiprocessing
import os
import queue
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from folklore.harness.errors import one_line
from folklore.harness.plan.lanes import Packing
from folklore.harness.plan.store.store import Store
from folklore.harness.train.machine.description import available_cores, local_device
from folklore.harness.train.machine.device_memory import free_device_memory
from folklore.harness.train.pack import Pack
from folklore.harness.train.programs import Program, default_program
from folklore.harness.train.throughput import LanesSearch, measure
from folklore.harness.train.workloads import workload_of
from tests.benchmarks.solo import EAGER, Solo, Way, ways
from tests.benchmarks.works import AGREEMENT_STEPS, Work

SECONDS = 0.4  # of steady training a reading
MOST_MAKESPANS = 2  # whole runs of all trials take minutes
MOST_LANES = {"cpu": 128, "cuda": 1024}
PROCESSES = {"cpu": (2, 4), "cuda": (2, 4, 8, 16)}
PROCESS_SECONDS = 300.0  # for one process of several to compile, or to take its readings


@dataclass
class Contender:
    """One way to train the work. rates: trials' steps per second, a reading a repeat; makespans in seconds."""

    name: str
    prepare_seconds: float = 0.0
    rates: list[float] = field(default_factory=list)
    makespans: list[float] = field(default_factory=list)


@dataclass
class Found:
    """The measurements of one work. agreement: nats, the lanes' largest difference from their solo runs."""

    lanes: int
    program: str
    agreement: float
    contenders: dict[str, Contender]
    widths: dict[int, float]


PACKED = "packed"


def compare(work: Work, device: str, repeats: int, say: Callable[[str], None]) -> Found:
    """All readings of one work. Contenders are read in turn, so that a slow spell of the machine meets all of them."""
    torch.set_num_threads(1 if device == "cpu" else torch.get_num_threads())
    # Compilation is part of a makespan: it must not find what an earlier bench has compiled.
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp(prefix="folklore-bench-")
    lanes, program, widths = _width(work, device)
    say(f"{lanes} lanes, {program.name}")
    pack, prepared = _prepared(lambda: Pack([work.lane(trial) for trial in range(lanes)], work.dataset(), device, program))
    packed = Contender(PACKED, prepared)
    pack.time_steps(5)
    solos: dict[str, tuple[Solo, Contender]] = {}
    for way in ways(device):
        solo, seconds = _prepared(lambda way=way: _warm(Solo(work.configuration(0), work.dataset(), device, way)))
        solos[way.name] = (solo, Contender(way.name, seconds))
    for _ in range(repeats):
        packed.rates.append(lanes * _pack_rate(pack))
        for solo, contender in solos.values():
            contender.rates.append(_solo_rate(solo))
    for _ in range(min(repeats, MOST_MAKESPANS)):
        packed.makespans.append(_pack_makespan(work, lanes, program, device))
        for solo, contender in solos.values():
            contender.makespans.append(contender.prepare_seconds + _solo_makespan(work, solo))
    contenders = {PACKED: packed, **{name: contender for name, (_, contender) in solos.items()}}
    best = max(solos, key=lambda name: statistics.median(contenders[name].rates))
    ran = pack.runner.program.name
    # Processes side by side share the device with nobody.
    pack.close()
    del pack, solos, solo
    free_device_memory(device)
    contenders |= _side_by_side(work, device, lanes, program, repeats, _way(best), say)
    return Found(lanes, ran, _agreement(work, device, lanes, program), contenders, widths)


def packed_rate(work: Work, device: str) -> tuple[int, Program, float]:
    """Lanes, program and trials' steps per second of the engine alone."""
    torch.set_num_threads(1 if device == "cpu" else torch.get_num_threads())
    lanes, program, _ = _width(work, device)
    free_device_memory(device)
    pack = Pack([work.lane(trial) for trial in range(lanes)], work.dataset(), device, program)
    pack.time_steps(5)
    rate = lanes * max(_pack_rate(pack) for _ in range(3))
    pack.close()
    return lanes, program, rate


def _way(name: str) -> Way:
    return Way(**{word: word in name for word in ("compiled", "fused", "captured")})


def _width(work: Work, device: str) -> tuple[int, Program, dict[int, float]]:
    """The width as the engine itself chooses it: by the same search."""
    program = default_program(torch.device(device))
    if work.lanes is not None:
        return work.lanes, program, {}
    facts, shape = work.dataset().facts, work.shape()
    packing = Packing(Store(tempfile.mkdtemp()), local_device(), lambda workload: workload_of(workload).model(facts))
    search = LanesSearch(packing.nominal(shape.configuration), min(MOST_LANES[device], work.trials))
    while search.following is not None:
        search.tell(measure(work.configuration(0), work.dataset(), device, search.following, program))
    return search.chosen.lanes, program, {timing.lanes: timing.lane_seconds for timing in search.timings.values()}


def _prepared(make: Callable[[], Any]) -> tuple[Any, float]:
    started = time.perf_counter()
    made = make()
    return made, time.perf_counter() - started


def _warm(solo: Solo) -> Solo:
    """Compiled, captured, and its optimizer's state made."""
    solo.start(solo.configuration, 0)
    for step in range(6):
        solo.step(step)
    solo.synchronize()
    return solo


def _solo_rate(solo: Solo) -> float:
    """The rate of steps after the first, which draws the batches of the next 256: a pack's rate does not count that either."""
    solo.start(solo.configuration, 0)
    solo.step(0)
    solo.synchronize()
    started, count = time.perf_counter(), 0
    while time.perf_counter() - started < SECONDS:
        for step in range(10):
            solo.step(1 + step % (solo.training.steps - 1))
            count += 1
            if solo.way.captured:
                solo.clock.zero_()
        solo.synchronize()
    return count / (time.perf_counter() - started)


def _pack_rate(pack: Pack) -> float:
    started, count = time.perf_counter(), 0
    while time.perf_counter() - started < SECONDS:
        pack.time_steps(3)
        count += 3
    return count / (time.perf_counter() - started)


def _solo_makespan(work: Work, solo: Solo) -> float:
    started = time.perf_counter()
    for trial in range(work.trials):
        solo.train(work.configuration(trial), trial)
    return time.perf_counter() - started


def _pack_makespan(work: Work, lanes: int, program: Program, device: str) -> float:
    started = time.perf_counter()
    for first in range(0, work.trials, lanes):
        part = range(first, min(first + lanes, work.trials))
        pack = Pack([work.lane(trial) for trial in part], work.dataset(), device, program)
        pack.advance()
        pack.results()
        pack.close()
    return time.perf_counter() - started


def _agreement(work: Work, device: str, lanes: int, program: Program) -> float:
    """The largest difference of up to three lanes of the pack from the plainest solo runs, over the first steps."""
    pack = Pack([work.lane(trial) for trial in range(lanes)], work.dataset(), device, program)
    pack.advance()
    solo = Solo(work.configuration(0), work.dataset(), device, EAGER)
    worst = 0.0
    for trial in sorted({0, lanes // 2, lanes - 1}):
        alone = torch.tensor(solo.train(work.configuration(trial), trial)[:AGREEMENT_STEPS])
        worst = max(worst, float((pack.records["train_loss"][:AGREEMENT_STEPS, trial].cpu() - alone).abs().max()))
    pack.close()
    return worst


def _side_by_side(
    work: Work, device: str, lanes: int, program: Program, repeats: int, way: Way, say: Callable[[str], None]
) -> dict[str, Contender]:
    """Processes that train solo trials side by side, of several numbers; and packs, a process a core or one on a GPU.

    Left out, with a line: numbers of which a process failed, as where memory does not hold so many.
    """
    contenders = {}
    packs = available_cores() if device == "cpu" else 1
    for name, count, chosen in [
        (f"{PACKED} in {packs} processes", packs, None),
        *((f"{count} processes", count, way) for count in PROCESSES[device]),
    ]:
        context = multiprocessing.get_context("spawn")
        barrier, rates = context.Barrier(count, timeout=PROCESS_SECONDS), context.Queue()
        arguments = (barrier, rates, work, device, lanes, program, repeats, chosen)
        processes = [context.Process(target=_reader, args=arguments) for _ in range(count)]
        for process in processes:
            process.start()
        try:
            readings = [rates.get(timeout=PROCESS_SECONDS) for _ in range(count)]
        except queue.Empty:
            readings = ["a process did not answer"]
            for process in processes:
                process.kill()
        for process in processes:
            process.join()
        failed = [reading for reading in readings if isinstance(reading, str)]
        if failed:
            say(f"{name}: left out ({failed[0][:200]})")
        else:
            contenders[name] = Contender(name, rates=[sum(reading) for reading in zip(*readings, strict=True)])
    return contenders


def _reader(barrier: Any, rates: Any, *measured: Any) -> None:
    """Puts its readings, or why it has none; the others of its number then do not wait for it."""
    try:
        rates.put(_readings(barrier, *measured))
    except Exception as error:  # out of memory first of all
        rates.put(f"{type(error).__name__}: {one_line(error)}")
        barrier.abort()


def _readings(
    barrier: Any, work: Work, device: str, lanes: int, program: Program, repeats: int, way: Way | None
) -> list[float]:
    torch.set_num_threads(1)
    if way is None:
        pack = Pack([work.lane(trial) for trial in range(lanes)], work.dataset(), device, program)
        pack.time_steps(5)
        read: Callable[[], float] = lambda: lanes * _pack_rate(pack)  # noqa: E731
    else:
        solo = _warm(Solo(work.configuration(0), work.dataset(), device, way))
        read = lambda: _solo_rate(solo)  # noqa: E731
    readings = []
    for _ in range(repeats):
        barrier.wait()
        readings.append(read())
    return readings
