"""The range test as a tool: train a model while the LR rises."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from ..declare import Configuration, Measurement, Training, Workload
from ..errors import UserError
from ..judge.lr_range import RangeTest
from ..plan import cost
from ..train.machine.description import Device, available_memory_bytes
from ..train.pack import Lane, Pack
from ..train.workloads import workload_of
from ..train.workloads.data import Dataset

# Seconds between two reports of progress.
REPORT_SECONDS = 0.5
# A ramp of less has no shape to read, and every step's loss is kept.
LEAST_RISE, MOST_STEPS = 10.0, 10_000


def run_range_test(
    workload: Workload,
    training: Training,
    seeds: Sequence[int],
    start: float,
    end: float,
    steps: int,
    device: Device,
    progress: Callable[[int, int], None] = lambda done, planned: None,
) -> RangeTest:
    """Train `workload` for this many steps from LR `start` to `end`, once for each seed. progress: gets how many steps are
    done, and of how many. Raises UserError for bad input."""
    if not (start > 0 and LEAST_RISE * start <= end < math.inf):
        raise UserError(
            f"--from {start:g} --to {end:g}: the LR must rise from above 0, and tenfold at least; a usual range is 1e-7 to 10"
        )
    if steps > MOST_STEPS:
        raise UserError(f"--steps {steps}: at most {MOST_STEPS}, as every step's loss is kept; a usual ramp has 100 to 1000")
    ramp = {"schedule": "exponential", "peak_lr": end, "ramp_start": start / end, "warmup_fraction": 0.0, "steps": steps}
    configuration = Configuration(
        workload=workload,
        training=Training.model_validate({**training.model_dump(), **ramp}),
        measurement=Measurement(probes=2, evaluations=1, evaluation_examples=16, final_examples=16, curve_points=steps),
    )
    dataset = workload_of(workload).data()
    _require_memory(configuration, dataset, len(seeds), device)
    pack = Pack([Lane(configuration, seed) for seed in seeds], dataset, device.kind)
    while not pack.done:
        pack.advance(REPORT_SECONDS)
        progress(pack.step, steps)
    results = pack.results()
    lr = np.asarray(results[0].curves["lr"])
    losses = np.asarray([result.curves["train_loss"] for result in results])
    return RangeTest.of(lr, losses, workload.squares)


def _require_memory(configuration: Configuration, dataset: Dataset, lanes: int, device: Device) -> None:
    need = lanes * cost.lane_bytes(configuration, workload_of(configuration.workload).model(dataset.facts))
    free = available_memory_bytes(device)
    if need > cost.MEMORY_SHARE * free:
        raise UserError(
            f"--seeds {lanes}: {need / 2**30:.1f} GiB for a model of width {configuration.workload.width} and depth"
            f" {configuration.workload.depth}, and {device.name} has {free / 2**30:.1f} GiB free; choose a smaller model"
        )
