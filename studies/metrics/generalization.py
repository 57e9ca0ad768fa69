"""Runs at equal training loss: of fixed training examples, in eval mode. Each is read where that loss first falls to a level,
as if it had been stopped there; or at its end, and those are compared whose loss ends in the same range.
"""

from typing import Annotated, Any, Literal

import numpy as np
import scipy
from pydantic import Field

from ...harness.declare.curves import CURVES
from ...harness.declare.design import in_words
from ...harness.declare.metrics.estimating.weighted import (
    at_the_edge,
    kept,
    mean,
    position,
    seed_mean,
    settings_of,
    tuned,
)
from ...harness.declare.metrics.functions import metric
from ...harness.declare.observed import ARM, FactorName, ObservedArm
from ...harness.declare.trials import NotEstimableError, Numbers, Trials

STOP, SHARPNESS = "evaluation_training_loss", "probe_sharpness"
STEPS_OF = {curve.name: curve.steps for curve in CURVES if curve.steps}
HeldOut = Literal["evaluation_loss", "evaluation_accuracy"]
# Settings a seed has to have, so that ranks of them mean anything.
LEAST_SETTINGS = 5
Level = Annotated[
    float | None, Field(gt=0, description="the loss of fixed training examples at which runs are read; none: at their end")
]
Ends = Annotated[
    tuple[float, float] | None, Field(description="only runs whose loss of fixed training examples ends in this range")
]
LeastShare = Annotated[
    float, Field(gt=0, le=1, description="share of the runs that have to come to the level; those that do not are left out")
]


def stops(arm: str, over: str, level: float | None, trials: Trials, ends: tuple[float, float] | None = None) -> Numbers:
    """The step at which each run first comes to the level, linear between evaluations, [G, S]; nan if it never does, before the
    first evaluation, or if its loss does not end in the range; infinite where runs are read at their end. Raises
    NotEstimableError where the training loss was not evaluated."""
    steps, losses = (kept(arm, over, curve, trials) for curve in (STEPS_OF[STOP], STOP))
    stop_steps = np.full(losses.shape, np.nan)
    for place in np.ndindex(losses.shape):
        step, loss = (np.asarray(column[place], dtype=np.float64) for column in (steps, losses))
        if ends is not None and not ends[0] <= loss[-1] <= ends[1]:
            continue
        if level is None:
            stop_steps[place] = np.inf
            continue
        below = np.flatnonzero(loss <= level)
        if len(below) and below[0] > 0:
            after = int(below[0])
            share = (loss[after - 1] - level) / (loss[after - 1] - loss[after])
            stop_steps[place] = step[after - 1] + share * (step[after] - step[after - 1])
    return stop_steps


def read_at(steps_GS: Numbers, arm: str, over: str, curve: str, trials: Trials) -> Numbers:
    """A curve at a step of each run, linear between its points, [G, S]; of sharpness its logarithm. nan beyond them; at an
    infinite step its last point."""
    steps, values = (kept(arm, over, name, trials) for name in (STEPS_OF[curve], curve))
    readings = np.full(values.shape, np.nan)
    for place in np.ndindex(values.shape):
        step, value = (np.asarray(column[place], dtype=np.float64) for column in (steps, values))
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.log(value) if curve == SHARPNESS else value
        known = np.isfinite(value)
        if np.isposinf(steps_GS[place]):
            readings[place] = value[-1] if known[-1] else np.nan
        elif known.any():
            readings[place] = np.interp(steps_GS[place], step[known], value[known], left=np.nan, right=np.nan)
    return readings


def _require_reached(readings: Numbers, least: float, level: float | None, whose: str) -> None:
    share = float(np.isfinite(readings).mean())
    if share < least:
        place = "their end" if level is None else f"a training loss of {level:.3g}"
        raise NotEstimableError(
            "open",
            f"{share:.0%} of the runs of {whose} come to {place} with a sharpness, fewer than {least:.0%}",
            "longer runs or a higher level would settle it",
        )


@metric(
    unit="of the loss (nats, of a squared error none), over squared weights",
    of_losses="no zero",
    log_axis=True,
    no_effect=1.0,
    at_one_point=True,
    bounds=(0.0, float("inf")),
    figure="forest",
    settings=lambda metric: settings_of(STOP, SHARPNESS),
    example={"arm": "none", "level": 0.5, "value": 0.02},
    # One run comes to the level half-way from step 10 to 20, and again later; the other at step 20.
    planted=(
        {
            "none": {
                lr: {
                    "curve_evaluation_step": [[10, 20, 30, 40]] * 2,
                    "curve_evaluation_training_loss": [[0.6, 0.4, 0.8, 0.1], [2.0, 0.5, 0.3, 0.2]],
                    "curve_probe_step": [[10, 20, 40]] * 2,
                    "curve_probe_sharpness": [[factor, 4 * factor, 9.0], [9.0, 8 * factor, 9.0]],
                }
                for lr, factor in ((0.01, 1.0), (0.02, 2.0))
            }
        },
        8.0,
    ),
)
def sharpness_at_loss(
    trials: Trials,
    weights: Numbers,
    arm: ObservedArm,
    level: Level = None,
    value: Annotated[float | None, Field(gt=0, description="a value of the arm's grid; none: the tuned one")] = None,
    least_share: LeastShare = 0.75,
    over: FactorName = "peak_lr",
) -> Numbers:
    """The largest eigenvalue of the Hessian of the training loss, where a run's training loss first falls to a level or at its
    end: at the arm's tuned value, or at a declared one; geometric mean over seeds.

    exp of the weighted mean over seeds of ln sharpness at the stop, [R]; both are interpolated linearly in the step. The tuned
    value is looked for again under every weighting. Not estimable if too few runs stop."""
    logs = read_at(stops(arm, over, level, trials), arm, over, SHARPNESS, trials)
    if value is not None:
        chosen = np.full(len(weights), position(trials, arm, over, value))
    else:
        chosen = tuned(arm, over, trials, weights)
    _require_reached(logs[chosen[0]], least_share, level, trials.arm_name(arm))
    means = np.stack([seed_mean(row, weights) for row in logs], axis=1)
    return np.asarray(np.exp(means[np.arange(len(weights)), chosen]))


@metric(
    unit="of the loss (nats, of a squared error none), over squared weights",
    of_losses="no zero",
    log_axis=True,
    no_effect=1.0,
    bounds=(0.0, float("inf")),
    figure="forest",
    settings=lambda metric: settings_of(SHARPNESS),
    example={"arm": "none"},
    # At the best LR runs deviate by 1: from half of it to twice it the mean loss is no higher than that.
    planted=(
        {
            "none": {
                0.01 * 2.0**octave: {
                    "validation_loss": [2.0 + octave**2 / 2, 4.0 + 3 * octave**2 / 2],
                    "curve_probe_step": [[1, 9]] * 2,
                    "curve_probe_sharpness": [[5.0, 4.0 * 2.0**-octave], [7.0, 16.0 * 2.0**-octave]],
                }
                for octave in (-2, -1, 0, 1, 2)
            }
        },
        8.0,
    ),
)
def basin_sharpness(
    trials: Trials,
    weights: Numbers,
    arm: ObservedArm,
    at: Annotated[
        Literal["mean", "flattest", "sharpest"], Field(description="the mean over the basin, or its lower or its upper end")
    ] = "mean",
    noise: Annotated[
        float, Field(gt=0, description="how far above the lowest mean loss it ends, in standard deviations between seeds there")
    ] = 1.0,
    over: FactorName = "peak_lr",
) -> Numbers:
    """The largest eigenvalue of the Hessian of the training loss at the end of runs, over all values of `over` that one run
    could not tell from the best: those about it whose mean validation loss is not higher by more than runs there deviate.

    exp of the mean over log2 of the value of the weighted mean over seeds of ln sharpness, [R]; it and the mean validation loss
    are linear between grid points, and read 32 times an octave. The basin is looked for again under every weighting. Not
    estimable where it has no end on the grid."""
    losses, x = trials.losses(arm, over, "validation_loss"), np.log2(trials.grid(arm, over))
    logs = read_at(np.full(losses.shape, np.inf), arm, over, SHARPNESS, trials)
    held_out, sharpness = mean(losses, weights), np.stack([seed_mean(row, weights) for row in logs], axis=1)
    rows, best = np.arange(len(weights)), held_out.argmin(axis=1)
    spread = np.sqrt(((losses[best] - held_out[rows, best][:, None]) ** 2 * weights).sum(axis=1) / weights.sum(axis=1))
    fine = np.linspace(x[0], x[-1], round(32 * (x[-1] - x[0])) + 1)
    between = np.stack([np.interp(fine, x, point) for point in np.eye(len(x))])
    above = held_out @ between > (held_out[rows, best] + noise * spread)[:, None]
    # The part about the best value that no higher loss divides: no point above the bar lies between it and the best one.
    passed = np.cumsum(above, axis=1)
    basin = ~above & (passed == passed[rows, np.abs(fine - x[best][:, None]).argmin(axis=1)][:, None])
    if basin[0, [0, -1]].any():
        end = at_the_edge(-int(basin[0, -1]))
        raise NotEstimableError(
            "open", f"the last {in_words(over)} that is as good as the best of {trials.arm_name(arm)} {end}"
        )
    curves = np.where(basin, np.nan_to_num(sharpness) @ between, np.nan)
    ends: dict[str, Any] = {"mean": np.nanmean, "flattest": np.nanmin, "sharpest": np.nanmax}
    return np.asarray(np.exp(ends[at](curves, axis=1)))


def arms_differ(metric: Any) -> Any:
    if len(set(metric.arms)) < len(metric.arms):
        raise ValueError(f"arms = {metric.arms}: one stands there twice; name each once")
    return metric


@metric(
    unit="none (-1 to 1)",
    of_losses="no zero",
    at_one_point=True,
    bounds=(-1.0, 1.0),
    figure="values",
    settings=lambda metric: settings_of(STOP, SHARPNESS),
    check=arms_differ,
    example={"arms": ["batch_8", "batch_64"], "level": 0.5},
)
def sharpness_correlation(
    trials: Trials,
    weights: Numbers,
    arms: Annotated[tuple[str, ...], ARM, Field(min_length=1, description="arms whose runs are compared")],
    level: Level = None,
    ends: Ends = None,
    of: Annotated[
        HeldOut, Field(description="the validation loss at the stop, or the share of errors there")
    ] = "evaluation_loss",
    least_share: LeastShare = 0.75,
    over: FactorName = "peak_lr",
) -> Numbers:
    """Spearman's rank correlation over settings of sharpness with loss or error on the validation sample, both where a run's
    training loss first falls to a level or at its end; mean over seeds. Positive where flatter runs generalize better.

    Every point of every arm is a setting. Ranks are made within a seed, whose settings have their start and their data in
    common.

    sum_s w_s r_s / sum_s w_s, [R]: r_s Spearman's correlation over the settings of seed s that come to the level; seeds with
    fewer than five have none. Not estimable if too few runs stop."""
    sharpness, held_out = settings_at(arms, over, level, ends, of, trials)
    usable = np.isfinite(sharpness) & np.isfinite(held_out)
    _require_reached(np.where(usable, sharpness, np.nan), least_share, level, "these arms")
    correlations = [
        _spearman(sharpness[rows, seed], held_out[rows, seed]) if rows.sum() >= LEAST_SETTINGS else np.nan
        for seed, rows in enumerate(usable.T)
    ]
    if not np.isfinite(correlations).any():
        raise NotEstimableError(
            "open",
            f"no seed has {LEAST_SETTINGS} settings that differ and come to the training loss at which they are compared",
        )
    return seed_mean(np.array(correlations), weights)


def settings_at(
    arms: tuple[str, ...],
    over: str,
    level: float | None,
    ends: tuple[float, float] | None,
    of: HeldOut,
    trials: Trials,
) -> tuple[Numbers, Numbers]:
    """Logarithm of the sharpness, and what is held out, at the stop, [settings, S] each, settings in the order of `arms`; of
    accuracies the share of errors."""
    stop = {arm: stops(arm, over, level, trials, ends) for arm in arms}
    sharpness, held_out = (
        np.concatenate([read_at(stop[arm], arm, over, curve, trials) for arm in arms]) for curve in (SHARPNESS, of)
    )
    return sharpness, 1 - held_out if of == "evaluation_accuracy" else held_out


def _spearman(x: Numbers, y: Numbers) -> float:
    """nan where all of either are equal."""
    ranks = [scipy.stats.rankdata(values) for values in (x, y)]
    left, right = (rank - rank.mean() for rank in ranks)
    norm = float(np.sqrt((left**2).sum() * (right**2).sum()))
    return float((left * right).sum() / norm) if norm else float("nan")
