"""Whether an effect holds, fades, grows or turns along a ladder of models: a straight line of the effect in log10(size).

The standard errors of a few seeds are themselves uncertain. So their variances are smoothed along the ladder: an exponential
trend in log size, shrunk towards equal ones as far as it may be chance (James and Stein 1961), against which the variance of a
rung counts with its degrees of freedom. Weights come from the smoothed ones. An error of the line is the larger one by smoothed
variances and by the rungs' own, with the degrees of freedom of all rungs. Scatter about the line beyond the errors is a
variance between rungs (Paule and Mandel 1982), which adds to weights, errors and, as Satterthwaite has it, degrees of freedom:
Student's t with k - 2 of them alone would show nothing of three rungs. Two rungs, without scatter, are compared as Welch does.
Calibrated in tests/calibration/ladder_rates.py.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy  # its parts load when they are first used: seconds, and much that is read here needs none

from ...declare.level import LEVEL
from .intervals import Numbers, Observation
from .pooling import between_variance, effect_of
from .power import POWER
from .two_samples import Contrast, Effect, fieller_end

Word = Literal["turns", "none", "holds", "grows", "fades", "open"]

# Degrees of freedom with which the smoothed variance counts beside a rung's own; more than this are as good as a known error.
SMOOTHED_FREEDOM, KNOWN = 8.0, 1e6
# Degrees of freedom of the variance between rungs for each one of the scatter. With 1, intervals of three rungs cover 97% where
# rungs do not scatter beyond their errors, and show only slopes that are 13% larger.
SCATTER_FREEDOM = 2.0
# In place of 0, which has no inverse.
LEAST_VARIANCE = 1e-300
# An effect holds if each tenfold changes it by less than this share of the effect in the middle of the ladder.
STEADY = 0.5
# Simulated ladders for the slope that would be seen.
TRIES = 400
# A ladder of fewer rungs has no curvature; one is called bent at this level.
LEAST_OF_A_BEND, BENT_LEVEL = 4, 0.99


class NoTrendError(ValueError):
    """Fewer than two sizes: no line."""


@dataclass(frozen=True)
class Rung:
    """size: parameters without embeddings. effect: of independent runs, positive where it agrees with the claim."""

    size: float
    effect: Effect


@dataclass(frozen=True)
class Crossing:
    """The size at which the line reaches a value, with its interval; an end that the data do not bound is 0 or inf."""

    size: float
    low: float
    high: float
    extrapolated: bool


@dataclass(frozen=True)
class Trend:
    """slope: change of the effect for each tenfold of parameters. smallest, largest: the line at the ends of the ladder.
    crossing: where it is zero if it turns, where it comes down to the margin if it fades. curvature: of the parabola."""

    word: Word
    sizes: tuple[float, float]
    margin: float
    slope: Effect
    smallest: Effect
    largest: Effect
    crossing: Crossing | None = None
    curvature: Effect | None = None
    bent: bool = False


def of_observation(observation: Observation, level: float = LEVEL) -> Effect:
    """An observation as the effect of a rung, on the axis on which its interval is symmetric: ratios as logarithms. One
    without a spread counts with the length of its interval, which has this level."""
    estimate, low, high = (
        np.log([observation.estimate, observation.low, observation.high])
        if observation.log_axis
        else (observation.estimate, observation.low, observation.high)
    )
    if observation.spread is None:
        half = float(scipy.special.ndtri(0.5 + level / 2))
        return effect_of(float(estimate), float(high - low) / 2 / half, math.inf, observation.seeds, level)
    freedom = observation.freedom if isinstance(observation, Effect) else observation.seeds - 1
    return effect_of(float(estimate), observation.spread / math.sqrt(observation.seeds), freedom, observation.seeds, level)


def judge_ladder(rungs: Sequence[Rung], margin: float, level: float = LEVEL) -> Trend:
    """The first word that is sure, of turns, none, holds, grows or fades, else open. margin: the smallest effect that matters,
    in the effect's unit. Each word is wrong in at most 1 - level of ladders. Raises NoTrendError for fewer than two sizes.

    turns: the line has opposite signs at its ends. none: it lies within the margins at both. holds: at the largest size it is
    not zero, and a tenfold changes it by less than half of what it is in the middle. grows, fades: the slope is not zero, and
    leads away from zero at the largest size or towards it at the smallest.
    """
    line = _fitted(rungs)
    ends, slope = [line.at(size) for size in line.range], line.slope
    bend = _fitted(rungs, 2).contrast(0.0, 0.0, 1.0) if len({rung.size for rung in rungs}) >= LEAST_OF_A_BEND else None
    bent = bend is not None and _sign(bend, BENT_LEVEL) != 0
    word = _word(line, ends, margin, level)
    target = {"turns": 0.0, "fades": math.copysign(margin, ends[0].value)}.get(word)
    crossing = None if target is None else _crossing(line, target, level)
    if bent and crossing and crossing.extrapolated:
        crossing = None
    slope_effect, smallest, largest = (line.effect(part, level) for part in (slope, *ends))
    curvature = None if bend is None else line.effect(bend, BENT_LEVEL)
    return Trend(word, line.range, margin, slope_effect, smallest, largest, crossing, curvature, bent)


def predicted(rungs: Sequence[Rung], size: float, level: float = LEVEL) -> Effect:
    """The effect that a new rung of this size will show, measured with as many runs as the others."""
    line = _fitted(rungs)
    return line.effect(line.at(size, observed=True), level)


def outcome(interval: tuple[float, float], estimate: float) -> Literal["hit", "missed"]:
    """Whether a new rung's estimate lies in the interval that was predicted for it."""
    low, high = interval
    return "hit" if low <= estimate <= high else "missed"


def slope_seen(sizes: Sequence[float], errors: Sequence[float], freedom: float) -> float:
    """The slope for each tenfold that such a ladder would show in four of five tries. freedom: of the error of each rung.

    By drawing: the noise that looks like scatter between rungs widens intervals by more than a formula says (of three rungs,
    (t_0.975 + t_0.8) errors are shown in 60% of tries). A line that is added moves the slope and nothing else.
    """
    generator = np.random.default_rng(0)
    needed = []
    for _ in range(TRIES):
        values = generator.normal(0.0, errors)
        shown = np.asarray(errors) * np.sqrt(generator.chisquare(freedom, len(errors)) / freedom)
        effects = [effect_of(float(value), float(error), freedom, 2) for value, error in zip(values, shown, strict=True)]
        line = _fitted([Rung(size, effect) for size, effect in zip(sizes, effects, strict=True)])
        needed.append(-line.effect(line.slope, LEVEL).low)
    return float(np.quantile(needed, POWER))


# --- the line


@dataclass(frozen=True)
class _Noise:
    """Variances of rungs along a ladder: `level` in its middle, whose logarithm grows by `growth` with each tenfold, by
    `unshrunk` as the rungs alone have it. freedom: of all rungs together."""

    level: float
    growth: float
    unshrunk: float
    freedom: float

    def expected(self, x: float) -> float:
        """The variance of a rung that is not measured yet, by the growth that makes it larger."""
        return self.level * math.exp(max(self.growth * x, self.unshrunk * x))


@dataclass(frozen=True)
class _Line:
    """A polynomial in log10(size / middle). weights [p, k]: of the rungs in each coefficient. own, smoothed, freedom [k]:
    variances of the rungs, and degrees of freedom of their own. between: variance between rungs."""

    range: tuple[float, float]
    values: Numbers
    weights: Numbers
    own: Numbers
    smoothed: Numbers
    freedom: Numbers
    between: float
    noise: _Noise
    seeds: int

    @property
    def slope(self) -> Contrast:
        return self.contrast(0.0, 1.0)

    @property
    def middle(self) -> float:
        return math.log10(self.range[0]) / 2 + math.log10(self.range[1]) / 2

    def at(self, size: float, observed: bool = False) -> Contrast:
        """The line at a size, or a new rung there."""
        x = math.log10(size) - self.middle
        return self.contrast(1.0, x, new=self.noise.expected(x) if observed else 0.0, drawn=float(observed))

    def contrast(self, *parts: float, new: float = 0.0, drawn: float = 0.0) -> Contrast:
        """A sum of coefficients. new: variance of the runs of a new rung. drawn: 1 if it is a rung, and not the line."""
        weights = np.asarray(parts) @ self.weights
        rest = len(self.values) - len(self.weights)
        by_runs, lost = self._by_runs(weights, new) if rest else self._by_own_runs(weights, new)
        scatter = self.between * (float(weights @ weights) + drawn)
        lost += scatter**2 / max(1.0, SCATTER_FREEDOM * rest)
        total = by_runs + scatter
        return Contrast(float(weights @ self.values), math.sqrt(total), total**2 / lost if lost else math.inf)

    def _by_runs(self, weights: Numbers, new: float) -> tuple[float, float]:
        """The variance, and its square over its degrees of freedom."""
        variance = float(max(weights**2 @ self.own, weights**2 @ self.smoothed)) + new
        return variance, variance**2 / self.noise.freedom

    def _by_own_runs(self, weights: Numbers, new: float) -> tuple[float, float]:
        """Welch's variance of a line through all rungs: without scatter to widen it, smoothed variances made it too sure."""
        several = weights**2 * self.own
        return float(several.sum()) + new, float(np.sum(several**2 / self.freedom)) + new**2 / self.noise.freedom

    def effect(self, contrast: Contrast, level: float) -> Effect:
        return effect_of(contrast.value, contrast.error, contrast.freedom, self.seeds, level)


def _fitted(rungs: Sequence[Rung], degree: int = 1) -> _Line:
    sizes = [rung.size for rung in rungs]
    if len(set(sizes)) < 2:
        raise NoTrendError(f"{len(set(sizes))} size: a trend needs two; add a model of another size")
    ends = min(sizes), max(sizes)
    x = np.log10(sizes) - np.log10(ends).mean()
    values, errors, freedom = (
        np.array([getattr(rung.effect, name) for rung in rungs], float) for name in ("estimate", "error", "freedom")
    )
    freedom = np.minimum(freedom, KNOWN)
    noise = _noise(x, errors**2, freedom)
    smoothed = SMOOTHED_FREEDOM * noise.level * np.exp(noise.growth * x) + freedom * errors**2
    smoothed = np.maximum(smoothed / (SMOOTHED_FREEDOM + freedom), LEAST_VARIANCE)
    powers = np.vander(x, degree + 1, increasing=True)
    between = between_variance(values, smoothed, powers)
    root = np.sqrt(np.min(smoothed + between) / (smoothed + between))
    weights = np.linalg.pinv(powers * root[:, None]) * root
    seeds = min(rung.effect.seeds for rung in rungs)
    return _Line(ends, values, weights, errors**2, smoothed, freedom, between, noise, seeds)


def _noise(x: Numbers, variances: Numbers, freedom: Numbers) -> _Noise:
    unshrunk = growth = 0.0
    if np.all(variances > 0):
        logs = np.log(variances) - scipy.special.digamma(freedom / 2) + np.log(freedom / 2)
        precision = 1 / scipy.special.polygamma(1, freedom / 2)
        apart = x - np.average(x, weights=precision)
        information = float(precision @ apart**2)
        unshrunk = float(precision @ (apart * logs)) / information
        growth = unshrunk * max(0.0, 1 - 1 / (information * unshrunk**2)) if unshrunk else 0.0
    level = float(np.average(variances / np.exp(growth * x), weights=freedom))
    return _Noise(level, growth, unshrunk, float(freedom.sum()) - (growth != 0))


# --- the word


def _word(line: _Line, ends: Sequence[Contrast], margin: float, level: float) -> Word:
    """All signs but those of a turn are tested on one side: one-sided tests of a turn were false in up to 8% at a noisy end."""
    slope, middle = line.slope, line.contrast(1.0, 0.0)
    one_sided = 2 * level - 1
    if math.prod(_sign(end, level) for end in ends) < 0:
        return "turns"
    if all(_sign(replace(end, value=margin - abs(end.value)), one_sided) > 0 for end in ends):
        return "none"
    first, last = (_sign(end, one_sided) for end in ends)
    part = math.copysign(STEADY, middle.value)
    if last and all(_sign(line.contrast(part, change), one_sided) > 0 for change in (-1.0, 1.0)):
        return "holds"
    direction = _sign(slope, level)
    if direction and last == direction:
        return "grows"
    return "fades" if direction and first == -direction else "open"


def _sign(contrast: Contrast, level: float) -> int:
    """1 or -1 if that is sure, else 0."""
    sure = abs(contrast.t) > scipy.special.stdtrit(contrast.freedom, 0.5 + level / 2)
    return int(math.copysign(1, contrast.value)) if sure else 0


def _crossing(line: _Line, target: float, level: float) -> Crossing:
    """By inversion: the sizes at which the line may have this value (Fieller 1954)."""
    slope, middle = line.slope.value, line.contrast(1.0, 0.0).value
    direction = math.copysign(1.0, slope)

    def at(x: float) -> Contrast:
        here = line.contrast(1.0, x)
        return replace(here, value=direction * (target - here.value))

    x = (target - middle) / slope
    ends = (fieller_end(at, x, sign, level) for sign in (-1, 1))
    size, low, high = (_size(line.middle + place) for place in (x, *ends))
    return Crossing(size, low, high, not line.range[0] <= size <= line.range[1])


def _size(exponent: float) -> float:
    return 10.0**exponent if abs(exponent) < 300 else (math.inf if exponent > 0 else 0.0)
