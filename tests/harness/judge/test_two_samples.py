"""Effects of two samples: against SciPy and statsmodels, and Fieller's interval against its formula."""

import math

import numpy as np
import pytest
import scipy
from statsmodels.stats.meta_analysis import combine_effects

from folklore.harness.judge.statistics.pooling import average, heterogeneity, random_effects, trend
from folklore.harness.judge.statistics.two_samples import (
    NoSpreadError,
    Spread,
    against,
    difference,
    pooled_spread,
    relative_difference,
)

DRAWN = np.random.default_rng(0)
X, Y = DRAWN.normal(2.0, 0.1, 6), DRAWN.normal(2.1, 0.3, 9)


def test_welch() -> None:
    ours, theirs = difference(X, Y), scipy.stats.ttest_ind(X, Y, equal_var=False)
    interval = theirs.confidence_interval()
    assert (ours.low, ours.high) == pytest.approx((interval.low, interval.high), rel=1e-12)
    assert ours.p_inside(0.0, math.inf) == pytest.approx(theirs.pvalue, rel=1e-12)
    assert ours.freedom == pytest.approx(theirs.df, rel=1e-12)


def test_pairs() -> None:
    ours, theirs = difference(X, Y[:6], paired=True), scipy.stats.ttest_rel(X, Y[:6])
    interval = theirs.confidence_interval()
    assert (ours.low, ours.high) == pytest.approx((interval.low, interval.high), rel=1e-12)


def test_a_number() -> None:
    ours, theirs = against(X, 2.05), scipy.stats.ttest_1samp(X, 2.05)
    interval = theirs.confidence_interval()
    assert (ours.low + 2.05, ours.high + 2.05) == pytest.approx((interval.low, interval.high), rel=1e-12)


def test_a_known_spread_is_a_z_test() -> None:
    ours = difference(X, Y, spread=Spread(0.2))
    z = (X.mean() - Y.mean()) / (0.2 * math.sqrt(1 / 6 + 1 / 9))
    assert ours.p_inside(0.0, math.inf) == pytest.approx(2 * scipy.stats.norm.sf(z), rel=1e-9)


def test_a_single_run_needs_a_spread() -> None:
    with pytest.raises(NoSpreadError):
        difference(X[:1], Y)
    shared = pooled_spread([Y, X])
    assert shared is not None
    assert shared.freedom == 13
    lone = difference(X[:1], Y, spread=shared)
    assert lone.error == pytest.approx(shared.deviation * math.sqrt(1 + 1 / 9))
    assert pooled_spread([X[:1], Y[:1]]) is None


def test_fieller_of_pairs() -> None:
    """The closed form: the roots of (x - r y)^2 = t^2 (s_xx - 2 r s_xy + r^2 s_yy) / n in r."""
    y = Y[:6]
    n, t = 6, scipy.stats.t.ppf(0.975, 5)
    s = np.cov(X, y) / n
    a, b, c = y.mean() ** 2 - t**2 * s[1, 1], -2 * (X.mean() * y.mean() - t**2 * s[0, 1]), X.mean() ** 2 - t**2 * s[0, 0]
    roots = sorted(np.roots([a, b, c]).real)
    ours = relative_difference(X, y, paired=True)
    assert (1 + ours.low, 1 + ours.high) == pytest.approx(roots, rel=1e-9)
    assert ours.p_inside(ours.low, math.inf) == pytest.approx(0.05, abs=1e-9)


def test_relative_effects_keep_their_sign_below_zero() -> None:
    """Returns of −100 against −110 are higher, by 9%."""
    effect = relative_difference(X - 102, Y - 112)
    assert effect.estimate == pytest.approx((X.mean() - 102 - Y.mean() + 112) / (112 - Y.mean()), rel=1e-12)
    assert effect.estimate > 0
    assert effect.low < effect.estimate < effect.high


def test_no_percentage_of_nothing() -> None:
    with pytest.raises(ValueError, match="too near zero"):
        relative_difference(X, Y - Y.mean() + 0.01)


def test_tasks_together() -> None:
    drawn = np.random.default_rng(1)
    effects = [difference(drawn.normal(shift, 1, 8), drawn.normal(0, 1, 8)) for shift in (0.0, 1.0, 2.0, 4.0)]
    theirs = combine_effects(
        np.array([effect.estimate for effect in effects]),
        np.array([effect.error**2 for effect in effects]),
        method_re="pm",
        use_t=True,
    )
    ours = random_effects(effects)
    assert ours.estimate == pytest.approx(theirs.mean_effect_re, rel=1e-4)
    assert ours.error == pytest.approx(theirs.sd_eff_w_re_hksj, rel=1e-4)
    assert heterogeneity(effects) == pytest.approx(theirs.test_homogeneity().pvalue, rel=1e-6)
    mean = average(effects)
    assert mean.estimate == pytest.approx(np.mean([effect.estimate for effect in effects]))
    assert mean.error < ours.error


def test_a_trend_over_sizes() -> None:
    effects = [difference(np.array([k, k + 0.1, k - 0.1]), np.zeros(3)) for k in (1.0, 2.0, 3.0, 4.0)]
    assert trend(effects, [1, 2, 4, 8]).estimate == pytest.approx(1.0)
