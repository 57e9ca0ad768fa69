"""When runs diverge, and what keeps them from it."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from folklore.harness.observables.estimating.weighted import position, tuned_index
from folklore.harness.spec.observed import ARM, ArmName, Example, FactorName, Observed, ObservedArm, OfLosses, ShareOfRuns
from folklore.harness.spec.trials import Numbers, Trials, UndecidableError, in_words


class FailureRate(ShareOfRuns):
    """Share of the seeds in which `arm` diverges at the LR tuned for `tuned_for`; exact binomial interval."""

    kind: Literal["failure_rate"] = "failure_rate"
    arm: ObservedArm
    tuned_for: ArmName = Field(description="the arm at whose tuned LR it is trained")
    over: FactorName = "peak_lr"

    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    FIGURE: ClassVar[str] = "survival"
    COUNTS_EVERY_SEED: ClassVar[bool] = True
    UNIT: ClassVar[str] = "share of the seeds, 0 to 1"
    EXAMPLE: ClassVar[Example] = {"arm": "none", "tuned_for": "warmup_20%"}

    def counts(self, trials: Trials) -> tuple[int, int]:
        best = tuned_index(self.tuned_for, self.over, trials)
        value = trials.grid(self.tuned_for, self.over)[best]
        failed = trials.diverged(self.arm, self.over)[position(trials, self.arm, self.over, value)]
        return int(failed.sum()), len(failed)


class CureRate(ShareOfRuns):
    """Share of an arm's diverged runs at its divergence edge that end well under a remedy, seed by seed.

    The divergence edge is the lowest value of `over` at which more than half of the seeds diverge. The remedy is
    another arm at the same value, or (octaves_down) the same arm at a value lower by so many octaves.
    """

    kind: Literal["cure_rate"] = "cure_rate"
    arm: ObservedArm
    by_arm: Annotated[str | None, ARM] = Field(default=None, description="the arm that is the remedy, at the same value")
    octaves_down: float = Field(default=0.0, ge=0, description="or the remedy is a value lower by so many octaves")
    over: FactorName = "peak_lr"

    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    FIGURE: ClassVar[str] = "survival"
    UNIT: ClassVar[str] = "share of the diverged runs, 0 to 1"
    EXAMPLE: ClassVar[Example] = {"arm": "none", "by_arm": "warmup_20%"}

    def counts(self, trials: Trials) -> tuple[int, int]:
        """Of the diverged runs, those that the remedy saves."""
        over, grid = self.over, trials.grid(self.arm, self.over)
        edge = divergence_edge(self.arm, over, trials)
        arm = self.by_arm or self.arm
        value = grid[edge] * 2.0**-self.octaves_down
        happened = trials.diverged(self.arm, over)[edge]
        remedied = ~trials.diverged(arm, over)[position(trials, arm, over, value)]
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
        raise UndecidableError(
            "out of regime", f"{trials.arm_name(arm)} diverges in most seeds at no {in_words(over)} that was tried"
        )
    return int(most[0])
