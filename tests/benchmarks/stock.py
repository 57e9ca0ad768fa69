"""The whole way against stock Ray Tune: one trial a Ray trial, each in a process of its own. End to end, imports included.

As a script: `python -m tests.benchmarks.stock NAME` trains the named work with stock Ray Tune.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from folklore.harness.declare import Arm, Measurement, Scale, Study
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from tests.benchmarks import works as all_works
from tests.benchmarks.results import entry
from tests.benchmarks.works import Work
from tests.command_line import FOLKLORE

_BY_DEVICE = {"cpu": ("GPT 33k, B 8",), "cuda": ("GPT 0.8M, B 16",)}
WORKS = {device: [w for w in all_works.WORKS[device] if w.name in names] for device, names in _BY_DEVICE.items()}


def compare(work: Work, repeats: int) -> dict[str, Any]:
    """Makespans of the same trials, in turn. Each is a fresh process with a fresh store."""
    ratios, lanes = [], 0
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "study.json"
            path.write_text(study_of(work).canonical_json())
            ours = seconds_of([*FOLKLORE, "run", str(path), "--scale", "bench", "--store", f"{folder}/store"])
            lanes = int(Ledger(Store(f"{folder}/store"), "bench").trials()["lanes"].max())
        ratios.append(seconds_of([sys.executable, "-m", "tests.benchmarks.stock", work.name]) / ours)
    return entry(work.name, lanes, "stock Ray Tune, end to end", ratios, statistics.median(ratios), None)


def study_of(work: Work) -> Study:
    """The work's trials as a study that judges nothing: five LRs on as many seeds as give its number of trials."""
    first = work.configuration(0)
    measurement = first.measurement.model_dump(exclude_defaults=True)
    return Study(
        name="bench",
        version=1,
        title=work.name,
        question="What does it cost?",
        workload=first.workload,
        training=first.training,
        measurement=Measurement.model_validate(measurement),
        arms={"only": Arm(label="only")},
        factors={"peak_lr": tuple(2.0**exponent for exponent in range(-10, -5))},
        seeds=max(1, work.trials // 5),
        scales={"bench": Scale(description="measured by make bench", judged=False)},
    )


def seconds_of(command: Sequence[str]) -> float:
    """The seconds of a command, from its start to its end."""
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started


def main(name: str) -> None:
    import ray
    from ray import tune

    from folklore.harness.train.machine.description import local_device

    device = local_device()
    work = next(candidate for candidate in all_works.WORKS[device.kind] if candidate.name == name)
    trials = work.trials // 5 * 5

    def trainable(config: dict[str, int]) -> None:
        import torch

        from tests.benchmarks.solo import Solo, Way

        if device.kind == "cpu":
            torch.set_num_threads(1)
        trial = config["trial"]
        solo = Solo(work.configuration(trial), work.dataset(), device.kind, Way(fused=True))
        tune.report({"loss": solo.train(work.configuration(trial), trial)[-1]})

    ray.init(num_cpus=device.count if device.kind == "cpu" else 16, include_dashboard=False, log_to_driver=False)
    resources = {"cpu": 1} if device.kind == "cpu" else {"cpu": 1, "gpu": 1 / 8}
    tuner = tune.Tuner(tune.with_resources(trainable, resources), param_space={"trial": tune.grid_search(list(range(trials)))})
    results = tuner.fit()
    assert not results.errors
    print(json.dumps({"trials": len(results)}))


if __name__ == "__main__":
    main(sys.argv[1])
