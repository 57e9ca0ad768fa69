"""How the driver stands a large study: 100,000 planned trials, and 2,000 packs of no work through Ray Tune."""

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from folklore.harness.declare import Study
from folklore.harness.launch.jobs import Progress
from folklore.harness.launch.pack_queue import PackQueue
from folklore.harness.launch.ray_connection import Connection, Resources
from folklore.harness.plan.plan import PlannedPack, make_plan
from folklore.harness.train.machine.description import environment, local_device
from tests.benchmarks.stock import study_of
from tests.benchmarks.works import Work, gpt

TRIALS, PACKS = 100_000, 2_000


@dataclass(frozen=True)
class NoJob:
    def open(self) -> "NoWork":
        return NoWork()


class NoWork:
    def advance(self, seconds: float) -> Progress:
        return Progress(done=True, share=1.0, lanes=1)

    def close(self) -> None:
        pass


class Counter:
    """Hears of packs, and knows what is done."""

    def __init__(self, queue_packs: dict[str, PlannedPack]):
        self.packs, self.digests, self.errors = queue_packs, set[str](), list[str]()

    def progress(self, pack: str, progress: Progress) -> None: ...

    def finished(self, pack: str) -> None:
        self.digests |= {trial.digest for trial in self.packs[pack].trials}

    def stopped(self, pack: str) -> None: ...

    def halved(self, pack: str, reason: str) -> None: ...

    def failed(self, pack: str, error: str) -> None:
        self.errors.append(error)


def measure(say: Callable[[str], None]) -> dict[str, Any]:
    before = _megabytes()
    started = time.perf_counter()
    study = study_of(Work("", gpt(32, 2, 32), {"batch_size": 8}, trials=10, steps=2)).model_dump()
    seeds, rates = 10_000, TRIALS // 10_000
    large = Study.model_validate({**study, "seeds": seeds, "factors": {"peak_lr": [2.0**-e for e in range(rates)]}})
    plan = make_plan(large, "bench", "cpu", "data", lanes=TRIALS // PACKS)
    packs = {pack.key: pack for pack in plan.packs}
    planned, planned_megabytes = time.perf_counter() - started, _megabytes()
    say(f"planned: {planned:.1f} s, {planned_megabytes - before:.0f} MiB")
    heard = Counter(packs)
    queue = PackQueue(plan, lambda pack: NoJob(), lambda p, _: p, lambda: None, lambda: heard.digests)  # type: ignore[arg-type,return-value]
    with Connection(Resources("cpu", local_device().count)) as connection:
        from folklore.harness.launch import ray_tune  # imports Ray, which reads its token then

        connection.wait()
        started = time.perf_counter()
        ray_tune.run(queue, connection, heard)
        seconds = time.perf_counter() - started
    assert heard.digests == plan.digests
    assert not heard.errors
    return {
        "machine": environment(),
        "trials": len(plan.digests),
        "packs": len(packs),
        "plan_seconds": planned,
        "sweep_seconds": seconds,
        "packs_a_second": len(packs) / seconds,
        "driver_megabytes_before": before,
        "driver_megabytes_planned": planned_megabytes,
        "driver_megabytes_at_most": _megabytes(),
    }


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
