"""Ways to a 95% interval that calibration compares with the one that is used (judge/statistics/intervals.py).

All start from the same S paired seeds: the estimate under R resamples of them, and the jackknife's without each in turn.
"""

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Literal

import numpy as np
import scipy

from ...declare.level import LEVEL
from ..statistics.intervals import Numbers, Sampled, bootstrap_error, student

Method = Literal["bootstrap_t", "jackknife_t", "corrected_t", "studentized", "percentile", "bca", "sign_flip"]

# All 2^S - 1 subsets are listed up to this many seeds; beyond, as many are drawn.
LISTED_SEEDS = 12


def bootstrap_bias(sampled: Sampled) -> float:
    """Mean of the resamples less the estimate, on the axis."""
    return float(np.mean(sampled.on_axis(sampled.resampled)) - sampled.centre)


def jackknife_error(sampled: Sampled) -> float:
    """Standard error on the axis: sqrt((S - 1) / S * sum of squared deviations of the left-out estimates) (Tukey 1958)."""
    assert sampled.left_out is not None
    values = sampled.on_axis(sampled.left_out)
    return float(math.sqrt((sampled.seeds - 1) * np.var(values)))


def bootstrap_t(sampled: Sampled) -> tuple[float, float]:
    seen = student(sampled, bootstrap_error(sampled))
    return seen.low, seen.high


def jackknife_t(sampled: Sampled) -> tuple[float, float]:
    seen = student(sampled, jackknife_error(sampled))
    return seen.low, seen.high


def corrected_t(sampled: Sampled) -> tuple[float, float]:
    """As the bootstrap t, around the estimate less its bias as the resamples show it: their mean less the estimate (Efron and
    Tibshirani 1993, section 10.2). It moves what is selected or is a maximum, and leaves means alone."""
    seen = student(sampled, bootstrap_error(sampled), bias=bootstrap_bias(sampled))
    return seen.low, seen.high


def percentile(sampled: Sampled) -> tuple[float, float]:
    """Quantiles of the resamples (Efron 1979)."""
    low, high = np.quantile(sampled.resampled, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
    return float(low), float(high)


def bca(sampled: Sampled) -> tuple[float, float]:
    """Quantiles of the resamples, shifted for bias and acceleration (Efron 1987, equation 2.3)."""
    assert sampled.left_out is not None
    below = np.mean(sampled.resampled < sampled.estimate) + np.mean(sampled.resampled == sampled.estimate) / 2
    bias = float(scipy.stats.norm.ppf(np.clip(below, 1e-3, 1 - 1e-3)))
    deviations = sampled.left_out.mean() - sampled.left_out
    scale = float((deviations**2).sum()) ** 1.5
    acceleration = float((deviations**3).sum()) / (6 * scale) if scale > 0 else 0.0
    normal = scipy.stats.norm.ppf([0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
    levels = scipy.stats.norm.cdf(bias + (bias + normal) / (1 - acceleration * (bias + normal)))
    low, high = np.quantile(sampled.resampled, np.clip(levels, 0, 1))
    return float(low), float(high)


def studentized(sampled: Sampled) -> tuple[float, float]:
    """Quantiles of the resampled t statistics in place of Student's, around the jackknife error (Hall 1988)."""
    assert sampled.studentized is not None
    error = jackknife_error(sampled)
    finite = sampled.studentized[np.isfinite(sampled.studentized)]
    if not len(finite):
        return -math.inf, math.inf
    low, high = np.quantile(finite, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
    return sampled.off_axis(sampled.centre - high * error), sampled.off_axis(sampled.centre - low * error)


def sign_flip(sampled: Sampled) -> tuple[float, float]:
    """The exact sign-flip test of the jackknife's pseudo-values, inverted: the interval runs between means of their subsets
    (Hartigan 1969). Under six seeds no outcome reaches 5%, and it has no ends."""
    assert sampled.left_out is not None
    seeds = sampled.seeds
    values = seeds * sampled.centre - (seeds - 1) * sampled.on_axis(sampled.left_out)
    signs = _subsets(seeds)
    means = np.sort(signs @ values / signs.sum(axis=1))
    outside = math.floor((1 - LEVEL) / 2 * (len(means) + 1))
    if not outside:
        return -math.inf if not sampled.log_axis else 0.0, math.inf
    return sampled.off_axis(means[outside - 1]), sampled.off_axis(means[-outside])


@lru_cache(maxsize=8)
def _subsets(seeds: int) -> Numbers:
    """Rows of zeros and ones, none of them all zeros: every subset, or 2^12 - 1 drawn ones."""
    if seeds <= LISTED_SEEDS:
        numbers = np.arange(1, 2**seeds)
        return ((numbers[:, None] >> np.arange(seeds)) & 1).astype(np.float64)
    drawn = np.random.default_rng(seeds).integers(0, 2, (2**LISTED_SEEDS - 1, seeds)).astype(np.float64)
    return drawn[drawn.any(axis=1)]


METHODS: Mapping[Method, Callable[[Sampled], tuple[float, float]]] = {
    "bootstrap_t": bootstrap_t,
    "jackknife_t": jackknife_t,
    "corrected_t": corrected_t,
    "studentized": studentized,
    "percentile": percentile,
    "bca": bca,
    "sign_flip": sign_flip,
}
