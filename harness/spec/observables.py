"""What can be observed in a table of trials. The estimators stand in harness/estimators.py, one for each class here.

Losses are test losses in nats; a diverged run counts with the loss at initialization (it is never dropped). The LR is
tuned on validation loss and judged on test loss. `arm` names an arm of the study.
"""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from harness.spec.base import Spec

FinderRule = Literal[
    "divergence", "tenth_of_divergence", "tenth_of_minimum", "steepest_log", "steepest_linear", "valley", "slide"
]
ExactCheck = Literal[
    "cosine_half_way",
    "doubled_noise",
    "fp16_largest",
    "fp16_smallest",
    "bf16_exponent_bits",
]


class Observed(Spec):
    """The base of all observables. LOG_AXIS: it is a ratio or a scale, so that its logarithm is what is symmetric: intervals,
    moved thresholds and strips are made there. NO_EFFECT: what it is where nothing differs; 0 for what has no such value, too.
    (A criterion's unit only says how its numbers are spelled.)"""

    LOG_AXIS: ClassVar[bool] = False
    NO_EFFECT: ClassVar[float] = 0.0

    @property
    def log_axis(self) -> bool:
        return self.LOG_AXIS

    @property
    def no_effect(self) -> float:
        return self.NO_EFFECT


class TunedLoss(Observed):
    """Test loss, in nats, at the arm's best `over` value (lowest mean validation loss over seeds)."""

    kind: Literal["tuned_loss"] = "tuned_loss"
    arm: str
    over: str = "peak_lr"


class Optimum(Observed):
    """The value of `over` with the lowest mean validation loss, by a parabola through the lowest grid point and its
    neighbours on the log axis."""

    LOG_AXIS: ClassVar[bool] = True
    kind: Literal["optimum"] = "optimum"
    arm: str
    over: str = "peak_lr"


class TransferRegret(Observed):
    """Test loss of `arm` at `times` the LR tuned for `tuned_for`, relative to the loss at its own tuned LR, minus one."""

    kind: Literal["transfer_regret"] = "transfer_regret"
    arm: str
    tuned_for: str
    times: float = Field(default=1.0, gt=0)
    over: str = "peak_lr"


class TrajectoryGap(Observed):
    """Largest relative gap of two mean validation curves at equal shares of the run, after a first share of it.

    `arm` runs at `times` the LR tuned for `tuned_for`, which runs at that LR itself.
    """

    kind: Literal["trajectory_gap"] = "trajectory_gap"
    arm: str
    tuned_for: str
    times: float = Field(default=1.0, gt=0)
    after: float = Field(default=0.1, ge=0, lt=1)
    over: str = "peak_lr"


class SmallestWithin(Observed):
    """The smallest value of `over` whose mean test loss lies within a share of the arm's lowest."""

    kind: Literal["smallest_within"] = "smallest_within"
    arm: str
    over: str
    within: float = Field(default=0.01, gt=0)


class ActivationSlope(Observed):
    """How activations depend on width over the first steps: the largest absolute slope of log size on log x.

    `points` are pairs of x (the width) and an arm trained at one LR. Sizes are mean absolute values, averaged
    geometrically over seeds; the largest slope is taken over steps 1 to `steps` and over the model's taps.
    """

    kind: Literal["activation_slope"] = "activation_slope"
    points: tuple[tuple[float, str], ...] = Field(min_length=3)
    steps: int = Field(default=5, ge=1)


class FinalLoss(Observed):
    """Test loss, in nats, of an arm that is trained at one point."""

    kind: Literal["final_loss"] = "final_loss"
    arm: str


class FinderPick(Observed):
    """The LR that a rule reads off an arm's range test, run by run; the geometric mean over seeds.

    `arm` is trained at one point with schedule 'exponential' and a curve point for every step. Rules: harness/range_test.py.
    """

    LOG_AXIS: ClassVar[bool] = True
    kind: Literal["finder_pick"] = "finder_pick"
    arm: str
    rule: FinderRule


class FinderRegret(Observed):
    """Mean test loss of `arm` at the LR each seed's own range test picks, relative to its loss at the tuned LR, minus one.

    Between grid points a seed's loss is interpolated linearly in the logarithm of the LR.
    """

    kind: Literal["finder_regret"] = "finder_regret"
    arm: str
    range_test: str
    rule: FinderRule
    over: str = "peak_lr"


class SuggestionRate(Observed):
    """Share of the seeds whose range test lets a rule make a suggestion; exact binomial interval."""

    kind: Literal["suggestion_rate"] = "suggestion_rate"
    arm: str
    rule: FinderRule


class CurveMedian(Observed):
    """The median of a curve over a run's probes from `after` of the run on, at the tuned LR; geometric mean over seeds."""

    LOG_AXIS: ClassVar[bool] = True
    kind: Literal["curve_median"] = "curve_median"
    arm: str
    curve: Literal["median_update_ratio", "update_ratio", "gradient_norm"]
    after: float = Field(default=0.0, ge=0, lt=1)
    over: str = "peak_lr"


class CurveDistance(Observed):
    """Median over probes of |curve / curve of `reference` - 1|, both at the LR tuned for `reference`, seeds paired."""

    kind: Literal["curve_distance"] = "curve_distance"
    arm: str
    reference: str
    curve: Literal["gradient_norm"] = "gradient_norm"
    over: str = "peak_lr"


class UnderflowShare(Observed):
    """Share of non-zero gradient entries that FP16 would flush to zero at a loss scale, mean over an arm's probes.

    At the tuned LR. The arm measures underflow.
    """

    kind: Literal["underflow_share"] = "underflow_share"
    arm: str
    of: Literal["activation", "logits", "weight"] = Field(description="activation: before the logits, all together")
    scale_exponent: int = Field(default=0, ge=0, le=16, description="the loss scale is 2 to this")
    over: str = "peak_lr"


class _ToTarget(Observed):
    """The target is the validation loss at which `anchor` at its tuned LR has made `share` of its mean fall over the run.

    Steps are read off each run's validation curve, interpolated; a run that does not get there is censored at its last
    step. Each seed runs at the LR that needs fewest steps on the other seeds.
    """

    anchor: str
    share: float = Field(gt=0, lt=1)
    over: str = "peak_lr"


class StepsToTarget(_ToTarget):
    """Geometric mean over seeds of the steps to the target loss. Undecidable where runs are censored."""

    LOG_AXIS: ClassVar[bool] = True
    kind: Literal["steps_to_target"] = "steps_to_target"
    arm: str


class _BatchSweep(_ToTarget):
    """`points` are pairs of a batch size and an arm."""

    points: tuple[tuple[int, str], ...] = Field(min_length=4)


class CriticalBatch(_BatchSweep):
    """B_crit of S = S_min (1 + B_crit / B) fitted to ln S (McCandlish et al. 2018, section 2.3); censored runs as such."""

    LOG_AXIS: ClassVar[bool] = True
    kind: Literal["critical_batch_size"] = "critical_batch_size"


class HyperbolaError(_BatchSweep):
    """Root mean square error in ln S of the hyperbola at batch sizes it was not fitted to, each left out in turn; without what
    the noise of the seeds contributes."""

    kind: Literal["hyperbola_error"] = "hyperbola_error"


class DoublingGain(_BatchSweep):
    """S(B) / S(2B), geometric mean over the doublings with B at most `below` times the fitted critical batch size."""

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    kind: Literal["doubling_gain"] = "doubling_gain"
    below: float = Field(default=0.125, gt=0)


class NoiseScale(Observed):
    """tr(Sigma) / |G|^2 in examples, at the tuned LR (McCandlish et al. 2018, appendix A.1).

    Both parts are averaged over the probes from `first` to `last` of the run and over seeds, and then divided.
    """

    LOG_AXIS: ClassVar[bool] = True
    kind: Literal["noise_scale"] = "noise_scale"
    arm: str
    first: float = Field(default=0.0, ge=0, lt=1)
    last: float = Field(default=1.0, gt=0, le=1)
    over: str = "peak_lr"


class FormGap(Observed):
    """AICc of one form of the best LR against the batch size minus that of another; below 0 speaks for `left`.

    power: a B^p. surge: a / ((sqrt(b/B) + sqrt(B/b)) / 2) (Li et al. 2024). saturating: a / (1 + b/B)^exponent.
    """

    kind: Literal["form_gap"] = "form_gap"
    points: tuple[tuple[int, "Observable"], ...] = Field(min_length=5)
    left: Literal["power", "surge", "saturating"]
    right: Literal["power", "surge", "saturating"]
    exponent: float = Field(default=1.0, gt=0, description="of the saturating form: 1 for SGD, 1/2 for Adam")


class OperationError(Observed):
    """Error of an operation computed step by step in a 16-bit format, over that computed in FP32 and rounded once.

    Both are root mean square errors against FP64 on random inputs, one draw for each seed; the geometric mean over seeds.
    """

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    kind: Literal["operation_error"] = "operation_error"
    operation: Literal["layer_norm", "softmax", "matmul", "gelu"]
    format: Literal["bf16", "fp16"]
    sums: Literal["fp32", "same"] = Field(default="fp32", description="what sums are made in: FP32, or the format itself")


class SpeedUp(Observed):
    """Steps a second of `arm` over those of `reference`, medians over steps; both trained alone. Geometric mean over seeds."""

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    kind: Literal["speed_up"] = "speed_up"
    arm: str
    reference: str


class MemoryRatio(Observed):
    """Peak memory of `arm` over that of `reference`; both trained alone. Geometric mean over seeds."""

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    kind: Literal["memory_ratio"] = "memory_ratio"
    arm: str
    reference: str


class Exact(Observed):
    """The number an exact check works out, the same at every seed (harness/exact.py has the checks)."""

    kind: Literal["exact"] = "exact"
    check: ExactCheck


class MaxTrainable(Observed):
    """Largest value of `over` whose mean loss stays within a share of the best; interpolated on the log axis.

    The bar is (1 + within) times the lowest mean loss of any arm in `best_of` (empty: this arm alone).
    """

    LOG_AXIS: ClassVar[bool] = True
    kind: Literal["max_trainable"] = "max_trainable"
    arm: str
    over: str = "peak_lr"
    within: float = Field(default=0.05, gt=0)
    best_of: tuple[str, ...] = ()


class LRSensitivity(Observed):
    """Mean over the log grid of min(loss, loss at initialization) minus the best loss, nats (Wortsman et al. 2023)."""

    kind: Literal["lr_sensitivity"] = "lr_sensitivity"
    arm: str
    over: str = "peak_lr"


class FailureRate(Observed):
    """Share of the seeds in which `arm` diverges at the LR tuned for `tuned_for`; exact binomial interval."""

    kind: Literal["failure_rate"] = "failure_rate"
    arm: str
    tuned_for: str
    over: str = "peak_lr"


class CureRate(Observed):
    """Share of an arm's diverged runs at its divergence edge that end well under a remedy, seed by seed.

    The divergence edge is the lowest value of `over` at which more than half of the seeds diverge. The remedy is
    another arm at the same value, or (octaves_down) the same arm at a value lower by so many octaves.
    """

    kind: Literal["cure_rate"] = "cure_rate"
    arm: str
    by_arm: str | None = None
    octaves_down: float = Field(default=0.0, ge=0)
    over: str = "peak_lr"


class DivergenceTime(Observed):
    """Step of divergence over the last step of warmup, at the arm's divergence edge (geometric mean over seeds)."""

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    kind: Literal["divergence_time"] = "divergence_time"
    arm: str
    over: str = "peak_lr"


class CurveRatio(Observed):
    """A curve's mean over the first share of the steps divided by its mean over the last share, at the tuned LR."""

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    kind: Literal["curve_ratio"] = "curve_ratio"
    arm: str
    curve: Literal["gradient_norm", "gradient_variance"]
    first: float = Field(default=0.01, gt=0, le=0.5)
    last: float = Field(default=0.10, gt=0, le=0.5)
    over: str = "peak_lr"


class Quotient(Observed):
    """top / bottom; its interval is taken on the log axis."""

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    kind: Literal["quotient"] = "quotient"
    top: "Observable"
    bottom: "Observable"


class RelativeGap(Observed):
    """(left - right) / right, seeds paired."""

    kind: Literal["relative_gap"] = "relative_gap"
    left: "Observable"
    right: "Observable"


class Gap(Observed):
    """left - right, seeds paired."""

    kind: Literal["gap"] = "gap"
    left: "Observable"
    right: "Observable"


class Slope(Observed):
    """The least-squares slope of log2 of observables on log2 x: an exponent. `points` are pairs of x and an observable."""

    kind: Literal["slope"] = "slope"
    points: tuple[tuple[float, "Observable"], ...] = Field(min_length=3)


class RankCorrelation(Observed):
    """Spearman's rank correlation of observables with x. `points` are pairs of x and an observable."""

    kind: Literal["rank_correlation"] = "rank_correlation"
    points: tuple[tuple[float, "Observable"], ...] = Field(min_length=3)


class Unmeasured(Observed):
    """What nothing here can show yet: always out of regime, with the reason."""

    kind: Literal["unmeasured"] = "unmeasured"
    reason: str


class Spread(Observed):
    """The largest of some observables over the smallest."""

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    kind: Literal["spread"] = "spread"
    parts: tuple["Observable", ...] = Field(min_length=2)


class Scaled(Observed):
    """A multiple: sequences to tokens, for example."""

    kind: Literal["scaled"] = "scaled"
    of: "Observable"
    by: float = Field(gt=0)

    @property
    def log_axis(self) -> bool:
        return self.of.log_axis

    @property
    def no_effect(self) -> float:
        return self.by * self.of.no_effect


class Log2(Observed):
    """The logarithm to base 2: a ratio in octaves."""

    kind: Literal["log2"] = "log2"
    of: "Observable"


class Share(Observed):
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
    | FinalLoss
    | FinderPick
    | FinderRegret
    | SuggestionRate
    | CurveMedian
    | CurveDistance
    | UnderflowShare
    | StepsToTarget
    | CriticalBatch
    | HyperbolaError
    | DoublingGain
    | NoiseScale
    | FormGap
    | OperationError
    | SpeedUp
    | MemoryRatio
    | Exact
    | Unmeasured
    | Spread
    | Scaled
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

COMPOSED = (Quotient, RelativeGap, Gap, Slope, RankCorrelation, FormGap, Spread, Scaled, Log2, Share)
for _composed in COMPOSED:
    _composed.model_rebuild()

ARM_FIELDS = ("arm", "tuned_for", "by_arm", "reference", "range_test", "anchor")


# What is measured by shares of a loss: gaps, margins, and multiples of the lowest loss in range tests.
RELATIVE = (TransferRegret, TrajectoryGap, SmallestWithin, MaxTrainable, FinderRegret, FinderPick, SuggestionRate)
LOSSES = (TunedLoss, FinalLoss)
# What divides its parts, or takes their logarithm.
DIVIDING = (Quotient, RelativeGap, Slope, FormGap, Spread, Log2, Share)


def relative_to_losses(observable: Spec) -> Iterator[Spec]:
    """The leaves that mean nothing where a loss has no zero to be relative to: differences of losses do, ratios do not."""
    if isinstance(observable, RELATIVE):
        yield observable
    for part in _parts(observable):
        whole = part
        while isinstance(whole, Scaled):
            whole = whole.of
        if isinstance(observable, DIVIDING) and isinstance(whole, LOSSES):
            yield whole
        yield from relative_to_losses(part)


def _parts(observable: Spec) -> list[Spec]:
    """The observables that another is made of."""
    if isinstance(observable, Slope | RankCorrelation | FormGap):
        return [part for _, part in observable.points]
    if isinstance(observable, Spread):
        return list(observable.parts)
    return [value for _, value in observable if isinstance(value, Spec)]


def leaves(observable: Spec) -> Iterator[Spec]:
    """The observables that read the table themselves, in the order they are written."""
    parts = _parts(observable)
    if not parts:
        yield observable
    for part in parts:
        yield from leaves(part)


def arms_of(observable: Spec) -> set[str]:
    """Every arm an observable reads."""
    found: set[str] = set()
    for leaf in leaves(observable):
        found |= {name for field in ARM_FIELDS if (name := getattr(leaf, field, None)) is not None}
        found |= set(getattr(leaf, "best_of", ()))
        if isinstance(leaf, ActivationSlope | CriticalBatch | HyperbolaError | DoublingGain):
            found |= {arm for _, arm in leaf.points}
    return found
