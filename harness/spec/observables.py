"""What can be observed in a table of trials. The estimators stand in harness/estimators.py, one for each class here.

Losses are test losses in nats; a diverged run counts with the loss at initialization (it is never dropped). The LR is
tuned on validation loss and judged on test loss. `arm` names an arm of the study.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from harness.spec.base import Spec


class TunedLoss(Spec):
    """Test loss, in nats, at the arm's best `over` value (lowest mean validation loss over seeds)."""

    kind: Literal["tuned_loss"] = "tuned_loss"
    arm: str
    over: str = "peak_lr"


class Optimum(Spec):
    """The value of `over` with the lowest mean validation loss, by a parabola through the lowest grid point and its
    neighbours on the log axis."""

    kind: Literal["optimum"] = "optimum"
    arm: str
    over: str = "peak_lr"


class TransferRegret(Spec):
    """Test loss of `arm` at `times` the LR tuned for `tuned_for`, relative to the loss at its own tuned LR, minus one."""

    kind: Literal["transfer_regret"] = "transfer_regret"
    arm: str
    tuned_for: str
    times: float = Field(default=1.0, gt=0)
    over: str = "peak_lr"


class TrajectoryGap(Spec):
    """Largest relative gap of two mean validation curves at equal shares of the run, after a first share of it.

    `arm` runs at `times` the LR tuned for `tuned_for`, which runs at that LR itself.
    """

    kind: Literal["trajectory_gap"] = "trajectory_gap"
    arm: str
    tuned_for: str
    times: float = Field(default=1.0, gt=0)
    after: float = Field(default=0.1, ge=0, lt=1)
    over: str = "peak_lr"


class SmallestWithin(Spec):
    """The smallest value of `over` whose mean test loss lies within a share of the arm's lowest."""

    kind: Literal["smallest_within"] = "smallest_within"
    arm: str
    over: str
    within: float = Field(default=0.01, gt=0)


class ActivationSlope(Spec):
    """How activations depend on width over the first steps: the largest absolute slope of log size on log x.

    `points` are pairs of x (the width) and an arm trained at one LR. Sizes are mean absolute values, averaged
    geometrically over seeds; the largest slope is taken over steps 1 to `steps` and over the model's taps.
    """

    kind: Literal["activation_slope"] = "activation_slope"
    points: tuple[tuple[float, str], ...] = Field(min_length=3)
    steps: int = Field(default=5, ge=1)


class MaxTrainable(Spec):
    """Largest value of `over` whose mean loss stays within a share of the best; interpolated on the log axis.

    The bar is (1 + within) times the lowest mean loss of any arm in `best_of` (empty: this arm alone).
    """

    kind: Literal["max_trainable"] = "max_trainable"
    arm: str
    over: str = "peak_lr"
    within: float = Field(default=0.05, gt=0)
    best_of: tuple[str, ...] = ()


class LRSensitivity(Spec):
    """Mean over the log grid of min(loss, loss at initialization) minus the best loss, nats (Wortsman et al. 2023)."""

    kind: Literal["lr_sensitivity"] = "lr_sensitivity"
    arm: str
    over: str = "peak_lr"


class FailureRate(Spec):
    """Share of the seeds in which `arm` diverges at the LR tuned for `tuned_for`; exact binomial interval."""

    kind: Literal["failure_rate"] = "failure_rate"
    arm: str
    tuned_for: str
    over: str = "peak_lr"


class CureRate(Spec):
    """Share of an arm's diverged runs at its divergence edge that end well under a remedy, seed by seed.

    The divergence edge is the lowest value of `over` at which more than half of the seeds diverge. The remedy is
    another arm at the same value, or (octaves_down) the same arm at a value lower by so many octaves.
    """

    kind: Literal["cure_rate"] = "cure_rate"
    arm: str
    by_arm: str | None = None
    octaves_down: float = Field(default=0.0, ge=0)
    over: str = "peak_lr"


class DivergenceTime(Spec):
    """Step of divergence over the last step of warmup, at the arm's divergence edge (geometric mean over seeds)."""

    kind: Literal["divergence_time"] = "divergence_time"
    arm: str
    over: str = "peak_lr"


class CurveRatio(Spec):
    """A curve's mean over the first share of the steps divided by its mean over the last share, at the tuned LR."""

    kind: Literal["curve_ratio"] = "curve_ratio"
    arm: str
    curve: Literal["gradient_norm", "gradient_variance"]
    first: float = Field(default=0.01, gt=0, le=0.5)
    last: float = Field(default=0.10, gt=0, le=0.5)
    over: str = "peak_lr"


class Quotient(Spec):
    """top / bottom; its interval is taken on the log axis."""

    kind: Literal["quotient"] = "quotient"
    top: "Observable"
    bottom: "Observable"


class RelativeGap(Spec):
    """(left - right) / right, seeds paired."""

    kind: Literal["relative_gap"] = "relative_gap"
    left: "Observable"
    right: "Observable"


class Gap(Spec):
    """left - right, seeds paired."""

    kind: Literal["gap"] = "gap"
    left: "Observable"
    right: "Observable"


class Slope(Spec):
    """The least-squares slope of log2 of observables on log2 x: an exponent. `points` are pairs of x and an observable."""

    kind: Literal["slope"] = "slope"
    points: tuple[tuple[float, "Observable"], ...] = Field(min_length=3)


class RankCorrelation(Spec):
    """Spearman's rank correlation of observables with x. `points` are pairs of x and an observable."""

    kind: Literal["rank_correlation"] = "rank_correlation"
    points: tuple[tuple[float, "Observable"], ...] = Field(min_length=3)


class Log2(Spec):
    """The logarithm to base 2: a ratio in octaves."""

    kind: Literal["log2"] = "log2"
    of: "Observable"


class Share(Spec):
    """part / whole. Out of regime where the whole's interval reaches below `whole_at_least`: no effect to share."""

    kind: Literal["share"] = "share"
    part: "Observable"
    whole: "Observable"
    whole_at_least: float = Field(gt=0)


Observable = Annotated[
    TunedLoss
    | Optimum
    | TransferRegret
    | TrajectoryGap
    | SmallestWithin
    | ActivationSlope
    | MaxTrainable
    | LRSensitivity
    | FailureRate
    | CureRate
    | DivergenceTime
    | CurveRatio
    | Quotient
    | RelativeGap
    | Gap
    | Slope
    | RankCorrelation
    | Log2
    | Share,
    Field(discriminator="kind"),
]

for _composed in (Quotient, RelativeGap, Gap, Slope, RankCorrelation, Log2, Share):
    _composed.model_rebuild()

ARM_FIELDS = ("arm", "tuned_for", "by_arm")


def leaves(observable: Spec) -> Iterator[Spec]:
    """The observables that read the table themselves, in the order they are written."""
    parts = [value for _, value in observable if isinstance(value, Spec)]
    if isinstance(observable, Slope | RankCorrelation):
        parts = [part for _, part in observable.points]
    if not parts:
        yield observable
    for part in parts:
        yield from leaves(part)


def arms_of(observable: Spec) -> set[str]:
    """Every arm an observable reads."""
    found: set[str] = set()
    for leaf in leaves(observable):
        found |= {name for field in ARM_FIELDS if (name := getattr(leaf, field, None))}
        found |= set(getattr(leaf, "best_of", ()))
        if isinstance(leaf, ActivationSlope):
            found |= {arm for _, arm in leaf.points}
    return found
