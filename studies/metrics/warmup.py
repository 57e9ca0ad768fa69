"""Metrics of warmup: when runs diverge, what keeps them from it, and how much of the LR grid is left."""

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from ...harness.declare.design import in_words
from ...harness.declare.metrics.estimating.weighted import mean, position, training_of, tuned
from ...harness.declare.metrics.functions import metric, share_of_runs
from ...harness.declare.observed import ARM, END, FactorName, ObservedArm
from ...harness.declare.trials import NotEstimableError, Numbers, Trials

ONE_OF_THREE = {"outcome": ["diverged", "diverged", "finished"]}


@share_of_runs(
    unit="share of the diverged runs, 0 to 1",
    of_losses="no zero",
    figure="survival",
    example={"arm": "none", "by_arm": "warmup_20%"},
    planted=({"none": ONE_OF_THREE, "warmup_20%": {"outcome": ["finished", "diverged", "finished"]}}, 0.5),
)
def cure_rate(
    trials: Trials,
    arm: ObservedArm,
    by_arm: Annotated[str | None, ARM, Field(description="the arm that is the remedy, at the same value")] = None,
    octaves_down: Annotated[float, Field(ge=0, description="or the remedy is a value lower by this many octaves")] = 0.0,
    no_worse_than: Annotated[
        str | None,
        ARM,
        Field(description="another arm that is a remedy, too: a run counts unless that one alone saves it"),
    ] = None,
    over: FactorName = "peak_lr",
) -> tuple[int, int]:
    """Share of an arm's diverged runs at its divergence edge that end well under a remedy, seed by seed.

    The divergence edge is the lowest value of `over` at which more than half of the seeds diverge. The remedy is
    another arm at the same value, or (octaves_down) the same arm at a value lower by this many octaves. With `no_worse_than` it
    is the share of the diverged runs in which the remedy does no worse than that other one, at the same value: with those, too,
    that neither saves. The exact interval is that of one share, and what the other one alone saves is what speaks against the
    first."""
    edge, remedy = divergence_edge(arm, over, trials), by_arm or arm
    value = float(trials.grid(arm, over)[edge])
    lower = position(trials, remedy, over, value * 2.0**-octaves_down)
    happened, remedied = trials.diverged(arm, over)[edge], ~trials.diverged(remedy, over)[lower]
    if no_worse_than is not None:
        remedied |= trials.diverged(no_worse_than, over)[position(trials, no_worse_than, over, value)]
    return int((happened & remedied).sum()), int(happened.sum())


@metric(
    unit="none (a ratio of steps)",
    of_losses="no zero",
    log_axis=True,
    no_effect=1.0,
    figure="survival",
    seeds_behind=lambda metric, trials: int(
        trials.diverged(metric.arm, metric.over)[_place(metric.arm, metric.value, metric.over, trials)].sum()
    ),
    example={"arm": "warmup_20%"},
    # By default five steps of a hundred are warmup.
    planted=({"warmup_20%": {**ONE_OF_THREE, "divergence_step": [2.0, 8.0, math.nan]}}, 4.0 / 5),
)
def divergence_time(
    trials: Trials,
    weights: Numbers,
    arm: ObservedArm,
    value: Annotated[float | None, Field(gt=0, description="a declared value of the factor; none: the divergence edge")] = None,
    over: FactorName = "peak_lr",
) -> Numbers:
    """Step of divergence over the last step of warmup, at the arm's divergence edge or at a value (geometric mean over seeds).

    exp of the weighted mean of ln(step of divergence / last step of warmup) over the seeds that diverge there, [R]."""
    edge = _place(arm, value, over, trials)
    step = trials.values(arm, over, "divergence_step")[edge].astype(np.float64)
    point = {over: float(trials.grid(arm, over)[edge])}
    warmup = trials.study.configuration(trials.scale, arm, point).training.warmup_steps
    happened = trials.diverged(arm, over)[edge]
    logs = np.where(happened, np.log(np.where(happened, step, 1.0) / max(1, warmup)), 0.0)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.exp(weights @ logs / (weights @ happened.astype(np.float64))))


@metric(
    unit="none (a ratio)",
    of_losses="no zero",
    log_axis=True,
    no_effect=1.0,
    figure="curves",
    example={"arm": "none", "curve": "gradient_norm", "first": 0.01, "last": 0.1},
    # By default of a hundred steps; the middle LR is the tuned one.
    planted=(
        {
            "none": {
                lr: {
                    "test_loss": [loss],
                    "curve_probe_step": [[1, 2, 90, 91, 100]],
                    "curve_probe_gradient_norm": [[norm, 99.0, 99.0, 3.0, 1.0]],
                }
                for lr, loss, norm in ((0.01, 3.0, 1.0), (0.02, 2.0, 8.0), (0.04, 3.0, 1.0))
            }
        },
        4.0,
    ),
)
def curve_ratio(
    trials: Trials,
    weights: Numbers,
    arm: ObservedArm,
    curve: Annotated[Literal["gradient_norm", "gradient_variance"], Field(description="the curve whose means are taken")],
    first: Annotated[float, END, Field(gt=0, le=0.5, description="share of the steps at the beginning")] = 0.01,
    last: Annotated[float, END, Field(gt=0, le=0.5, description="share of the steps at the end")] = 0.10,
    over: FactorName = "peak_lr",
) -> Numbers:
    """A curve's mean over the first share of the steps divided by its mean over the last share, at the tuned LR: exp of the
    weighted mean over seeds of the logarithm, [R]."""
    best = tuned(arm, over, trials, weights)
    curves, steps = (trials.values(arm, over, f"curve_probe_{name}") for name in (curve, "step"))
    total = training_of(arm, over, trials).steps

    def log_ratio(curve: Numbers, step: Numbers) -> float:
        early, late = step <= math.ceil(first * total), step > (1 - last) * total
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.log(curve[early].mean() / curve[late].mean()))

    ratios = np.array(
        [
            [log_ratio(np.asarray(curve, dtype=np.float64), np.asarray(step)) for curve, step in zip(*pair, strict=True)]
            for pair in zip(curves, steps, strict=True)
        ]
    )
    return np.asarray(np.exp(np.einsum("rs,rs->r", weights, ratios[best]) / weights.sum(axis=1)))


@metric(
    unit="nats, of a squared error none",
    of_losses="no zero",
    figure="lr",
    example={"arm": "warmup_20%"},
    # The last LR's second run counts with its start, a loss of 5.
    planted=(
        {
            "warmup_20%": {
                0.01: {"test_loss": [2.0, 3.0]},
                0.02: {"test_loss": [1.0, 2.0]},
                0.04: {"test_loss": [3.0, math.nan], "outcome": ["finished", "diverged"]},
            }
        },
        8.0 / 3 - 1.5,
    ),
)
def lr_sensitivity(trials: Trials, weights: Numbers, arm: ObservedArm, over: FactorName = "peak_lr") -> Numbers:
    """Mean over the log grid of min(loss, loss at initialization) minus the best loss, nats (Wortsman et al. 2023).

    mean_g min(L_g, L_0) - min_g L_g of mean test losses over the log grid, nats [R] (Wortsman et al. 2023, section 2.3)."""
    loss = mean(trials.losses(arm, over, "test_loss"), weights)
    return np.asarray(loss.mean(axis=1) - loss.min(axis=1))


def _place(arm: str, value: float | None, over: str, trials: Trials) -> int:
    return divergence_edge(arm, over, trials) if value is None else position(trials, arm, over, value)


def divergence_edge(arm: str, over: str, trials: Trials) -> int:
    """Index of the lowest value at which more than half of the seeds diverge."""
    most = np.flatnonzero(trials.diverged(arm, over).mean(axis=1) > 0.5)
    if not len(most):
        raise NotEstimableError(
            "out of regime", f"{trials.arm_name(arm)} diverges in most seeds at no {in_words(over)} that was tried"
        )
    return int(most[0])
