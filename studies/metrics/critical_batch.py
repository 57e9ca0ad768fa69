"""The batch size from which on larger ones save fewer steps."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from ...harness.declare.metrics.batch_sizes import Anchor, ShareOfFall, Target
from ...harness.declare.metrics.estimating import fits
from ...harness.declare.metrics.estimating.fits import Flags
from ...harness.declare.metrics.estimating.weighted import present
from ...harness.declare.metrics.functions import metric
from ...harness.declare.observed import ARM, FactorName
from ...harness.declare.trials import Numbers, Trials

Points = Annotated[
    tuple[tuple[int, str], ...],
    ARM,
    Field(min_length=4, description="pairs of a batch size and an arm that trains with it"),
]
SIZES = (8, 16, 32, 64, 128)
EXAMPLE = {
    "points": [[size, f"batch_{size}"] for size in SIZES],
    "anchor": "batch_8",
    "share": 0.75,
}


def runs(
    points: tuple[tuple[int, str], ...], target: Target, trials: Trials, weights: Numbers
) -> tuple[Numbers, Numbers, Numbers, Flags]:
    """Batch sizes [M], ln S [R, M], weights [R, M] and what is censored [R, M], of all runs of the sweep."""
    trained = present(points, trials)
    found = [target.tuned_log_steps(arm, trials, weights) for _, arm in trained]
    batch = np.repeat([float(size) for size, _ in trained], weights.shape[1])
    steps, censored = (np.concatenate(parts, axis=1) for parts in zip(*found, strict=True))
    return batch, steps, np.tile(weights, len(trained)), censored


@metric(
    unit="examples",
    of_losses="no zero",
    log_axis=True,
    figure="fit",
    example=EXAMPLE,
    # Half-way between two evaluations losses come to the target, three quarters down from 5 to 1.
    planted=(
        {
            f"batch_{size}": {
                "curve_evaluation_step": [[20 + 1280 / size, 60 + 3840 / size]] * 2,
                "curve_evaluation_loss": [[3.0, 1.0]] * 2,
            }
            for size in SIZES
        },
        64.0,
    ),
)
def critical_batch_size(
    trials: Trials,
    weights: Numbers,
    points: Points,
    anchor: Anchor,
    share: ShareOfFall,
    over: FactorName = "peak_lr",
) -> Numbers:
    """B_crit of S = S_min (1 + B_crit / B) fitted to ln S (McCandlish et al. 2018, section 2.3), the steps to a target (as of
    steps_to_target) over the batch size.

    B_crit in examples, [R], of their equation 2.11 fitted by Tobit EM: a run that does not reach the target is censored at its
    last step (estimating/fits.py)."""
    return fits.fit_hyperbola(*runs(points, Target(anchor, share, over), trials, weights)).critical_batch


@metric(
    unit="none (an error of ln S, 0.1 is about 10%)",
    of_losses="no zero",
    bounds=(0.0, float("inf")),
    figure="fit",
    example=EXAMPLE,
)
def hyperbola_error(
    trials: Trials,
    weights: Numbers,
    points: Points,
    anchor: Anchor,
    share: ShareOfFall,
    over: FactorName = "peak_lr",
    raw: Annotated[
        Literal[True] | None,
        Field(description="the residuals of one fit to all batch sizes, the noise of the seeds with them"),
    ] = None,
) -> Numbers:
    """Root mean square error in ln S of the hyperbola at batch sizes it was not fitted to, each left out in turn; without what
    the noise of the seeds contributes. With `raw` that of the one fit to all batch sizes, noise and all, as fits to published
    tables have it.

    [R]. Without the share that the seeds' noise has in it: a left-out residual of a true hyperbola has the variance of its mean
    over seeds, times n / (n - 2) for a fit of two parameters to n batch sizes (the mean of 1 / (1 - leverage))."""
    batch, steps, weight, censored = runs(points, Target(anchor, share, over), trials, weights)
    if raw:
        return fits.residual_rms(batch, steps, weight, censored)
    square = fits.leave_one_batch_out_rms(batch, steps, weight, censored) ** 2
    sizes = len(np.unique(batch))
    split = (len(weights), sizes, weights.shape[1])
    by_size, copies = steps.reshape(split), weight.reshape(split)
    total = copies.sum(axis=2)
    centre = (copies * by_size).sum(axis=2, keepdims=True) / total[..., None]
    variance_of_mean = (copies * (by_size - centre) ** 2).sum(axis=2) / (total - 1) / total
    return np.asarray(np.sqrt(np.maximum(0.0, square - variance_of_mean.mean(axis=1) * sizes / (sizes - 2))))
