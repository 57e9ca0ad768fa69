"""The kinds of observation that are calibrated, each with a world that plants effects in what it observes."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from folklore.harness.calibration import conditions as c
from folklore.harness.calibration.conditions import Condition
from folklore.harness.calibration.worlds import (
    Bowl,
    Draw,
    activations,
    alarming_runs,
    batch_sweep,
    both,
    bowls,
    distant_curves,
    edge_runs,
    exploding_runs,
    flat_runs,
    forgetting_runs,
    noisy_gradients,
    noisy_runs,
    octave_grid,
    probe_curves,
    range_test,
    recurring_runs,
    rising_range_test,
    rough_curves,
    single_points,
    stopped_runs,
    study,
    turning_runs,
)
from folklore.harness.metrics import (
    AlarmLead,
    AlarmLimit,
    AlarmPrecision,
    AlarmRate,
    BasinWidth,
    BetweenLines,
    CriticalBatch,
    CureRate,
    Curve,
    CurveDistance,
    CurveRatio,
    DetectedShare,
    DivergenceTime,
    DoublingGain,
    EdgeLoss,
    EdgeSharpness,
    FailureRate,
    FinalLoss,
    FinderPick,
    FinderRegret,
    FormGap,
    Gap,
    GrowthFactor,
    HyperbolaError,
    LengthRatio,
    Log2,
    LossAfter,
    LossAt,
    LossGap,
    LRSensitivity,
    MaxTrainable,
    Mean,
    MeanActivationSlope,
    MeanDistance,
    MeanGap,
    MemoryRatio,
    NoiseScale,
    NormDiagnosis,
    Optimum,
    OverheadBatch,
    Quotient,
    RankCorrelation,
    RelativeGap,
    Scaled,
    Share,
    SharpnessAtLoss,
    SharpnessCorrelation,
    Slope,
    SpeedUp,
    SpikeRecurrence,
    StepsToTarget,
    StoppedLoss,
    SuggestionRate,
    TaskAccuracy,
    TaskLoss,
    TransferRegret,
    TunedLoss,
    TurningStep,
    TurnRate,
    UnderflowShare,
)
from folklore.harness.spec import AtLeast, AtMost, Observed, Outside, Rule, Study, Within
from folklore.harness.spec.study import Value

Effects = tuple[float, float, float]
Regions = Callable[[float, float, float], tuple[Rule, Rule]]
Arms = Callable[[float], Mapping[str, Bowl]]
CURVES = (c.PLAIN, c.HEAVY_TAILS, c.SKEWED, c.UNEQUAL, c.DIVERGING, c.NEAR_EDGE, c.FLAT)
INSIDE = tuple(each for each in CURVES if each is not c.NEAR_EDGE)
NUMBERS = (c.PLAIN, c.HEAVY_TAILS, c.SKEWED, c.UNEQUAL)
ENDINGS = (*NUMBERS, c.DIVERGING)
SWEEPS = (*NUMBERS, c.CENSORED)
# Tails that reach every end leave runs without a number in the one large world that truth is taken from.
BOUNDED = (c.PLAIN, c.SKEWED, c.UNEQUAL)


# Arm a has a fault and arm b none, over more steps than detectors need before them.
LONG: Mapping[str, Value] = {"steps": 300}
OF_JUMPS: Mapping[str, Any] = {"arm": "a", "sound": "b", "rule": "loss_ratio", "where": "at_fault"}
TWO_TASKS: Mapping[str, Value] = {"model": "mlp", "dataset": "digits", "tasks": 2}


@dataclass(frozen=True)
class Case:
    """name: the kind of observation. declared: its study for this many seeds. effects: those planted where the claim's effect
    is absent, where it is just short of the threshold, and beyond it; the true value is monotone in them. share: of the
    worlds asked for, where one takes long. Each observable is a claim of one study. regions: supported and refuted, from
    the three true values, where the effects do not place them: false "supported" is then counted where the effect is
    absent, false "refuted" at the threshold, or where there is no true value beyond it. has_truth: whether the observable
    has a true value, and not only a side."""

    name: str
    observables: tuple[Observed, ...]
    draw: Draw
    declared: Callable[[int, Condition], Study]
    conditions: tuple[Condition, ...]
    effects: Effects = (0.0, 1.0, 3.0)
    share: float = 1.0
    regions: Regions | None = None
    has_truth: bool = True


def _of_bowls(
    name: str,
    observable: Observed | tuple[Observed, ...],
    arms: Arms,
    conditions: tuple[Condition, ...] = CURVES,
    effects: Effects = (0.0, 1.0, 3.0),
    share: float = 1.0,
    steps: int = 1,
) -> Case:
    """steps: of a grid, in an octave."""

    def declared(seeds: int, condition: Condition) -> Study:
        # Grids do not follow the effect, as a study's do not; an edge is that of the largest.
        around = arms(effects[2] if condition.edge else effects[0])
        grids = {arm: octave_grid(bowl, condition, steps) for arm, bowl in around.items()}
        return study({arm: {} for arm in grids}, grids, seeds)

    claims = observable if isinstance(observable, tuple) else (observable,)
    return Case(name, claims, bowls(arms), declared, conditions, effects, share)


def _of_points(
    name: str,
    observable: Observed,
    draw: Draw,
    arms: Mapping[str, Mapping[str, Value]],
    points: int = 1,
    conditions: tuple[Condition, ...] = NUMBERS,
    effects: Effects = (0.0, 1.0, 3.0),
    share: float = 1.0,
) -> Case:
    """points: LRs an arm is trained at."""
    grid = tuple(2.0**exponent for exponent in range(-7, -7 + points))

    def declared(seeds: int, condition: Condition) -> Study:
        return study(arms, dict.fromkeys(arms, grid), seeds)

    return Case(name, (observable,), draw, declared, conditions, effects, share)


def _floor(effect: float) -> dict[str, Bowl]:
    """Arm a ends 1% above arm b, an effect."""
    return {"a": Bowl(floor=2.0 * (1 + 0.01 * effect)), "b": Bowl(floor=2.0)}


# How many times longer the runs of these arms are than those of arm a.
LENGTHS = {"b": 0.7, "c": 1.0, "d": 1.4}


def _lengths(effect: float) -> dict[str, Bowl]:
    """Runs need a tenth less steps, an effect, to end where arm a does, and end 0.2 nats lower, an octave of steps."""
    octaves = math.log2(1 - 0.1 * effect)
    floors = {arm: 2.0 - 0.2 * (math.log2(length) - octaves) for arm, length in LENGTHS.items()}
    return {"a": Bowl(floor=2.0), **{arm: Bowl(floor=floor) for arm, floor in floors.items()}}


def _shift(effect: float) -> dict[str, Bowl]:
    """Arm a's optimum and cliff lie half an octave higher than arm b's, an effect."""
    return {"a": Bowl(optimum=-6.3 + effect / 2, cliff=-2.5 + effect / 2), "b": Bowl()}


def _near_cliff(effect: float) -> dict[str, Bowl]:
    """As `_shift`, with the cliff one and a half octaves above the optimum."""
    return {"a": Bowl(optimum=-6.3 + effect / 2, cliff=-4.8 + effect / 2)}


def _widths(effect: float) -> dict[str, Bowl]:
    """Five widths whose optimum moves as width^(-effect/4)."""
    return {f"w{2**index}": Bowl(optimum=-6.3 - effect * index / 4) for index in range(5)}


# Orders of five floors whose rank correlation with the width is 0, 0.8 and 1.
ORDERS = {0.0: (3, 0, 2, 4, 1), 1.0: (1, 0, 2, 4, 3), 2.0: (0, 1, 2, 3, 4)}


def _ordered(effect: float) -> dict[str, Bowl]:
    return {f"w{2**index}": Bowl(floor=2.0 + 0.03 * rank) for index, rank in enumerate(ORDERS[effect])}


def _curved(effect: float) -> dict[str, Bowl]:
    """Optima against the batch size: a surge with its crest in the middle, or (2) a power law."""
    halves = [(index - 2.5) / 2 for index in range(6)]
    surge = [-math.log2((2.0**half + 2.0**-half) / 2) for half in halves]
    return {f"w{2**i}": Bowl(optimum=-6.3 + (halves[i] if effect == 2.0 else surge[i])) for i in range(6)}


def _edges(effect: float) -> dict[str, Bowl]:
    """Where half of the runs of arm a diverge at its best LR when the effect is large; b has the same optimum."""
    return {"a": Bowl(cliff=-5.0 - 0.5 * effect), "b": Bowl(optimum=-6.3)}


def _remedy(effect: float) -> dict[str, Bowl]:
    """Arm b's cliff lies a quarter of an octave further up, an effect."""
    return {"a": Bowl(cliff=-3.5), "b": Bowl(cliff=-3.5 + effect / 4)}


PAIR: dict[str, dict[str, Value]] = {"a": {}, "b": {}}
WIDTHS = {f"w{2**index}": 2**index for index in range(6)}
BATCHES = {f"b{2**index}": 2**index for index in range(2, 10)}
_OPTIMA = tuple((float(2**index), Optimum(arm=f"w{2**index}")) for index in range(5))
_FLOORS = tuple((float(2**index), TunedLoss(arm=f"w{2**index}")) for index in range(5))
_SIZES = tuple((2**index, Optimum(arm=f"w{2**index}")) for index in range(6))
_FORMS = FormGap(points=_SIZES, left="power", right="surge")
_SWEEP = tuple((batch, arm) for arm, batch in BATCHES.items())
# How far inside a margin a region ends: what lies on the margin is not in it.
_JUST = 1e-6
_A, _B = TunedLoss(arm="a"), TunedLoss(arm="b")


def _sweep(
    name: str,
    observable: Observed,
    draw: Draw,
    share: float,
    effects: Effects = (0.0, 1.0, 3.0),
    conditions: tuple[Condition, ...] = SWEEPS,
) -> Case:
    arms = {arm: {"batch_size": batch} for arm, batch in BATCHES.items()}
    return _of_points(name, observable, draw, arms, 3, conditions, effects, share)


def _critical(effect: float) -> float:
    return float(32.0 * 2.0**effect)


def _ratio(effect: float) -> dict[str, float]:
    """Arm a lies 5% above arm b, an effect."""
    return {"a": 2.0 * 1.05**effect, "b": 2.0}


# Two lines of two arms, and arms of four batch sizes.
LINES = (("cold_0", "cold_1"), ("hot_0", "hot_1"))
TIMED = {f"b{batch}": batch for batch in (4, 16, 64, 256)}


def _lines(effect: float) -> dict[str, float]:
    """Arms of a line lie 20% apart, lines 10% an effect."""
    return {arm: 2.0 * 1.2**place * 1.1 ** (effect * row) for row, line in enumerate(LINES) for place, arm in enumerate(line)}


def _times(effect: float) -> dict[str, float]:
    """Half of a step's time is overhead at a batch of 16, and half as much again an effect."""
    return {arm: 0.005 * (16 * 1.5**effect + batch) for arm, batch in TIMED.items()}


CASES: tuple[Case, ...] = (
    _of_bowls("tuned_loss", _A, _floor, effects=(0.0, 5.0, 10.0)),
    _of_bowls("optimum", Optimum(arm="a"), _shift),
    _of_bowls("gap", Gap(left=_A, right=_B), _floor),
    _of_bowls("relative_gap", RelativeGap(left=_A, right=_B), _floor),
    _of_bowls("transfer_regret", TransferRegret(arm="a", tuned_for="b"), _shift, effects=(0.0, 3.0, 4.0)),
    _of_bowls("max_trainable", MaxTrainable(arm="a"), _shift, INSIDE),
    _of_bowls(
        "lr_sensitivity", LRSensitivity(arm="a"), lambda e: {"a": Bowl(curvature=0.05 * 1.1**e)}, effects=(0.0, 1.0, 4.0)
    ),
    _of_bowls("quotient", Quotient(top=MaxTrainable(arm="a"), bottom=MaxTrainable(arm="b")), _shift, INSIDE),
    _of_bowls("log2", Log2(of=Quotient(top=Optimum(arm="a"), bottom=Optimum(arm="b"))), _shift),
    _of_bowls("scaled", Scaled(of=Optimum(arm="a"), by=32.0), _shift),
    _of_bowls(
        "share",
        Share(part=Gap(left=_A, right=_B), whole=Gap(left=TunedLoss(arm="c"), right=_B), whole_at_least=0.05),
        lambda e: {**_floor(2 + e), "c": Bowl(floor=2.2)},
    ),
    _of_bowls("slope", Slope(points=_OPTIMA), _widths, INSIDE, effects=(0.0, 1.0, 2.0)),
    _of_bowls(
        "growth_factor",
        GrowthFactor(points=tuple((float(index), part) for index, (_, part) in enumerate(_OPTIMA))),
        _widths,
        INSIDE,
        effects=(0.0, 1.0, 2.0),
    ),
    _of_bowls("rank_correlation", RankCorrelation(points=_FLOORS), _ordered, NUMBERS, effects=(0.0, 1.0, 2.0)),
    replace(
        _of_bowls(
            "form_gap",
            FormGap(points=_SIZES, left="power", right="surge"),
            _curved,
            NUMBERS,
            effects=(0.0, 0.0, 2.0),
            share=0.1,
        ),
        regions=lambda *values: (AtMost(value=-2.0), AtLeast(value=2.0)),
        has_truth=False,
    ),
    # Two one-sided tests: gaps of 2%, just short of equivalence within it; of 6%, just short of a difference; and of none.
    replace(
        _of_bowls("equivalence", RelativeGap(left=_A, right=_B), _floor, NUMBERS, effects=(2.0, 6.0, 0.0)),
        regions=lambda margin, difference, _: (
            Within(low=-margin + _JUST, high=margin - _JUST),
            Outside(low=-difference - _JUST, high=difference + _JUST),
        ),
    ),
    _of_bowls("failure_rate", FailureRate(arm="a", tuned_for="b"), _edges, NUMBERS, effects=(0.0, 1.0, 4.0)),
    _of_bowls("cure_rate", CureRate(arm="a", by_arm="b"), _remedy, NUMBERS),
    _of_bowls(
        "divergence_time", DivergenceTime(arm="a"), lambda e: {"a": Bowl(cliff=-5.0 + e / 2)}, NUMBERS, effects=(0.0, 1.0, 3.0)
    ),
    _of_points("final_loss", FinalLoss(arm="a"), single_points(_ratio), PAIR, conditions=ENDINGS),
    _of_points("speed_up", SpeedUp(arm="a", reference="b"), single_points(lambda e: _ratio(-e)), PAIR),
    _of_points("memory_ratio", MemoryRatio(arm="a", reference="b"), single_points(_ratio), PAIR),
    _of_points(
        "between_lines",
        BetweenLines(lines=LINES, of="test_loss", spread_at_least=0.01),
        single_points(_lines),
        {arm: {} for line in LINES for arm in line},
    ),
    _of_points(
        "overhead_batch",
        OverheadBatch(points=tuple((batch, arm) for arm, batch in TIMED.items())),
        single_points(_times),
        {arm: {} for arm in TIMED},
    ),
    _of_points("curve_ratio", CurveRatio(arm="a", curve="gradient_norm", first=0.1, last=0.1), probe_curves(_ratio), PAIR, 3),
    _of_points("curve_median", Curve(arm="a", of="probe_update_ratio", statistic="median"), probe_curves(_ratio), PAIR, 3),
    _of_points("curve_mean", Curve(arm="a", of="probe_update_ratio"), probe_curves(_ratio), PAIR, 3),
    _of_points(
        "curve_quotient",
        Curve(arm="a", of="probe_update_ratio", divided_by="probe_gradient_norm", first=0.8),
        probe_curves(_ratio),
        PAIR,
        3,
    ),
    _of_points("curve_slope", Curve(arm="a", of="probe_gradient_norm", statistic="slope"), probe_curves(_ratio), PAIR, 3),
    _of_points("curve_distance", CurveDistance(arm="b", reference="a"), distant_curves(lambda e: 0.05 * 1.2**e), PAIR, 3),
    _of_points("underflow_share", UnderflowShare(arm="a", of="activation"), probe_curves(_ratio), PAIR, 3),
    _of_points(
        "noise_scale", NoiseScale(arm="a"), noisy_gradients(lambda e: 20.0 * 1.2**e), {"a": {}}, 3, effects=(0.0, 1.0, 3.0)
    ),
    _of_points(
        "mean_activation_slope",
        MeanActivationSlope(points=tuple((float(width), arm) for arm, width in WIDTHS.items())),
        activations(lambda e: 0.1 + 0.05 * e, WIDTHS),
        {arm: {} for arm in WIDTHS},
    ),
    _of_points(
        "finder_pick",
        FinderPick(arm="ramp", rule="divergence"),
        range_test(lambda e: -5.0 + e / 4),
        {"ramp": {}},
    ),
    _of_points(
        "suggestion_rate",
        SuggestionRate(arm="ramp", rule="divergence"),
        range_test(lambda e: -5.0, lambda e: 0.9 - 0.25 * e),
        {"ramp": {}},
    ),
    _sweep(
        "steps_to_target",
        StepsToTarget(arm="b64", anchor="b64", share=0.5),
        batch_sweep(_critical, BATCHES),
        1.0,
        conditions=BOUNDED,
    ),
    _sweep("critical_batch_size", CriticalBatch(points=_SWEEP, anchor="b64", share=0.5), batch_sweep(_critical, BATCHES), 0.1),
    _sweep(
        "hyperbola_error",
        HyperbolaError(points=_SWEEP, anchor="b64", share=0.5),
        batch_sweep(lambda e: 32.0, BATCHES, bend=0.03),
        0.05,
        effects=(1.0, 2.0, 3.0),
    ),
    _sweep(
        "doubling_gain",
        DoublingGain(points=_SWEEP, anchor="b64", share=0.5, below=0.5),
        batch_sweep(lambda e: 90.0, BATCHES, tilt=0.05),
        0.5,
        conditions=BOUNDED,
    ),
)


def _finder_regret(name: str = "finder_regret", of: Literal["fall"] | None = None) -> Case:
    def declared(seeds: int, condition: Condition) -> Study:
        grids = {"a": octave_grid(Bowl(), condition), "ramp": (0.1,)}
        return study({"a": {}, "ramp": {}}, grids, seeds)

    draw = both(bowls(lambda e: {"a": Bowl()}), range_test(lambda e: -7.0 - e / 2))
    return Case(
        name,
        (FinderRegret(arm="a", range_test="ramp", rule="divergence", of=of),),
        draw,
        declared,
        BOUNDED,
    )


# Measured as shares of the loss reduction, by a window, at a given LR or without a filter's lag.

# The LR of arms that are trained at one point.
_ONE_LR = 2.0**-7
# Batch sizes and LRs that runs are compared over.
SETTINGS = tuple(f"setting_{index}" for index in range(8))

LATER_CASES: tuple[Case, ...] = (
    _of_bowls("optimum_three_points", Optimum(arm="a"), _shift, steps=2),
    _of_bowls("optimum_window", Optimum(arm="a", window_octaves=1.0), _shift, steps=2),
    _of_bowls("optimum_window_cliff", Optimum(arm="a", window_octaves=1.0), _near_cliff, NUMBERS, steps=2),
    _of_bowls("fall_share", LossGap(left=_A, right=_B), _floor),
    _of_bowls("loss_at", LossAt(arm="a", tuned_for="b", times=3.0), _floor, INSIDE, effects=(0.0, 5.0, 10.0)),
    _of_bowls(
        "fall_share_at",
        LossGap(left=LossAt(arm="a", tuned_for="b", times=3.0), right=LossAt(arm="b", tuned_for="b", times=3.0)),
        _floor,
        (*NUMBERS, c.FLAT),
        effects=(0.0, 2.0, 5.0),
    ),
    _of_bowls(
        "length_ratio",
        LengthRatio(anchor="a", points=tuple((length, arm) for arm, length in LENGTHS.items())),
        _lengths,
        NUMBERS,
    ),
    _of_bowls(
        "mean",
        Mean(parts=(LossAt(arm="a", tuned_for="b", times=0.5), LossAt(arm="a", tuned_for="b", times=2.0))),
        _floor,
        INSIDE,
        effects=(0.0, 5.0, 10.0),
    ),
    _of_bowls(
        "mean_distance",
        # Two octaves beside the optimum, where what is measured is no noise.
        MeanDistance(
            parts=(LossAt(arm="a", tuned_for="b", times=0.25), LossAt(arm="a", tuned_for="b", times=4.0)),
            origin=LossAt(arm="b", tuned_for="b"),
        ),
        lambda e: {"a": Bowl(curvature=0.05 * 1.3**e), "b": Bowl()},
        INSIDE,
    ),
    _of_bowls(
        "basin_width",
        BasinWidth(arm="a", within=0.05, of="fall"),
        lambda e: {"a": Bowl(curvature=0.05 * 1.3**-e)},
        ENDINGS,
    ),
    # Rarer rises leave few seeds without any, which no interval of theirs can tell from none ever.
    _of_points(
        "edge_sharpness",
        EdgeSharpness(arm="a", limit=2.0),
        edge_runs(lambda e: 1.05 * 1.02**e, lambda e: 0.2, 2.0**-7, 2.0),
        {"a": {}},
    ),
    _of_points(
        "edge_loss",
        EdgeLoss(arm="a", limit=2.0, of="rising_steps"),
        edge_runs(lambda e: 1.2, lambda e: 0.1 * 1.2**e, 2.0**-7, 2.0),
        {"a": {}},
    ),
    _of_points(
        "rising_share", Curve(arm="a", of="train_loss", statistic="rises"), rough_curves(lambda e: 0.06 * 1.3**e), {"a": {}}, 3
    ),
    _of_points(
        "norm_diagnosis",
        NormDiagnosis(
            healthy="healthy",
            healthy_value=_ONE_LR,
            vanishing=(("vanishing", _ONE_LR),),
            too_small=(("small", _ONE_LR),),
            too_large=(("large", _ONE_LR),),
        ),
        flat_runs(lambda e: e),
        {arm: {} for arm in ("healthy", "vanishing", "small", "large")},
        effects=(0.0, 0.5, 1.5),
    ),
    _of_bowls("loss_after", LossAfter(arm="a", share=0.5), _floor, effects=(0.0, 5.0, 10.0)),
    _of_bowls("mean_gap", MeanGap(arm="a", tuned_for="b"), _floor),
    _of_bowls("mean_gap_absolute", MeanGap(arm="a", tuned_for="b", absolute=True), _floor),
    _of_bowls("transfer_regret_of_fall", TransferRegret(arm="a", tuned_for="b", of="fall"), _shift, effects=(0.0, 3.0, 4.0)),
    _of_bowls("max_trainable_of_fall", MaxTrainable(arm="a", within=0.03, of="fall"), _shift, INSIDE),
    _of_points(
        "sharpness_at_loss",
        SharpnessAtLoss(arm="a", level=1.0),
        stopped_runs(lambda e: {"a": 10 * 1.2**e}, lambda e: 0.0),
        {"a": {}},
        share=0.3,
    ),
    _of_points("stopped_loss", StoppedLoss(arm="a", at="end"), turning_runs(lambda e: 0.5 * 2.0 ** (-e / 2)), {"a": {}}),
    _of_points("task_accuracy", TaskAccuracy(arm="a"), forgetting_runs(lambda e: 0.4 + 0.05 * e), {"a": TWO_TASKS}),
    _of_points("task_loss", TaskLoss(arm="a"), forgetting_runs(lambda e: 0.4 - 0.05 * e), {"a": TWO_TASKS}),
    _of_points(
        "alarm_rate",
        AlarmRate(arm="a", rule="loss_ratio", where="at_fault"),
        alarming_runs(lambda e: 0.2 + 0.2 * e),
        {"a": {"fault": "labels"}},
    ),
    *(
        _of_points(name, metric, draw, {"a": {**LONG, "fault": "labels"}, "b": LONG}, share=0.3)
        for name, metric, draw in (
            ("detected_share", DetectedShare(**OF_JUMPS), alarming_runs(lambda e: 0.2 + 0.2 * e)),
            ("alarm_precision", AlarmPrecision(**OF_JUMPS), alarming_runs(lambda e: 0.2 + 0.2 * e)),
            ("alarm_lead", AlarmLead(arm="a", sound="b", rule="robust_norm"), exploding_runs(lambda e: 10.0 + 4.0 * e)),
        )
    ),
    _of_points(
        "spike_recurrence",
        SpikeRecurrence(arm="b", of="a"),
        recurring_runs(lambda e: 0.2 + 0.2 * e),
        {"a": LONG, "b": {"steps": 150, "warmup_fraction": 0.0, "starts_from": "a", "start_fraction": 0.5}},
        share=0.3,
    ),
    _of_points(
        "alarm_limit",
        AlarmLimit(sound="b", rule="loss_ratio"),
        noisy_runs(lambda e: 0.02 + 0.005 * e),
        {"b": LONG},
        share=0.3,
    ),
    _of_points("turning_step", TurningStep(arm="a"), turning_runs(lambda e: 0.2 * 2.0 ** (e / 2)), {"a": {}}),
    _of_points(
        "turn_rate",
        TurnRate(arm="a"),
        turning_runs(lambda e: 0.3, lambda e: 0.2 + 0.2 * e),
        {"a": {}},
    ),
    _of_points(
        "sharpness_correlation",
        SharpnessCorrelation(arms=SETTINGS, level=1.0),
        stopped_runs(lambda e: {arm: 2.0**index for index, arm in enumerate(SETTINGS)}, lambda e: 0.05 * e),
        {arm: {} for arm in SETTINGS},
        share=0.3,
    ),
    _of_points(
        "finder_pick_delagged",
        FinderPick(arm="ramp", rule="passes_initial", smoothing=0.9, delag=True),
        rising_range_test(lambda e: -5.0 + e / 4),
        {"ramp": {}},
    ),
)


CASES = (*CASES, _finder_regret(), _finder_regret("finder_regret_of_fall", "fall"), *LATER_CASES)
BY_NAME = {case.name: case for case in CASES}
