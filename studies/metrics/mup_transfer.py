"""Metrics of the cost of a learning rate from another width, and of how activations depend on the width."""

from typing import Annotated

import numpy as np
from pydantic import Field

from ...harness.declare.metrics.estimating.weighted import (
    initial_loss,
    mean,
    position,
    present,
    seed_mean,
    share_of_fall,
    transferred,
    tuned,
)
from ...harness.declare.metrics.functions import metric
from ...harness.declare.observed import ARM, ArmName, FactorName, ObservedArm, ShareOf
from ...harness.declare.trials import NotEstimableError, Numbers, Trials


@metric(
    unit="none (an exponent)",
    of_losses="no zero",
    figure="values",
    example={"points": [[16, "width_16"], [32, "width_32"], [64, "width_64"]], "tap": -1, "steps": 1},
    # One step, whose second tap shows the logits.
    planted=(
        {
            "width_16": {"curve_probe_layer_activation": [[[7.0, 1.0]], [[7.0, 1.0]]]},
            "width_32": {"curve_probe_layer_activation": [[[7.0, 2.0]], [[7.0, 4.0]]]},
            "width_64": {"curve_probe_layer_activation": [[[7.0, 4.0]], [[7.0, 16.0]]]},
        },
        1.5,
    ),
)
def mean_activation_slope(
    trials: Trials,
    weights: Numbers,
    points: Annotated[
        tuple[tuple[float, str], ...], ARM, Field(min_length=3, description="pairs of the width and an arm of that width")
    ],
    tap: Annotated[int, Field(description="which activations, in the order of the model: 0 the first, -1 the logits")] = -1,
    steps: Annotated[int, Field(ge=1, description="how many probed steps to use")] = 5,
    end: Annotated[bool, Field(description="the last of the probed steps rather than the first")] = False,
    at: Annotated[float | None, Field(gt=0, description="the LR at which arms are read; none: the only one they have")] = None,
) -> Numbers:
    """How one tap's activations depend on width, over several steps: the mean slope of log size on log x, with its sign.

    `points` are pairs of x (the width) and an arm. Sizes are mean absolute values, averaged geometrically over seeds. It is
    no maximum over steps or taps: noise widens its interval and does not move it.

    Mean over steps t of d ln size / d ln width by least squares, [R], without unit: sizes are logs [W, S, T, A] (widths, seeds,
    steps, taps), of which one tap is used, averaged over seeds. Steps at which a size is zero are left out."""
    x, logs = log_sizes(points, steps, end, at, trials)
    logs_WST = logs[..., tap]
    usable = np.isfinite(logs_WST).all(axis=(0, 1))
    if not usable.any():
        raise NotEstimableError("out of regime", "the activations that this compares are zero at every step used")
    slope = (x - x.mean()) / ((x - x.mean()) ** 2).sum()  # what sizes are weighted by in the slope of their line
    return seed_mean(np.einsum("w,wst->st", slope, logs_WST[..., usable]).mean(axis=1), weights)


def log_sizes(
    points: tuple[tuple[float, str], ...], steps: int, end: bool, at: float | None, trials: Trials
) -> tuple[Numbers, Numbers]:
    """The logs of the widths whose arms are trained at this scale, [W], and of the sizes of their activations at the steps
    that count, [W, S, T, A]; minus infinity for a size of zero."""
    trained, sizes = present(points, trials), []
    for _, arm in trained:
        over = "peak_lr" if at is not None else trials.only_factor(arm)
        curves = trials.values(arm, over, "curve_probe_layer_activation")[0 if at is None else position(trials, arm, over, at)]
        if not len(curves[0][0]):
            raise NotEstimableError("out of regime", f"{trials.arm_name(arm)} trains a module that shows no activations")
        part = slice(-steps, None) if end else slice(steps)
        sizes.append([np.stack([np.asarray(step, dtype=np.float64) for step in curve[part]]) for curve in curves])
    with np.errstate(divide="ignore"):
        return np.log([width for width, _ in trained]), np.log(np.array(sizes))


@metric(
    unit="relative (0.05 is a loss 5% above its own tuned one)",
    of_losses=lambda metric: "no zero" if metric.of == "fall" else "shares",
    figure="lr",
    example={"arm": "width_64", "tuned_for": "width_16", "times": 2.0},
    planted=(
        {
            "width_16": {0.01: {"test_loss": [3.0]}, 0.02: {"test_loss": [1.0]}, 0.04: {"test_loss": [3.0]}},
            "width_64": {0.01: {"test_loss": [3.0]}, 0.02: {"test_loss": [2.0]}, 0.04: {"test_loss": [2.5]}},
        },
        0.25,
    ),
)
def transfer_regret(
    trials: Trials,
    weights: Numbers,
    arm: ObservedArm,
    tuned_for: Annotated[ArmName, Field(description="the arm whose tuned LR is taken over")],
    times: Annotated[float, Field(gt=0, description="the LR is this many times the one tuned for the other arm")] = 1.0,
    over: FactorName = "peak_lr",
    of: ShareOf = None,
) -> Numbers:
    """Test loss of `arm` at `times` the LR tuned for `tuned_for`, less that at its own tuned LR: as a share of the latter, or
    of the loss reduction to it.

    L(transferred value) / L(own tuned value) - 1 of mean test losses, [R], without unit; of the loss reduction, (L(transferred
    value) - L(own tuned value)) / (L0 - L(own tuned value)). Not estimable if the arm's grid has no such value, or either
    optimum lies at an edge."""
    own = tuned(arm, over, trials, weights)
    _, target, there = transferred(arm, tuned_for, times, over, trials, weights)
    loss = mean(trials.losses(arm, over, "test_loss"), weights)
    row = np.arange(len(weights))
    if of == "fall":
        start = initial_loss({arm: over}, trials, weights)
        return np.where(there, share_of_fall(loss[row, target] - loss[row, own], start, loss[row, own]), np.nan)
    return np.where(there, loss[row, target] / loss[row, own] - 1, np.nan)
