"""The costs of everything around the training: planning, Ray, ledger, MLflow and judging of a study of 500 trials; plans of
100,000 trials; pages of 10,000."""

import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from folklore.harness.declare import Study
from folklore.harness.options import Options
from folklore.harness.plan.plan import PlannedPack, make_plan
from folklore.harness.plan.prepare import prepare
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from folklore.harness.train.machine.description import environment, local_device
from folklore.harness.train.pack import Lane, Pack
from folklore.harness.train.programs import default_program
from folklore.harness.train.workloads.data import load
from tests.benchmarks.stock import seconds_of, study_of
from tests.benchmarks.works import Work, gpt
from tests.command_line import FOLKLORE

# A study of laptop size: the GPT of `warmup`, its steps, and as many lanes in the bare packs as in the study's.
STUDY = Work("GPT 33k, B 8", gpt(32, 2, 32), {"batch_size": 8}, trials=500, steps=300)
LANES = 16
START_UPS, PAGES = 3, 3


def costs(say: Callable[[str], None], only: str = "") -> dict[str, Any]:
    """The measurements of overhead, planning and pages; only: those whose name holds this."""
    parts: dict[str, Callable[[], Any]] = {"overhead": lambda: overhead(say), "planning": planning, "pages": lambda: pages(say)}
    measurements = {name: measured() for name, measured in parts.items() if only in name}
    say(str(measurements))
    # The machine of each part, for parts may be measured at different states of the code.
    return {name: {"machine": environment(), **readings} for name, readings in measurements.items()}


def overhead(say: Callable[[str], None]) -> dict[str, Any]:
    """Wall time of `folklore run` against the same packs trained by bare processes, as many as the harness has workers."""
    study, smallest = study_of(STUDY), study_of(Work("", STUDY.workload, STUDY.training, trials=10, steps=2))
    start_ups = [_run(smallest) for _ in range(START_UPS)]
    say(f"start-up: {start_ups}")
    bare, whole = _bare(study), _run(study)
    bare_again = _bare(study)
    training = (bare + bare_again) / 2
    extra, start = whole - training, statistics.median(start_ups)
    return {
        "trials": STUDY.trials,
        "training_seconds": training,
        "training_seconds_readings": [bare, bare_again],
        "run_seconds": whole,
        "start_up_seconds": start_ups,
        "share_of_training": extra / training,
        "milliseconds_a_trial_beyond_start_up": 1000 * (extra - start) / STUDY.trials,
    }


def planning(trials: int = 100_000) -> dict[str, Any]:
    dump = study_of(STUDY).model_dump()
    study = Study.model_validate({**dump, "seeds": 10_000, "factors": {"peak_lr": [2.0**-e for e in range(trials // 10_000)]}})
    readings = []
    for _ in range(5):
        started = time.perf_counter()
        plan = make_plan(study, "bench", "cpu", "data", lanes=64)
        packs = len(plan.packs)
        readings.append(time.perf_counter() - started)
    return {"trials": len(plan.trials), "packs": packs, "seconds": statistics.median(readings), "readings": readings}


def pages(say: Callable[[str], None]) -> dict[str, Any]:
    """All pages from the published evidence, by the command itself."""
    from folklore.harness.judge.trial_sets import published_sets
    from folklore.harness.plan import catalog

    studies = [catalog.load_study(name) for name in catalog.study_names()]
    trials = sum(len(records.trials) for study in studies for records in published_sets(study))
    readings = []
    for _ in range(PAGES):
        with tempfile.TemporaryDirectory() as folder:
            readings.append(seconds_of([*FOLKLORE, "report", "--store", folder]))
    say(f"pages: {readings}")
    return {"trials": trials, "seconds": statistics.median(readings), "readings": readings}


def _run(study: Study) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.json"
        path.write_text(study.canonical_json())
        run = ("run", str(path), "--scale", "bench", "--lanes", str(LANES), "--store", f"{folder}/store")
        return seconds_of([*FOLKLORE, *run])


def _bare(study: Study) -> float:
    """The same packs by processes that only train. Counted from when all are ready."""
    with tempfile.TemporaryDirectory() as folder:
        options = Options(folder, lanes=LANES)
        packs = prepare(study, "bench", options, Ledger(Store(folder), study.name)).left
    device, context = local_device(), multiprocessing.get_context("spawn")
    waiting, ready = context.Queue(), context.Barrier(device.count + 1)
    for pack in (*packs, *[None] * device.count):
        waiting.put(pack)
    workers = [context.Process(target=_train, args=(waiting, ready, device.kind)) for _ in range(device.count)]
    for worker in workers:
        worker.start()
    ready.wait()
    started = time.perf_counter()
    for worker in workers:
        worker.join()
    return time.perf_counter() - started


def _train(waiting: Any, ready: Any, device: str) -> None:
    torch.set_num_threads(1)
    dataset = load(STUDY.workload.dataset)
    ready.wait()
    while (planned := waiting.get()) is not None:
        _train_pack(planned, dataset, device)


def _train_pack(planned: PlannedPack, dataset: Any, device: str) -> None:
    program = default_program(torch.device(device))
    pack = Pack([Lane(trial.configuration, trial.seed) for trial in planned.trials], dataset, device, program)
    pack.advance()
    pack.results()
    pack.close()
