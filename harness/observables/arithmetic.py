"""Observables that are made of others."""

from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np
import scipy  # its parts load when they are first used: seconds, and much that is read here needs none
from pydantic import Field

from folklore.harness.observables.estimating.evaluation import evaluate
from folklore.harness.observables.estimating.weighted import present
from folklore.harness.spec.observed import Example, Interval, Observable, Observed, OfLosses
from folklore.harness.spec.trials import Numbers, Trials, UndecidableError


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
        return evaluate(self.top, trials, weights) / evaluate(self.bottom, trials, weights)


class RelativeGap(Observed):
    """(left - right) / right, seeds paired."""

    kind: Literal["relative_gap"] = "relative_gap"
    left: Observable = Field(description="an observable")
    right: Observable = Field(description="the observable that is subtracted, and divided by")

    OF_LOSSES: ClassVar[OfLosses] = "divides"
    UNIT: ClassVar[str] = "relative (0.01 is 1% more)"
    EXAMPLE: ClassVar[Example] = {
        "left": {"kind": "tuned_loss", "arm": "none"},
        "right": {"kind": "tuned_loss", "arm": "warmup_20%"},
    }

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        right = evaluate(self.right, trials, weights)
        return (evaluate(self.left, trials, weights) - right) / right


class Gap(Observed):
    """left - right, seeds paired."""

    kind: Literal["gap"] = "gap"
    left: Observable = Field(description="an observable")
    right: Observable = Field(description="the observable that is subtracted")

    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    UNIT: ClassVar[str] = "of its parts"
    EXAMPLE: ClassVar[Example] = {
        "left": {"kind": "tuned_loss", "arm": "none"},
        "right": {"kind": "tuned_loss", "arm": "warmup_20%"},
    }

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        return evaluate(self.left, trials, weights) - evaluate(self.right, trials, weights)


class Slope(Observed):
    """The least-squares slope of log2 of observables on log2 x: an exponent. `points` are pairs of x and an observable."""

    kind: Literal["slope"] = "slope"
    points: tuple[tuple[float, Observable], ...] = Field(min_length=3, description="pairs of x and an observable there")

    OF_LOSSES: ClassVar[OfLosses] = "divides"
    FIGURE: ClassVar[str] = "exponents"
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


class RankCorrelation(Observed):
    """Spearman's rank correlation of observables with x. `points` are pairs of x and an observable."""

    kind: Literal["rank_correlation"] = "rank_correlation"
    points: tuple[tuple[float, Observable], ...] = Field(min_length=3, description="pairs of x and an observable there")

    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    BOUNDS: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    UNIT: ClassVar[str] = "none (-1 to 1)"
    EXAMPLE: ClassVar[Example] = {
        "points": [
            [8, {"kind": "optimum", "arm": "batch_8"}],
            [16, {"kind": "optimum", "arm": "batch_16"}],
            [32, {"kind": "optimum", "arm": "batch_32"}],
        ]
    }

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """Ties share their mean rank; where all observations are equal there is no correlation (nan)."""
        points = present(self.points, trials)
        x = scipy.stats.rankdata([value for value, _ in points])
        y = scipy.stats.rankdata([evaluate(part, trials, weights) for _, part in points], axis=0)
        x, y = x - x.mean(), y - y.mean(axis=0)
        with np.errstate(invalid="ignore"):
            return np.asarray(x @ y / np.sqrt((x**2).sum() * (y**2).sum(axis=0)))


class Spread(Observed):
    """The largest of some observables over the smallest."""

    kind: Literal["spread"] = "spread"
    parts: tuple[Observable, ...] = Field(min_length=2, description="the observables that are compared")

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    OF_LOSSES: ClassVar[OfLosses] = "divides"
    UNIT: ClassVar[str] = "none (a ratio)"
    EXAMPLE: ClassVar[Example] = {
        "parts": [
            {"kind": "optimum", "arm": "width_16"},
            {"kind": "optimum", "arm": "width_32"},
            {"kind": "optimum", "arm": "width_64"},
        ]
    }

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """max / min over the parts, [R]. At least one by definition: of equal parts noise makes it larger."""
        values = np.array([evaluate(part, trials, weights) for part in self.parts])
        return np.asarray(values.max(axis=0) / values.min(axis=0))


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
        "whole": {
            "kind": "gap",
            "left": {"kind": "tuned_loss", "arm": "none"},
            "right": {"kind": "tuned_loss", "arm": "warmup_20%"},
        },
        "whole_at_least": 0.01,
    }

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        return evaluate(self.part, trials, weights) / evaluate(self.whole, trials, weights)

    def require(self, interval: Callable[[Observed], Interval]) -> None:
        """A share is only taken of an effect that is surely there."""
        estimate, low, high = interval(self.whole)
        if low < self.whole_at_least:
            raise UndecidableError(
                "out of regime",
                f"the whole effect is {estimate:.2g} [{low:.2g}, {high:.2g}] and not surely above"
                f" {self.whole_at_least:g}: there is nothing to take a share of",
            )
