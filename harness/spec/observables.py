"""What can be observed in a table of trials. The estimators stand in harness/judging/estimators.py, one for each class here.

Losses are test losses in nats; a diverged run counts with the loss at initialization (it is never dropped). The LR is
tuned on validation loss and judged on test loss. `arm` names an arm of the study.
"""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from folklore.harness.spec.base import Spec

# What an observable says of itself for `folklore schema --explain` ends its class: UNIT, the unit of its numbers, and EXAMPLE,
# its fields as a study in YAML or JSON has them, without `kind`.
Example = dict[str, Any]
ArmName = Annotated[str, Field(description="the arm that is observed")]
FactorName = Annotated[str, Field(description="the factor whose values are searched")]

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
    arm: ArmName
    over: FactorName = "peak_lr"

    UNIT: ClassVar[str] = "nats"
    EXAMPLE: ClassVar[Example] = {"arm": "warmup_5%"}


class Optimum(Observed):
    """The value of `over` with the lowest mean validation loss, by a parabola through the lowest grid point and its
    neighbours on the log axis."""

    LOG_AXIS: ClassVar[bool] = True
    kind: Literal["optimum"] = "optimum"
    arm: ArmName
    over: FactorName = "peak_lr"

    UNIT: ClassVar[str] = "of the factor: of peak_lr none"
    EXAMPLE: ClassVar[Example] = {"arm": "warmup_5%"}


class TransferRegret(Observed):
    """Test loss of `arm` at `times` the LR tuned for `tuned_for`, relative to the loss at its own tuned LR, minus one."""

    kind: Literal["transfer_regret"] = "transfer_regret"
    arm: ArmName
    tuned_for: str = Field(description="the arm whose tuned LR is taken over")
    times: float = Field(default=1.0, gt=0, description="the LR is this many times the one tuned for the other arm")
    over: FactorName = "peak_lr"

    UNIT: ClassVar[str] = "relative (0.05 is a loss 5% above its own tuned one)"
    EXAMPLE: ClassVar[Example] = {"arm": "width_64", "tuned_for": "width_16"}


class TrajectoryGap(Observed):
    """Largest relative gap of two mean validation curves at equal shares of the run, after a first share of it.

    `arm` runs at `times` the LR tuned for `tuned_for`, which runs at that LR itself.
    """

    kind: Literal["trajectory_gap"] = "trajectory_gap"
    arm: ArmName
    tuned_for: str = Field(description="the arm whose tuned LR is taken over")
    times: float = Field(default=1.0, gt=0, description="the LR is this many times the one tuned for the other arm")
    after: float = Field(default=0.1, ge=0, lt=1, description="share of the run that is left out at its beginning")
    over: FactorName = "peak_lr"

    UNIT: ClassVar[str] = "relative"
    EXAMPLE: ClassVar[Example] = {"arm": "width_64", "tuned_for": "width_16", "after": 0.2}


class SmallestWithin(Observed):
    """The smallest value of `over` whose mean test loss lies within a share of the arm's lowest."""

    kind: Literal["smallest_within"] = "smallest_within"
    arm: ArmName
    over: FactorName
    within: float = Field(default=0.01, gt=0, description="share above the lowest loss that still counts as near it")

    UNIT: ClassVar[str] = "of the factor"
    EXAMPLE: ClassVar[Example] = {"arm": "decayed", "over": "final_fraction", "within": 0.02}


class ActivationSlope(Observed):
    """How activations depend on width over the first steps: the largest absolute slope of log size on log x.

    `points` are pairs of x (the width) and an arm trained at one LR. Sizes are mean absolute values, averaged
    geometrically over seeds; the largest slope is taken over steps 1 to `steps` and over the model's taps.
    """

    kind: Literal["activation_slope"] = "activation_slope"
    points: tuple[tuple[float, str], ...] = Field(
        min_length=3, description="pairs of the width and an arm of that width, trained at one LR"
    )
    steps: int = Field(default=5, ge=1, description="the first steps that are looked at")

    UNIT: ClassVar[str] = "none (an exponent)"
    EXAMPLE: ClassVar[Example] = {"points": [[16, "width_16"], [32, "width_32"], [64, "width_64"]], "steps": 5}


class FinalLoss(Observed):
    """Test loss, in nats, of an arm that is trained at one point."""

    kind: Literal["final_loss"] = "final_loss"
    arm: ArmName

    UNIT: ClassVar[str] = "nats"
    EXAMPLE: ClassVar[Example] = {"arm": "trained_once"}


class FinderPick(Observed):
    """The LR that a rule reads off an arm's range test, run by run; the geometric mean over seeds.

    `arm` is trained at one point with schedule 'exponential' and a curve point for every step. The rules are those of
    judging/range_test_rules.py.
    """

    LOG_AXIS: ClassVar[bool] = True
    kind: Literal["finder_pick"] = "finder_pick"
    arm: ArmName
    rule: FinderRule = Field(description="how the LR is read off the range test (harness/judging/range_test_rules.py)")

    UNIT: ClassVar[str] = "none (an LR)"
    EXAMPLE: ClassVar[Example] = {"arm": "range_test", "rule": "valley"}


class FinderRegret(Observed):
    """Mean test loss of `arm` at the LR each seed's own range test picks, relative to its loss at the tuned LR, minus one.

    Between grid points a seed's loss is interpolated linearly in the logarithm of the LR.
    """

    kind: Literal["finder_regret"] = "finder_regret"
    arm: ArmName
    range_test: str = Field(description="the arm that runs the range test")
    rule: FinderRule = Field(description="how the LR is read off the range test (harness/judging/range_test_rules.py)")
    over: FactorName = "peak_lr"

    UNIT: ClassVar[str] = "relative"
    EXAMPLE: ClassVar[Example] = {"arm": "full_runs", "range_test": "range_test", "rule": "steepest_log"}


class SuggestionRate(Observed):
    """Share of the seeds whose range test lets a rule make a suggestion; exact binomial interval."""

    kind: Literal["suggestion_rate"] = "suggestion_rate"
    arm: ArmName
    rule: FinderRule = Field(description="how the LR is read off the range test (harness/judging/range_test_rules.py)")

    UNIT: ClassVar[str] = "share of the seeds, 0 to 1"
    EXAMPLE: ClassVar[Example] = {"arm": "range_test", "rule": "divergence"}


class CurveMedian(Observed):
    """The median of a curve over a run's probes from `after` of the run on, at the tuned LR; geometric mean over seeds."""

    LOG_AXIS: ClassVar[bool] = True
    kind: Literal["curve_median"] = "curve_median"
    arm: ArmName
    curve: Literal["median_update_ratio", "update_ratio", "gradient_norm"] = Field(
        description="the curve whose probes are taken"
    )
    after: float = Field(default=0.0, ge=0, lt=1, description="share of the run that is left out at its beginning")
    over: FactorName = "peak_lr"

    UNIT: ClassVar[str] = "of the curve: ratios have none"
    EXAMPLE: ClassVar[Example] = {"arm": "warmup_5%", "curve": "update_ratio", "after": 0.5}


class CurveDistance(Observed):
    """Median over probes of |curve / curve of `reference` - 1|, both at the LR tuned for `reference`, seeds paired."""

    kind: Literal["curve_distance"] = "curve_distance"
    arm: ArmName
    reference: str = Field(description="the arm whose curve it is compared with")
    curve: Literal["gradient_norm"] = Field(default="gradient_norm", description="the curve that is compared")
    over: FactorName = "peak_lr"

    UNIT: ClassVar[str] = "relative"
    EXAMPLE: ClassVar[Example] = {"arm": "bf16", "reference": "fp32"}


class UnderflowShare(Observed):
    """Share of non-zero gradient entries that FP16 would flush to zero at a loss scale, mean over an arm's probes.

    At the tuned LR. The arm measures underflow.
    """

    kind: Literal["underflow_share"] = "underflow_share"
    arm: ArmName
    of: Literal["activation", "logits", "weight"] = Field(description="activation: before the logits, all together")
    scale_exponent: int = Field(default=0, ge=0, le=16, description="the loss scale is 2 to this")
    over: FactorName = "peak_lr"

    UNIT: ClassVar[str] = "share of the entries, 0 to 1"
    EXAMPLE: ClassVar[Example] = {"arm": "fp16", "of": "activation", "scale_exponent": 8}


class _ToTarget(Observed):
    """The target is the validation loss at which `anchor` at its tuned LR has made `share` of its mean fall over the run.

    Steps are read off each run's validation curve, interpolated; a run that does not get there is censored at its last
    step. Each seed runs at the LR that needs fewest steps on the other seeds.
    """

    anchor: str = Field(description="the arm that sets the target")
    share: float = Field(gt=0, lt=1, description="share of the anchor's fall in loss that the target lies at")
    over: FactorName = "peak_lr"


class StepsToTarget(_ToTarget):
    """Geometric mean over seeds of the steps to the target loss. Undecidable where runs are censored."""

    LOG_AXIS: ClassVar[bool] = True
    kind: Literal["steps_to_target"] = "steps_to_target"
    arm: ArmName

    UNIT: ClassVar[str] = "steps"
    EXAMPLE: ClassVar[Example] = {"arm": "batch_32", "anchor": "batch_8", "share": 0.8}


class _BatchSweep(_ToTarget):
    """`points` are pairs of a batch size and an arm."""

    points: tuple[tuple[int, str], ...] = Field(
        min_length=4, description="pairs of a batch size and an arm that trains with it"
    )


class CriticalBatch(_BatchSweep):
    """B_crit of S = S_min (1 + B_crit / B) fitted to ln S (McCandlish et al. 2018, section 2.3); censored runs as such."""

    LOG_AXIS: ClassVar[bool] = True
    kind: Literal["critical_batch_size"] = "critical_batch_size"

    UNIT: ClassVar[str] = "examples"
    EXAMPLE: ClassVar[Example] = {
        "points": [[8, "batch_8"], [16, "batch_16"], [32, "batch_32"], [64, "batch_64"], [128, "batch_128"]],
        "anchor": "batch_8",
        "share": 0.8,
    }


class HyperbolaError(_BatchSweep):
    """Root mean square error in ln S of the hyperbola at batch sizes it was not fitted to, each left out in turn; without what
    the noise of the seeds contributes."""

    kind: Literal["hyperbola_error"] = "hyperbola_error"

    UNIT: ClassVar[str] = "none (an error of ln S, 0.1 is about 10%)"
    EXAMPLE: ClassVar[Example] = {
        "points": [[8, "batch_8"], [16, "batch_16"], [32, "batch_32"], [64, "batch_64"], [128, "batch_128"]],
        "anchor": "batch_8",
        "share": 0.8,
    }


class DoublingGain(_BatchSweep):
    """S(B) / S(2B), geometric mean over the doublings with B at most `below` times the fitted critical batch size."""

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    kind: Literal["doubling_gain"] = "doubling_gain"
    below: float = Field(default=0.125, gt=0, description="doublings up to this share of the critical batch size count")

    UNIT: ClassVar[str] = "none (a ratio of steps)"
    EXAMPLE: ClassVar[Example] = {
        "points": [[8, "batch_8"], [16, "batch_16"], [32, "batch_32"], [64, "batch_64"], [128, "batch_128"]],
        "anchor": "batch_8",
        "share": 0.8,
        "below": 0.25,
    }


class NoiseScale(Observed):
    """tr(Sigma) / |G|^2 in examples, at the tuned LR (McCandlish et al. 2018, appendix A.1).

    Both parts are averaged over the probes from `first` to `last` of the run and over seeds, and then divided.
    """

    LOG_AXIS: ClassVar[bool] = True
    kind: Literal["noise_scale"] = "noise_scale"
    arm: ArmName
    first: float = Field(default=0.0, ge=0, lt=1, description="where the probes begin, as a share of the run")
    last: float = Field(default=1.0, gt=0, le=1, description="where the probes end, as a share of the run")
    over: FactorName = "peak_lr"

    UNIT: ClassVar[str] = "examples"
    EXAMPLE: ClassVar[Example] = {"arm": "batch_32", "first": 0.5, "last": 1.0}


class FormGap(Observed):
    """AICc of one form of the best LR against the batch size minus that of another; below 0 speaks for `left`.

    power: a B^p. surge: a / ((sqrt(b/B) + sqrt(B/b)) / 2) (Li et al. 2024). saturating: a / (1 + b/B)^exponent.
    """

    kind: Literal["form_gap"] = "form_gap"
    points: tuple[tuple[int, "Observable"], ...] = Field(
        min_length=5, description="pairs of a batch size and an observable of the best LR there"
    )
    left: Literal["power", "surge", "saturating"] = Field(description="the form that numbers below 0 speak for")
    right: Literal["power", "surge", "saturating"] = Field(description="the form it is compared with")
    exponent: float = Field(default=1.0, gt=0, description="of the saturating form: 1 for SGD, 1/2 for Adam")

    UNIT: ClassVar[str] = "AICc"
    EXAMPLE: ClassVar[Example] = {
        "points": [
            [8, {"kind": "optimum", "arm": "batch_8"}],
            [16, {"kind": "optimum", "arm": "batch_16"}],
            [32, {"kind": "optimum", "arm": "batch_32"}],
            [64, {"kind": "optimum", "arm": "batch_64"}],
            [128, {"kind": "optimum", "arm": "batch_128"}],
        ],
        "left": "power",
        "right": "saturating",
    }


class OperationError(Observed):
    """Error of an operation computed step by step in a 16-bit format, over that computed in FP32 and rounded once.

    Both are root mean square errors against FP64 on random inputs, one draw for each seed; the geometric mean over seeds.
    """

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    kind: Literal["operation_error"] = "operation_error"
    operation: Literal["layer_norm", "softmax", "matmul", "gelu"] = Field(description="what is computed")
    format: Literal["bf16", "fp16"] = Field(description="the 16-bit format")
    sums: Literal["fp32", "same"] = Field(default="fp32", description="what sums are made in: FP32, or the format itself")

    UNIT: ClassVar[str] = "none (a ratio of errors)"
    EXAMPLE: ClassVar[Example] = {"operation": "softmax", "format": "bf16"}


class SpeedUp(Observed):
    """Steps a second of `arm` over those of `reference`, medians over steps; both trained alone. Geometric mean over seeds."""

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    kind: Literal["speed_up"] = "speed_up"
    arm: ArmName
    reference: str = Field(description="the arm it is compared with")

    UNIT: ClassVar[str] = "none (a ratio)"
    EXAMPLE: ClassVar[Example] = {"arm": "bf16", "reference": "fp32"}


class MemoryRatio(Observed):
    """Peak memory of `arm` over that of `reference`; both trained alone. Geometric mean over seeds."""

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    kind: Literal["memory_ratio"] = "memory_ratio"
    arm: ArmName
    reference: str = Field(description="the arm it is compared with")

    UNIT: ClassVar[str] = "none (a ratio)"
    EXAMPLE: ClassVar[Example] = {"arm": "bf16", "reference": "fp32"}


class Exact(Observed):
    """The number an exact check works out, the same at every seed (harness/judging/exact.py has the checks)."""

    kind: Literal["exact"] = "exact"
    check: ExactCheck = Field(description="the number that is worked out")

    UNIT: ClassVar[str] = "of the number"
    EXAMPLE: ClassVar[Example] = {"check": "fp16_largest"}


class MaxTrainable(Observed):
    """Largest value of `over` whose mean loss stays within a share of the best; interpolated on the log axis.

    The bar is (1 + within) times the lowest mean loss of any arm in `best_of` (empty: this arm alone).
    """

    LOG_AXIS: ClassVar[bool] = True
    kind: Literal["max_trainable"] = "max_trainable"
    arm: ArmName
    over: FactorName = "peak_lr"
    within: float = Field(default=0.05, gt=0, description="share above the lowest loss that still counts as near it")
    best_of: tuple[str, ...] = Field(default=(), description="the arms whose lowest loss is the best; none: this arm alone")

    UNIT: ClassVar[str] = "of the factor: of peak_lr none"
    EXAMPLE: ClassVar[Example] = {"arm": "warmup_20%", "within": 0.05, "best_of": ["none", "warmup_20%"]}


class LRSensitivity(Observed):
    """Mean over the log grid of min(loss, loss at initialization) minus the best loss, nats (Wortsman et al. 2023)."""

    kind: Literal["lr_sensitivity"] = "lr_sensitivity"
    arm: ArmName
    over: FactorName = "peak_lr"

    UNIT: ClassVar[str] = "nats"
    EXAMPLE: ClassVar[Example] = {"arm": "warmup_20%"}


class FailureRate(Observed):
    """Share of the seeds in which `arm` diverges at the LR tuned for `tuned_for`; exact binomial interval."""

    kind: Literal["failure_rate"] = "failure_rate"
    arm: ArmName
    tuned_for: str = Field(description="the arm at whose tuned LR it is trained")
    over: FactorName = "peak_lr"

    UNIT: ClassVar[str] = "share of the seeds, 0 to 1"
    EXAMPLE: ClassVar[Example] = {"arm": "none", "tuned_for": "warmup_20%"}


class CureRate(Observed):
    """Share of an arm's diverged runs at its divergence edge that end well under a remedy, seed by seed.

    The divergence edge is the lowest value of `over` at which more than half of the seeds diverge. The remedy is
    another arm at the same value, or (octaves_down) the same arm at a value lower by so many octaves.
    """

    kind: Literal["cure_rate"] = "cure_rate"
    arm: ArmName
    by_arm: str | None = Field(default=None, description="the arm that is the remedy, at the same value")
    octaves_down: float = Field(default=0.0, ge=0, description="or the remedy is a value lower by so many octaves")
    over: FactorName = "peak_lr"

    UNIT: ClassVar[str] = "share of the diverged runs, 0 to 1"
    EXAMPLE: ClassVar[Example] = {"arm": "none", "by_arm": "warmup_20%"}


class DivergenceTime(Observed):
    """Step of divergence over the last step of warmup, at the arm's divergence edge (geometric mean over seeds)."""

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    kind: Literal["divergence_time"] = "divergence_time"
    arm: ArmName
    over: FactorName = "peak_lr"

    UNIT: ClassVar[str] = "none (a ratio of steps)"
    EXAMPLE: ClassVar[Example] = {"arm": "warmup_20%"}


class CurveRatio(Observed):
    """A curve's mean over the first share of the steps divided by its mean over the last share, at the tuned LR."""

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    kind: Literal["curve_ratio"] = "curve_ratio"
    arm: ArmName
    curve: Literal["gradient_norm", "gradient_variance"] = Field(description="the curve whose means are taken")
    first: float = Field(default=0.01, gt=0, le=0.5, description="share of the steps at the beginning")
    last: float = Field(default=0.10, gt=0, le=0.5, description="share of the steps at the end")
    over: FactorName = "peak_lr"

    UNIT: ClassVar[str] = "none (a ratio)"
    EXAMPLE: ClassVar[Example] = {"arm": "none", "curve": "gradient_norm", "first": 0.01, "last": 0.1}


class Quotient(Observed):
    """top / bottom; its interval is taken on the log axis."""

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    kind: Literal["quotient"] = "quotient"
    top: "Observable" = Field(description="an observable")
    bottom: "Observable" = Field(description="the observable it is divided by")

    UNIT: ClassVar[str] = "none (a ratio)"
    EXAMPLE: ClassVar[Example] = {
        "top": {"kind": "max_trainable", "arm": "warmup_20%"},
        "bottom": {"kind": "max_trainable", "arm": "none"},
    }


class RelativeGap(Observed):
    """(left - right) / right, seeds paired."""

    kind: Literal["relative_gap"] = "relative_gap"
    left: "Observable" = Field(description="an observable")
    right: "Observable" = Field(description="the observable that is subtracted, and divided by")

    UNIT: ClassVar[str] = "relative (0.01 is 1% more)"
    EXAMPLE: ClassVar[Example] = {
        "left": {"kind": "tuned_loss", "arm": "none"},
        "right": {"kind": "tuned_loss", "arm": "warmup_20%"},
    }


class Gap(Observed):
    """left - right, seeds paired."""

    kind: Literal["gap"] = "gap"
    left: "Observable" = Field(description="an observable")
    right: "Observable" = Field(description="the observable that is subtracted")

    UNIT: ClassVar[str] = "of its parts"
    EXAMPLE: ClassVar[Example] = {
        "left": {"kind": "tuned_loss", "arm": "none"},
        "right": {"kind": "tuned_loss", "arm": "warmup_20%"},
    }


class Slope(Observed):
    """The least-squares slope of log2 of observables on log2 x: an exponent. `points` are pairs of x and an observable."""

    kind: Literal["slope"] = "slope"
    points: tuple[tuple[float, "Observable"], ...] = Field(min_length=3, description="pairs of x and an observable there")

    UNIT: ClassVar[str] = "none (an exponent)"
    EXAMPLE: ClassVar[Example] = {
        "points": [
            [8, {"kind": "optimum", "arm": "batch_8"}],
            [16, {"kind": "optimum", "arm": "batch_16"}],
            [32, {"kind": "optimum", "arm": "batch_32"}],
        ]
    }


class RankCorrelation(Observed):
    """Spearman's rank correlation of observables with x. `points` are pairs of x and an observable."""

    kind: Literal["rank_correlation"] = "rank_correlation"
    points: tuple[tuple[float, "Observable"], ...] = Field(min_length=3, description="pairs of x and an observable there")

    UNIT: ClassVar[str] = "none (-1 to 1)"
    EXAMPLE: ClassVar[Example] = {
        "points": [
            [8, {"kind": "optimum", "arm": "batch_8"}],
            [16, {"kind": "optimum", "arm": "batch_16"}],
            [32, {"kind": "optimum", "arm": "batch_32"}],
        ]
    }


class Unmeasured(Observed):
    """What nothing here can show yet: always out of regime, with the reason."""

    kind: Literal["unmeasured"] = "unmeasured"
    reason: str = Field(description="why nothing can show it")

    UNIT: ClassVar[str] = "none (there is no number)"
    EXAMPLE: ClassVar[Example] = {"reason": "needs a model of 1B parameters"}


class Spread(Observed):
    """The largest of some observables over the smallest."""

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    kind: Literal["spread"] = "spread"
    parts: tuple["Observable", ...] = Field(min_length=2, description="the observables that are compared")

    UNIT: ClassVar[str] = "none (a ratio)"
    EXAMPLE: ClassVar[Example] = {
        "parts": [
            {"kind": "optimum", "arm": "width_16"},
            {"kind": "optimum", "arm": "width_32"},
            {"kind": "optimum", "arm": "width_64"},
        ]
    }


class Scaled(Observed):
    """A multiple: sequences to tokens, for example."""

    kind: Literal["scaled"] = "scaled"
    of: "Observable" = Field(description="an observable")
    by: float = Field(gt=0, description="what it is multiplied by")

    UNIT: ClassVar[str] = "of its part, times `by`"
    EXAMPLE: ClassVar[Example] = {"of": {"kind": "noise_scale", "arm": "batch_32"}, "by": 32}

    @property
    def log_axis(self) -> bool:
        return self.of.log_axis

    @property
    def no_effect(self) -> float:
        return self.by * self.of.no_effect


class Log2(Observed):
    """The logarithm to base 2: a ratio in octaves."""

    kind: Literal["log2"] = "log2"
    of: "Observable" = Field(description="an observable")

    UNIT: ClassVar[str] = "octaves"
    EXAMPLE: ClassVar[Example] = {
        "of": {
            "kind": "quotient",
            "top": {"kind": "optimum", "arm": "warmup_20%"},
            "bottom": {"kind": "optimum", "arm": "none"},
        }
    }


class Share(Observed):
    """part / whole. Out of regime where the whole's interval reaches below `whole_at_least`: no effect to share."""

    kind: Literal["share"] = "share"
    part: "Observable" = Field(description="the observable of the part")
    whole: "Observable" = Field(description="the observable of the whole")
    whole_at_least: float = Field(gt=0, description="what the whole has to be for a share to mean anything")

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
