"""From an estimate and its resamples to a 95% interval: the methods that calibration compares, and the one that is used.

All start from the same S paired seeds. The bootstrap gives the estimate under R resamples of the seeds, the jackknife the
estimate without each seed in turn. An observation is its estimate and two tails of p values; interval and p values agree,
because the interval ends where a tail is 2.5%. On a log axis all of it happens to the logarithm.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import scipy  # its parts load when they are first used: seconds, and much that is read here needs none
from numpy.typing import NDArray

from folklore.harness.spec import LEVEL, Rule
from folklore.harness.spec.trials import ADD_SEEDS, UndecidableError

Numbers = NDArray[np.float64]
Method = Literal["bootstrap_t", "jackknife_t", "corrected_t", "studentized", "percentile", "bca", "sign_flip"]

# A spread over fewer seeds than this is no spread.
LEAST_SEEDS = 3
# All 2^S - 1 subsets are listed up to so many seeds; beyond, as many are drawn.
LISTED_SEEDS = 12


@dataclass(frozen=True)
class Observation:
    """An estimate with its interval over `seeds` seeds, a 95% one unless another level was asked for.

    p_inside(low, high) is the two-sided p value against "the true value is not in [low, high]": it is at most 0.05
    exactly where the 95% interval lies inside.
    """

    estimate: float
    low: float
    high: float
    seeds: int
    p_inside: Callable[[float, float], float]
    # standard error times sqrt(seeds) on the axis the interval is symmetric on, for planning further seeds; None: exact
    spread: float | None = None
    log_axis: bool = False

    def p_in_rule(self, rule: Rule) -> float:
        return min(self.p_inside(low, high) for low, high in rule.pieces)


@dataclass(frozen=True)
class Sampled:
    """What the methods start from: the estimate, its values under resamples [R] (defined ones) and without each seed [S].

    studentized: for each resample (estimate - overall estimate) / its own jackknife error, [R]; only where it is asked for.
    """

    estimate: float
    resampled: Numbers
    seeds: int
    log_axis: bool
    left_out: Numbers | None = None
    studentized: Numbers | None = None

    def __post_init__(self) -> None:
        if self.seeds < LEAST_SEEDS:
            raise UndecidableError("open", f"rests on {self.seeds} seeds, and an interval needs {LEAST_SEEDS}; {ADD_SEEDS}")

    def on_axis(self, values: Any) -> Any:
        return np.log(values) if self.log_axis else np.asarray(values)

    def off_axis(self, value: float) -> float:
        return math.exp(min(value, 709.0)) if self.log_axis else float(value)

    @property
    def centre(self) -> float:
        return float(self.on_axis(self.estimate))


Interval = Callable[[Sampled, float], tuple[float, float]]


def bootstrap_error(sampled: Sampled) -> float:
    """Standard error on the axis: the standard deviation over resamples, times sqrt(S / (S - 1)), for resamples of S seeds
    spread by (S - 1) / S too little."""
    return float(np.std(sampled.on_axis(sampled.resampled)) * math.sqrt(sampled.seeds / (sampled.seeds - 1)))


def bootstrap_bias(sampled: Sampled) -> float:
    """Mean of the resamples less the estimate, on the axis."""
    return float(np.mean(sampled.on_axis(sampled.resampled)) - sampled.centre)


def jackknife_error(sampled: Sampled) -> float:
    """Standard error on the axis: sqrt((S - 1) / S * sum of squared deviations of the left-out estimates) (Tukey 1958)."""
    assert sampled.left_out is not None
    values = sampled.on_axis(sampled.left_out)
    return float(math.sqrt((sampled.seeds - 1) * np.var(values)))


def student(sampled: Sampled, error: float, level: float = LEVEL, bias: float = 0.0) -> Observation:
    """estimate - bias +- t(0.975, S - 1) * error. For a mean, with either error, this is Student's interval."""
    centre, degrees = sampled.centre - bias, sampled.seeds - 1
    half = t_quantile(degrees, level) * error

    def p_inside(lower: float, upper: float) -> float:
        edges = [-math.inf if sampled.log_axis and edge <= 0 else float(sampled.on_axis(edge)) for edge in (lower, upper)]
        distances = (centre - edges[0], edges[1] - centre)
        if error == 0:
            return 0.0 if min(distances) > 0 else 1.0  # on the edge itself nothing is decided
        return float(min(1.0, 2 * max(scipy.stats.t.sf(distance / error, degrees) for distance in distances)))

    return Observation(
        sampled.off_axis(centre) if bias else sampled.estimate,
        sampled.off_axis(centre - half),
        sampled.off_axis(centre + half),
        sampled.seeds,
        p_inside,
        spread=error * math.sqrt(sampled.seeds),
        log_axis=sampled.log_axis,
    )


@lru_cache(maxsize=256)
def t_quantile(degrees: int, level: float) -> float:
    return float(scipy.stats.t.ppf(0.5 + level / 2, degrees))


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
