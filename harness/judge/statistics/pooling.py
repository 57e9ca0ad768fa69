"""Effects on several tasks as one: the average over these tasks, and over tasks of which these are a sample."""

import math
from collections.abc import Sequence

import numpy as np
import scipy  # its parts load when they are first used: seconds, and much that is read here needs none

from ...declare.level import LEVEL
from .two_samples import Contrast, Effect, effect_from_contrast

# Estimate, low, high.
Interval = tuple[float, float, float]


def average(effects: Sequence[Effect], level: float = LEVEL) -> Effect:
    """The average over these tasks, each counting the same. The error is that of the runs alone; Satterthwaite's degrees of
    freedom."""
    errors = np.array([effect.error for effect in effects]) / len(effects)
    total = float(np.sum(errors**2))
    lost = float(np.sum(errors**4 / np.array([effect.freedom for effect in effects])))
    freedom = total**2 / lost if lost else math.inf
    return effect_of(
        float(np.mean([effect.estimate for effect in effects])), math.sqrt(total), freedom, fewest_seeds(effects), level
    )


def random_effects(effects: Sequence[Effect], level: float = LEVEL) -> Effect:
    """The average over tasks of which these are a random sample: the variance between them by Paule and Mandel (1982), the
    interval by Hartung and Knapp (2001) and Sidik and Jonkman (2002), with k - 1 degrees of freedom."""
    values, variances = (np.array([getattr(effect, name) for effect in effects]) for name in ("estimate", "error"))
    variances = np.maximum(variances**2, 1e-300)
    weights = 1 / (variances + between_variance(values, variances))
    mean = float(np.sum(weights * values) / np.sum(weights))
    error = math.sqrt(float(np.sum(weights * (values - mean) ** 2) / ((len(effects) - 1) * np.sum(weights))))
    return effect_of(mean, error, len(effects) - 1, fewest_seeds(effects), level)


def between_variance(values: np.ndarray, variances: np.ndarray, powers: np.ndarray | None = None) -> float:
    """Paule and Mandel's: the one for which the weighted squares sum to their degrees of freedom; 0 if they never exceed that.
    About the mean, or about the regression on the columns of `powers` [k, p].

    Not statsmodels' combine_effects: of 3,000 random sets it returned 0 for 343 whose variance is not 0 (atol 1e-12), and a
    looser tolerance costs digits; variances of 0 are NaN there, and Q far from 0 loses its digits.
    """
    columns = np.ones((len(values), 1)) if powers is None else powers
    freedom = len(values) - columns.shape[1]

    def excess(between: float) -> float:
        root = np.sqrt(np.min(variances + between) / (variances + between))
        fitted = columns @ np.linalg.lstsq(columns * root[:, None], values * root, rcond=None)[0]
        return float(np.sum((values - fitted) ** 2 / (variances + between)) - freedom)

    most = float(np.var(values, ddof=1)) * len(values)
    if not (most > 0 and excess(0.0) > 0 > excess(most)):
        return 0.0
    return float(scipy.optimize.brentq(excess, 0.0, most, xtol=1e-15 * most))


def fewest_seeds(effects: Sequence[Effect]) -> int:
    return min(effect.seeds for effect in effects)


def heterogeneity(effects: Sequence[Effect]) -> float:
    """The p value of "the effect is the same on all tasks", by Cochran's Q (1954) with the effects' own errors."""
    values, errors = (np.array([getattr(effect, name) for effect in effects]) for name in ("estimate", "error"))
    if not np.all(errors > 0):
        return 1.0 if np.ptp(values) == 0 else 0.0
    weights = 1 / errors**2
    q = float(np.sum(weights * (values - np.sum(weights * values) / np.sum(weights)) ** 2))
    return float(scipy.stats.chi2.sf(q, len(effects) - 1))


def pooled(intervals: Sequence[Interval], ratio: bool = False) -> Interval:
    """Independent estimates of one number, each with its interval, as one: a fixed effect, weighted by the inverse of the
    variance (Borenstein et al. 2009, chapter 11). ratio: on the logarithmic axis. The interval has the level of those given;
    one that is not symmetric counts with its whole length."""
    values = np.log(intervals) if ratio else np.asarray(intervals, dtype=float)
    weights = 4 / (values[:, 2] - values[:, 1]) ** 2
    estimate, half = float(np.average(values[:, 0], weights=weights)), float(1 / np.sqrt(weights.sum()))
    low, high = estimate - half, estimate + half
    return (math.exp(estimate), math.exp(low), math.exp(high)) if ratio else (estimate, low, high)


def trend(effects: Sequence[Effect], sizes: Sequence[float], level: float = LEVEL) -> Effect:
    """The change of the effect for each doubling of size: least squares on log2(size), with the error that the runs give or the
    scatter about the line, whichever is larger; k - 2 degrees of freedom."""
    x = np.log2(np.array(sizes, float))
    x -= x.mean()
    values, errors = (np.array([getattr(effect, name) for effect in effects]) for name in ("estimate", "error"))
    slope = float(np.sum(x * values) / np.sum(x**2))
    residuals = values - values.mean() - slope * x
    freedom = len(values) - 2
    scatter = float(np.sum(residuals**2)) / freedom / float(np.sum(x**2)) if freedom else 0.0
    by_runs = float(np.sum((x * errors) ** 2)) / float(np.sum(x**2)) ** 2
    return effect_of(slope, math.sqrt(max(scatter, by_runs)), max(1, freedom), fewest_seeds(effects), level)


def effect_of(value: float, error: float, freedom: float, seeds: int, level: float = LEVEL) -> Effect:
    """A number with its standard error, whose square has these degrees of freedom; seeds: that it is taken to rest on."""
    return effect_from_contrast(Contrast(value, error, freedom), seeds, level)
