"""How long a run has to be for the loss that another one ends with."""

from typing import Annotated

import numpy as np
from pydantic import Field

from ...harness.declare.metrics.estimating.weighted import present, tuned_loss
from ...harness.declare.metrics.functions import metric
from ...harness.declare.observed import ARM, ArmName, FactorName
from ...harness.declare.trials import NotEstimableError, Numbers, Trials

# How far a line may be followed beyond the lengths that were trained.
BEYOND_OCTAVES = 0.5


@metric(
    unit="none (a ratio of steps)",
    of_losses="no zero",
    log_axis=True,
    no_effect=1.0,
    example={"anchor": "warmup_20%", "points": [[0.5, "warmup_1%"], [1.0, "warmup_5%"], [2.0, "none"]]},
    planted=(
        {
            "warmup_20%": {"test_loss": [1.9, 2.1]},
            "warmup_1%": {"test_loss": [2.5, 2.5]},
            "warmup_5%": {"test_loss": [2.25, 2.25]},
            "none": {"test_loss": [1.9, 2.1]},
        },
        2.0,
    ),
)
def length_ratio(
    trials: Trials,
    weights: Numbers,
    anchor: Annotated[ArmName, Field(description="the arm whose tuned loss is to be met")],
    points: Annotated[
        tuple[tuple[float, str], ...],
        ARM,
        Field(min_length=3, description="pairs of a length, as a share of the anchor's, and an arm that is so long"),
    ],
    over: FactorName = "peak_lr",
) -> Numbers:
    """How long runs have to be, over the runs of another arm, to end with that arm's tuned loss: every length has a schedule of
    its own, and is tuned on its own.

    2^x at which a + b x, fitted by least squares to the tuned mean test losses over x = log2 of the length, is the anchor's,
    [R], without unit. Not estimable if longer runs do not end lower, and half an octave beyond the lengths that were trained; a
    resample beyond that counts with it."""
    trained = present(points, trials)
    x = np.log2([length for length, _ in trained])
    losses = np.stack([tuned_loss(arm, over, trials, weights) for _, arm in trained], axis=1)
    centred = x - x.mean()
    slope = losses @ centred / (centred**2).sum()
    target = tuned_loss(anchor, over, trials, weights)
    if slope[0] >= 0:
        raise NotEstimableError("open", "longer runs do not end with a lower loss, and no length can be read off")
    falls = slope < 0
    log_length = x.mean() + np.divide(target - losses.mean(axis=1), slope, out=np.full_like(slope, np.nan), where=falls)
    low, high = x.min() - BEYOND_OCTAVES, x.max() + BEYOND_OCTAVES
    if not low <= log_length[0] <= high:
        raise NotEstimableError(
            "open",
            f"runs {2 ** log_length[0]:.2g} times as long would end with the loss that is to be met, and lengths from"
            f" {2 ** x.min():.2g} to {2 ** x.max():.2g} were trained",
            "others would settle it",
        )
    return np.asarray(np.exp2(np.clip(log_length, low, high)))
