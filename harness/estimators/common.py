"""What estimators share: means over weighted seeds, and the tuned value of an arm."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.spec import Spec, arms_of
from harness.trial_table import Numbers, TrialTable, UndecidableError


def mean(values_GS: Numbers, weights_RS: Numbers) -> Numbers:
    """Weighted means over seeds, [R, G]."""
    return np.asarray(weights_RS @ values_GS.T / weights_RS.sum(1, keepdims=True))


def tuned(arm: str, over: str, table: TrialTable, weights: Numbers) -> NDArray[np.int64]:
    """Index of the lowest mean validation loss under every weighting, [R]. An edge of the grid is no optimum.

    Where an arm has one value, searched or given, there is nothing to choose any more.
    """
    best = mean(table.losses(arm, over, "validation_loss"), weights).argmin(axis=1)
    grid = table.grid(arm, over)
    if len(grid) > 1 and best[0] in (0, len(grid) - 1):
        raise UndecidableError(
            "inconclusive", f"the best {over} of arm '{arm}', {grid[best[0]]:.3g}, lies on the edge of its grid; widen the grid"
        )
    return np.asarray(best)


def tuned_index(arm: str, over: str, table: TrialTable) -> int:
    """Index of the arm's tuned value on its grid. Raises UndecidableError at an edge."""
    return int(tuned(arm, over, table, table.resamples[:1])[0])


def present(points: Sequence[tuple[float, Any]], table: TrialTable) -> list[tuple[float, Any]]:
    """The points whose arms are trained at this scale."""
    trained = set(table.study.arms_at(table.scale))
    return [(x, part) for x, part in points if (arms_of(part) if isinstance(part, Spec) else {part}) <= trained]


def position(grid: Numbers, value: float, arm: str, over: str) -> int:
    near = int(np.abs(np.log(grid / value)).argmin())
    if not math.isclose(grid[near], value, rel_tol=1e-6):
        raise UndecidableError("inconclusive", f"arm '{arm}' has no {over} of {value:.3g} to compare at; widen its grid")
    return near


def seed_mean(values_RS: Numbers, weights_RS: Numbers) -> Numbers:
    """Weighted means over seeds of values that differ between rows, or are the same for all, [R]; nan entries are left out."""
    present = np.isfinite(np.broadcast_to(values_RS, weights_RS.shape))
    weight = weights_RS * present
    with np.errstate(invalid="ignore"):
        return np.asarray((np.where(present, values_RS, 0.0) * weight).sum(axis=1) / weight.sum(axis=1))


def stacked(values: NDArray[Any]) -> Numbers:
    """Curves of equal length in a table's column [G, S] as one array [G, S, points]."""
    return np.array([[np.asarray(curve, dtype=np.float64) for curve in row] for row in values])
