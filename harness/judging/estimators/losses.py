"""Losses, and the learning rates at which they are low."""

import numpy as np
from numpy.typing import NDArray

from folklore.harness.judging.estimators.common import at_the_edge, mean, position, seed_mean, stacked, tuned
from folklore.harness.judging.trial_arrays import Numbers, TrialTable, UndecidableError, in_words
from folklore.harness.spec import (
    FinalLoss,
    LRSensitivity,
    MaxTrainable,
    Optimum,
    SmallestWithin,
    TrajectoryGap,
    TransferRegret,
    TunedLoss,
)


def final_loss(observable: FinalLoss, table: TrialTable, weights: Numbers) -> Numbers:
    """sum_s w_s L_s / sum_s w_s, nats [R], of an arm trained at one point; L_s is capped at the loss at initialization.
    Undecidable (inconclusive) where the arm has several points."""
    (loss,) = table.losses(observable.arm, table.only_factor(observable.arm), "test_loss")
    return seed_mean(loss, weights)


def tuned_loss(observable: TunedLoss, table: TrialTable, weights: Numbers) -> Numbers:
    """Weighted mean test loss at argmin_g of the weighted mean validation loss, nats [R]; the minimum is looked for anew under
    every weighting, so that the luck of the choice is in the interval. Undecidable at an edge of the grid."""
    best = tuned(observable.arm, observable.over, table, weights)
    return mean(table.losses(observable.arm, observable.over, "test_loss"), weights)[np.arange(len(weights)), best]


def optimum(observable: Optimum, table: TrialTable, weights: Numbers) -> Numbers:
    """2^x at the vertex of the parabola in x = log2 of the factor through the lowest mean validation loss and its
    neighbours, [R], in the factor's unit. Undecidable at an edge of the grid. A resample whose lowest point is an edge
    counts with that edge: left out, it would narrow the interval on one side."""
    arm, over = observable.arm, observable.over
    best = tuned(arm, over, table, weights)
    loss = mean(table.losses(arm, over, "validation_loss"), weights)
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
    return np.exp2(np.where(inner, np.where(flat, x[middle], vertex), x[best]))


def _transferred(
    observable: TransferRegret | TrajectoryGap, table: TrialTable, weights: Numbers
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """For every weighting, [R]: the index tuned for `tuned_for`, that of `times` its value on the arm's grid, and whether
    the arm's grid has such a value. Raises UndecidableError where it has none for the estimate."""
    over, grid = observable.over, table.grid(observable.arm, observable.over)
    source = table.grid(observable.tuned_for, over) * observable.times
    chosen = tuned(observable.tuned_for, over, table, weights)
    position(table, observable.arm, over, float(source[chosen[0]]))
    near = np.abs(np.log(grid[None, :] / source[:, None])).argmin(axis=1)
    return chosen, near[chosen], np.isclose(grid[near], source, rtol=1e-6)[chosen]


def transfer_regret(observable: TransferRegret, table: TrialTable, weights: Numbers) -> Numbers:
    """L(transferred value) / L(own tuned value) - 1 of mean test losses, [R], without unit. Undecidable where the arm's
    grid has no such value, or either optimum lies at an edge."""
    own = tuned(observable.arm, observable.over, table, weights)
    _, target, there = _transferred(observable, table, weights)
    loss = mean(table.losses(observable.arm, observable.over, "test_loss"), weights)
    row = np.arange(len(weights))
    return np.where(there, loss[row, target] / loss[row, own] - 1, np.nan)


def trajectory_gap(observable: TrajectoryGap, table: TrialTable, weights: Numbers) -> Numbers:
    """max over the evaluations e after the first share of |mean_s A_e / mean_s B_e - 1|, [R], without unit; A is the arm, B
    what it is compared with, losses in nats. A largest deviation is biased upwards by noise: it cannot come out negative."""
    chosen, target, there = _transferred(observable, table, weights)
    theirs, own = (evaluation_curves(arm, observable.over, table) for arm in (observable.arm, observable.tuned_for))
    count = own.shape[-1]
    late = (np.arange(count) + 1) / count > observable.after + 1e-9
    share = weights / weights.sum(axis=1, keepdims=True)
    mean_theirs = np.einsum("rs,rse->re", share, theirs[target])
    mean_own = np.einsum("rs,rse->re", share, own[chosen])
    return np.where(there, np.abs(mean_theirs / mean_own - 1)[:, late].max(axis=1), np.nan)


def evaluation_curves(arm: str, over: str, table: TrialTable) -> Numbers:
    """Validation curves [G, S, E]; what is not finite counts with the loss at initialization."""
    curves = table.values(arm, over, "curve_evaluation_loss")
    losses = stacked(curves)
    initial = table.values(arm, over, "initial_loss").astype(np.float64)[..., None]
    return np.where(losses < initial, losses, initial)


def smallest_within(observable: SmallestWithin, table: TrialTable, weights: Numbers) -> Numbers:
    """min{x on the grid: mean test loss(x) <= (1 + within) min over the grid}, [R], in the factor's unit. Undecidable where
    only the largest value is good enough."""
    loss = mean(table.losses(observable.arm, observable.over, "test_loss"), weights)
    grid = table.grid(observable.arm, observable.over)
    good = loss <= (1 + observable.within) * loss.min(axis=1, keepdims=True)
    if good[0].argmax() == len(grid) - 1:
        raise UndecidableError(
            "inconclusive",
            f"the only {in_words(observable.over)} of {table.arm_name(observable.arm)} that is good enough {at_the_edge(-1)}",
        )
    return np.asarray(np.where(good, grid, np.inf).min(axis=1))


def max_trainable(observable: MaxTrainable, table: TrialTable, weights: Numbers) -> Numbers:
    """The largest value at which the mean test loss meets (1 + within) times the lowest of the arms compared, [R], in the
    factor's unit: interpolated linearly in loss and log2 of the factor between the last grid point below the bar and the next.
    Undecidable where the arm never meets the bar or still does at the top of its grid."""
    arms = observable.best_of or (observable.arm,)
    lowest = np.min([mean(table.losses(a, observable.over, "test_loss"), weights).min(axis=1) for a in arms], axis=0)
    bar = (1 + observable.within) * lowest
    loss = mean(table.losses(observable.arm, observable.over, "test_loss"), weights)
    grid = np.log2(table.grid(observable.arm, observable.over))
    inside = loss <= bar[:, None]
    if not inside[0].any():
        none = f"no {in_words(observable.over)} of {table.arm_name(observable.arm)}"
        raise UndecidableError("inconclusive", f"{none} comes within {observable.within:.0%} of the best loss")
    last = len(grid) - 1 - inside[:, ::-1].argmax(axis=1)
    if last[0] == len(grid) - 1:
        raise UndecidableError(
            "inconclusive",
            f"the largest {in_words(observable.over)} at which {table.arm_name(observable.arm)} still trains {at_the_edge(-1)}",
        )
    after = np.minimum(last + 1, len(grid) - 1)
    row = np.arange(len(weights))
    rise = loss[row, after] - loss[row, last]
    # Where a resample ends at the top of the grid, the top is all that can be said.
    step = np.divide(bar - loss[row, last], rise, out=np.zeros_like(rise), where=rise > 0)
    edge = grid[last] + step * (grid[after] - grid[last])
    return np.where(inside.any(axis=1), np.exp2(edge), np.nan)


def lr_sensitivity(observable: LRSensitivity, table: TrialTable, weights: Numbers) -> Numbers:
    """mean_g min(L_g, L_0) - min_g L_g of mean test losses over the log grid, nats [R] (Wortsman et al. 2023, section 2.3)."""
    loss = mean(table.losses(observable.arm, observable.over, "test_loss"), weights)
    return np.asarray(loss.mean(axis=1) - loss.min(axis=1))
