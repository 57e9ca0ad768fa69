"""Widths of basins, means of observables and ratios of run lengths, against curves that are known."""

import math

import numpy as np
import pytest

from folklore.harness.declare import Arm, Study
from folklore.harness.declare.metrics import (
    BasinWidth,
    Computed,
    Curve,
    LossAt,
    LossGap,
    Mean,
    TunedLoss,
)
from folklore.harness.declare.trial import Trial
from folklore.harness.declare.trials import NotEstimableError
from folklore.harness.judge.observe import observe
from folklore.harness.judge.trial_arrays import TrialArrays
from folklore.harness.train.result import LaneResult
from folklore.studies.metrics.optimizers import length_ratio
from tests.harness.declare.metrics.planted import table_of
from tests.harness.helpers import INITIAL_LOSS, bowl, result

FLOOR, CURVATURE = 2.0, 0.3


@pytest.fixture(scope="module")
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
    gap = observe(LossGap(left=mean, right=TunedLoss(arm="none")), table)
    assert gap.estimate == pytest.approx((CURVATURE + 4 * CURVATURE) / 2 / (INITIAL_LOSS - FLOOR))


def test_the_mean_of_other_things_is_none() -> None:
    norm = Curve(arm="none", of="probe_gradient_norm")
    assert Mean(parts=(norm, norm)).of_losses == "no zero"
    assert Mean(parts=(norm, TunedLoss(arm="none"))).of_losses == "shares"
    assert (
        Mean(parts=(Computed(function="memory.adam_state", number="over_fp32_weights"), BasinWidth(arm="none"))).of_losses
        == "shares"
    )


def test_a_common_bar_is_that_of_the_lowest_arm(study: Study) -> None:
    """Arm half ends 0.5 nats above arm none: its bar is the other's, and it meets it in a narrower basin, or nowhere."""

    def outcome(trial: Trial) -> LaneResult:
        return result(bowl(trial, -7, FLOOR + 0.5 * (trial.arm == "half"), CURVATURE))

    table = table_of(study, outcome)
    height = 0.2 * (INITIAL_LOSS - FLOOR) - 0.5
    both = {"arm": "half", "best_of": ("none", "half"), "of": "fall"}
    assert observe(BasinWidth(**both, within=0.2), table).estimate == pytest.approx(2 * height / CURVATURE)
    assert observe(BasinWidth(**both, within=0.1), table).estimate == 0.0


# ---- run lengths, and basins that are open at one end


LENGTHS = {0.7: "short", 1.0: "same", 1.4: "long"}
RATIO = length_ratio(anchor="anchor", points=tuple(LENGTHS.items()))


@pytest.fixture(scope="module")
def lengths(study: Study) -> Study:
    dump = {**study.model_dump(), "judgements": (), "seeds": 8}
    steps = {"anchor": 300, **{name: round(300 * length) for length, name in LENGTHS.items()}}
    dump["arms"] = {
        name: Arm(label=name, settings={"steps": length, "beta1": 0.8 if name == "anchor" else 0.9})
        for name, length in steps.items()
    }
    return Study.model_validate(dump)


def lengths_table(planned: Study, ratio: float, slope: float = -0.2, noise: float = 0.0) -> TrialArrays:
    """Runs `ratio` times as long as the anchor's end with its loss of 2.0; twice as long, lower by the slope."""

    def outcome(trial: Trial) -> LaneResult:
        if trial.arm == "anchor":
            return result(bowl(trial, -7, 2.0, noise=noise))
        length = trial.configuration.training.steps / 300
        return result(bowl(trial, -6, 2.0 + slope * np.log2(length / ratio), noise=noise))

    return table_of(planned, outcome)


@pytest.mark.parametrize("ratio", [0.55, 0.8, 1.0, 1.7])
def test_length_ratio_is_read_back(lengths: Study, ratio: float) -> None:
    assert observe(RATIO, lengths_table(lengths, ratio)).estimate == pytest.approx(ratio, rel=1e-6)


@pytest.mark.parametrize(
    ("ratio", "slope", "words"),
    [(0.4, -0.2, "times as long"), (3.0, -0.2, "others would settle it"), (1.0, 0.1, "do not end with a lower loss")],
)
def test_what_was_not_trained_is_not_told(lengths: Study, ratio: float, slope: float, words: str) -> None:
    with pytest.raises(NotEstimableError, match=words) as error:
        observe(RATIO, lengths_table(lengths, ratio, slope))
    assert error.value.verdict == "open"


def plateau(trial: Trial) -> LaneResult:
    """As good at any low LR as at the best, and worse by a nat an octave from 2^-6 on."""
    x = float(np.log2(trial.configuration.training.peak_lr))
    return result(2.0 + max(0.0, x + 6) + 1e-3 * abs(x + 7))


def test_a_basin_that_is_open_below_counts_from_the_low_end(study: Study) -> None:
    made = table_of(study, plateau)
    grid = np.log2(made.grid("none", "peak_lr"))
    fall = INITIAL_LOSS - made.losses("none", "peak_lr", "test_loss").mean(axis=1).min()
    # The bar is met 5% of the fall above the least loss, by a line of about a nat an octave.
    expected = -6 + 0.05 * fall - grid[0]
    width = observe(BasinWidth(arm="none", of="fall", open_below=True), made)
    assert width.estimate == pytest.approx(expected, abs=0.02)
    with pytest.raises(NotEstimableError, match="is still near its best is the lowest that was tried"):
        observe(BasinWidth(arm="none", of="fall"), made)
