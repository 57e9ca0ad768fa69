"""Means over items that every seed answers, as in evals: what the items and what the seeds add to the error.

Items come in clusters (questions on one passage) and seeds (training runs, or repeated samples) answer all of them, so both are
sampled and neither lies within the other. The variance of a mean is that of its clusters plus that of its seeds less what both
count, the residual of two-way tables. That of clusters is Liang and Zeger's (1986), made unbiased for clusters of unequal size
whose items are alike; degrees of freedom are Satterthwaite's. Differences and percentages follow two_samples.py.

Of few items that are right or wrong a plain t interval is no guide: a difference of two arms has Bonett and Price's, and one
arm's share Clopper and Pearson's.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .intervals import Numbers, binomial
from .two_samples import (
    LEAST_BASE_ERRORS,
    Contrast,
    Effect,
    NoBaseError,
    NoSpreadError,
    effect_from_contrast,
    fieller_end,
    t_quantile,
)

Labels = NDArray[np.int64]
# A standard error of 2 / (C + 2): Clopper and Pearson's interval of C right answers of C begins at most 1.9 / (C + 2) times
# Student's quantile below 1.
LEAST_OF_LEVEL = 4.0
# The spread of answers that are right or wrong counts if this number of clusters is not like the others.
FEWEST_UNLIKE = 5
# Weights of clusters, as n_c / n.
Shares = NDArray[np.float64]


@dataclass(frozen=True)
class Sources:
    """Components of the variance of a mean: items (their clusters), seeds, and both at once, which the other two count.

    freedoms: (variance, degrees of freedom) of each part that is estimated by itself.
    """

    items: float
    seeds: float = 0.0
    both: float = 0.0
    freedoms: tuple[tuple[float, float], ...] = ()

    @property
    def total(self) -> float:
        return max(self.items, self.seeds, self.items + self.seeds - self.both)

    @property
    def freedom(self) -> float:
        """Satterthwaite's degrees of freedom."""
        spread = sum(variance**2 / freedom for variance, freedom in self.freedoms)
        return self.total**2 / spread if spread else sum(freedom for _, freedom in self.freedoms)

    def with_more(self, items: int = 1, seeds: int = 1) -> float:
        """The variance with these multiples of the items and the seeds."""
        of_items, of_seeds = max(0.0, self.items - self.both), max(0.0, self.seeds - self.both)
        return of_items / items + of_seeds / seeds + min(self.both, self.total) / (items * seeds)


def sources(arm: Numbers, other: Numbers | None, clusters: Labels, scale: float = 1.0, paired: bool = False) -> Sources:
    """Variance components of mean(arm) - scale mean(other). Raises NoSpreadError for a single cluster.

    arm [I, S], other [I, T] or none: an item a row, a seed a column. clusters [I]: of each item. paired: column j of both is
    one seed.
    """
    sides = [arm] if other is None else [arm - scale * other] if paired else [arm, -scale * other]
    size = np.bincount(clusters)
    if len(size) < 2:
        raise NoSpreadError("one item, or one cluster of items, has no spread")
    means = np.sum([side.mean(axis=1) for side in sides], axis=0)
    items, freedom = _of_clusters(_sums(means, clusters), size / size.sum())
    items = max(items, _least(arm, other, clusters, scale))
    if items == 0:
        raise NoSpreadError("all items say the same, so nothing tells how far others would differ")
    parts, seeds, both = [(items, freedom)], 0.0, 0.0
    for side in sides:
        if (count := side.shape[1]) > 1:
            of_seeds = float(np.var(side.mean(axis=0), ddof=1)) / count
            parts.append((of_seeds, count - 1.0))
            seeds, both = seeds + of_seeds, both + _of_both(side, clusters)
    return Sources(items, seeds, both, tuple(parts))


def _sums(means: Numbers, clusters: Labels) -> Numbers:
    """Sums of deviations within clusters, over the number of items."""
    return np.asarray(np.bincount(clusters, means - means.mean()) / len(means))


def _least(arm: Numbers, other: Numbers | None, clusters: Labels, scale: float) -> float:
    """Least variance of a mean of right and wrong answers, if clusters are nearly all alike and their spread says nothing; 0 of
    other answers.

    A difference has at least the variance of Bonett and Price's without an item that the arms differ on. One arm's share has
    one whose interval is as wide as Clopper and Pearson's if all are right.
    """
    sides = [arm] if other is None else [arm, other]
    if not all(np.isin(side, (0.0, 1.0)).all() for side in sides):
        return 0.0
    unlike = [arm != other.mean(axis=1, keepdims=True)] if other is not None else [arm != 0, arm != 1]
    if min(len(np.unique(clusters[rows.any(axis=1)])) for rows in unlike) >= FEWEST_UNLIKE:
        return 0.0
    return (LEAST_OF_LEVEL if other is None else 1.0 + scale**2) / (len(np.bincount(clusters)) + 2) ** 2


def _of_clusters(sums: Numbers, shares: Shares) -> tuple[float, float]:
    """Variance of a mean, and its degrees of freedom, from the sums of deviations within clusters over the number of items.

    Both as if the items of a cluster were alike, so that its sum varies as its share: then the expected square of a sum is
    q - 2 p q + Q p^2, for shares p with squares q of sum Q. Of equal clusters it is C / (C - 1), with C - 1 degrees of freedom.
    """
    squares = shares**2
    total = float(squares.sum())
    expected = float(np.sum(squares * (1 - 2 * shares + total)))
    variance = float(np.sum(sums**2)) * total / expected
    diagonal = -2 * shares * squares + total * squares
    p_p, p_q, q_q = float(shares @ shares), float(shares @ squares), float(squares @ squares)
    rest = 2 * p_p * q_q + 2 * p_q**2 + total**2 * p_p**2 - 4 * total * p_p * p_q
    return variance, expected**2 / (q_q + 2 * float(squares @ diagonal) + rest)


def _of_both(side: Numbers, clusters: Labels) -> float:
    """Variance of the mean by what is left of a table [I, S] without its items' and its seeds' means."""
    residual = side - side.mean(axis=1, keepdims=True) - side.mean(axis=0) + side.mean()
    count, seeds = len(np.bincount(clusters)), side.shape[1]
    sums = np.array([np.bincount(clusters, column) for column in residual.T])
    return float(np.sum(sums**2) / side.size**2 * count * seeds / ((count - 1) * (seeds - 1)))


def crossed_difference(
    arm: Numbers, other: Numbers, clusters: Labels, relative: bool, paired: bool, level: float
) -> tuple[Effect, Sources]:
    """mean(arm) - mean(other), or as a share of |mean(other)| with Fieller's interval. Raises NoSpreadError, and NoBaseError
    for a base too near zero."""
    count = len(np.bincount(clusters))
    if not relative:
        parts = sources(arm, other, clusters, 1.0, paired)
        contrast = Contrast(float(arm.mean() - other.mean()), math.sqrt(parts.total), parts.freedom)
        return effect_from_contrast(contrast, count, level), parts
    base = float(other.mean())
    of_base, _ = _of_clusters(_sums(other.mean(axis=1), clusters), np.bincount(clusters) / len(clusters))
    if base == 0 or abs(base) < LEAST_BASE_ERRORS * math.sqrt(of_base):
        raise NoBaseError(f"a mean of {base:.3g} lies too near zero to be a base for percentages; claim an absolute difference")
    sign = math.copysign(1.0, base)  # a lower return is a lower one, whatever its sign

    def at(edge: float) -> Contrast:
        scale = 1 + sign * edge
        parts = sources(arm, other, clusters, scale, paired)
        return Contrast(float(arm.mean() - scale * base), math.sqrt(parts.total), parts.freedom)

    here, estimate = at(0.0), (float(arm.mean()) - base) / abs(base)
    ends = [fieller_end(at, estimate, side, level) for side in (-1, 1)]
    contrast = Contrast(here.value / abs(base), here.error / abs(base), here.freedom)
    return effect_from_contrast(contrast, count, level, (ends[0], ends[1]), at), sources(arm, other, clusters, 1.0, paired)


def crossed_level(arm: Numbers, number: float, clusters: Labels, unit: float, level: float) -> tuple[Effect, Sources]:
    """(mean(arm) - number) / unit. Raises NoSpreadError."""
    parts = sources(arm, None, clusters)
    contrast = Contrast((float(arm.mean()) - number) / unit, math.sqrt(parts.total) / unit, parts.freedom)
    return effect_from_contrast(contrast, len(np.bincount(clusters)), level), parts


def difference_of_shares(arm: Numbers, other: Numbers, level: float) -> Effect:
    """The difference of two arms that are right (1) or wrong (0) on the same items [n], with Bonett and Price's adjusted
    interval (2012).

    It adds to each side an item that only one arm gets right. With Student's quantile in place of the normal one it covers at
    least 94.9% at every pair of shares, from 5 items on (reports/log)."""
    count, gained, lost = len(arm), float(np.sum(arm > other)), float(np.sum(arm < other))
    p, q = (gained + 1) / (count + 2), (lost + 1) / (count + 2)
    adjusted = Contrast(p - q, math.sqrt((p + q - (p - q) ** 2) / (count + 2)), count - 1)
    half = adjusted.error * t_quantile(adjusted.freedom, level)
    contrast = replace(adjusted, value=(gained - lost) / count)
    ends = max(-1.0, p - q - half), min(1.0, p - q + half)
    return effect_from_contrast(contrast, count, level, ends, lambda edge: replace(adjusted, value=p - q - edge))


def share_above(arm: Numbers, number: float, level: float) -> Effect:
    """The share of items [n] that are right (1), less a number, with Clopper and Pearson's interval."""
    count = len(arm)
    observation = binomial(int(arm.sum()), count, level)
    # For planning: answers that all agree have no spread, and yet an interval.
    error = (observation.high - observation.low) / (2 * t_quantile(math.inf, level))

    def p_inside(low: float, high: float) -> float:
        return observation.p_inside(low + number, high + number)

    low, high = observation.low - number, observation.high - number
    return Effect(observation.estimate - number, low, high, count, p_inside, error * math.sqrt(count))
