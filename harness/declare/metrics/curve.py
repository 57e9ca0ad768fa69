"""A statistic of one run's curve, at an LR, over a window of it."""

import warnings
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from ...errors import unknown
from ..curves import CURVES
from ..design import in_words
from ..observed import ARM, WINDOW, Example, FactorName, FormerKind, Observed, ObservedArm, OfLosses
from ..trials import NotEstimableError, Numbers, Trials
from .estimating.weighted import kept, position, seed_mean, settings_of, stacked, training_of, transferred

# Curve of single numbers -> the one that says to which steps its values belong.
STEPS_OF = {curve.name: curve.steps for curve in CURVES if curve.steps and not curve.across}
Statistic = Literal["mean", "median", "slope", "rises"]


def _known(curve: str) -> str:
    if curve not in STEPS_OF:
        raise unknown("curve", curve, STEPS_OF)
    return curve


CurveName = Annotated[str, AfterValidator(_known), Field(json_schema_extra={"enum": sorted(STEPS_OF)})]


def _is_loss(curve: str) -> bool:
    return curve.endswith("_loss") or curve.startswith("token_loss")


def _renamed(statistic: Statistic = "mean", **names: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Reads a former kind's JSON by today's names of its fields."""
    return lambda value: {**{names.get(name, name): entry for name, entry in value.items()}, "statistic": statistic}


def _was_median(value: dict[str, Any]) -> dict[str, Any]:
    renamed = _renamed("median", curve="of", after="first")(value)
    return {**renamed, "of": f"probe_{value.get('curve')}"}


def _was_rising(value: dict[str, Any]) -> dict[str, Any]:
    of = "train_loss" if value.get("of") == "train" else "evaluation_loss"
    return {**value, "statistic": "rises", "of": of}


class Curve(Observed):
    """A statistic of a run's curve over a window of the run; over seeds the mean, or the geometric mean of what is a ratio.

    The run is the arm's at an LR: its own tuned one, `times` the one tuned for `tuned_for`, or a declared `value`.
    """

    kind: Literal["curve"] = "curve"
    arm: ObservedArm
    of: CurveName = Field(description="the curve that is read")
    statistic: Statistic = Field(
        default="mean",
        description="mean or median over the window; slope: of the curve's logarithm on that of the step, by least squares;"
        " rises: the share of points that lie above the one before",
    )
    divided_by: CurveName | None = Field(default=None, description="a curve whose mean over the window divides the mean")
    by: float = Field(default=0.0, ge=0, description="rises: what a point has to lie above the one before")
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

    OF_LOSSES: ClassVar[OfLosses] = "divides"
    AT_ONE_POINT: ClassVar[bool] = True
    FIGURE: ClassVar[str] = "forest"
    UNIT: ClassVar[str] = (
        "of the curve: losses and swings in their own unit, spikes a share of the steps, accuracies of the targets, ratios and"
        " norms none; a slope is an exponent, rises a share of the points, a quotient that of the two curves"
    )
    EXAMPLE: ClassVar[Example] = {"arm": "none", "of": "train_loss", "first": 0.5}
    FORMER: ClassVar[Mapping[str, FormerKind]] = {
        "curve_mean": _renamed(curve="of"),
        "curve_slope": _renamed("slope", curve="of"),
        "curve_quotient": _renamed(top="of", bottom="divided_by"),
        "curve_median": _was_median,
        "rising_share": _was_rising,
    }

    @model_validator(mode="after")
    def _is_readable(self) -> Self:
        if self.value is not None and self.tuned_for is not None:
            raise ValueError("a run is read at the value tuned for an arm or at a declared one: give tuned_for or value")
        if self.first >= self.last:
            raise ValueError(f"first = {self.first:g}: must be below last = {self.last:g}")
        if self.divided_by is not None and self.statistic != "mean":
            raise ValueError(f"divided_by is of means, and statistic = {self.statistic}: leave one of them out")
        if self.by and self.statistic != "rises":
            raise ValueError(f"by = {self.by:g} is of rises, and statistic = {self.statistic}: leave it out")
        return self

    def first_declared(self) -> dict[str, Any] | None:
        """Hashes of studies go on with the kinds that these were published as; what those could not say has its fields."""
        if self.statistic == "median" and not self.of.startswith("probe_"):
            return None
        if self.statistic == "rises" and self.of not in ("train_loss", "evaluation_loss"):
            return None
        at = {name: getattr(self, name) for name in ("arm", "tuned_for", "times", "value", "first", "last", "over")}
        if self.statistic == "median":
            named = {"kind": "curve_median", "curve": self.of.removeprefix("probe_"), "after": self.first}
            plain = (self.tuned_for, self.times, self.value, self.last) == (None, 1.0, None, 1.0)
            at = {"arm": self.arm, "over": self.over} if plain else {**at, "first": None}
        elif self.statistic == "rises":
            named = {"kind": "rising_share", "of": "train" if self.of == "train_loss" else "validation", "by": self.by}
        elif self.divided_by is not None:
            named = {"kind": "curve_quotient", "top": self.of, "bottom": self.divided_by}
        else:
            named = {"kind": f"curve_{self.statistic}", "curve": self.of}
        return {**named, **{name: entry for name, entry in at.items() if entry is not None}}

    @property
    def calibrated_as(self) -> str:
        if self.divided_by is not None:
            return "curve_quotient"
        return "rising_share" if self.statistic == "rises" else f"curve_{self.statistic}"

    @property
    def is_ratio(self) -> bool:
        """Ratios are averaged and compared by their logarithms."""
        return self.statistic == "median" or self.divided_by is not None

    @property
    def log_axis(self) -> bool:
        return self.is_ratio

    @property
    def no_effect(self) -> float:
        return 1.0 if self.divided_by is not None else 0.0

    @property
    def bounds(self) -> tuple[float, float]:
        return (0.0, 1.0) if self.statistic == "rises" else self.BOUNDS

    @property
    def figure(self) -> str:
        return "curves" if self.statistic == "median" else self.FIGURE

    @property
    def of_losses(self) -> OfLosses:
        losses = _is_loss(self.of) or (self.divided_by is not None and _is_loss(self.divided_by))
        if not losses or self.statistic in ("slope", "rises"):
            return "no zero"
        return "divides" if self.divided_by is not None else "is one"

    @property
    def settings(self) -> tuple[str, ...]:
        return settings_of(self.of, *([self.divided_by] if self.divided_by else []))

    def windowed(self, curve: str, trials: Trials) -> tuple[Numbers, Numbers]:
        """Share of the run, and the curve, [G, S, points] each; nan outside the window. Raises NotEstimableError if the trials
        have no such curve, or nothing of it in the window."""
        steps, values = (stacked(kept(self.arm, self.over, column, trials)) for column in (STEPS_OF[curve], curve))
        name = trials.arm_name(self.arm)
        began = "initial_loss" if _is_loss(curve) else "initial_accuracy" if curve.endswith("_accuracy") else None
        if began is not None:  # a run that is lost counts, as everywhere, with the loss it began with
            initial = np.asarray(trials.values(self.arm, self.over, began), dtype=np.float64)
            values = np.where(np.isfinite(values), values, initial[..., None])
        share = steps / training_of(self.arm, self.over, trials).steps
        inside = (share > self.first + 1e-9) & (share <= self.last + 1e-9)
        if not inside.any():
            raise NotEstimableError("open", f"{name} has no point of its {in_words(curve)} in the window", "a longer one would")
        return share, np.where(inside, values, np.nan)

    def at_the_lr(self, values_GS: Numbers, trials: Trials, weights: Numbers) -> Numbers:
        """Weighted means over seeds at the value of the factor, looked for again under every weighting, [R]; runs that have no
        value, for they diverged, count nowhere."""
        if self.value is not None:
            return seed_mean(values_GS[position(trials, self.arm, self.over, self.value)], weights)
        tuned_for = self.tuned_for or self.arm
        _, place, there = transferred(self.arm, tuned_for, self.times, self.over, trials, weights)
        return np.where(there, seed_mean(values_GS[place], weights), np.nan)

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """Weighted mean over seeds of the statistic, [R], in its unit; of a ratio exp of the mean of its logarithm. Runs that
        have none, as where they diverged before the window, count nowhere."""
        with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
            warnings.filterwarnings("ignore", r"Mean of empty slice|All-NaN slice")
            values_GS = self._of_every_run(trials)
            if not self.is_ratio:
                return self.at_the_lr(values_GS, trials, weights)
            return np.asarray(np.exp(self.at_the_lr(np.log(values_GS), trials, weights)))

    def _of_every_run(self, trials: Trials) -> Numbers:
        """The statistic, [G, S]."""
        share, values = self.windowed(self.of, trials)
        if self.statistic == "median":
            return np.asarray(np.nanmedian(values, axis=2))
        if self.statistic == "slope":
            return _log_slope(share, values)
        if self.statistic == "rises":
            return self._rises(values, trials)
        means = np.nanmean(values, axis=2)
        if self.divided_by is None:
            return np.asarray(means)
        return np.asarray(means / np.nanmean(self.windowed(self.divided_by, trials)[1], axis=2))

    def _rises(self, values: Numbers, trials: Trials) -> Numbers:
        """#(l_i > l_{i-1} + by) / #pairs over neighbouring points in the window, [G, S]; 1 where a run diverges. How many
        points there are is for Measurement to say: evaluations, or curve_points."""
        change = np.diff(values, axis=2)
        count = np.isfinite(change).sum(axis=2)
        diverged = trials.diverged(self.arm, self.over)
        if not (count | diverged).any():
            name, curve = trials.arm_name(self.arm), in_words(self.of)
            raise NotEstimableError("open", f"{name} has no two points of its {curve} in the window", "a longer one would do")
        return np.where(diverged, 1.0, (change > self.by).sum(axis=2) / count)


def _log_slope(share: Numbers, values: Numbers) -> Numbers:
    """d ln curve / d ln step by least squares over the points that have a logarithm, [G, S]; nan for less than three."""
    x, y = np.log(share), np.log(values)
    usable = np.isfinite(y)
    count = usable.sum(axis=2, keepdims=True)
    x, y = (
        np.where(usable, coordinate - np.where(usable, coordinate, 0).sum(2, keepdims=True) / count, 0) for coordinate in (x, y)
    )
    return np.where(count[..., 0] > 2, (x * y).sum(axis=2) / np.square(x).sum(axis=2), np.nan)
