"""The values of a factor, mostly learning rates, at which losses are low."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from folklore.harness.observables.estimating.weighted import at_the_edge, mean, tuned
from folklore.harness.spec.observed import ARM, MARGIN, Example, FactorName, Observed, ObservedArm, OfLosses
from folklore.harness.spec.trials import Numbers, Trials, UndecidableError, in_words


class Optimum(Observed):
    """The value of `over` with the lowest mean validation loss, by a parabola through the lowest grid point and its
    neighbours on the log axis."""

    kind: Literal["optimum"] = "optimum"
    arm: ObservedArm
    over: FactorName = "peak_lr"

    LOG_AXIS: ClassVar[bool] = True
    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    FIGURE: ClassVar[str] = "lr"
    UNIT: ClassVar[str] = "of the factor: of peak_lr none"
    EXAMPLE: ClassVar[Example] = {"arm": "warmup_5%"}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """2^x at the vertex of the parabola in x = log2 of the factor through the lowest mean validation loss and its
        neighbours, [R], in the factor's unit. Undecidable at an edge of the grid. A resample whose lowest point is an edge
        counts with that edge: left out, it would narrow the interval on one side."""
        arm, over = self.arm, self.over
        best = tuned(arm, over, trials, weights)
        loss = mean(trials.losses(arm, over, "validation_loss"), weights)
        x = np.log2(trials.grid(arm, over))
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


class SmallestWithin(Observed):
    """The smallest value of `over` whose mean test loss lies within a share of the arm's lowest."""

    kind: Literal["smallest_within"] = "smallest_within"
    arm: ObservedArm
    over: FactorName
    within: Annotated[float, MARGIN] = Field(
        default=0.01, gt=0, description="share above the lowest loss that still counts as near it"
    )

    OF_LOSSES: ClassVar[OfLosses] = "shares"
    FIGURE: ClassVar[str] = "lr"
    UNIT: ClassVar[str] = "of the factor"
    EXAMPLE: ClassVar[Example] = {"arm": "decayed", "over": "final_fraction", "within": 0.02}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """min{x on the grid: mean test loss(x) <= (1 + within) min over the grid}, [R], in the factor's unit. Undecidable where
        only the largest value is good enough."""
        loss = mean(trials.losses(self.arm, self.over, "test_loss"), weights)
        grid = trials.grid(self.arm, self.over)
        good = loss <= (1 + self.within) * loss.min(axis=1, keepdims=True)
        if good[0].argmax() == len(grid) - 1:
            raise UndecidableError(
                "open",
                f"the only {in_words(self.over)} of {trials.arm_name(self.arm)} that is good enough {at_the_edge(-1)}",
            )
        return np.asarray(np.where(good, grid, np.inf).min(axis=1))


class MaxTrainable(Observed):
    """Largest value of `over` whose mean loss stays within a share of the best; interpolated on the log axis.

    The bar is (1 + within) times the lowest mean loss of any arm in `best_of` (empty: this arm alone).
    """

    kind: Literal["max_trainable"] = "max_trainable"
    arm: ObservedArm
    over: FactorName = "peak_lr"
    within: Annotated[float, MARGIN] = Field(
        default=0.05, gt=0, description="share above the lowest loss that still counts as near it"
    )
    best_of: Annotated[tuple[str, ...], ARM] = Field(
        default=(), description="the arms whose lowest loss is the best; none: this arm alone"
    )

    LOG_AXIS: ClassVar[bool] = True
    OF_LOSSES: ClassVar[OfLosses] = "shares"
    FIGURE: ClassVar[str] = "survival"
    UNIT: ClassVar[str] = "of the factor: of peak_lr none"
    EXAMPLE: ClassVar[Example] = {"arm": "warmup_20%", "within": 0.05, "best_of": ["none", "warmup_20%"]}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """The largest value at which the mean test loss meets (1 + within) times the lowest of the arms compared, [R], in the
        factor's unit: interpolated linearly in loss and log2 of the factor between the last grid point below the bar and the
        next. Undecidable where the arm never meets the bar or still does at the top of its grid."""
        arms = self.best_of or (self.arm,)
        lowest = np.min([mean(trials.losses(a, self.over, "test_loss"), weights).min(axis=1) for a in arms], axis=0)
        bar = (1 + self.within) * lowest
        loss = mean(trials.losses(self.arm, self.over, "test_loss"), weights)
        grid = np.log2(trials.grid(self.arm, self.over))
        inside = loss <= bar[:, None]
        if not inside[0].any():
            none = f"no {in_words(self.over)} of {trials.arm_name(self.arm)}"
            raise UndecidableError("open", f"{none} comes within {self.within:.0%} of the best loss")
        last = len(grid) - 1 - inside[:, ::-1].argmax(axis=1)
        if last[0] == len(grid) - 1:
            raise UndecidableError(
                "open",
                f"the largest {in_words(self.over)} at which {trials.arm_name(self.arm)} still trains {at_the_edge(-1)}",
            )
        after = np.minimum(last + 1, len(grid) - 1)
        row = np.arange(len(weights))
        rise = loss[row, after] - loss[row, last]
        # Where a resample ends at the top of the grid, the top is all that can be said.
        step = np.divide(bar - loss[row, last], rise, out=np.zeros_like(rise), where=rise > 0)
        edge = grid[last] + step * (grid[after] - grid[last])
        return np.where(inside.any(axis=1), np.exp2(edge), np.nan)
