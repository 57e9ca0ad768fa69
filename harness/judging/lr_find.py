"""The range test as a tool: train a model while the LR rises, and say what each published rule reads off it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from folklore.harness import data
from folklore.harness.data import Dataset
from folklore.harness.errors import UserError
from folklore.harness.machine.description import Device, available_memory_bytes
from folklore.harness.observables.estimating.range_test_rules import (
    RULES,
    NoSuggestion,
    Pick,
    Suggestion,
    divergence,
    smoothed,
    suggest,
)
from folklore.harness.planning import cost
from folklore.harness.spec import Configuration, Measurement, Training, Workload
from folklore.harness.training.network import build
from folklore.harness.training.pack import Lane, Pack

Curve = NDArray[np.float64]
DIVERGENCE = "divergence"
# A ramp of less has no shape to read, and every step's loss is kept.
LEAST_RISE, MOST_STEPS = 10.0, 10_000


@dataclass(frozen=True)
class RangeTest:
    """lr [N]; losses [S, N], raw training losses, nan where not finite; picks: rule -> one for each seed.

    `divergence` among the rules is where the test diverges. squares: the losses are squared errors, which have no unit.
    """

    lr: Curve
    losses: Curve
    picks: dict[str, tuple[Pick, ...]]
    squares: bool = False

    @property
    def smoothed(self) -> Curve:
        """[S, N]"""
        return np.stack([smoothed(loss) for loss in self.losses])

    def summary(self) -> list[dict[str, object]]:
        """A row for each rule: the geometric mean of its picks, the smallest and the largest, or why there is none."""
        return [_row(rule, picks) for rule, picks in self.picks.items()]


def run_range_test(
    workload: Workload, training: Training, seeds: Sequence[int], start: float, end: float, steps: int, device: Device
) -> RangeTest:
    """Train `workload` for so many steps from LR `start` to `end`, once for each seed. Raises UserError for bad input."""
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
    dataset = data.load(workload.dataset)
    _require_memory(configuration, dataset, len(seeds), device)
    pack = Pack([Lane(configuration, seed) for seed in seeds], dataset, device.kind)
    pack.advance()
    results = pack.results()
    lr = np.asarray(results[0].curves["lr"])
    losses = np.asarray([result.curves["train_loss"] for result in results])
    picks = {DIVERGENCE: tuple(divergence(lr, loss) for loss in losses)}
    picks |= {rule: tuple(suggest(rule, lr, loss) for loss in losses) for rule in RULES}
    return RangeTest(lr, losses, picks, workload.squares)


def _require_memory(configuration: Configuration, dataset: Dataset, lanes: int, device: Device) -> None:
    need = lanes * cost.lane_bytes(configuration, build(configuration.workload, dataset.facts))
    free = available_memory_bytes(device)
    if need > cost.MEMORY_SHARE * free:
        raise UserError(
            f"--seeds {lanes}: {need / 2**30:.1f} GiB for a model of width {configuration.workload.width} and depth"
            f" {configuration.workload.depth}, and {device.name} has {free / 2**30:.1f} GiB free; choose a smaller model"
        )


def _row(rule: str, picks: Sequence[Pick]) -> dict[str, object]:
    found = [pick.lr for pick in picks if isinstance(pick, Suggestion)]
    reasons = [pick.reason for pick in picks if isinstance(pick, NoSuggestion)]
    return {
        "rule": rule,
        "lr": float(np.exp(np.mean(np.log(found)))) if found else None,
        "lowest": min(found, default=None),
        "highest": max(found, default=None),
        "seeds": len(found),
        "no_suggestion": reasons[0] if reasons else "",
    }
