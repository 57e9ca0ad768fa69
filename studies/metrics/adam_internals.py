"""How the best memory of Adam's second moment goes with the batch size."""

from typing import Annotated

import numpy as np
from pydantic import Field

from ...harness.declare.metrics.estimating.weighted import tuned_loss
from ...harness.declare.metrics.functions import metric
from ...harness.declare.observed import ARM, FactorName
from ...harness.declare.trials import NotEstimableError, Numbers, Trials

Memories = Annotated[
    tuple[tuple[float, float, str], ...],
    ARM,
    Field(min_length=6, description="batch sizes, half-lives of the second moment in steps, and arms trained with both"),
]
EXAMPLE = {"points": [[2**i, 2.0**j, f"batch_{2**i}_half_life_{2**j}"] for i in (1, 3) for j in (2, 4, 6)]}


@metric(
    unit="none (an exponent)",
    of_losses="no zero",
    figure="forest",
    example=EXAMPLE,
    # Parabolas of log2 of the half-life about 2^(7 - i) at a batch of 2^i.
    planted=(
        {
            f"batch_{2**i}_half_life_{2**j}": {"validation_loss": [1 + (j - 7 + i) ** 2], "test_loss": [1 + (j - 7 + i) ** 2]}
            for i in (1, 3)
            for j in (2, 4, 6)
        },
        -1.0,
    ),
)
def half_life_exponent(trials: Trials, weights: Numbers, points: Memories, over: FactorName = "peak_lr") -> Numbers:
    """The exponent of the batch size in the best half-life of Adam's second moment in steps: -1 where the half-life in tokens
    is to stay, 0 where β2 is. The LR is tuned in every arm.

    [R]. Least squares of the tuned test losses: parabolas in log2 of the half-life, one for each batch size, of one curvature;
    then the slope of log2 of their lowest points on log2 of the batch size. Not estimable without a positive curvature."""
    size, x = (np.log2([point[place] for point in points]) for place in (0, 1))
    loss = np.stack([tuned_loss(arm, over, trials, weights) for _, _, arm in points])
    sizes = np.unique(size)
    of_size = (size[:, None] == sizes).astype(np.float64)
    fitted, *_ = np.linalg.lstsq(np.hstack([of_size, of_size * x[:, None], x[:, None] ** 2]), loss, rcond=None)
    curvature = fitted[-1]
    if curvature[0] <= 0:
        raise NotEstimableError("open", "the loss has no lowest half-life among those tried", "a wider range would show it")
    lowest = -fitted[len(sizes) : -1] / (2 * np.where(curvature > 0, curvature, np.nan))
    centred = sizes - sizes.mean()
    return np.asarray(centred @ lowest / (centred**2).sum())
