"""One estimator for each observable of the spec: its value under every weighting of the seeds.

weights [R, S]: row 0 is all ones (the estimate), the others multinomial resamples of the S paired seeds. All arms share a
row's weights, so seeds stay paired, and whatever an estimator selects (a tuned LR, the best arm) is selected anew in
every row. nan marks rows in which the observable does not exist.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

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
    Share,
    Slope,
    SmallestWithin,
    TrajectoryGap,
    TransferRegret,
    TunedLoss,
)
from harness.trial_table import Numbers, TrialTable, UndecidableError


def evaluate(observable: Observable, table: TrialTable, weights: Numbers) -> Numbers:
    """The observable under every weighting of the seeds, [R]; nan where it does not exist."""
    estimator = ESTIMATORS[type(observable)]
    return estimator(observable, table, weights)


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


def _transferred(
    observable: TransferRegret | TrajectoryGap, table: TrialTable, weights: Numbers
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """For every weighting, [R]: the index tuned for `tuned_for`, that of `times` its value on the arm's grid, and whether
    the arm's grid has such a value. Raises UndecidableError where it has none for the estimate."""
    over, grid = observable.over, table.grid(observable.arm, observable.over)
    source = table.grid(observable.tuned_for, over) * observable.times
    chosen = _tuned(observable.tuned_for, over, table, weights)
    position(grid, float(source[chosen[0]]), observable.arm, over)
    near = np.abs(np.log(grid[None, :] / source[:, None])).argmin(axis=1)
    return chosen, near[chosen], np.isclose(grid[near], source, rtol=1e-6)[chosen]


def _transfer_regret(observable: TransferRegret, table: TrialTable, weights: Numbers) -> Numbers:
    own = _tuned(observable.arm, observable.over, table, weights)
    _, target, there = _transferred(observable, table, weights)
    loss = _mean(table.losses(observable.arm, observable.over, "test_loss"), weights)
    row = np.arange(len(weights))
    return np.where(there, loss[row, target] / loss[row, own] - 1, np.nan)


def _trajectory_gap(observable: TrajectoryGap, table: TrialTable, weights: Numbers) -> Numbers:
    chosen, target, there = _transferred(observable, table, weights)
    theirs, own = (_evaluation_curves(arm, observable.over, table) for arm in (observable.arm, observable.tuned_for))
    count = own.shape[-1]
    late = (np.arange(count) + 1) / count > observable.after + 1e-9
    share = weights / weights.sum(axis=1, keepdims=True)
    mean_theirs = np.einsum("rs,rse->re", share, theirs[target])
    mean_own = np.einsum("rs,rse->re", share, own[chosen])
    return np.where(there, np.abs(mean_theirs / mean_own - 1)[:, late].max(axis=1), np.nan)


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


def divergence_edge(arm: str, over: str, table: TrialTable) -> int:
    """Index of the lowest value at which more than half of the seeds diverge."""
    most = np.flatnonzero(table.diverged(arm, over).mean(axis=1) > 0.5)
    if not len(most):
        raise UndecidableError(
            "out of regime", f"arm '{arm}' diverges in most seeds at no {over} of its grid: nothing to look at here"
        )
    return int(most[0])


def _divergence_time(observable: DivergenceTime, table: TrialTable, weights: Numbers) -> Numbers:
    arm, over = observable.arm, observable.over
    edge = divergence_edge(arm, over, table)
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
    return evaluate(observable.top, table, weights) / evaluate(observable.bottom, table, weights)


def _relative_gap(observable: RelativeGap, table: TrialTable, weights: Numbers) -> Numbers:
    right = evaluate(observable.right, table, weights)
    return (evaluate(observable.left, table, weights) - right) / right


def _gap(observable: Gap, table: TrialTable, weights: Numbers) -> Numbers:
    return evaluate(observable.left, table, weights) - evaluate(observable.right, table, weights)


def _slope(observable: Slope, table: TrialTable, weights: Numbers) -> Numbers:
    x = np.log2([value for value, _ in observable.points])
    y = np.log2([evaluate(part, table, weights) for _, part in observable.points])
    centred = x - x.mean()
    return np.asarray(centred @ y / (centred**2).sum())


def _rank_correlation(observable: RankCorrelation, table: TrialTable, weights: Numbers) -> Numbers:
    """Ties share their mean rank; where all observations are equal there is no correlation (nan)."""
    x = stats.rankdata([value for value, _ in observable.points])
    y = stats.rankdata([evaluate(part, table, weights) for _, part in observable.points], axis=0)
    x, y = x - x.mean(), y - y.mean(axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray(x @ y / np.sqrt((x**2).sum() * (y**2).sum(axis=0)))


def _log2(observable: Log2, table: TrialTable, weights: Numbers) -> Numbers:
    return np.asarray(np.log2(evaluate(observable.of, table, weights)))


def _share(observable: Share, table: TrialTable, weights: Numbers) -> Numbers:
    return evaluate(observable.part, table, weights) / evaluate(observable.whole, table, weights)


def counts(observable: FailureRate | CureRate, table: TrialTable) -> tuple[int, int]:
    """Successes and runs."""
    over, grid = observable.over, table.grid(observable.arm, observable.over)
    if isinstance(observable, FailureRate):
        best = tuned_index(observable.tuned_for, over, table)
        value = table.grid(observable.tuned_for, over)[best]
        failed = table.diverged(observable.arm, over)[position(grid, value, observable.arm, over)]
        return int(failed.sum()), len(failed)
    edge = divergence_edge(observable.arm, over, table)
    arm = observable.by_arm or observable.arm
    value = grid[edge] * 2.0**-observable.octaves_down
    happened = table.diverged(observable.arm, over)[edge]
    remedied = ~table.diverged(arm, over)[position(table.grid(arm, over), value, arm, over)]
    return int((happened & remedied).sum()), int(happened.sum())


def position(grid: Numbers, value: float, arm: str, over: str) -> int:
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
