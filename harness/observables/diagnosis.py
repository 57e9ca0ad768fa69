"""What a quantity that one watches tells about a run whose loss does not fall."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from folklore.harness.observables.estimating.weighted import position, stacked
from folklore.harness.spec.observed import ARM, ArmName, Example, FactorName, OfLosses, ShareOfRuns
from folklore.harness.spec.trials import Numbers, Trials, UndecidableError

# Of the run, where its gradient norm is read: it is flat by then, if it is.
LATE = 0.5
# A loss is flat that has not made this share of the healthy run's fall.
FLAT = 0.5
FlatRuns = Annotated[tuple[tuple[str, float], ...], ARM, Field(min_length=1)]


class NormDiagnosis(ShareOfRuns):
    """Share of the runs with a flat loss whose cause the gradient norm tells: vanishing gradients where it is far below what a
    healthy run begins with, too large an LR where it lies above, too small a one in between.

    Each seed's runs are held against its own healthy run. What falls is not flat, and a loss that is not finite is not either:
    such runs do not count; where a cause has none that do, there is nothing to tell it by.
    """

    kind: Literal["norm_diagnosis"] = "norm_diagnosis"
    healthy: ArmName = Field(description="the arm whose run is healthy")
    healthy_value: float = Field(gt=0, description="the value it is healthy at")
    vanishing: FlatRuns = Field(description="pairs of an arm and a value at which gradients vanish")
    too_small: FlatRuns = Field(description="pairs of an arm and an LR that is too small")
    too_large: FlatRuns = Field(description="pairs of an arm and an LR that is too large")
    vanishing_below: float = Field(default=0.01, gt=0, description="share of the healthy run's first norm")
    large_above: float = Field(default=3.0, gt=0, description="multiple of the healthy run's first norm")
    over: FactorName = "peak_lr"

    AT_ONE_POINT: ClassVar[bool] = True
    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    UNIT: ClassVar[str] = "share of the flat runs, 0 to 1"
    EXAMPLE: ClassVar[Example] = {
        "healthy": "none",
        "healthy_value": 2.0**-7,
        "vanishing": [["deep", 2.0**-7]],
        "too_small": [["none", 2.0**-16]],
        "too_large": [["none", 2.0**-2]],
    }

    def counts(self, trials: Trials) -> tuple[int, int]:
        """Runs that are told rightly, and flat runs. A run's norm is the geometric mean over the probes of its second half."""
        told = [self._told(cause, trials) for cause in ("vanishing", "too_small", "too_large")]
        return sum(right for right, _ in told), sum(flat for _, flat in told)

    def _told(self, cause: str, trials: Trials) -> tuple[int, int]:
        first_S, fall_S = self._healthy(trials)
        right = flat = 0
        for arm, value in getattr(self, cause):
            place = position(trials, arm, self.over, value)
            norms = _norms(arm, self.over, trials)[place]
            late = norms[:, int(LATE * norms.shape[1]) :]
            start = np.asarray(trials.values(arm, self.over, "initial_loss"), dtype=np.float64)[place]
            end = np.asarray(trials.values(arm, self.over, "test_loss"), dtype=np.float64)[place]
            is_flat = np.isfinite(late).all(axis=1) & np.isfinite(end) & (start - end < FLAT * fall_S)
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.exp(np.log(late).mean(axis=1)) / first_S
            told = {
                "vanishing": ratio < self.vanishing_below,
                "too_large": ratio > self.large_above,
                "too_small": (ratio >= self.vanishing_below) & (ratio <= self.large_above),
            }[cause]
            right, flat = right + int((told & is_flat).sum()), flat + int(is_flat.sum())
        if not flat:
            arms = " and ".join(trials.arm_name(arm) for arm, _ in getattr(self, cause))
            raise UndecidableError(
                "out of regime", f"no run of {arms} has a loss that is flat and finite, and so none whose cause could be told"
            )
        return right, flat

    def _healthy(self, trials: Trials) -> tuple[Numbers, Numbers]:
        """The first gradient norm and the fall of the loss of each seed's healthy run, [S]."""
        place = position(trials, self.healthy, self.over, self.healthy_value)
        start, end = (
            np.asarray(trials.values(self.healthy, self.over, name), dtype=np.float64)[place]
            for name in ("initial_loss", "test_loss")
        )
        return _norms(self.healthy, self.over, trials)[place, :, 0], start - end


def _norms(arm: str, over: str, trials: Trials) -> Numbers:
    """Gradient norms at the probes, [G, S, probes]."""
    return stacked(trials.values(arm, over, "curve_probe_gradient_norm"))
