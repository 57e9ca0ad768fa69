"""When runs diverge, and what keeps them from it."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ..design import in_words
from ..observed import ARM, ArmName, Example, FactorName, Observed, ObservedArm, OfLosses, ShareOfRuns
from ..trials import NotEstimableError, Numbers, Trials
from .estimating.weighted import position, tuned_index


class FailureRate(ShareOfRuns):
    """Share of the seeds in which `arm` diverges at the LR tuned for `tuned_for`, or at `times` it; exact binomial interval.

    A run diverges if it ends above its start, or if a loss is not finite. `of` counts the latter alone: a run whose gradients
    become zero ends where it began, and is none of them.
    """

    kind: Literal["failure_rate"] = "failure_rate"
    arm: ObservedArm
    tuned_for: ArmName = Field(description="the arm at whose tuned LR it is trained")
    times: float | None = Field(default=None, gt=0, description="at this many times that LR; none: at it")
    of: Literal["not_finite"] | None = Field(
        default=None, description="the runs that count: with a NaN or infinite loss; none: all that diverge"
    )
    over: FactorName = "peak_lr"

    AT_ONE_POINT: ClassVar[bool] = True
    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    FIGURE: ClassVar[str] = "survival"
    COUNTS_EVERY_SEED: ClassVar[bool] = True
    UNIT: ClassVar[str] = "share of the seeds, 0 to 1"
    EXAMPLE: ClassVar[Example] = {"arm": "none", "tuned_for": "warmup_20%"}

    def counts(self, trials: Trials) -> tuple[int, int]:
        best = tuned_index(self.tuned_for, self.over, trials)
        value = (self.times or 1.0) * trials.grid(self.tuned_for, self.over)[best]
        runs = _not_finite(self.arm, self.over, trials) if self.of else trials.diverged(self.arm, self.over)
        failed = runs[position(trials, self.arm, self.over, value)]
        return int(failed.sum()), len(failed)


def _not_finite(arm: str, over: str, trials: Trials) -> NDArray[np.bool_]:
    """Which runs have a loss that is not finite, at any training step or on the test sample, [G, S]."""
    losses = trials.values(arm, over, "curve_train_loss")
    steps = [[bool(np.isfinite(np.asarray(curve, dtype=np.float64)).all()) for curve in row] for row in losses]
    ends = np.isfinite(np.asarray(trials.values(arm, over, "test_loss"), dtype=np.float64))
    return ~(np.array(steps) & ends)


class CureRate(ShareOfRuns):
    """Share of an arm's diverged runs at its divergence edge that end well under a remedy, seed by seed.

    The divergence edge is the lowest value of `over` at which more than half of the seeds diverge. The remedy is
    another arm at the same value, or (octaves_down) the same arm at a value lower by this many octaves. With `no_worse_than` it
    is the share of the diverged runs in which the remedy does no worse than that other one, at the same value.
    """

    kind: Literal["cure_rate"] = "cure_rate"
    arm: ObservedArm
    by_arm: Annotated[str | None, ARM] = Field(default=None, description="the arm that is the remedy, at the same value")
    octaves_down: float = Field(default=0.0, ge=0, description="or the remedy is a value lower by this many octaves")
    no_worse_than: Annotated[str | None, ARM] = Field(
        default=None, description="another arm that is a remedy, too: a run counts unless that one alone saves it"
    )
    over: FactorName = "peak_lr"

    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    FIGURE: ClassVar[str] = "survival"
    UNIT: ClassVar[str] = "share of the diverged runs, 0 to 1"
    EXAMPLE: ClassVar[Example] = {"arm": "none", "by_arm": "warmup_20%"}

    def counts(self, trials: Trials) -> tuple[int, int]:
        """Of the diverged runs, those that the remedy saves; with another remedy to compare it with, those, too, that neither
        saves: the exact interval is that of one share, and what the other one alone saves is what speaks against the first."""
        over, grid = self.over, trials.grid(self.arm, self.over)
        edge = divergence_edge(self.arm, over, trials)
        arm = self.by_arm or self.arm
        value = grid[edge] * 2.0**-self.octaves_down
        happened = trials.diverged(self.arm, over)[edge]
        remedied = ~trials.diverged(arm, over)[position(trials, arm, over, value)]
        if self.no_worse_than is not None:
            other = self.no_worse_than
            remedied |= trials.diverged(other, over)[position(trials, other, over, float(grid[edge]))]
        return int((happened & remedied).sum()), int(happened.sum())


class DivergenceTime(Observed):
    """Step of divergence over the last step of warmup, at the arm's divergence edge (geometric mean over seeds)."""

    kind: Literal["divergence_time"] = "divergence_time"
    arm: ObservedArm
    over: FactorName = "peak_lr"

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    FIGURE: ClassVar[str] = "survival"
    UNIT: ClassVar[str] = "none (a ratio of steps)"
    EXAMPLE: ClassVar[Example] = {"arm": "warmup_20%"}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """exp of the weighted mean of ln(step of divergence / last step of warmup) over the seeds that diverge at the edge,
        [R]."""
        arm, over = self.arm, self.over
        edge = divergence_edge(arm, over, trials)
        step = trials.values(arm, over, "divergence_step")[edge].astype(np.float64)
        point = {over: float(trials.grid(arm, over)[edge])}
        warmup = trials.study.configuration(trials.scale, arm, point).training.warmup_steps
        happened = trials.diverged(arm, over)[edge]
        logs = np.where(happened, np.log(np.where(happened, step, 1.0) / max(1, warmup)), 0.0)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.exp(weights @ logs / (weights @ happened.astype(np.float64))))

    def seeds_behind(self, trials: Trials) -> int:
        """Those that diverge."""
        return int(trials.diverged(self.arm, self.over)[divergence_edge(self.arm, self.over, trials)].sum())


def divergence_edge(arm: str, over: str, trials: Trials) -> int:
    """Index of the lowest value at which more than half of the seeds diverge."""
    most = np.flatnonzero(trials.diverged(arm, over).mean(axis=1) > 0.5)
    if not len(most):
        raise NotEstimableError(
            "out of regime", f"{trials.arm_name(arm)} diverges in most seeds at no {in_words(over)} that was tried"
        )
    return int(most[0])
