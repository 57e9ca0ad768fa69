"""Trends along a ladder of models: against statsmodels where errors are known, by hand for two rungs, and what is planted."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
import scipy
import statsmodels.api as sm

from folklore.harness.judge.statistics.intervals import Observation, Sampled, binomial, bootstrap_error, student
from folklore.harness.judge.statistics.ladders import (
    NoTrendError,
    Rung,
    Trend,
    judge_ladder,
    of_observation,
    outcome,
    predicted,
    slope_seen,
)
from folklore.harness.judge.statistics.pooling import effect_of
from folklore.harness.judge.statistics.two_samples import difference
from folklore.harness.judge.trend_sentences import size_words, trend_sentence
from tests.calibration import ladder_rates

SIZES = (1e4, 1e5, 1e6, 1e7)


def ladder(values: Sequence[float], errors: Sequence[float] | float = 0.1, freedom: float = 5, scale: float = 1) -> list[Rung]:
    errors = [errors] * len(values) if isinstance(errors, float) else errors
    effects = [effect_of(scale * value, scale * error, freedom, 6) for value, error in zip(values, errors, strict=True)]
    return [Rung(size, effect) for size, effect in zip(SIZES, effects, strict=False)]


def said(rungs: list[Rung], margin: float = 0.5, unit: str = "") -> str:
    return str(trend_sentence(judge_ladder(rungs, margin), unit))


def test_known_errors_are_weighted_least_squares() -> None:
    """Values that scatter less than their errors: statsmodels with the scale fixed to 1."""
    values, errors = (2.0, 1.4, 1.3, 0.1), (0.1, 0.3, 0.5, 1.0)
    theirs = sm.WLS(values, sm.add_constant(np.log10(SIZES)), weights=1 / np.square(errors)).fit(cov_type="fixed scale")
    slope = judge_ladder(ladder(values, errors, math.inf), 0.5).slope
    assert slope.estimate == pytest.approx(theirs.params[1], rel=1e-4)
    assert (slope.low, slope.high) == pytest.approx(tuple(theirs.conf_int()[1]), rel=1e-4)


def test_two_rungs_by_hand() -> None:
    """Welch's test of the larger against the smaller, for each of the two tenfolds between them."""
    small, large = np.random.default_rng(0).normal(0, (1, 3), (5, 2)).T
    rungs = [Rung(1e4, of_observation(_mean(small))), Rung(1e6, of_observation(_mean(large)))]
    trend = judge_ladder(rungs, 0.5)
    welch = difference(large, small)
    assert (trend.slope.estimate, trend.slope.low, trend.slope.high) == pytest.approx(
        (welch.estimate / 2, welch.low / 2, welch.high / 2)
    )
    assert (trend.curvature, trend.bent) == (None, False)


def _mean(values: np.ndarray) -> Observation:
    draws = np.random.default_rng(1).choice(values, (20_000, len(values))).mean(1)
    sampled = Sampled(float(values.mean()), draws, len(values), False)
    return student(sampled, float(values.std(ddof=1)) / math.sqrt(len(values)))


def test_a_line_through_exact_effects_is_exact() -> None:
    trend = judge_ladder(ladder((3.0, 2.0, 1.0, 0.0), 0.0), 0.5)
    assert (trend.slope.estimate, trend.slope.low, trend.slope.high) == pytest.approx((-1, -1, -1))


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ((3.0, 1.0, -1.0, -3.0), "turns"),
        ((-3.0, -1.1, 1.2, 3.0), "turns"),
        ((0.1, -0.1, 0.0, 0.05), "none"),
        ((2.0, 2.1, 1.9, 2.0), "holds"),
        ((-2.0, -2.1, -1.9, -2.0), "holds"),
        ((0.5, 1.5, 2.6, 3.5), "grows"),
        ((-0.5, -1.5, -2.6, -3.5), "grows"),
        ((3.5, 2.5, 1.4, 0.5), "fades"),
        ((0.4, 0.9, 0.3, 1.1), "open"),
    ],
)
def test_the_word_of_what_is_planted(values: Sequence[float], word: str) -> None:
    assert judge_ladder(ladder(values), 0.5).word == word


def test_a_planted_turn_has_its_place() -> None:
    trend = judge_ladder(ladder((3.0, 1.0, -1.0, -3.0)), 0.5)
    assert trend.crossing is not None
    assert trend.crossing.size == pytest.approx(10**5.5)
    assert trend.crossing.low < 10**5.5 < trend.crossing.high
    assert not trend.crossing.extrapolated


def test_the_place_of_the_margin_is_fiellers() -> None:
    """Two rungs of equal, known errors: the roots of (line - margin)^2 = z^2 variance."""
    trend = judge_ladder(ladder((4.0, 2.0), 0.1, math.inf), 0.5)
    z, x0, variance = scipy.stats.norm.ppf(0.975), 4.5, 0.01 / 2
    # at x from the middle the line is 3 - 2 x, with the variance 0.005 + 0.02 x^2
    roots = np.roots([4 - z**2 * 0.02, -10, 2.5**2 - z**2 * variance])
    assert trend.crossing is not None
    assert trend.crossing.size == pytest.approx(10**5.75)
    assert np.log10([trend.crossing.low, trend.crossing.high]) - x0 == pytest.approx(sorted(roots.real), rel=1e-5)
    assert trend.crossing.extrapolated


def test_a_bent_ladder_says_nothing_beyond_its_range() -> None:
    bent, straight = (judge_ladder(ladder(values, 0.02), 0.1) for values in ((3.3, 2.9, 1.8, 0.0), (3.5, 2.4, 1.3, 0.2)))
    assert (straight.word, straight.bent) == ("fades", False)
    assert straight.crossing is not None
    assert straight.crossing.extrapolated
    assert (bent.word, bent.bent) == ("fades", True)
    assert bent.crossing is None
    assert "The ladder bends" in str(trend_sentence(bent))


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_change_no_word(scale: float) -> None:
    """Percent or nats, thousands of parameters or millions."""
    values, errors = (3.5, 2.2, 1.6, 0.4), (0.1, 0.2, 0.1, 0.4)
    here, there = (judge_ladder(ladder(values, errors, 3, by), 0.5 * by) for by in (1, scale))
    assert here.word == there.word == "fades"
    assert numbers(there, scale) == pytest.approx(numbers(here), rel=1e-6)
    larger = judge_ladder([Rung(rung.size * 1000, rung.effect) for rung in ladder(values, errors, 3)], 0.5)
    assert numbers(larger)[:4] == pytest.approx(numbers(here)[:4], rel=1e-9)
    assert larger.crossing is not None
    assert here.crossing is not None
    assert larger.crossing.high == pytest.approx(1000 * here.crossing.high, rel=1e-6)


def numbers(trend: Trend, scale: float = 1) -> list[float]:
    assert trend.crossing is not None
    parts = [trend.slope.low, trend.slope.high, trend.smallest.low, trend.largest.high]
    return [*(part / scale for part in parts), trend.crossing.size, trend.crossing.low]


def test_one_size_is_no_ladder() -> None:
    for rungs in ([], ladder((1.0,)), [Rung(1e4, rung.effect) for rung in ladder((1.0, 2.0))]):
        with pytest.raises(NoTrendError, match="a trend needs two"):
            judge_ladder(rungs, 0.5)


def test_observations_become_effects_on_their_axis() -> None:
    """A ratio as its logarithm, with the error and the freedom of its interval; a share by the length of its interval."""
    sampled = Sampled(2.0, np.exp(np.random.default_rng(0).normal(math.log(2), 0.1, 1000)), 6, True)
    observation = student(sampled, bootstrap_error(sampled))
    effect = of_observation(observation)
    assert (effect.estimate, effect.low, effect.high) == pytest.approx(
        tuple(np.log([observation.estimate, observation.low, observation.high]))
    )
    assert effect.freedom == 5
    share = binomial(30, 40)
    assert of_observation(share).high - of_observation(share).low == pytest.approx(share.high - share.low)
    two = difference(np.array([1.0, 2.0, 4.0]), np.array([0.0, 0.5]))
    assert of_observation(two).freedom == two.freedom
    assert (of_observation(two).low, of_observation(two).high) == pytest.approx((two.low, two.high))


def test_a_rung_on_the_line_hits_and_one_far_off_misses() -> None:
    rungs = ladder((3.5, 2.5, 1.4))
    expected = predicted(rungs, 1e7)
    assert expected.estimate == pytest.approx(0.367, abs=0.01)
    assert outcome((expected.low, expected.high), 0.5) == "hit"
    assert outcome((expected.low, expected.high), -2.5) == "missed"
    on_line = judge_ladder([*rungs, Rung(1e7, expected)], 0.5).largest
    assert expected.error > on_line.error


def test_the_slope_that_would_be_seen_is_seen_in_four_of_five_tries() -> None:
    sizes, errors, freedom = (1e4, 1e5, 1e6), (1.0, 1.0, 2.0), 4
    slope, generator = slope_seen(sizes, errors, freedom), np.random.default_rng(5)
    shown = 0
    for _ in range(200):
        values = slope * np.log10(sizes) + generator.normal(0, errors)
        sampled_errors = np.array(errors) * np.sqrt(generator.chisquare(freedom, 3) / freedom)
        effects = [
            effect_of(float(value), float(error), freedom, 5) for value, error in zip(values, sampled_errors, strict=True)
        ]
        shown += judge_ladder([Rung(size, effect) for size, effect in zip(sizes, effects, strict=True)], 1.0).slope.low > 0
    assert 1e-4 < scipy.stats.binom.cdf(shown, 200, 0.8) < 1 - 1e-4
    assert slope_seen(sizes, (0.1, 0.1, 0.2), freedom) == pytest.approx(slope / 10, rel=1e-6)


def test_sentences() -> None:
    assert said(ladder((2.0, 2.1, 1.9, 2.0))) == (
        "The effect holds from 10k to 10M parameters: it changes by −0.020 (95% CI −0.113 to 0.073) for each tenfold."
    )
    assert said(ladder((3.0, 1.0, -1.0, -3.0))).startswith(
        "The effect turns from 10k to 10M parameters: its sign changes at 316k ("
    )
    assert said(ladder((0.1, -0.1, 0.0, 0.05))).startswith(
        "The effect stays below 0.5 at all sizes from 10k to 10M parameters:"
    )
    fading = said(ladder((0.04, 0.025, 0.01), 0.001), 0.002, "relative")
    assert fading.startswith("The effect fades from 10k to 1M parameters: it changes by −1.5%")
    assert "It comes down to 0.2% at " in fading
    assert fading.endswith(", beyond the sizes measured.")
    ratio = trend_sentence(judge_ladder(ladder((0.2, 0.5, 0.8), 0.01), 0.1), ratio=True)
    assert "it changes by a factor of 1.35x (95% CI" in str(ratio)
    assert said(ladder((0.4, 0.9, 0.3, 1.1))).startswith("The trend from 10k to 10M parameters is open: it changes by ")


@pytest.mark.parametrize(
    ("size", "words"), [(12345, "12.3k"), (999_999, "1M"), (3.2e9, "3.2B"), (512, "512"), (math.inf, "no bound")]
)
def test_sizes_in_words(size: float, words: str) -> None:
    assert size_words(size) == words


@pytest.mark.parametrize("name", ladder_rates.WORLDS)
def test_no_word_is_false_more_often_than_it_says(name: str) -> None:
    """A short count of planted ladders: binomial limits about 5% of each word, and about what was counted of `uneven` ones."""
    rows = ladder_rates.rows(60, 0, [name], rungs=(3,), seeds=(3,))
    tries = sum(row["worlds"] for row in rows)
    wrong = set(ladder_rates.WORDS) - {"open"} - ladder_rates.true_words(name)
    most = scipy.stats.binom.isf(1e-4, tries, 0.08 if name == "uneven" else 0.05)
    assert all(sum(row[word] * row["worlds"] for row in rows) <= most for word in wrong)
    least = scipy.stats.binom.ppf(1e-4, tries, 0.9 if name == "uneven" else 0.95)
    assert sum(row["slope"] * row["worlds"] for row in rows) >= least
