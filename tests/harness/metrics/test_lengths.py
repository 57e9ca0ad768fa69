"""Planted ratios of run lengths, and basins that are open at one end, read back from made-up trials."""

import numpy as np
import pytest

from folklore.harness.judging.observe import observe
from folklore.harness.judging.trial_arrays import TrialArrays
from folklore.harness.metrics import BasinWidth, LengthRatio
from folklore.harness.spec import Arm, Study
from folklore.harness.spec.trial import Trial
from folklore.harness.spec.trials import NotEstimableError
from folklore.harness.training.result import LaneResult
from tests.harness.helpers import INITIAL_LOSS, bowl, result
from tests.harness.metrics.planted import table_of

LENGTHS = {0.7: "short", 1.0: "same", 1.4: "long"}
RATIO = LengthRatio(anchor="anchor", points=tuple(LENGTHS.items()))


@pytest.fixture
def lengths(study: Study) -> Study:
    dump = {**study.model_dump(), "judgements": (), "seeds": 8}
    steps = {"anchor": 300, **{name: round(300 * length) for length, name in LENGTHS.items()}}
    dump["arms"] = {
        name: Arm(label=name, settings={"steps": each, "beta1": 0.8 if name == "anchor" else 0.9})
        for name, each in steps.items()
    }
    return Study.model_validate(dump)


def table(planned: Study, ratio: float, slope: float = -0.2, noise: float = 0.0) -> TrialArrays:
    """Runs `ratio` times as long as the anchor's end with its loss of 2.0; twice as long, lower by the slope."""

    def outcome(trial: Trial) -> LaneResult:
        if trial.arm == "anchor":
            return result(bowl(trial, -7, 2.0, noise=noise))
        length = trial.configuration.training.steps / 300
        return result(bowl(trial, -6, 2.0 + slope * np.log2(length / ratio), noise=noise))

    return table_of(planned, outcome)


@pytest.mark.parametrize("ratio", [0.55, 0.8, 1.0, 1.7])
def test_length_ratio_is_read_back(lengths: Study, ratio: float) -> None:
    assert observe(RATIO, table(lengths, ratio)).estimate == pytest.approx(ratio, rel=1e-6)


@pytest.mark.parametrize(
    ("ratio", "slope", "words"),
    [(0.4, -0.2, "times as long"), (3.0, -0.2, "others would settle it"), (1.0, 0.1, "do not end with a lower loss")],
)
def test_what_was_not_trained_is_not_told(lengths: Study, ratio: float, slope: float, words: str) -> None:
    with pytest.raises(NotEstimableError, match=words) as error:
        observe(RATIO, table(lengths, ratio, slope))
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
    seen = observe(BasinWidth(arm="none", of="fall", open_below=True), made)
    assert seen.estimate == pytest.approx(expected, abs=0.02)
    with pytest.raises(NotEstimableError, match="is still near its best is the lowest that was tried"):
        observe(BasinWidth(arm="none", of="fall"), made)
