"""Losses, and how they compare."""

from functools import lru_cache
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from ...randomness import numpy_generator
from ..design import in_words
from ..observed import ARM, WINDOW, ArmName, Example, FactorName, JudgedOf, Observed, ObservedArm, OfLosses
from ..trials import NotEstimableError, Numbers, Trials
from .estimating.weighted import (
    SAME_VALUE,
    evaluation_curves,
    initial_loss,
    mean,
    seed_mean,
    share_of_fall,
    transferred,
    tuned,
    tuned_loss,
)
from .learning_rates import Optimum

# Random splits of the seeds into halves.
SPLITS = 30


class _LossOfArm(Observed):
    """A loss of an arm's runs at their end, or an error: test loss unless `of` says otherwise."""

    arm: ObservedArm
    of: JudgedOf = None

    OF_LOSSES: ClassVar[OfLosses] = "is one"
    FIGURE: ClassVar[str] = "lr"
    UNIT: ClassVar[str] = "nats, of a squared error none; an error is a share of examples (0.01 is one point)"

    @property
    def column(self) -> str:
        """The column of the trials that is read."""
        return self.of or "test_loss"

    @property
    def of_losses(self) -> OfLosses:
        """An error has a zero of its own, and is no share of the loss reduction of a loss."""
        return "no zero" if self.column.endswith("_error") else self.OF_LOSSES

    @property
    def is_level(self) -> bool:
        return True

    @property
    def figure(self) -> str:
        """The figure over the LR shows test losses."""
        return "forest" if self.of else self.FIGURE


class TunedLoss(_LossOfArm):
    """Test loss at the arm's best `over` value (lowest mean validation loss over seeds)."""

    kind: Literal["tuned_loss"] = "tuned_loss"
    over: FactorName = "peak_lr"

    EXAMPLE: ClassVar[Example] = {"arm": "warmup_5%"}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """Weighted mean test loss at argmin_g of the weighted mean validation loss, nats [R]; the minimum is looked for again
        under every weighting, so that the luck of the choice is in the interval. Not estimable at an edge of the grid."""
        return tuned_loss(self.arm, self.over, trials, weights, self.column)


class FinalLoss(_LossOfArm):
    """Test loss of an arm that is trained at one point."""

    kind: Literal["final_loss"] = "final_loss"

    EXAMPLE: ClassVar[Example] = {"arm": "trained_once"}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """sum_s w_s L_s / sum_s w_s, nats [R], of an arm trained at one point; L_s is capped at the loss at initialization.
        Not estimable (open) where the arm has several points."""
        (loss,) = trials.losses(self.arm, trials.only_factor(self.arm), self.column)
        return seed_mean(loss, weights)


class LossAt(_LossOfArm):
    """Test loss at a given value of `over`: at `times` the value tuned for `tuned_for`, or at a declared one. Between
    grid points it is interpolated linearly in the logarithm of the value.

    A gap, or a share of the loss reduction, of two of them says what something changes at that value.
    """

    kind: Literal["loss_at"] = "loss_at"
    tuned_for: Annotated[str | None, ARM] = Field(default=None, description="the arm whose tuned value is taken over")
    times: float = Field(default=1.0, gt=0, description="the value is this many times the one tuned for the other arm")
    value: float | None = Field(default=None, gt=0, description="or the value itself")
    over: FactorName = "peak_lr"
    window_octaves: float | None = Field(
        default=None,
        gt=0,
        description="the value tuned is the vertex of a parabola within this many octaves of the lowest grid point; none: that"
        " grid point itself",
    )

    EXAMPLE: ClassVar[Example] = {"arm": "none", "tuned_for": "warmup_20%", "times": 4.0}

    @model_validator(mode="after")
    def _at_one_value(self) -> Self:
        if (self.tuned_for is None) == (self.value is None):
            raise ValueError("a loss is read at the value tuned for an arm or at a declared one: give tuned_for or value")
        if self.window_octaves is not None and self.tuned_for is None:
            raise ValueError("window_octaves is of a tuned value: give tuned_for, or leave it out")
        return self

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """Weighted mean test loss at x, nats [R], linear in log2 x between grid points; x is times argmin_g of the other arm's
        mean validation loss, or times the vertex of a parabola about it (Optimum), looked for again under every weighting.
        Not estimable outside the arm's grid: nothing is extrapolated."""
        if self.window_octaves is not None:
            assert self.tuned_for is not None
            vertex = Optimum(arm=self.tuned_for, over=self.over, window_octaves=self.window_octaves)
            # Not estimable if the other arm's best value lies at the edge of its grid.
            tuned(self.tuned_for, self.over, trials, weights, by_points=False)
            values, chosen = self.times * vertex.estimate(trials, weights), np.arange(len(weights))
        elif self.value is not None:
            values, chosen = np.array([self.value]), np.zeros(len(weights), dtype=np.int64)
        else:
            assert self.tuned_for is not None
            values = self.times * trials.grid(self.tuned_for, self.over)
            chosen = tuned(self.tuned_for, self.over, trials, weights)
        losses = self._interpolated(values, trials)
        if np.isnan(losses[chosen[0]]).any():
            name, grid = trials.arm_name(self.arm), trials.grid(self.arm, self.over)
            raise NotEstimableError(
                "open",
                f"{name} was trained at {in_words(self.over)}s from {grid[0]:.3g} to {grid[-1]:.3g}, and its loss at"
                f" {values[chosen[0]]:.3g} is not known",
                "a grid that goes as far would settle it",
            )
        if self.window_octaves is not None:
            return np.asarray(np.einsum("rs,rs->r", weights, losses) / weights.sum(axis=1))  # every row has a value of its own
        return mean(losses, weights)[np.arange(len(weights)), chosen]

    def _interpolated(self, values: Numbers, trials: Trials) -> Numbers:
        """The arm's test losses at some values, [V, S]; nan outside its grid."""
        grid, x = np.log2(trials.grid(self.arm, self.over)), np.log2(values)
        outside = (x < grid[0] - SAME_VALUE) | (x > grid[-1] + SAME_VALUE)
        columns = trials.losses(self.arm, self.over, self.column).T
        losses = np.stack([np.interp(x, grid, column) for column in columns], axis=1)
        return np.where(outside[:, None], np.nan, losses)


class LossAfter(Observed):
    """Validation loss after a share of the arm's steps: at its tuned LR, or at its only one. It is
    interpolated linearly between evaluations.

    A gap, or a share of the loss reduction, of two of them says how much a run still falls in between."""

    kind: Literal["loss_after"] = "loss_after"
    arm: ObservedArm
    share: float = Field(gt=0, le=1, description="share of the steps after which the loss is read")
    over: FactorName = "peak_lr"

    AT_ONE_POINT: ClassVar[bool] = True
    OF_LOSSES: ClassVar[OfLosses] = "is one"
    FIGURE: ClassVar[str] = "lr"
    UNIT: ClassVar[str] = "nats, of a squared error none"
    EXAMPLE: ClassVar[Example] = {"arm": "none", "share": 0.5}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """Weighted mean validation loss at the share, nats [R], at argmin_g of the mean validation loss at the end, looked for
        again under every weighting; evaluations are evenly spread. Not estimable before the first of them."""
        curves = evaluation_curves(self.arm, self.over, trials)
        count = curves.shape[-1]
        place = self.share * count - 1
        if place < -SAME_VALUE:
            raise NotEstimableError(
                "open",
                f"{trials.arm_name(self.arm)} was evaluated {count} times, first after {1 / count:.3g} of its steps, and this"
                f" asks for its loss after {self.share:.3g}",
                "more evaluations would settle it",
            )
        before = min(max(int(place + SAME_VALUE), 0), count - 1)
        part = max(place - before, 0.0)
        losses = (1 - part) * curves[..., before] + part * curves[..., min(before + 1, count - 1)]
        chosen = tuned(self.arm, self.over, trials, weights)
        return mean(losses, weights)[np.arange(len(weights)), chosen]


class MeanGap(Observed):
    """Mean gap of two mean validation curves at equal shares of the run, after a first part, as a share of the loss reduction.

    `arm` runs at `times` the LR tuned for `tuned_for`, which runs at that LR itself: positive where the arm's loss is higher.
    The absolute gap counts both sides alike, and is zero in the mean where the curves do not differ."""

    kind: Literal["mean_gap"] = "mean_gap"
    arm: ObservedArm
    tuned_for: ArmName = Field(description="the arm whose tuned LR is taken over")
    times: float = Field(default=1.0, gt=0, description="the LR is this many times the one tuned for the other arm")
    after: Annotated[float, WINDOW] = Field(
        default=0.1, ge=0, lt=1, description="share of the run that is left out at its beginning"
    )
    absolute: bool = Field(default=False, description="whether gaps of either sign count alike")
    over: FactorName = "peak_lr"

    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    FIGURE: ClassVar[str] = "curves"
    UNIT: ClassVar[str] = "of the loss reduction (0.01 is 1% of it)"
    EXAMPLE: ClassVar[Example] = {"arm": "width_64", "tuned_for": "width_16", "after": 0.2, "absolute": True}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """Mean over the evaluations e after the first share of mean_s (A_es - B_es) / (L0 - L*), [R]: A is the arm, B what it
        is compared with, L0 their loss at initialization, L* the test loss of `tuned_for` at its tuned LR. Absolute: of
        `_absolute_mean`, where the mean over e stands."""
        chosen, target, there = transferred(self.arm, self.tuned_for, self.times, self.over, trials, weights)
        theirs, own = (evaluation_curves(arm, self.over, trials) for arm in (self.arm, self.tuned_for))
        count = own.shape[-1]
        late = (np.arange(count) + 1) / count > self.after + 1e-9
        gap = np.full(len(weights), np.nan)
        for place in np.unique(chosen[there]):
            rows = there & (chosen == place)
            gaps = (theirs[target[rows][0]] - own[place])[:, late]
            gap[rows] = _absolute_mean(gaps, weights[rows]) if self.absolute else seed_mean(gaps.mean(axis=1), weights[rows])
        start = initial_loss({self.tuned_for: self.over, self.arm: self.over}, trials, weights)
        return share_of_fall(gap, start, tuned_loss(self.tuned_for, self.over, trials, weights))


def _absolute_mean(gaps: Numbers, weights: Numbers) -> Numbers:
    """Mean over evaluations of |mean gap|, without what noise adds to it, [R]; gaps [S, E], weights [R, S].

    |mean gap| is larger than |true gap| by noise alone: by 0.8 of its standard error where there is none. Here half of the
    seeds say on which side the gap lies and the other half how large it is,

        mean over splits and e of (a_e sign b_e + b_e sign a_e) / 2,

    with a and b the mean gaps of the two halves of a random split. Halves have no noise in common, so it is zero in the mean if
    there is no gap, and |gap| if that is surely of one sign. In between it is less, by up to half a standard error. A null that
    is subtracted, be it of half against half of one arm's seeds, or of the gaps, is subtracted from large gaps, too
    (reports/log).
    """
    first = _halves(gaps.shape[0])
    sums = []
    for half in (first, 1.0 - first):
        weight = weights[:, None, :] * half
        total = weight.sum(axis=2, keepdims=True)
        sums.append(np.divide(weight @ gaps, total, out=np.full((*weight.shape[:2], gaps.shape[1]), np.nan), where=total > 0))
    left, right = sums
    by_split = ((left * np.sign(right) + right * np.sign(left)) / 2).mean(axis=2)
    return seed_mean(by_split, np.ones_like(by_split))


@lru_cache(maxsize=64)
def _halves(seeds: int) -> Numbers:
    """Which seeds are in the first half, by split: [SPLITS, S] of zeros and ones. The same for all with this many seeds."""
    generator = numpy_generator(0, "halves of the seeds", seeds)
    return np.array([generator.permutation(seeds) < seeds // 2 for _ in range(SPLITS)], dtype=np.float64)
