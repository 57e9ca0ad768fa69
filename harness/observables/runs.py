"""What one run's curves say, at an LR: over a window of it, and how they change on the way."""

import warnings
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from folklore.harness.observables.estimating.weighted import position, seed_mean, stacked, transferred
from folklore.harness.spec.observed import ARM, WINDOW, Example, FactorName, Observed, ObservedArm, OfLosses
from folklore.harness.spec.trials import Numbers, Trials, UndecidableError, in_words
from folklore.harness.training.curves import CURVES

RunCurve = Literal[
    "train_loss",
    "train_loss_swing",
    "train_loss_spikes",
    "evaluation_loss",
    "evaluation_accuracy",
    "evaluation_training_loss",
    "evaluation_training_accuracy",
    "probe_gradient_norm",
    "probe_weight_norm",
    "probe_update_ratio",
    "probe_matrix_update_ratio",
    "probe_matrix_update_ratio_least",
    "probe_matrix_update_ratio_most",
    "probe_token_slope",
    "probe_token_length_slope",
    "probe_token_step_slope",
    "probe_token_update_rare",
    "probe_token_update_common",
    "probe_flow_norm",
    "probe_flow_least",
    "probe_flow_most",
    "probe_flow_hidden_least",
    "probe_flow_hidden_most",
    "probe_flow_rms_least",
    "probe_flow_rms_most",
    "probe_flow_first",
    "probe_flow_last",
    "probe_flow_first_update",
    "probe_flow_last_update",
    "probe_flow_first_moved",
    "probe_flow_last_moved",
    "probe_dead_units",
    "probe_dead_units_first",
    "probe_dead_gradient",
    "probe_living_gradient",
    "probe_revived_units",
    "probe_revived_units_first",
    "probe_revived_units_deeper",
    "probe_awake_units",
    "token_loss_rare",
    "token_loss_common",
    "token_loss_after_rare",
    "token_loss_after_common",
]
# Curve -> the one that says to which steps its values belong.
STEPS_OF = {curve.name: curve.steps for curve in CURVES}


def _is_loss(curve: str) -> bool:
    return curve in ("train_loss", "evaluation_loss", "evaluation_training_loss") or curve.startswith("token_loss")


class _OfRuns(Observed):
    """A number of every run of an arm at an LR: at `times` the one tuned for `tuned_for`, or at a declared one."""

    arm: ObservedArm
    tuned_for: Annotated[str | None, ARM] = Field(
        default=None, description="the arm whose tuned value is taken over; none: its own"
    )
    times: float = Field(default=1.0, gt=0, description="the value is this many times the one tuned for the other arm")
    value: float | None = Field(default=None, gt=0, description="or the value itself, which has to be on the arm's grid")
    first: Annotated[float, WINDOW] = Field(
        default=0.0, ge=0, lt=1, description="where the window begins, as a share of the run"
    )
    last: Annotated[float, WINDOW] = Field(default=1.0, gt=0, le=1, description="where it ends")
    over: FactorName = "peak_lr"

    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    AT_ONE_POINT: ClassVar[bool] = True

    @model_validator(mode="after")
    def _is_a_window(self) -> Self:
        if self.value is not None and self.tuned_for is not None:
            raise ValueError("a run is read at the value tuned for an arm or at a declared one: give tuned_for or value")
        if self.first >= self.last:
            raise ValueError(f"first = {self.first:g}: must be below last = {self.last:g}")
        return self

    def windowed(self, curve: str, trials: Trials) -> tuple[Numbers, Numbers]:
        """Share of the run, and the curve, [G, S, points] each; nan outside the window. Raises UndecidableError if the trials
        have no such curve, or nothing of it in the window."""
        of = STEPS_OF[curve]
        columns = [trials.values(self.arm, self.over, f"curve_{name}") for name in (of, curve)]
        name = trials.arm_name(self.arm)
        if any(each is None for each in columns[1].ravel()):
            raise UndecidableError("invalid", f"{name} was trained before its {in_words(curve)} was kept; train it anew")
        steps, values = (stacked(each) for each in columns)
        began = "initial_loss" if _is_loss(curve) else "initial_accuracy" if curve.endswith("_accuracy") else None
        if began is not None:  # a run that is lost counts, as everywhere, with the loss it began with
            initial = np.asarray(trials.values(self.arm, self.over, began), dtype=np.float64)
            values = np.where(np.isfinite(values), values, initial[..., None])
        grid = trials.grid(self.arm, self.over)
        total = trials.study.configuration(trials.scale, self.arm, {self.over: float(grid[0])}).training.steps
        share = steps / total
        inside = (share > self.first + 1e-9) & (share <= self.last + 1e-9)
        if not inside.any():
            raise UndecidableError("open", f"{name} has no point of its {in_words(curve)} in the window; a longer one would")
        return share, np.where(inside, values, np.nan)

    def at_the_lr(self, values_GS: Numbers, trials: Trials, weights: Numbers) -> Numbers:
        """Weighted means over seeds at the value of the factor, looked for anew under every weighting, [R]; runs that have no
        value, for they diverged, count nowhere."""
        if self.value is not None:
            return seed_mean(values_GS[position(trials, self.arm, self.over, self.value)], weights)
        tuned_for = self.tuned_for or self.arm
        _, place, there = transferred(self.arm, tuned_for, self.times, self.over, trials, weights)
        return np.where(there, seed_mean(values_GS[place], weights), np.nan)


class CurveMean(_OfRuns):
    """The mean of a curve over a window of the run; mean over seeds. Of a loss it is one."""

    kind: Literal["curve_mean"] = "curve_mean"
    curve: RunCurve = Field(description="the curve that is averaged")

    FIGURE: ClassVar[str] = "forest"
    UNIT: ClassVar[str] = (
        "of the curve: losses and swings in their own unit, spikes a share of the steps, accuracies of the targets, ratios and"
        " norms none"
    )
    EXAMPLE: ClassVar[Example] = {"arm": "none", "curve": "train_loss", "first": 0.5}

    @property
    def of_losses(self) -> OfLosses:
        return "is one" if _is_loss(self.curve) else "no zero"

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """Weighted mean over seeds of the mean over the window, [R], in the curve's unit."""
        _, values = self.windowed(self.curve, trials)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Mean of empty slice")  # of a run that diverged before the window
            return self.at_the_lr(np.nanmean(values, axis=2), trials, weights)


class CurveSlope(_OfRuns):
    """How a curve goes with the number of steps: the least-squares slope of its logarithm on that of the step, in a window of
    the run; mean over seeds."""

    kind: Literal["curve_slope"] = "curve_slope"
    curve: RunCurve = Field(description="the curve whose logarithm is fitted")

    FIGURE: ClassVar[str] = "forest"
    UNIT: ClassVar[str] = "none (an exponent)"
    EXAMPLE: ClassVar[Example] = {"arm": "none", "curve": "probe_gradient_norm", "first": 0.1}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """Weighted mean over seeds of d ln curve / d ln step, [R]."""
        share, values = self.windowed(self.curve, trials)
        with np.errstate(divide="ignore", invalid="ignore"):
            x, y = np.log(share), np.log(values)
        usable = np.isfinite(y)
        count = usable.sum(axis=2, keepdims=True)
        with np.errstate(invalid="ignore"):
            x, y = (np.where(usable, each - np.where(usable, each, 0).sum(2, keepdims=True) / count, 0) for each in (x, y))
            slopes = (x * y).sum(axis=2) / np.square(x).sum(axis=2)
        return self.at_the_lr(np.where(count[..., 0] > 2, slopes, np.nan), trials, weights)


class CurveQuotient(_OfRuns):
    """One curve over another, each of them averaged over a window of the run; geometric mean over seeds."""

    kind: Literal["curve_quotient"] = "curve_quotient"
    top: RunCurve = Field(description="the curve that is divided")
    bottom: RunCurve = Field(description="the curve that it is divided by")

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    OF_LOSSES: ClassVar[OfLosses] = "divides"
    FIGURE: ClassVar[str] = "forest"
    UNIT: ClassVar[str] = "that of the one curve over that of the other: none where these are the same"
    EXAMPLE: ClassVar[Example] = {"arm": "none", "top": "probe_matrix_update_ratio_most", "bottom": "probe_update_ratio"}

    @property
    def of_losses(self) -> OfLosses:
        return "divides" if _is_loss(self.top) or _is_loss(self.bottom) else "no zero"

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """exp of the weighted mean over seeds of ln(mean of the one curve / mean of the other), [R]; runs without a value, as
        where one of them is zero, count nowhere."""
        with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
            warnings.filterwarnings("ignore", "Mean of empty slice")  # of a run that diverged before the window
            means = [np.nanmean(self.windowed(curve, trials)[1], axis=2) for curve in (self.top, self.bottom)]
            logs_GS = np.log(means[0] / means[1])
        return np.asarray(np.exp(self.at_the_lr(logs_GS, trials, weights)))


class RisingShare(_OfRuns):
    """How often the loss rises: the share of its points that lie above the one before, in a window of the run; mean over seeds.
    A run that diverges counts as one that always does."""

    kind: Literal["rising_share"] = "rising_share"
    of: Literal["validation", "train"] = Field(
        default="validation",
        description="'validation': the loss on one sample, at every evaluation; 'train': that of the batches, of which a kept"
        " point is the mean over some steps",
    )
    by: float = Field(default=0.0, ge=0, description="what a point has to lie above the one before")

    BOUNDS: ClassVar[tuple[float, float]] = (0.0, 1.0)
    FIGURE: ClassVar[str] = "forest"
    UNIT: ClassVar[str] = "share of the points, 0 to 1"
    EXAMPLE: ClassVar[Example] = {"arm": "none", "first": 0.2}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """Weighted mean over seeds of #(l_i > l_{i-1} + by) / #pairs over neighbouring points in the window, [R]; 1 where a run
        diverges. How many points there are is for Measurement to say: evaluations, or curve_points."""
        _, values = self.windowed("evaluation_loss" if self.of == "validation" else "train_loss", trials)
        change = np.diff(values, axis=2)
        count = np.isfinite(change).sum(axis=2)
        diverged = trials.diverged(self.arm, self.over)
        if not (count | diverged).any():
            raise UndecidableError(
                "open", f"{trials.arm_name(self.arm)} has no two points of its loss in the window; a longer one would do"
            )
        with np.errstate(invalid="ignore"):
            return self.at_the_lr(np.where(diverged, 1.0, (change > self.by).sum(axis=2) / count), trials, weights)
