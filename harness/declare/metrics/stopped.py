"""Runs at equal training loss: of fixed training examples, in eval mode. Each is read where that loss first falls to a level,
as if it had been stopped there; or at its end, and those are compared whose loss ends in the same range.
"""

from typing import Annotated, ClassVar, Literal, Self

import numpy as np
import scipy
from pydantic import Field, model_validator

from ..curves import CURVES
from ..observed import ARM, Example, FactorName, Observed, ObservedArm, OfLosses
from ..trials import NotEstimableError, Numbers, Trials
from .estimating.weighted import kept, position, seed_mean, settings_of, tuned

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
    found = np.full(losses.shape, np.nan)
    for place in np.ndindex(losses.shape):
        step, loss = (np.asarray(each[place], dtype=np.float64) for each in (steps, losses))
        if ends is not None and not ends[0] <= loss[-1] <= ends[1]:
            continue
        if level is None:
            found[place] = np.inf
            continue
        below = np.flatnonzero(loss <= level)
        if len(below) and below[0] > 0:
            after = int(below[0])
            share = (loss[after - 1] - level) / (loss[after - 1] - loss[after])
            found[place] = step[after - 1] + share * (step[after] - step[after - 1])
    return found


def read_at(steps_GS: Numbers, arm: str, over: str, curve: str, trials: Trials) -> Numbers:
    """A curve at a step of each run, linear between its points, [G, S]; of sharpness its logarithm. nan beyond them; at an
    infinite step its last point."""
    steps, values = (kept(arm, over, each, trials) for each in (STEPS_OF[curve], curve))
    found = np.full(values.shape, np.nan)
    for place in np.ndindex(values.shape):
        step, value = (np.asarray(each[place], dtype=np.float64) for each in (steps, values))
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.log(value) if curve == SHARPNESS else value
        known = np.isfinite(value)
        if np.isposinf(steps_GS[place]):
            found[place] = value[-1] if known[-1] else np.nan
        elif known.any():
            found[place] = np.interp(steps_GS[place], step[known], value[known], left=np.nan, right=np.nan)
    return found


def _require_reached(found: Numbers, least: float, level: float | None, whose: str) -> None:
    share = float(np.isfinite(found).mean())
    if share < least:
        place = "their end" if level is None else f"a training loss of {level:.3g}"
        raise NotEstimableError(
            "open",
            f"{share:.0%} of the runs of {whose} come to {place} with a sharpness, fewer than {least:.0%}",
            "longer runs or a higher level would settle it",
        )


class SharpnessAtLoss(Observed):
    """The largest eigenvalue of the Hessian of the training loss, where a run's training loss first falls to a level or at its
    end: at the arm's tuned value, or at a declared one; geometric mean over seeds."""

    kind: Literal["sharpness_at_loss"] = "sharpness_at_loss"
    arm: ObservedArm
    level: Level = None
    value: float | None = Field(default=None, gt=0, description="a value of the arm's grid; none: the tuned one")
    least_share: LeastShare = 0.75
    over: FactorName = "peak_lr"

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    AT_ONE_POINT: ClassVar[bool] = True
    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    BOUNDS: ClassVar[tuple[float, float]] = (0.0, float("inf"))
    FIGURE: ClassVar[str] = "forest"
    UNIT: ClassVar[str] = "of the loss (nats, of a squared error none), over squared weights"
    EXAMPLE: ClassVar[Example] = {"arm": "none", "level": 0.5}

    @property
    def settings(self) -> tuple[str, ...]:
        return settings_of(STOP, SHARPNESS)

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """exp of the weighted mean over seeds of ln sharpness at the stop, [R]; both are interpolated linearly in the step.
        The tuned value is looked for again under every weighting. Not estimable if too few runs stop."""
        stop = stops(self.arm, self.over, self.level, trials)
        logs = read_at(stop, self.arm, self.over, SHARPNESS, trials)
        if self.value is not None:
            chosen = np.full(len(weights), position(trials, self.arm, self.over, self.value))
        else:
            chosen = tuned(self.arm, self.over, trials, weights)
        _require_reached(logs[chosen[0]], self.least_share, self.level, trials.arm_name(self.arm))
        means = np.stack([seed_mean(row, weights) for row in logs], axis=1)
        return np.asarray(np.exp(means[np.arange(len(weights)), chosen]))


class SharpnessCorrelation(Observed):
    """Spearman's rank correlation over settings of sharpness with loss or error on the validation sample, both where a run's
    training loss first falls to a level or at its end; mean over seeds. Positive where flatter runs generalize better.

    Every point of every arm is a setting. Ranks are made within a seed, whose settings have their start and their data in
    common."""

    kind: Literal["sharpness_correlation"] = "sharpness_correlation"
    arms: Annotated[tuple[str, ...], ARM] = Field(min_length=1, description="arms whose runs are compared")
    level: Level = None
    ends: Ends = None
    of: HeldOut = Field(default="evaluation_loss", description="the validation loss at the stop, or the share of errors there")
    least_share: LeastShare = 0.75
    over: FactorName = "peak_lr"

    AT_ONE_POINT: ClassVar[bool] = True
    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    BOUNDS: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    FIGURE: ClassVar[str] = "values"
    UNIT: ClassVar[str] = "none (-1 to 1)"
    EXAMPLE: ClassVar[Example] = {"arms": ["batch_8", "batch_64"], "level": 0.5}

    @property
    def settings(self) -> tuple[str, ...]:
        return settings_of(STOP, SHARPNESS)

    @model_validator(mode="after")
    def _arms_differ(self) -> Self:
        if len(set(self.arms)) < len(self.arms):
            raise ValueError(f"arms = {self.arms}: one stands there twice; name each once")
        return self

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """sum_s w_s r_s / sum_s w_s, [R]: r_s Spearman's correlation over the settings of seed s that come to the level; seeds
        with fewer than five have none. Not estimable if too few runs stop."""
        sharpness, held_out = self.points(trials)
        usable = np.isfinite(sharpness) & np.isfinite(held_out)
        _require_reached(np.where(usable, sharpness, np.nan), self.least_share, self.level, "these arms")
        found = [
            _spearman(sharpness[rows, seed], held_out[rows, seed]) if rows.sum() >= LEAST_SETTINGS else np.nan
            for seed, rows in enumerate(usable.T)
        ]
        if not np.isfinite(found).any():
            raise NotEstimableError(
                "open",
                f"no seed has {LEAST_SETTINGS} settings that differ and come to the training loss at which they are compared",
            )
        return seed_mean(np.array(found), weights)

    def points(self, trials: Trials) -> tuple[Numbers, Numbers]:
        """Logarithm of the sharpness, and what is held out, at the stop, [settings, S] each, settings in the order of `arms`;
        of accuracies the share of errors."""
        stop = {arm: stops(arm, self.over, self.level, trials, self.ends) for arm in self.arms}
        sharpness, held_out = (
            np.concatenate([read_at(stop[arm], arm, self.over, curve, trials) for arm in self.arms])
            for curve in (SHARPNESS, self.of)
        )
        return sharpness, 1 - held_out if self.of == "evaluation_accuracy" else held_out


def _spearman(x: Numbers, y: Numbers) -> float:
    """nan where all of either are equal."""
    ranks = [scipy.stats.rankdata(each) for each in (x, y)]
    left, right = (each - each.mean() for each in ranks)
    norm = float(np.sqrt((left**2).sum() * (right**2).sum()))
    return float((left * right).sum() / norm) if norm else float("nan")
