"""What probes saw over a run at the tuned LR, with what a claim reads off it."""

import math
from functools import singledispatch

import numpy as np

from ...harness.declare import Criterion, Judgement
from ...harness.declare.design import in_words
from ...harness.declare.metrics import Curve, CurveDistance, CurveRatio
from ...harness.declare.metrics.estimating.weighted import tuned_index
from ...harness.declare.observed import Observed
from ...harness.judge.spelling import in_prose
from ...harness.judge.statistics.intervals import Observation
from ...harness.judge.trial_arrays import TrialArrays
from ...harness.judge.trial_sets import TrialSet
from .drawing import ClaimFigure, Drawing, Panel, grid
from .frames import number, run_curve, seed_band, training_of
from .palette import looks
from .scales import Scale

# Curve -> what a title says, and an axis.
CURVES = {
    "probe_gradient_norm": ("Gradient norm", "norm"),
    "probe_gradient_variance": ("Variance of the gradient", "variance"),
}
HEIGHT = 2.3


def draw(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """A panel a criterion that reads a curve; None where none has a number."""
    criteria = [each for each in judgement.criteria_at(records.scale) if each.observe.figure == FIGURE.name]
    seen = {each: number(each.observe, records.table, each) for each in criteria}
    return grid([panel_of(each.observe, each, found, records.table) for each, found in seen.items() if found is not None])


@singledispatch
def panel_of(metric: Observed, criterion: Criterion, seen: Observation, table: TrialArrays) -> Panel:
    """What a metric reads off its curve, by its kind."""
    raise TypeError(f"no entry says how '{criterion.name}' reads a curve; register its kind beside this")


def _scale(steps: float, first: float = 0.85) -> Scale:
    return Scale("step", 10, first, steps * 1.05, ticks=5)


def _words(curve: str) -> tuple[str, str]:
    other = "update / weight" if "update_ratio" in curve else in_words(curve.removeprefix("probe_"))
    return CURVES.get(curve, (other, other))


@panel_of.register
def _ratio(metric: CurveRatio, criterion: Criterion, seen: Observation, table: TrialArrays) -> Panel:
    """Gray: the beginning and the end, whose means are compared."""
    total, label = training_of(metric.arm, metric.over, table).steps, table.study.arms[metric.arm].label
    steps, values = run_curve(
        metric.arm, f"probe_{metric.curve}", metric.over, tuned_index(metric.arm, metric.over, table), table
    )
    title, axis = _words(f"probe_{metric.curve}")
    curve = seed_band(values, table, log=True)
    ends = (value[np.isfinite(value)] for value in (curve["y"], curve["low"], curve["high"]))
    shown = np.concatenate(list(ends))
    panel = Panel(_scale(total), Scale(axis, 10, shown.min() / 1.2, shown.max() * 2.2), f"{title}\n{label}", HEIGHT)
    panel.add("curve", f"_{metric.arm}", looks(table.study)[metric.arm], x=steps, **curve)
    panel.note(in_prose(seen.estimate, seen.low, seen.high, "x"), total**0.5, math.inf, "_ink", "center", "below", "finding")
    panel.add("region", "_soft", right=float(math.ceil(metric.first * total)))
    panel.add("region", "_soft", left=(1 - metric.last) * total)
    return panel


@panel_of.register
def _median(metric: Curve, criterion: Criterion, seen: Observation, table: TrialArrays) -> Panel:
    total = training_of(metric.arm, metric.over, table).steps
    steps, values = run_curve(metric.arm, metric.of, metric.over, tuned_index(metric.arm, metric.over, table), table)
    edges = [edge for rule in (criterion.claimed, criterion.refuted) for piece in rule.pieces for edge in piece]
    curve = seed_band(values, table, log=True)
    shown = [value for value in (*edges, *curve["y"], seen.low, seen.high) if 0 < value < math.inf]
    y = Scale(_words(metric.of)[1], 10, min(shown) / 1.7, max(shown) * 1.7)
    panel = Panel(_scale(total), y, criterion.panel or table.study.arms[metric.arm].label, HEIGHT)
    panel.regions(criterion, "y")
    _judged(panel, seen)
    panel.add("curve", f"_{metric.arm}", looks(table.study)[metric.arm], x=steps, **curve)
    return panel


@panel_of.register
def _distance(metric: CurveDistance, criterion: Criterion, seen: Observation, table: TrialArrays) -> Panel:
    arms, best = table.study.arms, tuned_index(metric.reference, metric.over, table)
    steps, own = run_curve(metric.arm, f"probe_{metric.curve}", metric.over, best, table)
    _, reference = run_curve(metric.reference, f"probe_{metric.curve}", metric.over, best, table)
    curve = seed_band(100 * np.abs(own / reference - 1), table)
    edges = [100 * edge for rule in (criterion.claimed, criterion.refuted) for piece in rule.pieces for edge in piece]
    # A step that overflowed has no distance.
    most = max(value for value in (*edges, *curve["y"], 100 * seen.high) if math.isfinite(value))
    title = f"{arms[metric.arm].label} from {arms[metric.reference].label}"
    panel = Panel(_scale(steps.max()), Scale("distance of gradient norms", 0, 0.0, 1.15 * most, percent=True), title, HEIGHT)
    panel.regions(criterion, "y", times=lambda value: 100 * value)
    _judged(panel, seen, 100.0)
    panel.add("curve", f"_{metric.arm}", looks(table.study)[metric.arm], x=steps, **curve)
    return panel


def _judged(panel: Panel, seen: Observation, times: float = 1.0) -> None:
    """The number with its interval, across the panel."""
    panel.add("region", "_soft", low=times * seen.low, high=times * seen.high)
    panel.add("rule", y=times * seen.estimate)


FIGURE = ClaimFigure(
    "curves",
    "The run at the tuned LR, with 95% bands. Gray: the parts that are compared, or the number judged with its interval.",
    draw,
)
