"""The kinds of observation that are calibrated, each with a world that plants effects in what it observes."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from folklore.harness.declare import Observed, Outside, Rule, Study, Within
from folklore.harness.declare import metrics as m
from folklore.harness.declare.design import Value
from folklore.studies.metrics.adam_internals import half_life_exponent
from folklore.studies.metrics.critical_batch import branched_batch_size, critical_batch_size
from folklore.studies.metrics.edge_of_stability import edge_loss, edge_sharpness
from folklore.studies.metrics.forgetting import task_accuracy, task_loss
from folklore.studies.metrics.generalization import basin_sharpness, sharpness_at_loss, sharpness_correlation
from folklore.studies.metrics.gradient_flow import growth_factor
from folklore.studies.metrics.gradient_noise import between_lines, overhead_batch
from folklore.studies.metrics.lr_finder import finder_pick, finder_regret, suggestion_rate
from folklore.studies.metrics.lr_regimes import mean_distance, norm_diagnosis
from folklore.studies.metrics.mup_transfer import mean_activation_slope, transfer_regret
from folklore.studies.metrics.optimizers import length_ratio
from folklore.studies.metrics.overfitting import stopped_loss, turn_rate, turning_step
from folklore.studies.metrics.precision import curve_distance, memory_ratio, underflow_share
from folklore.studies.metrics.spikes import (
    alarm_lead,
    alarm_limit,
    alarm_rate,
    detected_share,
    spike_recurrence,
    warned_share,
)
from folklore.studies.metrics.warmup import cure_rate, curve_ratio, divergence_time, lr_sensitivity

from . import conditions as c
from . import trial_worlds as w
from .conditions import Condition
from .trial_worlds import Bowl, Draw, octave_grid, study

Effects = tuple[float, float, float]
Regions = Callable[[float, float, float], tuple[Rule, Rule]]
Arms = Callable[[float], Mapping[str, Bowl]]
CURVES = (c.PLAIN, c.HEAVY_TAILS, c.SKEWED, c.UNEQUAL, c.DIVERGING, c.NEAR_EDGE, c.FLAT)
INSIDE = tuple(condition for condition in CURVES if condition is not c.NEAR_EDGE)
NUMBERS = (c.PLAIN, c.HEAVY_TAILS, c.SKEWED, c.UNEQUAL)
ENDINGS = (*NUMBERS, c.DIVERGING)
SWEEPS = (*NUMBERS, c.CENSORED)
# Tails that reach every end leave runs without a number in the one large world that truth is taken from.
BOUNDED = (c.PLAIN, c.SKEWED, c.UNEQUAL)


# Arm a has a fault and arm b none, over more steps than detectors need before them.
LONG: Mapping[str, Value] = {"steps": 300}
OF_JUMPS: Mapping[str, Any] = {"arm": "a", "sound": "b", "rule": "loss_ratio", "where": "at_fault"}
OF_EXPLOSIONS: Mapping[str, Any] = {"arm": "a", "sound": "b", "rule": "norm_ratio", "early": 50}
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
    return Case(name, claims, w.bowls(arms), declared, conditions, effects, share)


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


def _widths(effect: float) -> dict[str, Bowl]:
    """Five widths whose optimum moves as width^(-effect/4)."""
    return {f"w{2**index}": Bowl(optimum=-6.3 - effect * index / 4) for index in range(5)}


def _edges(effect: float) -> dict[str, Bowl]:
    """Where half of the runs of arm a diverge at its best LR when the effect is large; b has the same optimum."""
    return {"a": Bowl(cliff=-5.0 - 0.5 * effect), "b": Bowl(optimum=-6.3)}


def _memories(effect: float) -> dict[str, Bowl]:
    """The best half-life falls as the batch to the power of 1 - effect/4; two octaves off it cost 2%."""
    best = {size: 8.0 - size * (1 - effect / 4) for size in (1, 3, 5)}
    return {
        f"b{size}_h{half_life}": Bowl(floor=2.0 + 0.01 * (half_life - best[size]) ** 2)
        for size in best
        for half_life in (1, 3, 5, 7)
    }


def _branches(effect: float) -> dict[str, float]:
    """Branches of larger batches end the higher the less of an effect; the base falls from 3 to 2."""
    return {"first": 3.0} | {f"b{2**octave}": 2.0 + 0.1 * (octave - 1) / (1 + effect / 4) for octave in range(1, 5)}


PAIR: dict[str, dict[str, Value]] = {"a": {}, "b": {}}
WIDTHS = {f"w{2**index}": 2**index for index in range(6)}
BATCHES = {f"b{2**index}": 2**index for index in range(2, 10)}
_OPTIMA = tuple((float(2**index), m.Optimum(arm=f"w{2**index}")) for index in range(5))
_MEMORIES = tuple((2.0**size, 2.0**half_life, f"b{size}_h{half_life}") for size in (1, 3, 5) for half_life in (1, 3, 5, 7))
_SWEEP = tuple((batch, arm) for arm, batch in BATCHES.items())
# How far inside a margin a region ends: what lies on the margin is not in it.
_JUST = 1e-6
_A, _B = m.TunedLoss(arm="a"), m.TunedLoss(arm="b")


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


def _finder_regret(name: str, of: Literal["fall"] | None = None) -> Case:
    def declared(seeds: int, condition: Condition) -> Study:
        return study({"a": {}, "ramp": {}}, {"a": octave_grid(Bowl(), condition), "ramp": (0.1,)}, seeds)

    draw = w.both(w.bowls(lambda e: {"a": Bowl()}), w.range_test(lambda e: -7.0 - e / 2))
    return Case(name, (finder_regret(arm="a", range_test="ramp", rule="divergence", of=of),), draw, declared, BOUNDED)


# The LR of arms that are trained at one point.
_ONE_LR = 2.0**-7
# Batch sizes and LRs that runs are compared over.
SETTINGS = tuple(f"setting_{index}" for index in range(8))


CASES: tuple[Case, ...] = (
    _of_bowls("tuned_loss", _A, _floor, effects=(0.0, 5.0, 10.0)),
    _of_bowls("optimum", m.Optimum(arm="a"), _shift),
    _of_bowls("gap", m.Gap(left=_A, right=_B), _floor),
    _of_bowls("relative_gap", m.RelativeGap(left=_A, right=_B), _floor),
    _of_bowls("transfer_regret", transfer_regret(arm="a", tuned_for="b"), _shift, effects=(0.0, 3.0, 4.0)),
    _of_bowls("max_trainable", m.MaxTrainable(arm="a"), _shift, INSIDE),
    _of_bowls(
        "lr_sensitivity", lr_sensitivity(arm="a"), lambda e: {"a": Bowl(curvature=0.05 * 1.1**e)}, effects=(0.0, 1.0, 4.0)
    ),
    _of_bowls("quotient", m.Quotient(top=m.MaxTrainable(arm="a"), bottom=m.MaxTrainable(arm="b")), _shift, INSIDE),
    _of_bowls("log2", m.Log2(of=m.Quotient(top=m.Optimum(arm="a"), bottom=m.Optimum(arm="b"))), _shift),
    _of_bowls("scaled", m.Scaled(of=m.Optimum(arm="a"), by=32.0), _shift),
    _of_bowls(
        "share",
        m.Share(part=m.Gap(left=_A, right=_B), whole=m.Gap(left=m.TunedLoss(arm="c"), right=_B), whole_at_least=0.05),
        lambda e: {**_floor(2 + e), "c": Bowl(floor=2.2)},
    ),
    _of_bowls("slope", m.Slope(points=_OPTIMA), _widths, INSIDE, effects=(0.0, 1.0, 2.0)),
    _of_bowls("half_life_exponent", half_life_exponent(points=_MEMORIES), _memories, NUMBERS, effects=(0.0, 1.0, 3.0)),
    _of_bowls(
        "growth_factor",
        growth_factor(points=tuple((float(index), part) for index, (_, part) in enumerate(_OPTIMA))),
        _widths,
        INSIDE,
        effects=(0.0, 1.0, 2.0),
    ),
    # Two one-sided tests: gaps of 2%, just short of equivalence within it; of 6%, just short of a difference; and of none.
    replace(
        _of_bowls("equivalence", m.RelativeGap(left=_A, right=_B), _floor, NUMBERS, effects=(2.0, 6.0, 0.0)),
        regions=lambda margin, difference, _: (
            Within(low=-margin + _JUST, high=margin - _JUST),
            Outside(low=-difference - _JUST, high=difference + _JUST),
        ),
    ),
    _of_bowls("failure_rate", m.FailureRate(arm="a", tuned_for="b"), _edges, NUMBERS, effects=(0.0, 1.0, 4.0)),
    _of_bowls(
        "cure_rate",
        cure_rate(arm="a", by_arm="b"),
        lambda e: {"a": Bowl(cliff=-3.5), "b": Bowl(cliff=-3.5 + e / 4)},
        NUMBERS,
    ),
    _of_bowls("divergence_time", divergence_time(arm="a"), lambda e: {"a": Bowl(cliff=-5.0 + e / 2)}, NUMBERS),
    _of_points("final_loss", m.FinalLoss(arm="a"), w.single_points(_ratio), PAIR, conditions=ENDINGS),
    _of_points("speed_up", m.SpeedUp(arm="a", reference="b"), w.single_points(lambda e: _ratio(-e)), PAIR),
    _of_points("memory_ratio", memory_ratio(arm="a", reference="b"), w.single_points(_ratio), PAIR),
    _of_points(
        "between_lines",
        between_lines(lines=LINES, of="test_loss", spread_at_least=0.01),
        w.single_points(_lines),
        {arm: {} for line in LINES for arm in line},
    ),
    _of_points(
        "overhead_batch",
        overhead_batch(points=tuple((batch, arm) for arm, batch in TIMED.items())),
        w.single_points(_times),
        {arm: {} for arm in TIMED},
    ),
    _of_points(
        "curve_ratio", curve_ratio(arm="a", curve="gradient_norm", first=0.1, last=0.1), w.probe_curves(_ratio), PAIR, 3
    ),
    _of_points("curve_median", m.Curve(arm="a", of="probe_update_ratio", statistic="median"), w.probe_curves(_ratio), PAIR, 3),
    _of_points("curve_mean", m.Curve(arm="a", of="probe_update_ratio"), w.probe_curves(_ratio), PAIR, 3),
    _of_points(
        "curve_quotient",
        m.Curve(arm="a", of="probe_update_ratio", divided_by="probe_gradient_norm", first=0.8),
        w.probe_curves(_ratio),
        PAIR,
        3,
    ),
    _of_points("curve_slope", m.Curve(arm="a", of="probe_gradient_norm", statistic="slope"), w.probe_curves(_ratio), PAIR, 3),
    _of_points(
        "matched",
        m.Matched(arm="a", of="evaluation_loss", where="train_loss", level=2.0),
        w.falling_curves(_ratio),
        PAIR,
        3,
    ),
    _of_points("curve_distance", curve_distance(arm="b", reference="a"), w.distant_curves(lambda e: 0.05 * 1.2**e), PAIR, 3),
    _of_points("underflow_share", underflow_share(arm="a", of="activation"), w.probe_curves(_ratio), PAIR, 3),
    _of_points("noise_scale", m.NoiseScale(arm="a"), w.noisy_gradients(lambda e: 20.0 * 1.2**e), {"a": {}}, 3),
    _of_points(
        "mean_activation_slope",
        mean_activation_slope(points=tuple((float(width), arm) for arm, width in WIDTHS.items())),
        w.activations(lambda e: 0.1 + 0.05 * e, WIDTHS),
        {arm: {} for arm in WIDTHS},
    ),
    _of_points("finder_pick", finder_pick(arm="ramp", rule="divergence"), w.range_test(lambda e: -5.0 + e / 4), {"ramp": {}}),
    _of_points(
        "suggestion_rate",
        suggestion_rate(arm="ramp", rule="divergence"),
        w.range_test(lambda e: -5.0, lambda e: 0.9 - 0.25 * e),
        {"ramp": {}},
    ),
    _sweep(
        "steps_to_target",
        m.StepsToTarget(arm="b64", anchor="b64", share=0.5),
        w.batch_sweep(_critical, BATCHES),
        1.0,
        conditions=BOUNDED,
    ),
    _sweep(
        "critical_batch_size",
        critical_batch_size(points=_SWEEP, anchor="b64", share=0.5),
        w.batch_sweep(_critical, BATCHES),
        0.1,
    ),
    _of_points(
        "branched_batch_size",
        branched_batch_size(points=((2, "b2"), (4, "b4"), (8, "b8"), (16, "b16")), start="first", base="b2", share=0.9),
        w.single_points(_branches, spread=0.01),
        {arm: {} for arm in ("first", "b2", "b4", "b8", "b16")},
    ),
    _finder_regret("finder_regret"),
    _finder_regret("finder_regret_of_fall", "fall"),
    # Measured as shares of the loss reduction, by a window, at a given LR or without a filter's lag.
    _of_bowls("optimum_three_points", m.Optimum(arm="a"), _shift, steps=2),
    _of_bowls("optimum_window", m.Optimum(arm="a", window_octaves=1.0), _shift, steps=2),
    _of_bowls(
        "optimum_window_cliff",
        m.Optimum(arm="a", window_octaves=1.0),
        lambda e: {"a": Bowl(optimum=-6.3 + e / 2, cliff=-4.8 + e / 2)},  # one and a half octaves above the optimum
        NUMBERS,
        steps=2,
    ),
    _of_bowls("fall_share", m.LossGap(left=_A, right=_B), _floor),
    _of_bowls("loss_at", m.LossAt(arm="a", tuned_for="b", times=3.0), _floor, INSIDE, effects=(0.0, 5.0, 10.0)),
    _of_bowls(
        "fall_share_at",
        m.LossGap(left=m.LossAt(arm="a", tuned_for="b", times=3.0), right=m.LossAt(arm="b", tuned_for="b", times=3.0)),
        _floor,
        (*NUMBERS, c.FLAT),
        effects=(0.0, 2.0, 5.0),
    ),
    _of_bowls(
        "length_ratio",
        length_ratio(anchor="a", points=tuple((length, arm) for arm, length in LENGTHS.items())),
        _lengths,
        NUMBERS,
    ),
    _of_bowls(
        "mean",
        m.Mean(parts=(m.LossAt(arm="a", tuned_for="b", times=0.5), m.LossAt(arm="a", tuned_for="b", times=2.0))),
        _floor,
        INSIDE,
        effects=(0.0, 5.0, 10.0),
    ),
    _of_bowls(
        "mean_distance",
        # Two octaves beside the optimum, where what is measured is no noise.
        mean_distance(
            parts=(m.LossAt(arm="a", tuned_for="b", times=0.25), m.LossAt(arm="a", tuned_for="b", times=4.0)),
            origin=m.LossAt(arm="b", tuned_for="b"),
        ),
        lambda e: {"a": Bowl(curvature=0.05 * 1.3**e), "b": Bowl()},
        INSIDE,
    ),
    _of_bowls(
        "basin_width",
        m.BasinWidth(arm="a", within=0.05, of="fall"),
        lambda e: {"a": Bowl(curvature=0.05 * 1.3**-e)},
        ENDINGS,
    ),
    # Rarer rises leave few seeds without any, which no interval of theirs can tell from none ever.
    _of_points(
        "edge_sharpness",
        edge_sharpness(arm="a", limit=2.0),
        w.edge_runs(lambda e: 1.05 * 1.02**e, lambda e: 0.2, 2.0**-7, 2.0),
        {"a": {}},
    ),
    _of_points(
        "edge_loss",
        edge_loss(arm="a", limit=2.0, of="rising_steps"),
        w.edge_runs(lambda e: 1.2, lambda e: 0.1 * 1.2**e, 2.0**-7, 2.0),
        {"a": {}},
    ),
    _of_points(
        "rising_share",
        m.Curve(arm="a", of="train_loss", statistic="rises"),
        w.rough_curves(lambda e: 0.06 * 1.3**e),
        {"a": {}},
        3,
    ),
    _of_points(
        "norm_diagnosis",
        norm_diagnosis(
            healthy="healthy",
            healthy_value=_ONE_LR,
            vanishing=(("vanishing", _ONE_LR),),
            too_small=(("small", _ONE_LR),),
            too_large=(("large", _ONE_LR),),
        ),
        w.flat_runs(lambda e: e),
        {arm: {} for arm in ("healthy", "vanishing", "small", "large")},
        effects=(0.0, 0.5, 1.5),
    ),
    _of_bowls("loss_after", m.LossAfter(arm="a", share=0.5), _floor, effects=(0.0, 5.0, 10.0)),
    _of_bowls("mean_gap", m.MeanGap(arm="a", tuned_for="b"), _floor),
    _of_bowls("mean_gap_absolute", m.MeanGap(arm="a", tuned_for="b", absolute=True), _floor),
    _of_bowls("transfer_regret_of_fall", transfer_regret(arm="a", tuned_for="b", of="fall"), _shift, effects=(0.0, 3.0, 4.0)),
    _of_bowls("max_trainable_of_fall", m.MaxTrainable(arm="a", within=0.03, of="fall"), _shift, INSIDE),
    _of_points(
        "sharpness_at_loss",
        sharpness_at_loss(arm="a", level=1.0),
        w.stopped_runs(lambda e: {"a": 10 * 1.2**e}, lambda e: 0.0),
        {"a": {}},
        share=0.3,
    ),
    Case(
        "basin_sharpness",
        (basin_sharpness(arm="a"),),
        w.sharp_bowls(lambda e: 2.0 * 1.1**e),
        lambda seeds, condition: study({"a": {}}, {"a": octave_grid(Bowl(), condition, 2)}, seeds),
        (c.PLAIN, c.SKEWED, c.UNEQUAL, c.FLAT),
        share=0.3,
    ),
    _of_points("stopped_loss", stopped_loss(arm="a", at="end"), w.turning_runs(lambda e: 0.5 * 2.0 ** (-e / 2)), {"a": {}}),
    _of_points("task_accuracy", task_accuracy(arm="a"), w.forgetting_runs(lambda e: 0.4 + 0.05 * e), {"a": TWO_TASKS}),
    _of_points("task_loss", task_loss(arm="a"), w.forgetting_runs(lambda e: 0.4 - 0.05 * e), {"a": TWO_TASKS}),
    _of_points(
        "alarm_rate",
        alarm_rate(arm="a", rule="loss_ratio", where="at_fault"),
        w.alarming_runs(lambda e: 0.2 + 0.2 * e),
        {"a": {"fault": "labels"}},
    ),
    *(
        _of_points(name, metric, draw, {"a": {**LONG, "fault": "labels"}, "b": LONG}, share=0.3)
        for name, metric, draw in (
            ("detected_share", detected_share(**OF_JUMPS), w.alarming_runs(lambda e: 0.2 + 0.2 * e)),
            ("warned_share", warned_share(**OF_EXPLOSIONS), w.exploding_runs(lambda e: 2.0 * e - 3.0)),
            ("alarm_lead", alarm_lead(**OF_EXPLOSIONS), w.exploding_runs(lambda e: 10.0 + 4.0 * e)),
        )
    ),
    _of_points(
        "spike_recurrence",
        spike_recurrence(arm="b", of="a"),
        w.recurring_runs(lambda e: 0.2 + 0.2 * e),
        {"a": LONG, "b": {"steps": 150, "warmup_fraction": 0.0, "starts_from": "a", "start_fraction": 0.5}},
        share=0.3,
    ),
    _of_points(
        "alarm_limit",
        alarm_limit(sound="b", rule="loss_ratio"),
        w.noisy_runs(lambda e: 0.02 + 0.005 * e),
        {"b": LONG},
        share=0.3,
    ),
    _of_points("turning_step", turning_step(arm="a"), w.turning_runs(lambda e: 0.2 * 2.0 ** (e / 2)), {"a": {}}),
    _of_points(
        "turn_rate",
        turn_rate(arm="a"),
        w.turning_runs(lambda e: 0.3, lambda e: 0.2 + 0.2 * e),
        {"a": {}},
    ),
    _of_points(
        "sharpness_correlation",
        sharpness_correlation(arms=SETTINGS, level=1.0),
        w.stopped_runs(lambda e: {arm: 2.0**index for index, arm in enumerate(SETTINGS)}, lambda e: 0.05 * e),
        {arm: {} for arm in SETTINGS},
        share=0.3,
    ),
    _of_points(
        "finder_pick_delagged",
        finder_pick(arm="ramp", rule="passes_initial", smoothing=0.9, delag=True),
        w.rising_range_test(lambda e: -5.0 + e / 4),
        {"ramp": {}},
    ),
)


BY_NAME = {case.name: case for case in CASES}
