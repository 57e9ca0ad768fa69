"""Quotients of curves and factors by exponentials, against what is planted."""

import math

import numpy as np
import pytest

from folklore.harness.judging.observe import observe
from folklore.harness.judging.trial_arrays import TrialArrays
from folklore.harness.metrics import Curve, FinalLoss, GrowthFactor
from folklore.harness.spec import Study
from folklore.harness.spec.trial import Trial
from folklore.harness.spec.trials import NotEstimableError
from folklore.harness.training.result import LaneResult
from tests.harness.helpers import result
from tests.harness.metrics.planted import table_of, with_arms

STEPS = [float(step) for step in range(1, 11)]
DEPTHS = (2, 4, 8)


def outcome(trial: Trial) -> LaneResult:
    """The first layer's gradient is 0.1^depth of the last one's, times 1, e, e^2 … by seed; the last one's is the step's
    number, and the norm its square. Of arm d8 seed 0 has none."""
    if not trial.arm.startswith("d"):
        return result(2.0)
    depth = int(trial.arm[1:])
    first = [step * 0.1**depth * math.exp(trial.seed) for step in STEPS]
    gone = trial.arm == "d8" and trial.seed == 0
    return result(
        3.0 * 0.9**depth,
        probe_step=STEPS,
        probe_flow_first=[0.0] * 10 if gone else first,
        probe_flow_last=STEPS,
        probe_flow_norm=[step**2 for step in STEPS],
    )


@pytest.fixture
def table(study: Study) -> TrialArrays:
    deep = with_arms(study, {f"d{depth}": {"warmup_fraction": 0.01 * depth} for depth in DEPTHS}, 0.01)
    return table_of(deep, outcome)


def quotient(depth: int, **window: float) -> Curve:
    return Curve(arm=f"d{depth}", of="probe_flow_first", divided_by="probe_flow_last", **window)


def test_a_quotient_is_of_means_in_a_window_and_geometric_over_seeds(table: TrialArrays) -> None:
    middle = math.exp(np.mean(range(table.seeds)))
    for window in ({}, {"first": 0.5}, {"last": 0.1}):
        assert observe(quotient(2, **window), table).estimate == pytest.approx(0.01 * middle)
    upside_down = Curve(arm="d2", of="probe_flow_last", divided_by="probe_flow_first")
    assert observe(upside_down, table).estimate == pytest.approx(100 / middle)


def test_means_are_taken_before_they_are_divided(table: TrialArrays) -> None:
    found = Curve(arm="d4", of="probe_flow_last", divided_by="probe_flow_norm", first=0.8)
    assert observe(found, table).estimate == pytest.approx((9 + 10) / (81 + 100))


def test_a_gradient_of_zero_has_no_quotient(table: TrialArrays) -> None:
    others = math.exp(np.mean(range(1, table.seeds)))
    assert observe(quotient(8), table).estimate == pytest.approx(1e-8 * others)


def test_a_window_without_a_probe_is_open(table: TrialArrays) -> None:
    with pytest.raises(NotEstimableError, match="has no point of its"):
        observe(quotient(2, last=0.05), table)


def test_a_growth_factor_is_that_of_an_exponential(table: TrialArrays) -> None:
    losses = GrowthFactor(points=tuple((depth, FinalLoss(arm=f"d{depth}")) for depth in DEPTHS))
    assert observe(losses, table).estimate == pytest.approx(0.9)
    gradients = GrowthFactor(points=tuple((depth, quotient(depth)) for depth in DEPTHS))
    estimates = [observe(part, table).estimate for _, part in gradients.points]
    assert observe(gradients, table).estimate == pytest.approx(math.exp(np.polyfit(DEPTHS, np.log(estimates), 1)[0]))


def test_it_reads_no_losses_but_those_of_curves_that_are() -> None:
    assert quotient(2).of_losses == "no zero"
    assert Curve(arm="d2", of="train_loss", divided_by="probe_flow_last").of_losses == "divides"
