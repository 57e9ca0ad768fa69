"""The batch size from which on larger ones save fewer steps."""

from typing import Annotated

import numpy as np
from pydantic import Field

from ...harness.declare.metrics.batch_sizes import Anchor, ShareOfFall, Target
from ...harness.declare.metrics.estimating import fits
from ...harness.declare.metrics.estimating.fits import Flags
from ...harness.declare.metrics.estimating.weighted import present, seed_mean
from ...harness.declare.metrics.functions import metric
from ...harness.declare.observed import ARM, ArmName, FactorName
from ...harness.declare.trials import NotEstimableError, Numbers, Trials

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
    pairs = [target.tuned_log_steps(arm, trials, weights) for _, arm in trained]
    batch = np.repeat([float(size) for size, _ in trained], weights.shape[1])
    steps, censored = (np.concatenate(parts, axis=1) for parts in zip(*pairs, strict=True))
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
    unit="examples",
    of_losses="no zero",
    log_axis=True,
    figure="forest",
    example={"points": [[size, f"batch_{size}"] for size in SIZES], "start": "first", "base": "batch_8", "share": 0.9},
    # The base falls from 5 to 1; nine tenths of that end at 1.4, half-way between the losses of two batch sizes.
    planted=(
        {"first": {"test_loss": [5.0]}}
        | {f"batch_{size}": {"test_loss": [loss]} for size, loss in zip(SIZES, (1.0, 1.0, 1.2, 1.6, 2.0), strict=True)},
        32 * 2**0.5,
    ),
)
def branched_batch_size(
    trials: Trials,
    weights: Numbers,
    points: Points,
    start: Annotated[ArmName, Field(description="the arm whose ends the branches start from")],
    base: Annotated[ArmName, Field(description="the branch that goes on as the arm before it did")],
    share: Annotated[float, Field(gt=0, lt=1, description="share of the base's fall in loss that a branch has to make")],
    over: FactorName = "peak_lr",
) -> Numbers:
    """The largest batch size whose branch from a run still makes a share of the loss reduction of the branch that goes on with
    the run's own; all branches see as many examples (Merrill et al. 2025, branched training).

    [R]. From mean test losses, interpolated linearly in log2 of the batch size where they first fall short. Not estimable if
    the largest batch size does not."""

    def loss(arm: str) -> Numbers:
        (losses,) = trials.losses(arm, over, "test_loss")
        return seed_mean(losses, weights)

    before, own = loss(start), loss(base)
    bar = before - share * (before - own)
    x = np.log2([float(size) for size, _ in points])
    above = np.array([loss(arm) for _, arm in points]) - bar  # [M, R]
    # From the base on: smaller batches, at smaller LRs, may fall short as well.
    first = [arm for _, arm in points].index(base)
    short = (above > 0) & (np.arange(len(x)) > first)[:, None]
    if not short[:, 0].any():
        raise NotEstimableError("open", "no batch size falls short", "larger ones would show where they do")
    after = np.maximum(short.argmax(axis=0), 1)
    rows = np.arange(above.shape[1])
    rise = above[after, rows] - above[after - 1, rows]
    part = np.divide(-above[after - 1, rows], rise, out=np.zeros_like(rise), where=rise > 0)
    place = x[after - 1] + np.clip(part, 0.0, 1.0) * (x[after] - x[after - 1])
    return np.asarray(np.exp2(np.where(short.any(axis=0), place, x[-1])))
