"""Means over items that every seed answers, as in evals: what the items and what the seeds add to the error.

Items come in clusters (questions on one passage) and seeds (training runs, or repeated samples) answer all of them, so both are
sampled and neither lies within the other. The variance of a mean is that of its clusters plus that of its seeds less what both
count, the residual of two-way tables. That of clusters is Liang and Zeger's (1986), made unbiased for clusters of unequal size
whose items are alike; degrees of freedom are Satterthwaite's. Differences and percentages follow two_samples.py.

Of few items that are right or wrong a t interval is no guide: a difference of two arms on the same items has Tango's score
interval (1998), and one arm's share Wilson's (1927).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when they are first used
from numpy.typing import NDArray

from .intervals import Numbers
from .two_samples import LEAST_BASE_ERRORS, Contrast, Effect, NoBaseError, NoSpreadError, effect_of, fieller_end, t_quantile

Labels = NDArray[np.int64]
# Of clusters: sums of weights, as n_c / n.
Shares = NDArray[np.float64]


@dataclass(frozen=True)
class Sources:
    """What the variance of a mean comes from: items (their clusters), seeds, and both at once, which the other two count.

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
        """Satterthwaite's."""
        spread = sum(variance**2 / freedom for variance, freedom in self.freedoms)
        return self.total**2 / spread if spread else sum(freedom for _, freedom in self.freedoms)

    def with_more(self, items: int = 1, seeds: int = 1) -> float:
        """The variance with so many times the items and the seeds."""
        of_items, of_seeds = max(0.0, self.items - self.both), max(0.0, self.seeds - self.both)
        return of_items / items + of_seeds / seeds + min(self.both, self.total) / (items * seeds)


def sources(arm: Numbers, other: Numbers | None, clusters: Labels, scale: float = 1.0, paired: bool = False) -> Sources:
    """Of mean(arm) - scale mean(other). Raises NoSpreadError for a single cluster.

    arm [I, S], other [I, T] or none: an item a row, a seed a column. clusters [I]: of each item. paired: column j of both is one
    seed.
    """
    sides = [arm] if other is None else [arm - scale * other] if paired else [arm, -scale * other]
    size = np.bincount(clusters)
    if len(size) < 2:
        raise NoSpreadError("one item, or one cluster of items, has no spread")
    means = np.sum([side.mean(axis=1) for side in sides], axis=0)
    items, freedom = _of_clusters(np.bincount(clusters, means - means.mean()) / len(means), size / size.sum())
    parts, seeds, both = [(items, freedom)], 0.0, 0.0
    for side in sides:
        if (count := side.shape[1]) > 1:
            of_seeds = float(np.var(side.mean(axis=0), ddof=1)) / count
            parts.append((of_seeds, count - 1.0))
            seeds, both = seeds + of_seeds, both + _of_both(side, clusters)
    return Sources(items, seeds, both, tuple(parts))


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
    return float(np.sum(sums**2)) / side.size**2 * count * seeds / ((count - 1) * (seeds - 1))


def crossed_difference(
    arm: Numbers, other: Numbers, clusters: Labels, relative: bool, paired: bool, level: float
) -> tuple[Effect, Sources]:
    """mean(arm) - mean(other), or as a share of |mean(other)| with Fieller's interval. Raises NoSpreadError, and NoBaseError for
    a base too near zero."""
    count = len(np.bincount(clusters))
    if not relative:
        parts = sources(arm, other, clusters, 1.0, paired)
        found = Contrast(float(arm.mean() - other.mean()), math.sqrt(parts.total), parts.freedom)
        return effect_of(found, count, level), parts
    base = float(other.mean())
    of_base = sources(other, None, clusters)
    if base == 0 or abs(base) < LEAST_BASE_ERRORS * math.sqrt(of_base.total):
        raise NoBaseError(f"a mean of {base:.3g} lies too near zero to be a base for percentages; claim an absolute difference")
    sign = math.copysign(1.0, base)  # a lower return is a lower one, whatever its sign

    def at(edge: float) -> Contrast:
        scale = 1 + sign * edge
        parts = sources(arm, other, clusters, scale, paired)
        return Contrast(float(arm.mean() - scale * base), math.sqrt(parts.total), parts.freedom)

    here, estimate = at(0.0), (float(arm.mean()) - base) / abs(base)
    ends = [fieller_end(at, estimate, side, level) for side in (-1, 1)]
    found = Contrast(here.value / abs(base), here.error / abs(base), here.freedom)
    return effect_of(found, count, level, (ends[0], ends[1]), at), sources(arm, other, clusters, 1.0, paired)


def crossed_level(arm: Numbers, number: float, clusters: Labels, unit: float, level: float) -> tuple[Effect, Sources]:
    """(mean(arm) - number) / unit. Raises NoSpreadError."""
    parts = sources(arm, None, clusters)
    found = Contrast((float(arm.mean()) - number) / unit, math.sqrt(parts.total) / unit, parts.freedom)
    return effect_of(found, len(np.bincount(clusters)), level), parts


def score_difference(arm: Numbers, other: Numbers, level: float) -> Effect:
    """Of two arms that are right (1) or wrong (0) on the same items [n]: Tango's."""
    count = len(arm)
    gained, lost = float(np.sum(arm > other)), float(np.sum(arm < other))

    def at(edge: float) -> Contrast:
        value = (gained - lost) / count - edge
        if abs(edge) >= 1:
            return Contrast(value, 0.0, math.inf)
        # The share lost that is likeliest if the difference is `edge`: the root of 2 n s^2 + b s + c.
        b, c = (2 * count - gained + lost) * edge - gained - lost, -lost * edge * (1 - edge)
        share = (math.sqrt(b**2 - 8 * count * c) - b) / (4 * count)
        return Contrast(value, math.sqrt(max(0.0, 2 * share + edge * (1 - edge)) / count), math.inf)

    return _by_score(at, (gained - lost) / count, (-1.0, 1.0), count, level)


def score_level(arm: Numbers, number: float, level: float) -> Effect:
    """Of the share of items [n] that are right (1), less a number: Wilson's."""
    count, share = len(arm), float(arm.mean())

    def at(edge: float) -> Contrast:
        true = min(1.0, max(0.0, number + edge))
        return Contrast(share - number - edge, math.sqrt(true * (1 - true) / count), math.inf)

    return _by_score(at, share - number, (-number, 1 - number), count, level)


def _by_score(
    at: Callable[[float], Contrast], estimate: float, bounds: tuple[float, float], count: int, level: float
) -> Effect:
    """The interval of what a score test does not reject."""
    quantile = t_quantile(math.inf, level)

    def end(bound: float) -> float:
        sign = math.copysign(1.0, bound - estimate)

        def excess(edge: float) -> float:
            return -sign * at(edge).t - quantile

        if estimate == bound or excess(bound) < 0:
            return bound
        return float(scipy.optimize.bisect(excess, estimate, bound, xtol=1e-12))

    low, high = map(end, bounds)
    # Of answers that all agree there is no spread, and yet an interval, which is what planning goes by.
    found = Contrast(estimate, (high - low) / (2 * quantile), math.inf)
    return effect_of(found, count, level, (low, high), at)
