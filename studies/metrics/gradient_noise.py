"""Whether settings that should be alike are, and what of a step's time does not depend on the batch."""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from ...harness.declare.design import in_words
from ...harness.declare.metrics.estimating.weighted import kept, present, seed_mean, settings_of
from ...harness.declare.metrics.functions import metric
from ...harness.declare.metrics.hardware import of_one_device
from ...harness.declare.observed import ARM
from ...harness.declare.trials import NotEstimableError, Numbers, Trials

SharedOut = Literal["sharpness", "test_loss"]


def are_groups(metric: Any) -> Any:
    arms = [arm for line in metric.lines for arm in line]
    if twice := sorted({arm for arm in arms if arms.count(arm) > 1}):
        raise ValueError(f"lines hold {', '.join(twice)} twice; an arm is on one line")
    if min(map(len, metric.lines)) < 1 or len(arms) == len(metric.lines):
        raise ValueError("lines have an arm each at most, and nothing can differ within them; give one of them two")
    return metric


@metric(
    unit="share of the variance, 0 to 1",
    of_losses="no zero",
    bounds=(0.0, 1.0),
    figure="lines",
    settings=lambda metric: settings_of("probe_sharpness") if metric.of == "sharpness" else (),
    check=are_groups,
    example={
        "lines": [["batch_8_cold", "batch_32_cold"], ["batch_8_hot", "batch_32_hot"]],
        "of": "test_loss",
        "spread_at_least": 0.01,
    },
    planted=(
        {
            "batch_8_cold": {"test_loss": [0.0, 1.0]},
            "batch_32_cold": {"test_loss": [1.0, 2.0]},
            "batch_8_hot": {"test_loss": [2.0, 3.0]},
            "batch_32_hot": {"test_loss": [3.0, 4.0]},
        },
        0.8,
    ),
)
def between_lines(
    trials: Trials,
    weights: Numbers,
    lines: Annotated[tuple[tuple[str, ...], ...], ARM, Field(min_length=2, description="groups of arms")],
    of: Annotated[
        SharedOut,
        Field(description="sharpness: the logarithm of the largest eigenvalue of the Hessian at a run's end; or the test loss"),
    ],
    spread_at_least: Annotated[
        float,
        Field(gt=0, description="the standard deviation over arms below which there is nothing to share out"),
    ],
) -> Numbers:
    """The share of the variance over arms that lies between lines, groups of arms: 1 if arms of a line are alike and lines are
    not, about (lines - 1) / (arms - 1) if lines mean nothing. It is eta squared of a one-way layout (Fisher 1925), of the arms'
    means over seeds; each is trained at one point.

    sum_l n_l (m_l - m)^2 / sum_a (y_a - m)^2, [R]: y_a the weighted mean over seeds of an arm, m_l of the n_l arms of a line, m
    of all. Seeds are paired: a row's weights are the same for all arms. Out of regime where the arms hardly differ."""
    values_RA = np.stack([of_arm(arm, of, trials, weights) for line in lines for arm in line], axis=1)
    total_R = values_RA.var(axis=1)
    if not np.isfinite(total_R[0]):
        raise NotEstimableError("open", f"no seed of an arm has a {in_words(of)}", "shorter runs or a lower LR would")
    if (spread := float(np.sqrt(total_R[0]))) < spread_at_least:
        raise NotEstimableError(
            "out of regime", f"the arms differ by {spread:.2g}, less than {spread_at_least:g}: there is nothing to share out"
        )
    by_line = np.split(values_RA, np.cumsum([len(line) for line in lines])[:-1], axis=1)
    means_RA = np.concatenate([np.broadcast_to(line.mean(axis=1, keepdims=True), line.shape) for line in by_line], axis=1)
    return np.asarray(1 - np.mean(np.square(values_RA - means_RA), axis=1) / total_R)


def of_arm(arm: str, of: SharedOut, trials: Trials, weights: Numbers) -> Numbers:
    """Weighted mean over seeds of what is shared out, [R]. Raises NotEstimableError if it was not measured."""
    factor = trials.only_factor(arm)
    if of == "test_loss":
        return seed_mean(trials.losses(arm, factor, "test_loss")[0], weights)
    curves = kept(arm, factor, "probe_sharpness", trials)[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        return seed_mean(np.log([float(curve[-1]) for curve in curves]), weights)


@metric(
    unit="sequences or examples",
    of_losses="no zero",
    example={"points": [[8, "batch_8"], [32, "batch_32"], [128, "batch_128"]]},
    planted=(
        {
            "batch_8": {"step_seconds": [2.4, 2.6]},
            "batch_32": {"step_seconds": [4.9, 4.9]},
            "batch_128": {"step_seconds": [14.5, 14.5]},
        },
        17.0,
    ),
)
def overhead_batch(
    trials: Trials,
    weights: Numbers,
    points: Annotated[
        tuple[tuple[int, str], ...],
        ARM,
        Field(min_length=3, description="pairs of the batch size and an arm of that batch size, trained at one LR"),
    ],
) -> Numbers:
    """The batch size at which half of a step's time does not depend on the batch: a / b of step times a + b B.

    Step times are medians over steps of runs trained alone, fitted by least squares of relative errors: a / b, [R], of the
    weighted mean step times t by least squares of (t - a - b B) / t; nan where time does not grow. Below zero where it grows
    faster than the batch. Invalid across machines."""
    batches = present(points, trials)
    seconds = [seed_mean(own, weights) for own in of_one_device([arm for _, arm in batches], "step_seconds", trials)]
    time_RM, batch_M = np.stack(seconds, axis=1), np.array([float(batch) for batch, _ in batches])
    design_RM2 = np.stack([1 / time_RM, batch_M / time_RM], axis=2)
    fitted_R2 = np.linalg.pinv(design_RM2) @ np.ones((*time_RM.shape, 1))
    constant, slope = fitted_R2[:, 0, 0], fitted_R2[:, 1, 0]
    return np.asarray(np.divide(constant, slope, out=np.full_like(slope, np.nan), where=slope > 0))
