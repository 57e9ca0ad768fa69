"""How long a run has to be for the loss that another one ends with."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from ..observed import ARM, ArmName, Example, FactorName, Observed, OfLosses
from ..trials import NotEstimableError, Numbers, Trials
from .estimating.weighted import present, tuned_loss

# What a line may be followed beyond the lengths that were trained.
BEYOND_OCTAVES = 0.5


class LengthRatio(Observed):
    """How long runs have to be, over the runs of another arm, to end with that arm's tuned loss: every length has a schedule of
    its own, and is tuned on its own.

    The losses lie on a straight line over the logarithm of the length, fitted by least squares."""

    kind: Literal["length_ratio"] = "length_ratio"
    anchor: ArmName = Field(description="the arm whose tuned loss is to be met")
    points: Annotated[tuple[tuple[float, str], ...], ARM] = Field(
        min_length=3, description="pairs of a length, as a share of the anchor's, and an arm that is so long"
    )
    over: FactorName = "peak_lr"

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    UNIT: ClassVar[str] = "none (a ratio of steps)"
    EXAMPLE: ClassVar[Example] = {
        "anchor": "warmup_20%",
        "points": [[0.7, "warmup_1%"], [1.0, "warmup_5%"], [1.4, "none"]],
    }

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """2^x at which a + b x, fitted to the tuned mean test losses over x = log2 of the length, is the anchor's, [R], without
        unit. Not estimable if longer runs do not end lower, and half an octave beyond the lengths that were trained; a
        resample beyond that counts with it."""
        points = present(self.points, trials)
        x = np.log2([length for length, _ in points])
        losses = np.stack([tuned_loss(arm, self.over, trials, weights) for _, arm in points], axis=1)
        centred = x - x.mean()
        slope = losses @ centred / (centred**2).sum()
        target = tuned_loss(self.anchor, self.over, trials, weights)
        if slope[0] >= 0:
            raise NotEstimableError("open", "longer runs do not end with a lower loss, and no length can be read off")
        falls = slope < 0
        found = x.mean() + np.divide(target - losses.mean(axis=1), slope, out=np.full_like(slope, np.nan), where=falls)
        low, high = x.min() - BEYOND_OCTAVES, x.max() + BEYOND_OCTAVES
        if not low <= found[0] <= high:
            raise NotEstimableError(
                "open",
                f"runs {2 ** found[0]:.2g} times as long would end with the loss that is to be met, and lengths from"
                f" {2 ** x.min():.2g} to {2 ** x.max():.2g} were trained",
                "others would settle it",
            )
        return np.asarray(np.exp2(np.clip(found, low, high)))
