"""Curves over a run, with what a claim reads off them: losses, probes, noise scales, sharpness."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import singledispatch
from typing import Any

import numpy as np

from ...harness.declare import Criterion, Judgement
from ...harness.declare.design import in_words
from ...harness.declare.metrics import (
    Curve,
    MeanGap,
    NoiseScale,
)
from ...harness.declare.metrics.curves import noise_curve
from ...harness.declare.metrics.estimating.weighted import evaluation_curves, initial_loss, position, tuned_index, tuned_loss
from ...harness.declare.observed import KINDS, Observed
from ...harness.declare.parts import all_parts
from ...harness.declare.trials import NotEstimableError
from ...harness.judge.spelling import in_prose
from ...harness.judge.trial_arrays import TrialArrays
from ...harness.judge.trial_sets import TrialSet
from ...studies.metrics.edge_of_stability import Edge, edge_of
from ...studies.metrics.overfitting import TRAINING, VALIDATION, curves_of, turning_step
from .drawing import ClaimFigure, Columns, Drawing, Panel, Stack, grid
from .frames import band, configuration_of, example_unit, number, run_curve, seed_band
from .palette import CRITICAL, INK, SOFT, Look, looks
from .scales import Scale
from .scales import number as spelled

HEIGHT = 2.4
# Highest over lowest value from which on an axis is logarithmic.
WIDE = 30.0
COMPARED = "The run at the tuned LR, with 95% bands. Gray: the parts that are compared, or the number judged with its interval."
NOISE = "Noise scale over the run at the tuned LR, with a 95% band. Gray boxes: its mean over the part of the run that counts."
GAP = "Above: validation loss with 95% bands. Below: the gap of the two. Gray: the first part of the run, which does not count."
TURNS = (
    "Validation loss with 95% bands, and pale the loss of fixed training examples. Dots: where the validation loss is lowest."
)
EDGE = (
    "Sharpness over training: geometric means over seeds with 95% bands. Dashed: the limit of each LR, above which the"
    " optimizer is unstable on a quadratic. Gray: other runs, not used for the verdict, or the same runs' sharpness."
)
# Curve -> what its axis says, where that is not its name.
AXES = {"probe_gradient_norm": "gradient norm", "probe_gradient_variance": "variance of the gradient"}
CRITICAL_BATCH = "critical batch size"
# Stacks by what makes them one: several arms may lie in one.
Stacks = dict[object, Stack]


def draw(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """None if nothing that a claim reads has a number."""
    stacks: Stacks = {}
    for criterion in judgement.criteria_at(records.scale):
        for part in all_parts(criterion.observe):
            with suppress(NotEstimableError):
                show(part, criterion, records.table, stacks)
    return grid([*stacks.values(), *_edges(records, judgement)])


@singledispatch
def show(metric: Observed, criterion: Criterion, table: TrialArrays, stacks: Stacks) -> None:
    """Adds what a metric reads, by its kind; a kind without an entry adds nothing."""


def _arm(metric: Any, table: TrialArrays) -> str:
    return table.study.arms[metric.arm].label


def _best(metric: Any, curve: str, table: TrialArrays) -> tuple[np.ndarray, np.ndarray]:
    return run_curve(metric.arm, curve, metric.over, tuned_index(metric.arm, metric.over, table), table)


def _judged(panel: Panel, criterion: Criterion, table: TrialArrays, times: float = 1.0) -> None:
    """The regions along y, and the number with its interval across the panel."""
    panel.regions(criterion, "y", lambda value: times * value)
    if (observation := number(criterion.observe, table, criterion)) is not None:
        panel.add("region", "_soft", low=times * observation.low, high=times * observation.high)
        panel.add("rule", y=times * observation.estimate)


def _titled(title: str, criterion: Criterion, table: TrialArrays) -> str:
    """The title with the number that is judged."""
    observation = number(criterion.observe, table, criterion)
    return (
        title
        if observation is None
        else f"{title}\n{in_prose(observation.estimate, observation.low, observation.high, criterion.written_in)}"
    )


@show.register(KINDS["curve_ratio"])
def _ratio(metric: Any, criterion: Criterion, table: TrialArrays, stacks: Stacks) -> None:
    """Gray: the beginning and the end, whose means are compared."""
    steps, values = _best(metric, f"probe_{metric.curve}", table)
    total, axis = configuration_of(metric.arm, metric.over, table).training.steps, AXES[f"probe_{metric.curve}"]
    panel = Panel(Scale("step", 10, 0.85, total * 1.05, ticks=5), Scale(axis, 10), caption=COMPARED, height=HEIGHT)
    panel.title = _titled(_arm(metric, table), criterion, table)
    panel.add("curve", f"_{metric.arm}", looks(table.study)[metric.arm], x=steps, **seed_band(values, table, log=True))
    panel.add("region", "_soft", right=float(math.ceil(metric.first * total)))
    panel.add("region", "_soft", left=(1 - metric.last) * total)
    stacks[criterion] = (panel,)


@show.register
def _median(metric: Curve, criterion: Criterion, table: TrialArrays, stacks: Stacks) -> None:
    if metric is criterion.observe and metric.statistic == "median":
        steps, values = _best(metric, metric.of, table)
        axis = "update / weight" if "update_ratio" in metric.of else in_words(metric.of.removeprefix("probe_"))
        panel = Panel(Scale("step", 10, ticks=5), Scale(AXES.get(metric.of, axis), 10), caption=COMPARED, height=HEIGHT)
        panel.title = criterion.panel or _arm(metric, table)
        _judged(panel, criterion, table)
        panel.add("curve", f"_{metric.arm}", looks(table.study)[metric.arm], x=steps, **seed_band(values, table, log=True))
        stacks[criterion] = (panel,)


@show.register(KINDS["curve_distance"])
def _distance(metric: Any, criterion: Criterion, table: TrialArrays, stacks: Stacks) -> None:
    best = tuned_index(metric.reference, metric.over, table)
    (steps, own), (_, reference) = (
        run_curve(arm, f"probe_{metric.curve}", metric.over, best, table) for arm in (metric.arm, metric.reference)
    )
    y = Scale("distance of gradient norms", least=0.0, percent=True)
    panel = Panel(Scale("step", 10, ticks=5), y, caption=COMPARED, height=HEIGHT)
    panel.title = f"{_arm(metric, table)} from {table.study.arms[metric.reference].label}"
    _judged(panel, criterion, table, 100.0)
    distance = seed_band(100 * np.abs(own / reference - 1), table)
    panel.add("curve", f"_{metric.arm}", looks(table.study)[metric.arm], x=steps, **distance)
    stacks[criterion] = (panel,)


@show.register
def _noise(metric: NoiseScale, criterion: Criterion, table: TrialArrays, stacks: Stacks) -> None:
    """The means over the parts of the run that a claim reads, and the critical batch size where it compares them."""
    share, scale = noise_curve(metric.arm, metric.over, table, table.resamples)
    if not (scale[0] > 0).any() or (criterion, metric.arm) in stacks:
        return
    total, unit = (
        configuration_of(metric.arm, metric.over, table).training.examples,
        example_unit(metric.arm, metric.over, table),
    )
    panel = Panel(Scale(f"{unit} seen", 10, ticks=4), Scale(f"noise scale ({unit})", 10, ticks=4), height=HEIGHT, caption=NOISE)
    panel.title = _titled(criterion.panel or _arm(metric, table), criterion, table)
    panel.looks |= {"_mean": Look(INK, "", "-"), CRITICAL_BATCH: Look(CRITICAL, "", "--")}
    for part in all_parts(criterion.observe):
        own = isinstance(part, NoiseScale) and part.arm == metric.arm
        if (own or isinstance(part, KINDS["critical_batch_size"])) and (observation := number(part, table)) is not None:
            series = "_mean" if isinstance(part, NoiseScale) else CRITICAL_BATCH
            span: Columns = {"left": part.first * total, "right": part.last * total} if isinstance(part, NoiseScale) else {}
            panel.add("region", series, low=observation.low, high=observation.high, **span)
            panel.add("rule", series, y=observation.estimate, **span)
    curve = band(scale, table.seeds, log=True)
    panel.add("curve", f"_{metric.arm}", looks(table.study)[metric.arm], x=share * total, **curve)
    stacks[criterion, metric.arm] = (panel,)


@show.register
def _gap(metric: MeanGap, criterion: Criterion, table: TrialArrays, stacks: Stacks) -> None:
    """Validation loss against the examples seen, and under it the gap in percent of the loss reduction, with its band."""
    study, over, arms = table.study, metric.over, (metric.tuned_for, metric.arm)
    best = tuned_index(metric.tuned_for, over, table)
    value = float(table.grid(metric.tuned_for, over)[best]) * metric.times
    own = evaluation_curves(metric.tuned_for, over, table)[best]
    theirs = evaluation_curves(metric.arm, over, table)[position(table, metric.arm, over, value)]
    share = (np.arange(own.shape[1]) + 1) / own.shape[1]
    examples = share * configuration_of(metric.tuned_for, over, table).training.examples
    begins = float(examples[share > metric.after + 1e-9][0]) / 1.03
    x = Scale(f"{example_unit(metric.arm, over, table)} seen", 10)
    top = Panel(x, Scale(study.loss_label("validation", table.scale, list(arms)), least=0.0), height=2.05, caption=GAP)
    top.title = _titled("Mean gap", criterion, table)
    lr = "the same LR" if metric.times == 1 else f"{metric.times:g}x that LR"
    for arm, curves, name in zip(arms, (own, theirs), ("tuned LR", lr), strict=True):
        label = f"{study.arms[arm].label}, {name}"
        top.add("curve", label, looks(study)[arm], x=examples, **seed_band(curves, table))
    weights = table.resamples / table.resamples.sum(axis=1, keepdims=True)
    start = initial_loss({metric.tuned_for: over, metric.arm: over}, table, table.resamples)
    fall = start - tuned_loss(metric.tuned_for, over, table, table.resamples)
    under = Panel(x, Scale("gap, share of fall", ticks=5, percent=True), height=1.4)
    under.regions(criterion, "y", lambda value: 100 * value, (begins, np.inf), both_sides=metric.absolute)
    under.add("rule", "_null", y=0.0)
    under.add("curve", x=examples, **band(100 * (weights @ theirs - weights @ own) / fall[:, None], table.seeds))
    for panel in (top, under):
        panel.add("region", "_soft", right=begins)
    stacks[criterion] = top, under


@show.register(KINDS["stopped_loss"])
@show.register(KINDS["turning_step"])
@show.register(KINDS["turn_rate"])
def _turn(metric: Any, criterion: Criterion, table: TrialArrays, stacks: Stacks) -> None:
    """An arm's validation loss, pale its loss on fixed training examples, and a dot where the former is lowest."""
    study, arm, over = table.study, metric.arm, metric.over
    turn = number(turning_step(arm=arm, over=over), table)
    if turn is None:
        return
    y = Scale(study.loss_label("validation", table.scale, [arm]), least=0.0)
    (panel,) = stacks.setdefault(study.arms[arm].panel, (Panel(Scale("step", 10), y, study.arms[arm].panel, caption=TURNS),))
    if arm not in panel.looks:
        panel.looks[arm] = look = looks(study)[arm]
        steps, _ = run_curve(arm, VALIDATION, over, 0, table)
        validation = curves_of(arm, over, VALIDATION, table)
        panel.add("curve", study.arms[arm].label, look, x=steps, **seed_band(validation, table))
        lowest = float(np.interp(np.log(turn.estimate), np.log(steps), validation.mean(axis=0)))
        panel.add("estimate", f"_{arm}", look, x=turn.estimate, left=turn.low, right=turn.high, y=lowest)
        with suppress(NotEstimableError):
            panel.add("faint", f"_{arm}", look, x=steps, y=curves_of(arm, over, TRAINING, table).mean(axis=0))


# ---- sharpness against the limits of the LRs


def _edges(records: TrialSet, judgement: Judgement) -> list[Panel]:
    """A panel for each one that criteria name, or else the study; edges that decide nothing are gray, beside their limit's."""
    table, arms = records.table, records.study.arms
    deciding: dict[str, dict[str, Edge]] = {}
    beside: dict[tuple[str, float], Edge] = {}
    # Panel -> what else is measured of its arms.
    more: dict[str, list[Edge]] = defaultdict(list)
    for criterion in judgement.criteria_at(records.scale):
        for part in _measured(criterion.observe, table):
            if criterion.precondition:
                beside.setdefault((part.arm, part.limit), part)
            else:
                title = criterion.panel or arms[part.arm].panel
                first = deciding.setdefault(title, {}).setdefault(part.arm, part)
                if first.curve != part.curve:
                    more[title].append(part)
    for part in (part for report in judgement.reported for part in _measured(report.observe, table)):
        if part.of == "median":
            deciding.setdefault(arms[part.arm].panel, {}).setdefault(part.arm, part)
        else:
            beside.setdefault((part.arm, part.limit), part)
    taken = {arm for own in deciding.values() for arm in own}
    gray = [part for part in beside.values() if part.arm not in taken]
    return [
        _edge_panel(
            title, own, more[title] or [part for part in gray if part.limit in {edge.limit for edge in own.values()}], table
        )
        for title, own in deciding.items()
    ]


def _measured(metric: Observed, table: TrialArrays) -> list[Edge]:
    edges: list[Edge] = []
    for part in all_parts(metric):
        if isinstance(part, (KINDS["edge_sharpness"], KINDS["edge_loss"])):
            edge = edge_of(part)
            with suppress(NotEstimableError):
                edges += [edge] if np.isfinite(edge.measured(table)[1]).any() else []
    return edges


def _edge_panel(title: str, arms: Mapping[str, Edge], beside: Sequence[Edge], table: TrialArrays) -> Panel:
    """Arms of several LRs along LR x steps; an arm is pale once most of its runs have no loss left."""
    lrs = {part.arm: float(table.grid(part.arm, table.only_factor(part.arm))[0]) for part in (*arms.values(), *beside)}
    in_time = len({part.lr(table) for part in arms.values()}) > 1
    every = np.concatenate([part.measured(table)[1].ravel() for part in arms.values()])
    least, most = np.quantile(every[np.isfinite(every) & (every > 0)], [0.02, 0.995])
    most = max(most, *(part.limit / lrs[arm] for arm, part in arms.items()))
    label = next(iter(arms.values())).words
    y = Scale(label, 10, least / 1.3, most * 1.6) if most > WIDE * least else Scale(label, low=0.0, high=1.2 * most)
    steps_of = {arm: part.measured(table)[0] * (lrs[arm] if in_time else 1.0) for arm, part in arms.items()}
    x = Scale("LR x steps" if in_time else "steps", low=0.0, high=1.02 * max(steps.max() for steps in steps_of.values()))
    panel = Panel(x, y, title, caption=EDGE)
    for index, part in enumerate(beside):
        steps, values = part.measured(table)
        look = Look(SOFT, "", ("-", ":", "--", "-.")[index % 4])
        curve = seed_band(values, table, log=True)["y"]
        name = part.words if part.arm in arms else table.study.arms[part.arm].label
        panel.add("faint", name, look, x=steps * (lrs[part.arm] if in_time else 1.0), y=curve)
    for arm, part in arms.items():
        steps, values = part.measured(table)
        look, end = looks(table.study)[arm], float(np.median(part.ends(table)))
        name = f"{table.study.arms[arm].label}: limit {spelled(float(f'{part.limit:.4g}'))}/LR, LR {spelled(lrs[arm])}"
        for kind, inside in (("line", steps <= end), ("faint", steps >= end)):
            if inside.sum() > 1:
                panel.add(kind, name, look, x=steps_of[arm][inside], **seed_band(values[:, inside], table, log=True))
        panel.add("rule", f"_limit {arm}", Look(look.colour, "", "--"), y=part.limit / lrs[arm])
    return panel


FIGURE = ClaimFigure("curves", draw)
