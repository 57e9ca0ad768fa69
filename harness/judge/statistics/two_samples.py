"""Two samples of runs, or one against a number: the effect with its interval.

Absolute effects are differences of means. Relative ones are (mean of x) / (mean of y) - 1, with Fieller's interval (1954): the
contrast mean(x) - (1 + e) mean(y) is tested at every e, and e lies in the interval where it is not rejected. So a test at an
edge and the interval agree, and nothing is divided by a noisy mean. By hand, because SciPy's tests of two samples take neither
a factor on the second mean nor a spread that is known from elsewhere.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when they are first used: seconds, and much that is read here needs none

from ...declare.level import ALPHA, LEVEL
from .intervals import Numbers, Observation
from .power import POWER

# A mean less than this many standard errors from zero is no base for percentages.
LEAST_BASE_ERRORS = 4.0


@dataclass(frozen=True)
class Effect(Observation):
    """An observation with the degrees of freedom of its standard error; its seeds and spread are those of one sample as
    informative as the two."""

    freedom: float = math.inf

    @property
    def error(self) -> float:
        return (self.spread or 0.0) / math.sqrt(self.seeds)

    @property
    def smallest_visible(self) -> float:
        """The effect that such runs show in four of five repetitions: (t_0.975 + t_0.8) standard errors, the usual
        approximation (Chow et al. 2008, section 3.1)."""
        return float(np.sum(scipy.stats.t.ppf([1 - ALPHA / 2, POWER], self.freedom))) * self.error


class NoSpreadError(ValueError):
    """The spread between runs is unknown."""


class NoBaseError(ValueError):
    """A mean lies too near zero for percentages of it."""


@dataclass(frozen=True)
class Spread:
    """A standard deviation between runs that is known from elsewhere than the two samples. freedom: inf if it is exact."""

    deviation: float
    freedom: float = math.inf


@dataclass(frozen=True)
class Contrast:
    """x against scale times y: the estimate of mean(x) - scale mean(y), its standard error, and the degrees of freedom."""

    value: float
    error: float
    freedom: float

    @property
    def t(self) -> float:
        if self.error > 0:
            return self.value / self.error
        return math.copysign(math.inf, self.value) if self.value else 0.0


def contrast(x: Numbers, y: Numbers, scale: float, paired: bool, spread: Spread | None) -> Contrast:
    """Student's for pairs, Welch's (1947) for independent samples, Student's or the normal with a spread from elsewhere.

    x [n], y [m]; of pairs n = m and x[i] belongs to y[i]. Raises NoSpreadError for a sample of one without a spread.
    """
    value = float(np.mean(x) - scale * np.mean(y))
    if spread is not None:
        return Contrast(value, spread.deviation * math.sqrt(1 / len(x) + scale**2 / len(y)), spread.freedom)
    if paired:
        if len(x) < 2:
            raise NoSpreadError("one pair has no spread")
        return Contrast(value, float(np.std(x - scale * y, ddof=1) / math.sqrt(len(x))), len(x) - 1)
    if min(len(x), len(y)) < 2:
        raise NoSpreadError("one run has no spread")
    parts = np.array([np.var(x, ddof=1) / len(x), scale**2 * np.var(y, ddof=1) / len(y)])
    total = float(parts.sum())
    if total == 0:
        return Contrast(value, 0.0, len(x) + len(y) - 2)
    return Contrast(value, math.sqrt(total), total**2 / float(np.sum(parts**2 / [len(x) - 1, len(y) - 1])))


def pooled_spread(groups: list[Numbers]) -> Spread | None:
    """The standard deviation within groups, assumed to be the same in all; None if no group has two runs."""
    several = [group for group in groups if len(group) > 1]
    freedom = sum(len(group) - 1 for group in several)
    if not freedom:
        return None
    return Spread(math.sqrt(sum(float(np.var(group, ddof=1)) * (len(group) - 1) for group in several) / freedom), freedom)


def difference(x: Numbers, y: Numbers, paired: bool = False, spread: Spread | None = None, level: float = LEVEL) -> Effect:
    """mean(x) - mean(y)."""
    return effect_from_contrast(contrast(x, y, 1.0, paired, spread), _standing_for(x, y), level)


def relative_difference(
    x: Numbers, y: Numbers, paired: bool = False, spread: Spread | None = None, level: float = LEVEL
) -> Effect:
    """mean(x) / mean(y) - 1, of a base that is surely not zero; in units of |mean(y)|, so that below is always negative.

    Raises NoBaseError for a base too near zero.
    """
    base = float(np.mean(y))
    if base < 0:  # a lower return is a lower one, whatever its sign
        flipped = relative_difference(-x, -y, paired, spread, level)
        return _mirrored(flipped)
    of_base = contrast(y, np.zeros(1), 0.0, False, spread) if spread else _error_of(y)
    if base == 0 or of_base.t < LEAST_BASE_ERRORS:
        raise NoBaseError(f"a mean of {base:.3g} lies too near zero to be a base for percentages; claim an absolute difference")

    def at(edge: float) -> Contrast:
        return contrast(x, y, 1 + edge, paired, spread)

    estimate = float(np.mean(x)) / base - 1
    ends = [fieller_end(at, estimate, sign, level) for sign in (-1, 1)]
    here = at(0.0)
    relative = Contrast(estimate, here.error / base, here.freedom)
    return effect_from_contrast(relative, _standing_for(x, y), level, (ends[0], ends[1]), at)


def against(x: Numbers, value: float, spread: Spread | None = None, relative: bool = False, level: float = LEVEL) -> Effect:
    """mean(x) - value, or (mean(x) - value) / |value|; the value has no error. Raises NoSpreadError, and NoBaseError for
    percentages of 0."""
    if spread is None and len(x) < 2:
        raise NoSpreadError("one run has no spread")
    unit = abs(value) if relative else 1.0
    if unit == 0:
        raise NoBaseError("0 is no base for percentages; claim an absolute difference")
    shifted = (x - value) / unit
    scaled = None if spread is None else Spread(spread.deviation / unit, spread.freedom)
    mean_contrast = (
        _error_of(shifted)
        if scaled is None
        else Contrast(float(np.mean(shifted)), scaled.deviation / math.sqrt(len(x)), scaled.freedom)
    )
    return effect_from_contrast(mean_contrast, _standing_for(x, x), level)


def _error_of(x: Numbers) -> Contrast:
    if len(x) < 2:
        return Contrast(float(np.mean(x)), math.inf, 1)
    return Contrast(float(np.mean(x)), float(np.std(x, ddof=1)) / math.sqrt(len(x)), len(x) - 1)


def t_quantile(freedom: float, level: float) -> float:
    return float(scipy.special.stdtrit(freedom, 0.5 + level / 2))


def fieller_end(at: Callable[[float], Contrast], estimate: float, sign: int, level: float) -> float:
    """The value at which the contrast turns significant, below the estimate or above it."""

    def excess(edge: float) -> float:
        here = at(edge)
        return -sign * here.t - t_quantile(here.freedom, level)

    if at(estimate).error == 0 or excess(estimate) >= 0:  # exact, but for rounding
        return estimate
    distance = max(abs(estimate), 1e-12)
    for _ in range(200):
        if excess(estimate + sign * distance) >= 0:
            return float(scipy.optimize.brentq(excess, estimate, estimate + sign * distance, xtol=1e-15, rtol=1e-12))
        distance *= 2
    return sign * math.inf


def effect_from_contrast(
    contrast: Contrast,
    runs: int,
    level: float,
    ends: tuple[float, float] | None = None,
    at: Callable[[float], Contrast] | None = None,
) -> Effect:
    """The effect that a contrast estimates. runs: their number in planning. ends, at: its interval, and the contrast against an
    effect, if that is no shift of the contrast itself."""

    def moved(edge: float) -> Contrast:
        return Contrast(contrast.value - edge, contrast.error, contrast.freedom)

    contrasted = at or moved
    half = contrast.error * t_quantile(contrast.freedom, level)
    low, high = ends or (contrast.value - half, contrast.value + half)

    def tail(edge: float, above: bool) -> float:
        if math.isinf(edge):
            return 0.0
        here = contrasted(edge)
        if here.error == 0:
            return 0.0 if (here.value > 0) == above and here.value else 1.0
        # Not scipy.stats.t, whose checks take 50 times as long.
        return float(scipy.special.stdtr(here.freedom, -here.t if above else here.t))

    def p_inside(lower: float, upper: float) -> float:
        return min(1.0, 2 * max(tail(lower, above=True), tail(upper, above=False)))

    # A spread and a number that give the standard error and its degrees of freedom back.
    return Effect(contrast.value, low, high, runs, p_inside, contrast.error * math.sqrt(runs), freedom=contrast.freedom)


def _standing_for(x: Numbers, y: Numbers) -> int:
    """The runs of one sample that is as informative as the two."""
    return max(2, round(2 / (1 / len(x) + 1 / len(y))))


def _mirrored(effect: Effect) -> Effect:
    def p_inside(low: float, high: float) -> float:
        return effect.p_inside(-high, -low)

    return Effect(-effect.estimate, -effect.high, -effect.low, effect.seeds, p_inside, effect.spread, freedom=effect.freedom)
