"""From an estimate and its resamples to a 95% interval.

The bootstrap gives the estimate under R resamples of S paired seeds. An observation is its estimate and two tails of p values;
interval and p values agree, because the interval ends where a tail is 2.5%. On a log axis all of it happens to the logarithm.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy  # its parts load when they are first used: seconds, and much that is read here needs none
from numpy.typing import NDArray

from ...declare.level import LEVEL

Numbers = NDArray[np.float64]
# Pieces of the axis: (low, high) each.
Regions = tuple[tuple[float, float], ...]

# A spread over fewer seeds than this is no spread.
LEAST_SEEDS = 3


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

    def p_in(self, regions: Regions) -> float:
        """The p value against "the true value lies in none of them"."""
        return min(self.p_inside(low, high) for low, high in regions)


@dataclass(frozen=True)
class Sampled:
    """The estimate, and its values under resamples [R] (defined ones)."""

    estimate: float
    resampled: Numbers
    seeds: int
    log_axis: bool

    def __post_init__(self) -> None:
        assert self.seeds >= LEAST_SEEDS, f"{self.seeds} seeds have no spread"

    def on_axis(self, values: Any) -> Any:
        return np.log(values) if self.log_axis else np.asarray(values)

    def off_axis(self, value: float) -> float:
        return math.exp(min(value, 709.0)) if self.log_axis else float(value)

    @property
    def centre(self) -> float:
        return float(self.on_axis(self.estimate))


def bootstrap_error(sampled: Sampled) -> float:
    """Standard error on the axis: the standard deviation over resamples, times sqrt(S / (S - 1)), because resamples of S seeds
    spread by (S - 1) / S too little."""
    return float(np.std(sampled.on_axis(sampled.resampled)) * math.sqrt(sampled.seeds / (sampled.seeds - 1)))


def student(sampled: Sampled, error: float, level: float = LEVEL, bias: float = 0.0) -> Observation:
    """estimate - bias +- t(0.975, S - 1) * error. For a mean, with either error, this is Student's interval."""
    centre, degrees = sampled.centre - bias, sampled.seeds - 1
    half = t_quantile(degrees, level) * error

    def p_inside(lower: float, upper: float) -> float:
        edges = [-math.inf if sampled.log_axis and edge <= 0 else float(sampled.on_axis(edge)) for edge in (lower, upper)]
        distances = (centre - edges[0], edges[1] - centre)
        if error == 0:
            return 0.0 if min(distances) > 0 else 1.0  # on the edge itself nothing is decided
        return float(min(1.0, 2 * max(scipy.special.stdtr(degrees, -distance / error) for distance in distances)))

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
    return float(scipy.special.stdtrit(degrees, 0.5 + level / 2))  # scipy.stats takes a second to import


def without_error(value: float, margin: float, seeds: int) -> Observation:
    """A computed number: inside a closed region or not on every machine; their values differ by at most the margin."""

    def p_inside(low: float, high: float) -> float:
        return 0.0 if low <= value - margin and value + margin <= high else 1.0

    return Observation(value, value, value, seeds, p_inside)


def binomial(successes: int, runs: int, level: float = LEVEL) -> Observation:
    """Clopper and Pearson's exact interval (1934) of a share of runs."""
    interval = scipy.stats.binomtest(successes, runs).proportion_ci(level, method="exact")

    def p_inside(lower: float, upper: float) -> float:
        """Twice the larger tail; the inversion of the exact interval, so both agree."""
        if upper < 0 or lower > 1:  # a region without a share in it
            return 1.0
        below = scipy.stats.binom.sf(successes - 1, runs, lower) if lower > 0 else 0.0
        above = scipy.stats.binom.cdf(successes, runs, upper) if upper < 1 else 0.0
        return float(min(1.0, 2 * max(below, above)))

    return Observation(successes / runs, float(interval.low), float(interval.high), runs, p_inside)
