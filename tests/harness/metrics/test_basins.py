"""Widths of basins, and means of observables, against curves that are known."""

import math

import numpy as np
import pytest

from folklore.harness.judging.observe import observe
from folklore.harness.judging.trial_arrays import TrialArrays
from folklore.harness.metrics import BasinWidth, Computed, Curve, LossAt, LossGap, Mean, MeanDistance, TunedLoss
from folklore.harness.spec import Study
from folklore.harness.spec.trial import Trial
from folklore.harness.spec.trials import NotEstimableError
from folklore.harness.training.result import LaneResult
from tests.harness.helpers import INITIAL_LOSS, bowl, result
from tests.harness.metrics.planted import table_of

FLOOR, CURVATURE = 2.0, 0.3


@pytest.fixture
def table(study: Study) -> TrialArrays:
    """Bowls on 2^-9 to 2^-5 with their lowest point at 2^-7."""
    return table_of(study, lambda trial: result(bowl(trial, -7, FLOOR, CURVATURE)))


@pytest.mark.parametrize(("of", "within", "height"), [("fall", 0.2, 0.2 * (INITIAL_LOSS - FLOOR)), ("loss", 0.1, 0.1 * FLOOR)])
def test_a_basin_is_as_wide_as_the_lines_between_its_points_say(
    table: TrialArrays, of: str, within: float, height: float
) -> None:
    # The curve's points lie 0, 0.3 and 1.2 nats above its lowest, an octave apart.
    half = np.interp(height, [0, CURVATURE, 4 * CURVATURE], [0, 1, 2])
    assert observe(BasinWidth(arm="none", within=within, of=of), table).estimate == pytest.approx(2 * half)


def test_of_two_basins_it_is_the_one_around_the_lowest_point(study: Study) -> None:
    losses = {-9: 2.05, -8: 4.0, -7: 4.0, -6: 2.0, -5: 3.0}
    table = table_of(study, lambda trial: result(losses[round(math.log2(trial.configuration.training.peak_lr))]))
    height = 0.1 * (INITIAL_LOSS - 2.0)
    assert observe(BasinWidth(arm="none", within=0.1, of="fall"), table).estimate == pytest.approx(height / 2 + height / 1)


def test_a_basin_that_the_grid_does_not_hold_has_no_width(table: TrialArrays) -> None:
    with pytest.raises(NotEstimableError, match=r"is still near its best is the highest that was tried"):
        observe(BasinWidth(arm="none", within=0.9, of="fall"), table)


def test_of_the_fall_it_means_the_same_whatever_is_added_to_losses() -> None:
    assert BasinWidth(arm="none", of="fall").of_losses == "no zero"
    assert BasinWidth(arm="none").of_losses == "shares"


def test_the_mean_of_losses_is_a_loss(table: TrialArrays) -> None:
    beside = [LossAt(arm="none", tuned_for="none", times=times) for times in (0.5, 4.0)]
    mean = Mean(parts=beside)
    assert mean.of_losses == "is one"
    seen = observe(LossGap(left=mean, right=TunedLoss(arm="none")), table)
    assert seen.estimate == pytest.approx((CURVATURE + 4 * CURVATURE) / 2 / (INITIAL_LOSS - FLOOR))


def test_the_mean_of_other_things_is_none() -> None:
    norm = Curve(arm="none", of="probe_gradient_norm")
    assert Mean(parts=(norm, norm)).of_losses == "no zero"
    assert Mean(parts=(norm, TunedLoss(arm="none"))).of_losses == "shares"
    assert (
        Mean(parts=(Computed(function="memory.adam_state", number="over_fp32_weights"), BasinWidth(arm="none"))).of_losses
        == "shares"
    )


def test_distances_count_on_both_sides(table: TrialArrays) -> None:
    parts = (TunedLoss(arm="none"), LossAt(arm="none", tuned_for="none", times=4.0))
    from_middle = MeanDistance(parts=parts, origin=LossAt(arm="none", tuned_for="none", times=2.0))
    assert observe(from_middle, table).estimate == pytest.approx((CURVATURE + 3 * CURVATURE) / 2)
    assert from_middle.of_losses == "no zero"


def test_a_common_bar_is_that_of_the_lowest_arm(study: Study) -> None:
    """Arm half ends 0.5 nats above arm none: its bar is the other's, and it meets it in a narrower basin, or nowhere."""

    def outcome(trial: Trial) -> LaneResult:
        return result(bowl(trial, -7, FLOOR + 0.5 * (trial.arm == "half"), CURVATURE))

    table = table_of(study, outcome)
    height = 0.2 * (INITIAL_LOSS - FLOOR) - 0.5
    both = {"arm": "half", "best_of": ("none", "half"), "of": "fall"}
    assert observe(BasinWidth(**both, within=0.2), table).estimate == pytest.approx(2 * height / CURVATURE)
    assert observe(BasinWidth(**both, within=0.1), table).estimate == 0.0
