"""Losses, and how they compare."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from folklore.harness.observables.estimating.weighted import evaluation_curves, mean, position, seed_mean, tuned
from folklore.harness.spec.observed import WINDOW, ArmName, Example, FactorName, Observed, ObservedArm, OfLosses
from folklore.harness.spec.trials import Numbers, Trials


class TunedLoss(Observed):
    """Test loss, in nats, at the arm's best `over` value (lowest mean validation loss over seeds)."""

    kind: Literal["tuned_loss"] = "tuned_loss"
    arm: ObservedArm
    over: FactorName = "peak_lr"

    OF_LOSSES: ClassVar[OfLosses] = "is one"
    FIGURE: ClassVar[str] = "lr"
    UNIT: ClassVar[str] = "nats"
    EXAMPLE: ClassVar[Example] = {"arm": "warmup_5%"}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """Weighted mean test loss at argmin_g of the weighted mean validation loss, nats [R]; the minimum is looked for anew
        under every weighting, so that the luck of the choice is in the interval. Undecidable at an edge of the grid."""
        best = tuned(self.arm, self.over, trials, weights)
        return mean(trials.losses(self.arm, self.over, "test_loss"), weights)[np.arange(len(weights)), best]


class FinalLoss(Observed):
    """Test loss, in nats, of an arm that is trained at one point."""

    kind: Literal["final_loss"] = "final_loss"
    arm: ObservedArm

    OF_LOSSES: ClassVar[OfLosses] = "is one"
    FIGURE: ClassVar[str] = "lr"
    UNIT: ClassVar[str] = "nats"
    EXAMPLE: ClassVar[Example] = {"arm": "trained_once"}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """sum_s w_s L_s / sum_s w_s, nats [R], of an arm trained at one point; L_s is capped at the loss at initialization.
        Undecidable (open) where the arm has several points."""
        (loss,) = trials.losses(self.arm, trials.only_factor(self.arm), "test_loss")
        return seed_mean(loss, weights)


class LRSensitivity(Observed):
    """Mean over the log grid of min(loss, loss at initialization) minus the best loss, nats (Wortsman et al. 2023)."""

    kind: Literal["lr_sensitivity"] = "lr_sensitivity"
    arm: ObservedArm
    over: FactorName = "peak_lr"

    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    FIGURE: ClassVar[str] = "lr"
    UNIT: ClassVar[str] = "nats"
    EXAMPLE: ClassVar[Example] = {"arm": "warmup_20%"}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """mean_g min(L_g, L_0) - min_g L_g of mean test losses over the log grid, nats [R] (Wortsman et al. 2023, section
        2.3)."""
        loss = mean(trials.losses(self.arm, self.over, "test_loss"), weights)
        return np.asarray(loss.mean(axis=1) - loss.min(axis=1))


class TransferRegret(Observed):
    """Test loss of `arm` at `times` the LR tuned for `tuned_for`, relative to the loss at its own tuned LR, minus one."""

    kind: Literal["transfer_regret"] = "transfer_regret"
    arm: ObservedArm
    tuned_for: ArmName = Field(description="the arm whose tuned LR is taken over")
    times: float = Field(default=1.0, gt=0, description="the LR is this many times the one tuned for the other arm")
    over: FactorName = "peak_lr"

    OF_LOSSES: ClassVar[OfLosses] = "shares"
    FIGURE: ClassVar[str] = "lr"
    UNIT: ClassVar[str] = "relative (0.05 is a loss 5% above its own tuned one)"
    EXAMPLE: ClassVar[Example] = {"arm": "width_64", "tuned_for": "width_16"}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """L(transferred value) / L(own tuned value) - 1 of mean test losses, [R], without unit. Undecidable where the arm's
        grid has no such value, or either optimum lies at an edge."""
        own = tuned(self.arm, self.over, trials, weights)
        _, target, there = _transferred(self, trials, weights)
        loss = mean(trials.losses(self.arm, self.over, "test_loss"), weights)
        row = np.arange(len(weights))
        return np.where(there, loss[row, target] / loss[row, own] - 1, np.nan)


class TrajectoryGap(Observed):
    """Largest relative gap of two mean validation curves at equal shares of the run, after a first share of it.

    `arm` runs at `times` the LR tuned for `tuned_for`, which runs at that LR itself.
    """

    kind: Literal["trajectory_gap"] = "trajectory_gap"
    arm: ObservedArm
    tuned_for: ArmName = Field(description="the arm whose tuned LR is taken over")
    times: float = Field(default=1.0, gt=0, description="the LR is this many times the one tuned for the other arm")
    after: Annotated[float, WINDOW] = Field(
        default=0.1, ge=0, lt=1, description="share of the run that is left out at its beginning"
    )
    over: FactorName = "peak_lr"

    OF_LOSSES: ClassVar[OfLosses] = "shares"
    FIGURE: ClassVar[str] = "curves"
    BOUNDS: ClassVar[tuple[float, float]] = (0.0, float("inf"))
    UNIT: ClassVar[str] = "relative"
    EXAMPLE: ClassVar[Example] = {"arm": "width_64", "tuned_for": "width_16", "after": 0.2}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """max over the evaluations e after the first share of |mean_s A_e / mean_s B_e - 1|, [R], without unit; A is the arm, B
        what it is compared with, losses in nats. A largest deviation is biased upwards by noise: it cannot come out
        negative."""
        chosen, target, there = _transferred(self, trials, weights)
        theirs, own = (evaluation_curves(arm, self.over, trials) for arm in (self.arm, self.tuned_for))
        count = own.shape[-1]
        late = (np.arange(count) + 1) / count > self.after + 1e-9
        share = weights / weights.sum(axis=1, keepdims=True)
        mean_theirs = np.einsum("rs,rse->re", share, theirs[target])
        mean_own = np.einsum("rs,rse->re", share, own[chosen])
        return np.where(there, np.abs(mean_theirs / mean_own - 1)[:, late].max(axis=1), np.nan)


def _transferred(
    observable: TransferRegret | TrajectoryGap, trials: Trials, weights: Numbers
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """For every weighting, [R]: the index tuned for `tuned_for`, that of `times` its value on the arm's grid, and whether
    the arm's grid has such a value. Raises UndecidableError where it has none for the estimate."""
    over, grid = observable.over, trials.grid(observable.arm, observable.over)
    source = trials.grid(observable.tuned_for, over) * observable.times
    chosen = tuned(observable.tuned_for, over, trials, weights)
    position(trials, observable.arm, over, float(source[chosen[0]]))
    near = np.abs(np.log(grid[None, :] / source[:, None])).argmin(axis=1)
    return chosen, near[chosen], np.isclose(grid[near], source, rtol=1e-6)[chosen]
