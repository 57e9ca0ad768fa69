"""How many runs diverge."""

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ..observed import ArmName, Example, FactorName, ObservedArm, OfLosses, ShareOfRuns
from ..trials import Trials
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
