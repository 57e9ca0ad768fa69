"""From a trials table to observations: an estimate and a 95% interval for every observable of the spec.

Estimators are evaluated on many weightings of the seeds at once: weights [R, S], row 0 all ones (the estimate), the
others multinomial resamples of the S paired seeds. All arms share a row's weights, so seeds stay paired, and whatever an
estimator selects (a tuned LR, the best arm) is selected anew in every resample.

Interval: estimate +- t(0.975, S-1) * sqrt(S / (S-1)) * (standard deviation over resamples), on the log axis for ratios.
For a mean this is Student's interval; a percentile interval would be too narrow at five seeds (Hesterberg 2015,
section 4.1). Shares of runs have exact binomial intervals (Clopper and Pearson 1934) instead.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from harness.plan import points
from harness.randomness import numpy_generator
from harness.spec import (
    ActivationSlope,
    CureRate,
    CurveRatio,
    DivergenceTime,
    FailureRate,
    Gap,
    Log2,
    LRSensitivity,
    MaxTrainable,
    Observable,
    Optimum,
    Quotient,
    RankCorrelation,
    RelativeGap,
    Rule,
    Share,
    Slope,
    SmallestWithin,
    Study,
    TrajectoryGap,
    TransferRegret,
    TunedLoss,
    canonical_json,
)

Numbers = NDArray[np.float64]

LEVEL = 0.95
RESAMPLES = 2000
# An estimate that exists in fewer resamples than this rests on single seeds.
LEAST_DEFINED_SHARE = 0.9
# A spread over fewer seeds than this is no spread.
LEAST_SEEDS = 3


class UndecidableError(Exception):
    """There is no number. verdict: what the judge says instead; the message says why, and what would help."""

    def __init__(self, verdict: Literal["inconclusive", "out of regime", "invalid"], reason: str):
        super().__init__(reason)
        self.verdict = verdict


@dataclass(frozen=True)
class Observation:
    """An estimate with its 95% interval over `seeds` seeds.

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


class TrialTable:
    """The trials of one study at one scale as arrays: factor values [G] by seeds [S] for each arm."""

    def __init__(self, study: Study, scale: str, trials: pd.DataFrame, failures: dict[str, str] | None = None):
        self.study, self.scale = study, scale
        self.seeds = study.seeds_at(scale)
        self.failures = failures or {}
        self.rows = {
            (arm, point, seed): index
            for index, (arm, point, seed) in enumerate(zip(trials["arm"], trials["point"], trials["seed"], strict=True))
        }
        self.columns = {name: trials[name].to_numpy() for name in trials.columns}

    @cached_property
    def resamples(self) -> Numbers:
        """Weights of the seeds, [1 + RESAMPLES, S]: ones first. The same for every observation of the study."""
        generator = numpy_generator(0, f"bootstrap:{self.study.name}", self.seeds)
        drawn = generator.multinomial(self.seeds, np.full(self.seeds, 1 / self.seeds), size=RESAMPLES)
        return np.vstack([np.ones(self.seeds), drawn])

    def grid(self, arm: str, over: str) -> Numbers:
        return np.array(self.study.factors_at(self.scale, arm)[over], dtype=np.float64)

    def values(self, arm: str, over: str, column: str) -> NDArray[Any]:
        """A column as [G, S]. Raises UndecidableError (invalid) where a trial is missing."""
        index = self._index(arm, over)
        missing = index < 0
        if missing.any():
            errors = sorted(set(self.failures.values()))
            why = f"; an error of this run: {errors[0]}" if errors else "; run the study again to train them"
            raise UndecidableError(
                "invalid", f"{missing.sum()} of {index.size} trials of arm '{arm}' are missing or crashed{why}"
            )
        return np.asarray(self.columns[column])[index]

    def losses(self, arm: str, over: str, column: str) -> Numbers:
        """A loss [G, S] in nats; a diverged run, or one that ends above its start, counts with the loss at initialization."""
        loss = self.values(arm, over, column).astype(np.float64)
        initial = self.values(arm, over, "initial_loss").astype(np.float64)
        return np.where((self.values(arm, over, "outcome") == "diverged") | ~(loss < initial), initial, loss)

    def diverged(self, arm: str, over: str) -> NDArray[np.bool_]:
        return np.asarray(self.values(arm, over, "outcome") == "diverged")

    def _index(self, arm: str, over: str) -> NDArray[np.int64]:
        wanted = [canonical_json(point) for name, point in points(self.study, self.scale) if name == arm]
        if len(wanted) != len(self.grid(arm, over)):
            raise AssertionError(f"arm '{arm}' varies more than '{over}'; no observable here reads such a table")
        return np.array(
            [[self.rows.get((arm, point, seed), -1) for seed in self.study.seed_numbers_at(self.scale)] for point in wanted]
        )


def observe(observable: Observable, table: TrialTable) -> Observation:
    """Estimate and interval. Raises UndecidableError where there is no number."""
    if isinstance(observable, FailureRate | CureRate):
        return _binomial(*_counts(observable, table))
    values = _evaluate(observable, table, table.resamples)
    if not math.isfinite(values[0]):
        raise UndecidableError("inconclusive", "the estimate does not exist on these trials")
    defined = values[1:][np.isfinite(values[1:])]
    if len(defined) < LEAST_DEFINED_SHARE * RESAMPLES:
        share = 1 - len(defined) / RESAMPLES
        raise UndecidableError("inconclusive", f"the estimate does not exist in {share:.0%} of the resamples; add seeds")
    seeds = _contributing_seeds(observable, table)
    return student_interval(float(values[0]), defined, seeds, log_axis=_on_log_axis(observable))


def student_interval(estimate: float, resampled: Numbers, seeds: int, log_axis: bool) -> Observation:
    """The interval of the module's docstring from an estimate and its resamples."""
    if seeds < LEAST_SEEDS:
        raise UndecidableError("inconclusive", f"rests on {seeds} seeds, and an interval needs {LEAST_SEEDS}; add seeds")
    to_axis: Callable[[Any], Any] = np.log if log_axis else np.asarray
    centre = float(to_axis(estimate))
    error = float(np.std(to_axis(resampled)) * math.sqrt(seeds / (seeds - 1)))
    half = float(stats.t.ppf(0.5 + LEVEL / 2, seeds - 1)) * error
    low, high = centre - half, centre + half

    def p_inside(lower: float, upper: float) -> float:
        edges = [-math.inf if log_axis and edge <= 0 else float(to_axis(edge)) for edge in (lower, upper)]
        distances = (centre - edges[0], edges[1] - centre)
        if error == 0:
            return 0.0 if min(distances) > 0 else 1.0  # on the edge itself nothing is decided
        return float(min(1.0, 2 * max(stats.t.sf(distance / error, seeds - 1) for distance in distances)))

    if log_axis:
        low, high = math.exp(low), math.exp(high)
    return Observation(estimate, low, high, seeds, p_inside, spread=error * math.sqrt(seeds), log_axis=log_axis)


def _binomial(successes: int, runs: int) -> Observation:
    interval = stats.binomtest(successes, runs).proportion_ci(LEVEL, method="exact")

    def p_inside(lower: float, upper: float) -> float:
        """Twice the larger tail; the inversion of the exact interval, so both agree."""
        below = stats.binom.sf(successes - 1, runs, lower) if lower > 0 else 0.0
        above = stats.binom.cdf(successes, runs, upper) if upper < 1 else 0.0
        return float(min(1.0, 2 * max(below, above)))

    return Observation(successes / runs, float(interval.low), float(interval.high), runs, p_inside)


def _evaluate(observable: Observable, table: TrialTable, weights: Numbers) -> Numbers:
    """The observable under every weighting of the seeds, [R]; nan where it does not exist."""
    estimator = ESTIMATORS[type(observable)]
    return estimator(observable, table, weights)


def _on_log_axis(observable: Observable) -> bool:
    return isinstance(observable, Optimum | MaxTrainable | CurveRatio | DivergenceTime | Quotient)


def _contributing_seeds(observable: Observable, table: TrialTable) -> int:
    if isinstance(observable, DivergenceTime):
        return int(
            table.diverged(observable.arm, observable.over)[_divergence_edge(observable.arm, observable.over, table)].sum()
        )
    return table.seeds


def _mean(values_GS: Numbers, weights_RS: Numbers) -> Numbers:
    """Weighted means over seeds, [R, G]."""
    return np.asarray(weights_RS @ values_GS.T / weights_RS.sum(1, keepdims=True))


def _tuned(arm: str, over: str, table: TrialTable, weights: Numbers) -> NDArray[np.int64]:
    """Index of the lowest mean validation loss under every weighting, [R]. An edge of the grid is no optimum."""
    best = _mean(table.losses(arm, over, "validation_loss"), weights).argmin(axis=1)
    grid = table.grid(arm, over)
    if best[0] in (0, len(grid) - 1):
        raise UndecidableError(
            "inconclusive", f"the best {over} of arm '{arm}', {grid[best[0]]:.3g}, lies on the edge of its grid; widen the grid"
        )
    return np.asarray(best)


def tuned_index(arm: str, over: str, table: TrialTable) -> int:
    """Index of the arm's tuned value on its grid. Raises UndecidableError at an edge."""
    return int(_tuned(arm, over, table, table.resamples[:1])[0])


def _tuned_loss(observable: TunedLoss, table: TrialTable, weights: Numbers) -> Numbers:
    best = _tuned(observable.arm, observable.over, table, weights)
    return _mean(table.losses(observable.arm, observable.over, "test_loss"), weights)[np.arange(len(weights)), best]


def _optimum(observable: Optimum, table: TrialTable, weights: Numbers) -> Numbers:
    """Vertex of the parabola through the lowest point and its neighbours; a resample whose lowest point is an edge: nan."""
    arm, over = observable.arm, observable.over
    best = _tuned(arm, over, table, weights)
    loss = _mean(table.losses(arm, over, "validation_loss"), weights)
    x = np.log2(table.grid(arm, over))
    inner = (best > 0) & (best < len(x) - 1)
    middle = np.clip(best, 1, len(x) - 2)
    row = np.arange(len(weights))
    # Newton's divided differences, so that the grid need not be even.
    first = (loss[row, middle] - loss[row, middle - 1]) / (x[middle] - x[middle - 1])
    second = (loss[row, middle + 1] - loss[row, middle]) / (x[middle + 1] - x[middle])
    curvature = (second - first) / (x[middle + 1] - x[middle - 1])
    flat = curvature <= 0
    shift = np.where(flat, 0.0, -first / (2 * np.where(flat, 1.0, curvature)))
    vertex = (x[middle] + x[middle - 1]) / 2 + shift
    return np.where(inner, np.exp2(np.where(flat, x[middle], vertex)), np.nan)


def _transfer_regret(observable: TransferRegret, table: TrialTable, weights: Numbers) -> Numbers:
    arm, over = observable.arm, observable.over
    own = _tuned(arm, over, table, weights)
    source = table.grid(observable.tuned_for, over) * observable.times
    chosen = _tuned(observable.tuned_for, over, table, weights)
    grid = table.grid(arm, over)
    _position(grid, float(source[chosen[0]]), arm, over)
    near = np.abs(np.log(grid[None, :] / source[:, None])).argmin(axis=1)
    there = np.isclose(grid[near], source, rtol=1e-6)
    loss = _mean(table.losses(arm, over, "test_loss"), weights)
    row = np.arange(len(weights))
    return np.where(there[chosen], loss[row, near[chosen]] / loss[row, own] - 1, np.nan)


def _trajectory_gap(observable: TrajectoryGap, table: TrialTable, weights: Numbers) -> Numbers:
    over = observable.over
    chosen = _tuned(observable.tuned_for, over, table, weights)
    source = table.grid(observable.tuned_for, over)
    grid = table.grid(observable.arm, over)
    _position(grid, float(source[chosen[0]] * observable.times), observable.arm, over)
    target = np.abs(np.log(grid[None, :] / (source[:, None] * observable.times))).argmin(axis=1)
    there = np.isclose(grid[target], source * observable.times, rtol=1e-6)
    curves = {arm: _evaluation_curves(arm, over, table) for arm in (observable.arm, observable.tuned_for)}
    count = curves[observable.arm].shape[-1]
    late = (np.arange(count) + 1) / count > observable.after + 1e-9
    share = weights / weights.sum(axis=1, keepdims=True)
    theirs = np.einsum("rs,rse->re", share, curves[observable.arm][target[chosen]])
    own = np.einsum("rs,rse->re", share, curves[observable.tuned_for][chosen])
    return np.where(there[chosen], np.abs(theirs / own - 1)[:, late].max(axis=1), np.nan)


def _evaluation_curves(arm: str, over: str, table: TrialTable) -> Numbers:
    """Validation curves [G, S, E]; what is not finite counts with the loss at initialization."""
    curves = table.values(arm, over, "curve_evaluation_loss")
    stacked = np.array([[np.asarray(curve, dtype=np.float64) for curve in row] for row in curves])
    initial = table.values(arm, over, "initial_loss").astype(np.float64)[..., None]
    return np.where(stacked < initial, stacked, initial)


def _smallest_within(observable: SmallestWithin, table: TrialTable, weights: Numbers) -> Numbers:
    loss = _mean(table.losses(observable.arm, observable.over, "test_loss"), weights)
    grid = table.grid(observable.arm, observable.over)
    good = loss <= (1 + observable.within) * loss.min(axis=1, keepdims=True)
    return np.asarray(np.where(good, grid, np.inf).min(axis=1))


def _activation_slope(observable: ActivationSlope, table: TrialTable, weights: Numbers) -> Numbers:
    """All sizes as logs [W, S, T, A] (widths, seeds, steps, taps), then the worst of the slopes on log width."""
    sizes = []
    for _, arm in observable.points:
        (curves,) = table.values(arm, _only_factor(table, arm), "curve_probe_layer_activation")
        sizes.append([np.stack([np.asarray(step, dtype=np.float64) for step in curve[: observable.steps]]) for curve in curves])
    with np.errstate(divide="ignore"):
        logs = np.log(np.array(sizes))
    # A readout that starts at zero has no size yet.
    usable = np.isfinite(logs).all(axis=(0, 1))
    x = np.log([width for width, _ in observable.points])
    centred = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    by_seed = np.einsum("w,wsta->sta", centred, np.where(usable, logs, 0.0))
    slopes = np.einsum("rs,sta->rta", weights, by_seed) / weights.sum(axis=1)[:, None, None]
    return np.asarray(np.abs(slopes).max(axis=(1, 2)))


def _only_factor(table: TrialTable, arm: str) -> str:
    ((factor, values),) = table.study.factors_at(table.scale, arm).items()
    if len(values) != 1:
        raise UndecidableError("inconclusive", f"arm '{arm}' has {len(values)} values of {factor}: this observable reads one")
    return factor


def _max_trainable(observable: MaxTrainable, table: TrialTable, weights: Numbers) -> Numbers:
    arms = observable.best_of or (observable.arm,)
    lowest = np.min([_mean(table.losses(a, observable.over, "test_loss"), weights).min(axis=1) for a in arms], axis=0)
    bar = (1 + observable.within) * lowest
    loss = _mean(table.losses(observable.arm, observable.over, "test_loss"), weights)
    grid = np.log2(table.grid(observable.arm, observable.over))
    inside = loss <= bar[:, None]
    if not inside[0].any():
        raise UndecidableError(
            "inconclusive",
            f"no {observable.over} of arm '{observable.arm}' comes within {observable.within:.0%} of the best loss",
        )
    last = len(grid) - 1 - inside[:, ::-1].argmax(axis=1)
    if last[0] == len(grid) - 1:
        raise UndecidableError(
            "inconclusive", f"arm '{observable.arm}' still trains at the largest {observable.over} of its grid; widen the grid"
        )
    after = np.minimum(last + 1, len(grid) - 1)
    row = np.arange(len(weights))
    rise = loss[row, after] - loss[row, last]
    # Where a resample ends at the top of the grid, the top is all that can be said.
    step = np.divide(bar - loss[row, last], rise, out=np.zeros_like(rise), where=rise > 0)
    edge = grid[last] + step * (grid[after] - grid[last])
    return np.where(inside.any(axis=1), np.exp2(edge), np.nan)


def _lr_sensitivity(observable: LRSensitivity, table: TrialTable, weights: Numbers) -> Numbers:
    loss = _mean(table.losses(observable.arm, observable.over, "test_loss"), weights)
    return np.asarray(loss.mean(axis=1) - loss.min(axis=1))


def _divergence_edge(arm: str, over: str, table: TrialTable) -> int:
    """Index of the lowest value at which more than half of the seeds diverge."""
    most = np.flatnonzero(table.diverged(arm, over).mean(axis=1) > 0.5)
    if not len(most):
        raise UndecidableError(
            "out of regime", f"arm '{arm}' diverges in most seeds at no {over} of its grid: nothing to look at here"
        )
    return int(most[0])


def _divergence_time(observable: DivergenceTime, table: TrialTable, weights: Numbers) -> Numbers:
    arm, over = observable.arm, observable.over
    edge = _divergence_edge(arm, over, table)
    step = table.values(arm, over, "divergence_step")[edge].astype(np.float64)
    warmup = table.study.configuration(table.scale, arm, {over: float(table.grid(arm, over)[edge])}).training.warmup_steps
    happened = table.diverged(arm, over)[edge]
    logs = np.where(happened, np.log(np.where(happened, step, 1.0) / max(1, warmup)), 0.0)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.exp(weights @ logs / (weights @ happened.astype(np.float64))))


def _curve_ratio(observable: CurveRatio, table: TrialTable, weights: Numbers) -> Numbers:
    arm, over = observable.arm, observable.over
    best = _tuned(arm, over, table, weights)
    curves = table.values(arm, over, f"curve_probe_{observable.curve}")
    steps = table.values(arm, over, "curve_probe_step")
    total = table.study.configuration(table.scale, arm, {over: float(table.grid(arm, over)[0])}).training.steps

    def log_ratio(curve: Numbers, step: Numbers) -> float:
        early, late = step <= math.ceil(observable.first * total), step > (1 - observable.last) * total
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.log(curve[early].mean() / curve[late].mean()))

    ratios = np.array(
        [
            [log_ratio(np.asarray(curve, dtype=np.float64), np.asarray(step)) for curve, step in zip(*pair, strict=True)]
            for pair in zip(curves, steps, strict=True)
        ]
    )
    return np.asarray(np.exp(np.einsum("rs,rs->r", weights, ratios[best]) / weights.sum(axis=1)))


def _quotient(observable: Quotient, table: TrialTable, weights: Numbers) -> Numbers:
    return _evaluate(observable.top, table, weights) / _evaluate(observable.bottom, table, weights)


def _relative_gap(observable: RelativeGap, table: TrialTable, weights: Numbers) -> Numbers:
    right = _evaluate(observable.right, table, weights)
    return (_evaluate(observable.left, table, weights) - right) / right


def _gap(observable: Gap, table: TrialTable, weights: Numbers) -> Numbers:
    return _evaluate(observable.left, table, weights) - _evaluate(observable.right, table, weights)


def _slope(observable: Slope, table: TrialTable, weights: Numbers) -> Numbers:
    x = np.log2([value for value, _ in observable.points])
    y = np.log2([_evaluate(part, table, weights) for _, part in observable.points])
    centred = x - x.mean()
    return np.asarray(centred @ y / (centred**2).sum())


def _rank_correlation(observable: RankCorrelation, table: TrialTable, weights: Numbers) -> Numbers:
    """Ties share their mean rank; where all observations are equal there is no correlation (nan)."""
    x = stats.rankdata([value for value, _ in observable.points])
    y = stats.rankdata([_evaluate(part, table, weights) for _, part in observable.points], axis=0)
    x, y = x - x.mean(), y - y.mean(axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray(x @ y / np.sqrt((x**2).sum() * (y**2).sum(axis=0)))


def _log2(observable: Log2, table: TrialTable, weights: Numbers) -> Numbers:
    return np.asarray(np.log2(_evaluate(observable.of, table, weights)))


def _share(observable: Share, table: TrialTable, weights: Numbers) -> Numbers:
    whole = observe(observable.whole, table)
    if whole.low < observable.whole_at_least:
        raise UndecidableError(
            "out of regime",
            f"the whole effect is {whole.estimate:.2g} [{whole.low:.2g}, {whole.high:.2g}] and not surely above"
            f" {observable.whole_at_least:g}: there is nothing to take a share of",
        )
    return _evaluate(observable.part, table, weights) / _evaluate(observable.whole, table, weights)


def _counts(observable: FailureRate | CureRate, table: TrialTable) -> tuple[int, int]:
    """Successes and runs."""
    over, grid = observable.over, table.grid(observable.arm, observable.over)
    if isinstance(observable, FailureRate):
        best = tuned_index(observable.tuned_for, over, table)
        value = table.grid(observable.tuned_for, over)[best]
        failed = table.diverged(observable.arm, over)[_position(grid, value, observable.arm, over)]
        return int(failed.sum()), len(failed)
    edge = _divergence_edge(observable.arm, over, table)
    arm = observable.by_arm or observable.arm
    value = grid[edge] * 2.0**-observable.octaves_down
    happened = table.diverged(observable.arm, over)[edge]
    remedied = ~table.diverged(arm, over)[_position(table.grid(arm, over), value, arm, over)]
    return int((happened & remedied).sum()), int(happened.sum())


def _position(grid: Numbers, value: float, arm: str, over: str) -> int:
    near = int(np.abs(np.log(grid / value)).argmin())
    if not math.isclose(grid[near], value, rel_tol=1e-6):
        raise UndecidableError("inconclusive", f"arm '{arm}' has no {over} of {value:.3g} to compare at; widen its grid")
    return near


ESTIMATORS: dict[type, Callable[[Any, TrialTable, Numbers], Numbers]] = {
    TunedLoss: _tuned_loss,
    Optimum: _optimum,
    TransferRegret: _transfer_regret,
    ActivationSlope: _activation_slope,
    Slope: _slope,
    RankCorrelation: _rank_correlation,
    TrajectoryGap: _trajectory_gap,
    SmallestWithin: _smallest_within,
    MaxTrainable: _max_trainable,
    LRSensitivity: _lr_sensitivity,
    DivergenceTime: _divergence_time,
    CurveRatio: _curve_ratio,
    Quotient: _quotient,
    RelativeGap: _relative_gap,
    Gap: _gap,
    Log2: _log2,
    Share: _share,
}
