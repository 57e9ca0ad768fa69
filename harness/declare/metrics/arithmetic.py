"""Observables that are made of others."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import scipy  # its parts load when they are first used: seconds, and much that is read here needs none
from pydantic import Field, model_validator

from ..base import declared
from ..observed import ARM, POINTS, Example, FactorName, FormerKind, Interval, Observable, Observed, OfLosses
from ..parts import arms_of, leaves, searched_factor
from ..trials import NotEstimableError, Numbers, Trials
from .estimating.evaluation import evaluate
from .estimating.weighted import initial_loss, present, share_of_fall, tuned_loss

# Parts of examples.
TWO_LOSSES: Example = {"left": {"kind": "tuned_loss", "arm": "none"}, "right": {"kind": "tuned_loss", "arm": "warmup_20%"}}
LOSSES_BESIDE = [{"kind": "loss_at", "arm": "none", "tuned_for": "none", "times": times} for times in (0.5, 2.0)]


class Quotient(Observed):
    """top / bottom; its interval is taken on the log axis."""

    kind: Literal["quotient"] = "quotient"
    top: Observable = Field(description="an observable")
    bottom: Observable = Field(description="the observable it is divided by")

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    OF_LOSSES: ClassVar[OfLosses] = "divides"
    UNIT: ClassVar[str] = "none (a ratio)"
    EXAMPLE: ClassVar[Example] = {
        "top": {"kind": "max_trainable", "arm": "warmup_20%"},
        "bottom": {"kind": "max_trainable", "arm": "none"},
    }

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """top / bottom, [R], under equal weights: seeds are paired."""
        with np.errstate(divide="ignore", invalid="ignore"):  # what is no number is none
            return np.asarray(evaluate(self.top, trials, weights) / evaluate(self.bottom, trials, weights))


class RelativeGap(Observed):
    """(left - right) / right, seeds paired."""

    kind: Literal["relative_gap"] = "relative_gap"
    left: Observable = Field(description="an observable")
    right: Observable = Field(description="the observable that is subtracted, and divided by")

    OF_LOSSES: ClassVar[OfLosses] = "divides"
    FIGURE: ClassVar[str] = "forest"
    UNIT: ClassVar[str] = "relative (0.01 is 1% more)"
    EXAMPLE: ClassVar[Example] = TWO_LOSSES

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        right = evaluate(self.right, trials, weights)
        return (evaluate(self.left, trials, weights) - right) / right

    @property
    def figure(self) -> str:
        return _figure_of_gap(self.left, self.right)


class Gap(Observed):
    """left - right, seeds paired."""

    kind: Literal["gap"] = "gap"
    left: Observable = Field(description="an observable")
    right: Observable = Field(description="the observable that is subtracted")

    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    FIGURE: ClassVar[str] = "forest"
    UNIT: ClassVar[str] = "of its parts"
    EXAMPLE: ClassVar[Example] = TWO_LOSSES

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        return evaluate(self.left, trials, weights) - evaluate(self.right, trials, weights)

    def written_in(self, unit: str) -> str:
        """A difference of two shares is written in points: 5 points more, where 5% more would be a ratio."""
        return POINTS if unit == "share" or (unit in ("relative", "") and self.left.is_share) else unit

    @property
    def figure(self) -> str:
        return _figure_of_gap(self.left, self.right)


class LossGap(Observed):
    """(left - right) / (L0 - L*) of two losses, seeds paired: their gap as a share of the loss reduction.

    L0 is the mean loss at initialization of the arms read, L* the lowest of the tuned mean test losses of the arms in `best_of`
    (empty: of the arms of left and right), and of what is stopped before its end. It means the same whatever constant is added
    to every loss, and stays finite where losses come near zero.
    """

    kind: Literal["loss_gap"] = "loss_gap"
    left: Observable = Field(description="an observable that is a loss")
    right: Observable = Field(description="the loss that is subtracted")
    best_of: Annotated[tuple[str, ...], ARM] = Field(
        default=(), description="the arms whose lowest tuned loss ends the reduction; none: those of left and right"
    )
    over: FactorName = "peak_lr"

    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    FIGURE: ClassVar[str] = "forest"
    UNIT: ClassVar[str] = "of the loss reduction (0.01 is 1% of it)"
    EXAMPLE: ClassVar[Example] = TWO_LOSSES

    FORMER: ClassVar[Mapping[str, FormerKind]] = {"fall_share": dict}

    @property
    def is_share(self) -> bool:
        return True

    def first_declared(self) -> dict[str, Any]:
        """Hashes of studies go on with the kind that it was published as."""
        fields = {name: declared(value) for name, value in self if value is not None}
        return {**fields, "kind": self.calibrated_as}

    @property
    def calibrated_as(self) -> str:
        return "fall_share"

    @model_validator(mode="after")
    def _of_losses_alone(self) -> Self:
        for name, part in (("left", self.left), ("right", self.right)):
            if part.of_losses != "is one":
                raise ValueError(f"{name} is not a loss, and only the gap of two losses is a share of the loss reduction")
        return self

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """(left - right) / (L0 - L*), [R], without unit, all of it again under every weighting. Out of regime where nothing
        falls, not estimable if an arm of `best_of` is best at an edge of its grid."""
        searched = self._searched(trials)
        best_of = self.best_of or sorted(arms_of(self.left) | arms_of(self.right))
        ends = [tuned_loss(arm, searched[arm], trials, weights) for arm in best_of]
        stopped = [part for part in (*leaves(self.left), *leaves(self.right)) if part.ENDS_REDUCTION]
        lowest = np.min([*ends, *(evaluate(part, trials, weights) for part in stopped)], axis=0)
        gap = evaluate(self.left, trials, weights) - evaluate(self.right, trials, weights)
        return share_of_fall(gap, initial_loss(searched, trials, weights), lowest)

    def _searched(self, trials: Trials) -> dict[str, str]:
        """Every arm that is read, with the factor that its values are of."""
        searched = dict.fromkeys(self.best_of, self.over)
        for leaf in (*leaves(self.left), *leaves(self.right)):
            for arm in sorted(arms_of(leaf)):
                searched[arm] = searched_factor(leaf) or trials.only_factor(arm)
        return searched


def _figure_of_gap(left: Observed, right: Observed) -> str:
    """A gap of losses is shown as such; one of anything else by what shows its parts."""
    return "forest" if left.of_losses == right.of_losses == "is one" else ""


class Slope(Observed):
    """The least-squares slope of log2 of observables on log2 x: an exponent. `points` are pairs of x and an observable."""

    kind: Literal["slope"] = "slope"
    points: tuple[tuple[float, Observable], ...] = Field(min_length=3, description="pairs of x and an observable there")

    OF_LOSSES: ClassVar[OfLosses] = "divides"
    FIGURE: ClassVar[str] = "fit"
    UNIT: ClassVar[str] = "none (an exponent)"
    EXAMPLE: ClassVar[Example] = {
        "points": [
            [8, {"kind": "optimum", "arm": "batch_8"}],
            [16, {"kind": "optimum", "arm": "batch_16"}],
            [32, {"kind": "optimum", "arm": "batch_32"}],
        ]
    }

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """Least squares of log2 y on log2 x, [R]: sum (x - mean x) y / sum (x - mean x)^2. All points count alike, however well
        their own y is known; the error is that of the seeds, which move all points at once."""
        points = present(self.points, trials)
        x = np.log2([value for value, _ in points])
        y = np.log2([evaluate(part, trials, weights) for _, part in points])
        centred = x - x.mean()
        return np.asarray(centred @ y / (centred**2).sum())

    def scatter(self, trials: Trials) -> float:
        """Standard error of the slope from how its points lie beside their line: sqrt(RSS / (n - 2) / sum (x - mean x)^2). Zero
        for what is a power law exactly; it does not fall with more seeds."""
        points = present(self.points, trials)
        x = np.log2([value for value, _ in points])
        y = np.log2([evaluate(part, trials, trials.resamples)[0] for _, part in points])
        return float(scipy.stats.linregress(x, y).stderr)


class Mean(Observed):
    """The mean of some observables; of losses it is a loss."""

    kind: Literal["mean"] = "mean"
    parts: tuple[Observable, ...] = Field(min_length=2, description="the observables that are averaged")

    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    UNIT: ClassVar[str] = "of its parts"
    EXAMPLE: ClassVar[Example] = {"parts": LOSSES_BESIDE}

    @property
    def of_losses(self) -> OfLosses:
        """A loss if all its parts are; else as the part that depends on them most."""
        kinds = {part.of_losses for part in self.parts}
        if "is one" in kinds and kinds != {"is one"}:
            return "shares"  # something else with a loss added
        return next((kind for kind in ("is one", "shares", "shares of ramps", "divides") if kind in kinds), "no zero")

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        return np.asarray(np.mean([evaluate(part, trials, weights) for part in self.parts], axis=0))


class Scaled(Observed):
    """A multiple: sequences to tokens, for example."""

    kind: Literal["scaled"] = "scaled"
    of: Observable = Field(description="an observable")
    by: float = Field(gt=0, description="what it is multiplied by")

    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    UNIT: ClassVar[str] = "of its part, times `by`"
    EXAMPLE: ClassVar[Example] = {"of": {"kind": "noise_scale", "arm": "batch_32"}, "by": 32}

    @property
    def log_axis(self) -> bool:
        return self.of.log_axis

    @property
    def no_effect(self) -> float:
        return self.by * self.of.no_effect

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        return self.by * evaluate(self.of, trials, weights)

    def loss_in_it(self) -> Observed | None:
        return self.of.loss_in_it()

    def written_in(self, unit: str) -> str:
        return self.of.written_in(unit)


class Log2(Observed):
    """The logarithm to base 2: a ratio in octaves."""

    kind: Literal["log2"] = "log2"
    of: Observable = Field(description="an observable")

    OF_LOSSES: ClassVar[OfLosses] = "divides"
    UNIT: ClassVar[str] = "octaves"
    EXAMPLE: ClassVar[Example] = {
        "of": {
            "kind": "quotient",
            "top": {"kind": "optimum", "arm": "warmup_20%"},
            "bottom": {"kind": "optimum", "arm": "none"},
        }
    }

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        return np.asarray(np.log2(evaluate(self.of, trials, weights)))


class Share(Observed):
    """part / whole. Out of regime where the whole's interval reaches below `whole_at_least`: no effect to share."""

    kind: Literal["share"] = "share"
    part: Observable = Field(description="the observable of the part")
    whole: Observable = Field(description="the observable of the whole")
    whole_at_least: float = Field(gt=0, description="what the whole has to be for a share to mean anything")

    OF_LOSSES: ClassVar[OfLosses] = "divides"
    UNIT: ClassVar[str] = "share of the whole, 1 for all of it"
    EXAMPLE: ClassVar[Example] = {
        "part": {"kind": "gap", "left": {"kind": "tuned_loss", "arm": "none"}, "right": {"kind": "tuned_loss", "arm": "radam"}},
        "whole": {"kind": "gap", **TWO_LOSSES},
        "whole_at_least": 0.01,
    }

    @property
    def is_share(self) -> bool:
        return True

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        return evaluate(self.part, trials, weights) / evaluate(self.whole, trials, weights)

    def require(self, interval: Callable[[Observed], Interval]) -> None:
        """A share is only taken of an effect that is surely there."""
        estimate, low, high = interval(self.whole)
        if low < self.whole_at_least:
            raise NotEstimableError(
                "out of regime",
                f"the whole effect is {estimate:.2g} [{low:.2g}, {high:.2g}] and not surely above"
                f" {self.whole_at_least:g}: there is nothing to take a share of",
            )
