import math

import numpy as np
import pytest

from folklore.harness.train.result import ENDS, binned, divergence_step, has_left

NAN = math.nan


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([5, 6, 7, 8], 1),  # never below the start
        ([4, 3, 6, 7], 3),  # from the third step on
        ([4, 3, 6, 4, 9], 5),  # a spike that healed does not count
        ([4, 3, NAN, NAN], 3),
        ([NAN, NAN], 1),
        ([4, 3, 2, 1], 4),  # diverged on held-out text only: the last step at the latest
    ],
)
def test_divergence_step(losses: list[float], expected: int) -> None:
    assert divergence_step(np.array(losses, dtype=float), initial_loss=5.0) == expected


@pytest.mark.parametrize(("end", "diverged"), [(0.5, False), (1.0, False), (1.5, True), (NAN, True)])
def test_a_training_sample_of_the_same_loss_has_not_risen(end: float, diverged: bool) -> None:
    """Its start and end are the same sample; of different ones, what is not below has diverged."""
    assert bool(has_left(np.float64(1.0), np.float64(end), {ENDS[0]: 1.0})) == diverged
    assert bool(has_left(np.float64(1.0), np.float64(end), {})) == (diverged or end == 1.0)


def test_bins_are_means_and_name_their_last_step() -> None:
    step, curve = binned(100, np.arange(1000, dtype=float))
    assert len(step) == 100
    assert step[0] == 10
    assert step[-1] == 1000
    assert curve[0] == pytest.approx(4.5)
    assert binned(100, np.array([3.0, 1.0])) == ([1.0, 2.0], [3.0, 1.0])


def test_a_bin_that_is_not_finite_says_so() -> None:
    _, curve = binned(100, np.array([1.0, NAN]))
    assert curve[0] == 1.0
    assert math.isnan(curve[1])
