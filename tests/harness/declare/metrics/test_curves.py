"""Observables of probes."""

from dataclasses import replace

import numpy as np
import pytest

from folklore.harness.declare import Arm, Study
from folklore.harness.declare.metrics import (
    Curve,
    FinalLoss,
    RelativeGap,
    SpeedUp,
    Unmeasured,
)
from folklore.harness.declare.trial import Trial
from folklore.harness.declare.trials import NotEstimableError
from folklore.harness.judge.observe import observe
from folklore.harness.judge.trial_arrays import TrialArrays
from folklore.harness.train.result import LaneResult
from folklore.studies.metrics.precision import curve_distance, underflow_share
from tests.harness.declare.metrics.planted import table_of
from tests.harness.helpers import bowl, changed, result


@pytest.fixture(scope="module")
def wide(study: Study) -> Study:
    return changed(
        study,
        {
            "arms.alone": Arm(label="alone", settings={"warmup_fraction": 0.3}, factors={"peak_lr": (0.01,)}),
            "arms.other": Arm(label="other", settings={"warmup_fraction": 0.4}, factors={"peak_lr": (0.01,)}),
            "arms.elsewhere": Arm(
                label="elsewhere", settings={"warmup_fraction": 0.6}, factors={"peak_lr": (0.01,)}, scales=("smoke",)
            ),
        },
        judgements=(),
        factors={"peak_lr": tuple(2.0**e for e in range(-10, -2))},
    )


def outcome(trial: Trial) -> LaneResult:
    seed, tuned = trial.seed, trial.configuration.training.peak_lr == 2.0**-7
    base = result(
        bowl(trial, -7, 2.0),
        probe_step=[1.0, 5.0, 10.0],
        probe_median_update_ratio=[1.0, 1e-3 * (seed + 1), 1e-3 * (seed + 1)] if tuned else [9.0] * 3,
        probe_gradient_norm=[2.0, 1.0, 1.0] if trial.arm == "half" else [2.1, 1.02, 0.99],
    )
    shares = [[0.02 * (seed + 1)] * 17, [0.0] * 17]
    return replace(
        base,
        step_seconds=0.5 if trial.arm == "alone" else 1.0,
        layer_curves={**base.layer_curves, "probe_layer_underflow_weight": shares},
    )


@pytest.fixture(scope="module")
def table(wide: Study) -> TrialArrays:
    return table_of(wide, outcome)


def test_the_median_of_a_curve_at_the_tuned_lr(table: TrialArrays) -> None:
    median = observe(Curve(arm="none", of="probe_median_update_ratio", statistic="median"), table)
    assert median.estimate == pytest.approx(1e-3 * np.exp(np.log(np.arange(1, 6)).mean()), rel=1e-5)


def test_two_curves_have_a_distance_on_one_grid(table: TrialArrays) -> None:
    with pytest.raises(NotEstimableError, match="different grids"):
        observe(curve_distance(arm="alone", reference="half"), table)


def test_underflow_that_was_not_measured(wide: Study) -> None:
    def without(trial: Trial) -> LaneResult:
        trained = outcome(trial)
        curves = {name: value for name, value in trained.layer_curves.items() if "underflow" not in name}
        return replace(trained, layer_curves=curves)

    with pytest.raises(NotEstimableError, match="underflow activation was not measured in"):
        observe(underflow_share(arm="none", of="activation"), table_of(wide, without))


def test_times_are_ratios(table: TrialArrays) -> None:
    assert observe(SpeedUp(arm="alone", reference="other"), table).estimate == pytest.approx(2.0)


def test_an_arm_of_another_scale_is_out_of_regime(table: TrialArrays) -> None:
    with pytest.raises(NotEstimableError, match="trained at scale smoke only") as error:
        observe(SpeedUp(arm="elsewhere", reference="alone"), table)
    assert error.value.verdict == "out of regime"
    with pytest.raises(NotEstimableError, match="no such thing here"):
        observe(Unmeasured(reason="no such thing here"), table)


def test_the_loss_of_an_arm_with_one_point(table: TrialArrays) -> None:
    loss = observe(FinalLoss(arm="alone"), table)
    assert loss.estimate == pytest.approx(2.0 + 0.05 * (np.log2(0.01) + 7) ** 2)
    same = RelativeGap(left=FinalLoss(arm="alone"), right=FinalLoss(arm="other"))
    assert observe(same, table).estimate == pytest.approx(0.0)
