"""Means over items crossed with seeds, against what is known of them: Student's test, traces of matrices, likelihoods."""

import math

import numpy as np
import pytest
import scipy
from statsmodels.stats.proportion import proportion_confint

from folklore.harness.judge.statistics.crossed import (
    crossed_difference,
    crossed_level,
    difference_of_shares,
    share_above,
    sources,
)
from folklore.harness.judge.statistics.intervals import Numbers
from folklore.harness.judge.statistics.two_samples import NoBaseError, NoSpreadError, difference, relative_difference
from folklore.harness.randomness import numpy_generator

LEVEL = 0.95


def drawn(stream: int, items: int) -> Numbers:
    return numpy_generator(0, "crossed", stream).normal(3.0, 1.0, (items, 1))


def own_clusters(items: int) -> Numbers:
    return np.arange(items)


@pytest.mark.parametrize("relative", [False, True])
def test_of_one_seed_and_no_clusters_it_is_the_test_of_pairs(relative: bool) -> None:
    arm, other = drawn(1, 12), drawn(2, 12) + 0.5
    effect, _ = crossed_difference(arm, other, own_clusters(12), relative, False, LEVEL)
    compare = relative_difference if relative else difference
    pairs = compare(arm[:, 0], other[:, 0], paired=True)
    np.testing.assert_allclose([effect.estimate, effect.low, effect.high], [pairs.estimate, pairs.low, pairs.high], rtol=1e-9)
    assert effect.p_inside(-math.inf, 0.0) == pytest.approx(pairs.p_inside(-math.inf, 0.0))


def test_of_equal_clusters_it_is_students_test_of_their_means() -> None:
    arm, other = drawn(1, 20), drawn(2, 20)
    effect, _ = crossed_difference(arm, other, np.repeat(np.arange(5), 4), False, False, LEVEL)
    means = (arm - other)[:, 0].reshape(5, 4).mean(axis=1)
    low, high = scipy.stats.ttest_1samp(means, 0.0).confidence_interval(LEVEL)
    np.testing.assert_allclose([effect.low, effect.high], [low, high])


def test_of_unequal_clusters_the_variance_is_unbiased_and_its_freedom_is_satterthwaites() -> None:
    """Items that are alike within their cluster: sums are D (1 - 1 p') z for independent z, and the mean's variance p'p."""
    sizes = np.array([1, 2, 3, 10])
    clusters, shares = np.repeat(np.arange(4), sizes), sizes / sizes.sum()
    variances = [sources(np.repeat(2 * unit, sizes)[:, None], None, clusters) for unit in np.eye(4)]
    assert sum(variance.items for variance in variances) == pytest.approx(4 * float(shares @ shares))
    deviations = np.diag(shares) @ (np.eye(4) - np.outer(np.ones(4), shares))
    squares = deviations.T @ deviations
    assert variances[0].freedom == pytest.approx(np.trace(squares) ** 2 / np.trace(squares @ squares))
    assert variances[0].freedom < 2, "most of the items are in one cluster"


@pytest.mark.parametrize("paired", [True, False])
def test_variance_of_items_and_of_seeds_are_told_apart(paired: bool) -> None:
    """Over 400 planted tables the parts come to what was planted: items 4 / I, seeds 1 / S each, and what is left .25 / (I S).

    An average of 400 chi-squares of 2 degrees of freedom lies within 4 standard errors, 20%, of its expectation.
    """
    items, seeds = 30, 3
    variances = []
    for world in range(400):
        generator = numpy_generator(1, "planted", world)
        tables = [
            generator.normal(0, 1, (1, seeds))
            + generator.normal(0, 0.5, (items, seeds))
            + generator.normal(0, 2**0.5, (items, 1))
            for _ in range(2)
        ]
        variances.append(sources(tables[0], tables[1], own_clusters(items), 1.0, paired))
    noise = 2 * 0.25 / (items * seeds)
    assert np.mean([variance.items for variance in variances]) == pytest.approx(4 / items + noise, rel=0.2)
    assert np.mean([variance.seeds for variance in variances]) == pytest.approx(2 / seeds + noise, rel=0.2)
    assert np.mean([variance.both for variance in variances]) == pytest.approx(noise, rel=0.2)
    assert np.mean([variance.total for variance in variances]) == pytest.approx(4 / items + 2 / seeds + noise, rel=0.2)


def test_what_more_seeds_bring_is_what_they_are_of_the_variance() -> None:
    arm = np.linspace(0, 1, 20)[:, None] + np.array([[0.0, 0.5, 1.0]])
    parts = sources(arm, None, own_clusters(20))
    assert parts.both == pytest.approx(0.0, abs=1e-12)
    assert parts.with_more(seeds=2) == pytest.approx(parts.items + parts.seeds / 2)
    assert parts.with_more(items=2) == pytest.approx(parts.items / 2 + parts.seeds)


def chances(items: int, gained: float, lost: float) -> dict[tuple[int, int], float]:
    """The chance of each pair of counts of items that only one arm gets right."""
    shares = [gained, lost, 1 - gained - lost]
    counts = [(more, less) for more in range(items + 1) for less in range(items + 1 - more)]
    return {pair: float(scipy.stats.multinomial.pmf([*pair, items - sum(pair)], items, shares)) for pair in counts}


def answered(items: int, gained: int, lost: int) -> tuple[Numbers, Numbers]:
    arm = np.array([1.0] * gained + [0.0] * lost + [1.0] * (items - gained - lost))
    return arm, np.array([0.0] * gained + [1.0] * lost + [1.0] * (items - gained - lost))


@pytest.mark.parametrize("items", [5, 12])
@pytest.mark.parametrize(("gained", "lost"), [(0.05, 0.05), (0.3, 0.3), (0.45, 0.45), (0.6, 0.05), (0.02, 0.3)])
def test_the_interval_of_right_and_wrong_answers_covers_by_counting_all_of_them(items: int, gained: float, lost: float) -> None:
    """Exactly, over every table of so many items with its chance."""
    covered = 0.0
    for (more, less), chance in chances(items, gained, lost).items():
        effect = difference_of_shares(*answered(items, more, less), LEVEL)
        covered += chance * (effect.low <= gained - lost <= effect.high)
    assert covered >= 0.949


def test_its_p_values_agree_with_its_interval() -> None:
    effect = difference_of_shares(*answered(20, 9, 2), LEVEL)
    assert effect.estimate == pytest.approx(7 / 20)
    assert effect.p_inside(effect.low, math.inf) == pytest.approx(0.05)
    assert effect.p_inside(-math.inf, effect.high) == pytest.approx(0.05)


def test_of_answers_that_all_agree_the_interval_has_a_width() -> None:
    effect = difference_of_shares(np.ones(10), np.ones(10), LEVEL)
    assert effect.estimate == 0
    assert -0.5 < effect.low < -0.1
    assert 0.1 < effect.high < 0.5
    assert effect.smallest_visible > 0.1


def test_a_share_has_the_exact_interval() -> None:
    right = np.array([1.0] * 17 + [0.0] * 3)
    effect = share_above(right, 0.5, LEVEL)
    np.testing.assert_allclose([effect.low + 0.5, effect.high + 0.5], proportion_confint(17, 20, method="beta"), rtol=1e-6)
    assert share_above(np.ones(5), 0.9, LEVEL).high == pytest.approx(0.1)
    assert effect.p_inside(0.0, math.inf) == pytest.approx(2 * scipy.stats.binom.sf(16, 20, 0.5))


@pytest.mark.parametrize("share", [0.9, 0.97, 0.99])
def test_a_share_of_few_clusters_that_are_nearly_all_right_is_covered(share: float) -> None:
    """Exactly: 20 clusters of two answers that are alike, by the number of clusters that are right."""
    clusters, covered = np.repeat(np.arange(20), 2), 0.0
    for right in range(21):
        arm = np.repeat((np.arange(20) < right).astype(float), 2)[:, None]
        effect, _ = crossed_level(arm, share, clusters, 1.0, LEVEL)
        covered += float(scipy.stats.binom.pmf(right, 20, share)) * (effect.low <= 0 <= effect.high)
    assert covered >= 0.95


def test_a_percentage_of_few_answers_that_are_nearly_all_right_is_covered() -> None:
    """Exactly: 20 items, right with .95 and .97 independently; items that both arms miss tell the same as those both get."""
    covered, counted, shares = 0.0, 0.0, (0.95, 0.97)
    chances = [shares[0] * (1 - shares[1]), (1 - shares[0]) * shares[1], (1 - shares[0]) * (1 - shares[1])]
    for gained, lost, missed in ((g, m, n) for g in range(6) for m in range(8) for n in range(3)):
        counts = [gained, lost, missed, 20 - gained - lost - missed]
        chance = float(scipy.stats.multinomial.pmf(counts, 20, [*chances, math.prod(shares)]))
        arm = np.repeat([1.0, 0.0, 0.0, 1.0], counts)[:, None]
        other = np.repeat([0.0, 1.0, 0.0, 1.0], counts)[:, None]
        effect, _ = crossed_difference(arm, other, own_clusters(20), True, False, LEVEL)
        covered += chance * (effect.low <= shares[0] / shares[1] - 1 <= effect.high)
        counted += chance
    assert covered >= 0.95 * counted


def test_what_has_no_spread_or_no_base_has_no_interval() -> None:
    with pytest.raises(NoSpreadError, match="one cluster of items"):
        sources(drawn(1, 5), None, np.zeros(5, int))
    centred = drawn(1, 6) - drawn(1, 6).mean()
    with pytest.raises(NoBaseError, match="too near zero"):
        crossed_difference(drawn(2, 6), centred, own_clusters(6), True, False, LEVEL)
