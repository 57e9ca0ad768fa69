"""How many steps S a loss costs at batch size B, fitted by least squares in logs under every weighting of the runs.

The curve has one level and one batch size at which it bends, the critical one,

    ln S = level + ln(1 + bend / B),

so that for a given bend the best level is a weighted mean: what remains is a search in one dimension, over ln bend. It
scans FAR on either side of the batch sizes at hand and then steps to the vertex of ever narrower parabolas, to 1e-6 in
ln bend where the runs determine it. A curve that does not bend within that range returns the range's end: there it differs
from its limit, a straight line in logs, by less than 1 / FAR.

Axes: R weightings (bootstrap rows), M runs, D distinct batch sizes. Weights are numbers of copies: [R, M], not negative.
nan marks rows in which there is no fit.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy  # its parts load when they are first used: seconds, and much that is read here needs none
from numpy.typing import NDArray

from ...trials import Numbers

FAR = 1e4
GRID_STEP = 0.3
REFINEMENTS = 6
EM_TOLERANCE, EM_CYCLES = 1e-6, 200
# Runs that lie on the curve have no spread; the conditional expectations divide by it.
SMALLEST_DEVIATION = 1e-6

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Hyperbola:
    """Steps to a target at batch size B: (S / Smin - 1)(E / Emin - 1) = 1 with E = B S examples (McCandlish et al. 2018,
    An Empirical Model of Large-Batch Training, eq. 2.11), that is S = Smin (1 + B_crit / B) with B_crit = Emin / Smin.

    smallest_steps [R]: Smin, steps at an unlimited batch size. critical_batch [R]: B_crit, the knee, in the unit of B.
    """

    smallest_steps: Numbers
    critical_batch: Numbers

    def log_steps(self, batch: Numbers) -> Numbers:
        """ln S at batch sizes [M], [R, M]."""
        return np.asarray(np.log(self.smallest_steps)[:, None] + np.log1p(self.critical_batch[:, None] / batch))

    def at_overhead(self, base_batch: float, overhead: float) -> Numbers:
        """Batch size [R] that needs `overhead` (a share, 0.2 is 20%) more examples than base_batch does. Examples are
        proportional to B + B_crit, so B = (1 + overhead)(base_batch + B_crit) - B_crit. Zhang et al. 2024 (How Does Critical
        Batch Size Scale in Pre-training?) call it critical at 20% over 256 sequences."""
        return (1 + overhead) * (base_batch + self.critical_batch) - self.critical_batch


def fit_hyperbola(batch: Numbers, log_steps: Numbers, weights: Numbers, censored: Flags | None = None) -> Hyperbola:
    """Weighted least squares of ln S on ln Smin + ln(1 + B_crit / B): batch [M], log_steps and weights [R, M].

    censored [R, M]: runs that ended before the target; log_steps holds ln cap, and all that is known is that S lies above.
    They enter by the Tobit likelihood (Tobin 1958, Econometrica 26): errors of ln S are normal with one variance. It is
    maximised by accelerated EM until ln Smin, ln B_crit and the log deviation move by less than EM_TOLERANCE in a cycle.
    Rows with fewer than three batch sizes at which a run of positive weight reached the target: nan.
    """
    level, bend, _ = _maximise(batch, log_steps, weights, _flags(censored, log_steps))
    return Hyperbola(smallest_steps=np.exp(level), critical_batch=np.exp(bend))


class _Normal(NamedTuple):
    """ln S is normal about level + ln(1 + exp(bend) / B), each [R]."""

    level: Numbers
    bend: Numbers
    log_deviation: Numbers


def _maximise(batch: Numbers, log_steps: Numbers, weights: Numbers, censored: Flags) -> _Normal:
    """Largest Tobit likelihood. Starts at the runs that reached the target; only rows that still move go on."""
    reached = weights * ~censored
    state = np.stack(_least_squares(batch, log_steps, reached))
    state[:, ((reached @ _one_hot(batch)) > 0).sum(axis=1) < 3] = np.nan
    moving = np.flatnonzero(np.isfinite(state).all(axis=0) & (censored & (weights > 0)).any(axis=1))
    for _ in range(EM_CYCLES):
        if not len(moving):
            break
        before = state[:, moving]
        tobit = _Tobit(batch, log_steps[moving], weights[moving], censored[moving])
        state[:, moving] = tobit.cycle(before)
        moving = moving[np.abs(state[:, moving] - before).max(axis=0) > EM_TOLERANCE]
    return _Normal(*state)


def _least_squares(batch: Numbers, log_steps: Numbers, weights: Numbers) -> _Normal:
    level, bend = _search(_collapse(batch, log_steps, weights))
    residuals = log_steps - _predicted(level, bend, batch)
    return _Normal(level, bend, _log_deviation((weights * residuals**2).sum(axis=1), weights))


def _log_deviation(squares: Numbers, weights: Numbers) -> Numbers:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.log(np.maximum(np.sqrt(squares / weights.sum(axis=1)), SMALLEST_DEVIATION)))


class _Tobit:
    """EM (Dempster, Laird and Rubin 1977) for the rows that are handed in. A state is a _Normal as array [3, R]."""

    def __init__(self, batch: Numbers, log_steps: Numbers, weights: Numbers, censored: Flags):
        self.batch, self.log_steps, self.weights, self.censored = batch, log_steps, weights, censored

    def cycle(self, now: Numbers) -> Numbers:
        """Three iterations with a jump along the way of the first two (SQUAREM, Varadhan and Roland 2008, scheme S3).
        Where whole batch sizes are censored plain EM creeps, by a hundredth of what is left. Never lowers the likelihood."""
        one = self.iterate(now)
        two = self.iterate(one)
        first, second = one - now, two - 2 * one + now
        size = np.sqrt((first**2).sum(axis=0) / np.maximum((second**2).sum(axis=0), 1e-300))
        jump = now + 2 * size * first + size**2 * second
        low, high = _range(np.log(self.batch))
        inside = (jump[1] >= low) & (jump[1] <= high) & (np.abs(jump - two) < 1.0).all(axis=0)
        jump = np.where(inside, jump, two)
        return self.iterate(np.where(self.log_likelihood(jump) > self.log_likelihood(two), jump, two))

    def iterate(self, now: Numbers) -> Numbers:
        level, bend, log_deviation = now
        expected, variance = _beyond_cap(self.log_steps, _predicted(level, bend, self.batch), log_deviation, self.censored)
        means = _collapse(self.batch, expected, self.weights)
        level, bend = _search(means)
        residuals = expected - _predicted(level, bend, self.batch)
        squares = (self.weights * (residuals**2 + variance)).sum(axis=1)
        return np.stack([level, bend, _log_deviation(squares, self.weights)])

    def log_likelihood(self, state: Numbers) -> Numbers:
        """[R]"""
        level, bend, log_deviation = state
        z = (self.log_steps - _predicted(level, bend, self.batch)) * np.exp(-log_deviation)[:, None]
        runs = np.where(self.censored, scipy.special.log_ndtr(-z), -(z**2) / 2 - log_deviation[:, None] - np.log(2 * np.pi) / 2)
        return np.asarray((self.weights * runs).sum(axis=1))


def _beyond_cap(log_steps: Numbers, predicted: Numbers, log_deviation: Numbers, censored: Flags) -> tuple[Numbers, Numbers]:
    """Mean and variance of ln S given what is known of it, [R, M]: of a normal beyond the cap where the run is censored.

    With z = (cap - mu) / sigma and the hazard lambda = phi(z) / (1 - Phi(z)): mean mu + sigma lambda, variance
    sigma^2 (1 - lambda (lambda - z)). The hazard is written with erfcx, which holds far out in either tail.
    """
    sigma = np.exp(log_deviation)[:, None]
    z = (log_steps - predicted) / sigma
    hazard = np.sqrt(2 / np.pi) / scipy.special.erfcx(z / np.sqrt(2))
    variance = sigma**2 * np.clip(1 - hazard * (hazard - z), 0.0, 1.0)
    return np.where(censored, predicted + sigma * hazard, log_steps), np.where(censored, variance, 0.0)


def _predicted(level: Numbers, bend: Numbers, batch: Numbers) -> Numbers:
    """ln S at batch sizes [M], [R, M]; every distinct size is worked out once."""
    sizes, where = np.unique(batch, return_inverse=True)
    return np.asarray((level[:, None] + _softplus(bend[:, None] - np.log(sizes)))[:, where])


def _flags(censored: Flags | None, log_steps: Numbers) -> Flags:
    return np.zeros(log_steps.shape, dtype=bool) if censored is None else censored


class _Means(NamedTuple):
    """The sums over runs that least squares needs. log_batch [D]; mean [R, D] at a batch size, 0 without weight; share of the
    weight [R, D]."""

    log_batch: Numbers
    mean: Numbers
    share: Numbers


def _collapse(batch: Numbers, values: Numbers, weights: Numbers) -> _Means:
    one_hot = _one_hot(batch)
    total = weights @ one_hot
    mean = np.divide((weights * values) @ one_hot, total, out=np.zeros_like(total), where=total > 0)
    return _Means(np.log(np.unique(batch)), mean, total / np.maximum(total.sum(axis=1, keepdims=True), 1e-300))


def _one_hot(batch: Numbers) -> Numbers:
    """[M, D]"""
    return np.asarray((batch[:, None] == np.unique(batch)).astype(np.float64))


def _search(means: _Means) -> tuple[Numbers, Numbers]:
    """Level and ln bend of the lowest weighted squares, each [R]; nan where a value is."""
    low, high = _range(means.log_batch)
    grid = np.linspace(low, high, 1 + round((high - low) / GRID_STEP))
    squares = np.stack([_profile(means, np.array([bend]))[1] for bend in grid])
    bend = grid[squares.argmin(axis=0)]
    for refinement in range(REFINEMENTS):
        bend = _descend(means, bend, GRID_STEP / 3**refinement)
    level, _ = _profile(means, bend)
    return level, np.where(np.isfinite(level), bend, np.nan)


def _range(log_batch: Numbers) -> tuple[float, float]:
    return float(log_batch.min() - np.log(FAR)), float(log_batch.max() + np.log(FAR))


def _profile(means: _Means, bend: Numbers) -> tuple[Numbers, Numbers]:
    """Best level and weighted mean square about the curve, each [R], for ln bend [R] or [1]."""
    rest = means.mean - _softplus(bend[:, None] - means.log_batch)
    level = np.einsum("rd,rd->r", means.share, rest)
    rest = rest - level[:, None]
    return np.asarray(level), np.asarray(np.einsum("rd,rd,rd->r", means.share, rest, rest))


def _descend(means: _Means, bend: Numbers, span: float) -> Numbers:
    """The best of ln bend, its neighbours a span away, and the vertex of the parabola through the three, [R]. The vertex is off
    by the order of span^2."""
    middle, left, right = (_profile(means, bend + offset)[1] for offset in (0.0, -span, span))
    curvature = left - 2 * middle + right
    shift = np.divide(span * (left - right), 2 * curvature, out=np.zeros_like(bend), where=curvature > 0)
    vertex = bend + np.clip(shift, -1.0, 1.0)
    tried = np.stack([bend, bend - span, bend + span, vertex])
    squares = np.stack([middle, left, right, _profile(means, vertex)[1]])
    chosen = np.take_along_axis(tried, squares.argmin(axis=0)[None], axis=0)[0]
    return np.asarray(np.clip(chosen, *_range(means.log_batch)))


def _softplus(x: Numbers) -> Numbers:
    """ln(1 + e^x)"""
    return np.asarray(np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x))))
