"""Chance alone: intervals that hold the truth, differences seen four times of five, seeds as statsmodels counts them.

Shares of draws are held to what they should be within four standard errors.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestIndPower

from folklore.harness.judge.statistics import noise
from folklore.harness.judge.statistics.intervals import Numbers

DRAWS = 1000
Draw = Callable[[np.random.Generator, tuple[int, int]], Numbers]
# All of standard deviation 1.
SHAPES: dict[str, Draw] = {
    "normal": lambda random, shape: random.standard_normal(shape),
    "heavy": lambda random, shape: random.standard_t(5, shape) / math.sqrt(5 / 3),
    "skewed": lambda random, shape: random.exponential(1.0, shape),
}


def near(share: float, draws: int = DRAWS) -> object:
    return pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / draws))


def covered(shape: str, groups: int, runs: int, *intervals: Callable[[list[Numbers]], tuple[float, float] | None]) -> Numbers:
    """The shares of intervals of each kind that hold the true standard deviation. groups have means of their own."""
    random, held = np.random.default_rng(7), np.zeros(len(intervals))
    for _ in range(DRAWS):
        drawn = list(SHAPES[shape](random, (groups, runs)) + np.arange(groups)[:, None])
        ends = np.array([interval(drawn) for interval in intervals])
        held += (ends[:, 0] <= 1) & (ends[:, 1] >= 1)
    return held / DRAWS


def chi_square(groups: list[Numbers]) -> tuple[float, float] | None:
    level = noise.noise_level(groups)
    return level and (level.low, level.high)


@pytest.mark.parametrize("shape", ["heavy", "skewed"])
@pytest.mark.parametrize(("groups", "runs"), [(1, 20), (5, 5)])
def test_the_robust_interval_covers_where_chi_squares_does_not(shape: str, groups: int, runs: int) -> None:
    plain, robust = covered(shape, groups, runs, chi_square, noise.robust_interval)
    assert plain < 0.86 < robust < 0.98


def test_pooling_is_within_groups() -> None:
    level = noise.noise_level([np.array([1.0, 3.0]), np.array([10.0, 11.0, 12.0]), np.array([100.0])])
    assert level is not None
    assert level.degrees == 3
    assert level.deviation == pytest.approx(math.sqrt((2 + 2) / 3))
    assert level.low == pytest.approx(math.sqrt(4 / stats.chi2.ppf(0.975, 3)))
    assert noise.noise_level([np.array([1.0]), np.array([2.0])]) is None
    assert noise.robust_interval([np.array([1.0, 2.0])]) is None


@pytest.mark.parametrize("seeds", [1, 3, 5, 10])
def test_the_visible_difference_is_seen_four_times_of_five(seeds: int) -> None:
    """By drawing: a difference that large between two arms, judged by Welch's test or, of one run each, with the spread of
    five others."""
    random, draws = np.random.default_rng(seeds), 10_000
    apart = noise.visible_difference(1.0, seeds, 4)
    first, second = random.standard_normal((2, draws, seeds))
    second += apart
    if seeds == 1:
        deviations = random.standard_normal((draws, 5)).std(axis=1, ddof=1)
        p_values = 2 * stats.t.sf(np.abs(second - first)[:, 0] / (deviations * math.sqrt(2)), 4)
    else:
        p_values = stats.ttest_ind(first, second, axis=1, equal_var=False).pvalue
    assert np.mean(p_values < 0.05) == near(0.8, draws)


@pytest.mark.parametrize("difference", [3.0, 1.5, 1.0, 0.5, 0.2, 0.05, 0.02])
def test_seeds_are_as_many_as_statsmodels_counts(difference: float) -> None:
    exact = TTestIndPower().solve_power(difference, alpha=0.05, power=0.8)
    assert noise.seeds_to_show(difference, 1.0, 10) == math.ceil(exact)
    assert noise.seeds_to_show(-2 * difference, 2.0, 10) == math.ceil(exact)


def test_ends_of_the_number_of_seeds() -> None:
    assert noise.seeds_to_show(noise.visible_difference(1.0, 1, 4), 1.0, 4) == 1
    assert noise.seeds_to_show(1e-6, 1.0, 4) is None
    assert noise.seeds_to_show(0.0, 1.0, 4) is None


@pytest.mark.parametrize("seeds", [1, 3])
def test_noise_alone_is_found_within_the_noise(seeds: int) -> None:
    """One in twenty differences of two equal arms is beyond it, whatever the spread is estimated from."""
    random, beyond = np.random.default_rng(3), 0
    for _ in range(DRAWS):
        level = noise.noise_level([random.standard_normal(5)])
        assert level is not None
        first, second = random.standard_normal((2, seeds)).mean(axis=1)
        beyond += noise.noise_p(second - first, 2 / seeds, level) < 0.05
    assert beyond / DRAWS == near(0.05)


def test_differences_of_runs_that_never_differ() -> None:
    level = noise.noise_level([np.ones(5)])
    assert level is not None
    assert noise.noise_p(0.1, 2.0, level) == 0
    assert noise.noise_p(0.0, 2.0, level) == 1


def test_shapes_and_spreads_are_told_apart() -> None:
    """One in a hundred normal tables counts as clearly not normal, one in twenty equal spreads as unequal."""
    random, odd, unequal = np.random.default_rng(5), 0, 0
    for _ in range(DRAWS):
        groups = list(random.standard_normal((4, 8)))
        odd += (noise.normal_p(groups) or 0) < noise.CLEARLY
        unequal += (noise.equal_spread_p(groups) or 0) < 0.05
    assert odd / DRAWS == near(0.01)
    assert unequal / DRAWS == pytest.approx(0.04, abs=0.02)  # about medians the test is a little cautious
    assert (noise.normal_p([random.exponential(1.0, 60)]) or 1) < noise.CLEARLY
    assert (noise.equal_spread_p([random.standard_normal(30), 5 * random.standard_normal(30)]) or 1) < 0.001
    assert noise.normal_p([np.array([1.0, 2.0])]) is None
    assert noise.equal_spread_p([np.ones(5), np.ones(5)]) is None


@pytest.mark.parametrize(
    ("deviations", "first"),
    [
        ([9, 5, 1.2, 1.0], 2),
        ([1, 1, 1], 0),
        ([9, 9, 1], None),
        ([9, 1, 9, 1, 1], 3),
        ([1, 1, 9], None),
        ([1], None),
        ([], None),
    ],
)
def test_where_a_curve_settles(deviations: list[float], first: int | None) -> None:
    assert noise.settles(deviations, 0.5, 2.0) == first
