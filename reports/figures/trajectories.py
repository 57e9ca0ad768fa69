"""Whether two runs have the same trajectory."""

import numpy as np

from ...harness.declare import Criterion, Judgement
from ...harness.declare.metrics import MeanGap
from ...harness.declare.metrics.estimating.weighted import evaluation_curves, initial_loss, position, tuned_index, tuned_loss
from ...harness.declare.trials import Numbers
from ...harness.judge.spelling import in_prose
from ...harness.judge.statistics.intervals import Observation
from ...harness.judge.trial_arrays import TrialArrays
from ...harness.judge.trial_sets import TrialSet
from .drawing import ClaimFigure, Columns, Drawing, Panel, Stack, grid
from .frames import band, example_unit, known, seed_band, training_of
from .palette import looks
from .scales import Scale

HEIGHTS = 2.05, 1.4


def draw(records: TrialSet, judgement: Judgement) -> Drawing | None:
    for criterion, metric, seen in known(records, judgement, MeanGap):
        return grid([_stack(criterion, metric, seen, records.table)])
    return None


def _stack(criterion: Criterion, metric: MeanGap, seen: Observation, table: TrialArrays) -> Stack:
    """Validation loss against the examples seen, and under it the gap, with the part of the run that counts."""
    study, over, arms = table.study, metric.over, (metric.tuned_for, metric.arm)
    best = tuned_index(metric.tuned_for, over, table)
    value = float(table.grid(metric.tuned_for, over)[best]) * metric.times
    own = evaluation_curves(metric.tuned_for, over, table)[best]
    theirs = evaluation_curves(metric.arm, over, table)[position(table, metric.arm, over, value)]
    share = (np.arange(own.shape[1]) + 1) / own.shape[1]
    examples = share * training_of(metric.tuned_for, over, table).examples
    begins = float(examples[share > metric.after + 1e-9][0]) / 1.03
    x = Scale(f"{example_unit(metric.arm, over, table)} seen", 10, examples[0] / 1.1, examples[-1] * 1.1)
    y = Scale(study.loss_label("validation", table.scale, list(arms)), least=0.0)
    top = Panel(x, y, f"Mean gap: {in_prose(seen.estimate, seen.low, seen.high, criterion.written_in)}", HEIGHTS[0])
    lr = "the same LR" if metric.times == 1 else f"{metric.times:g}x that LR"
    for arm, curves, name in zip(arms, (own, theirs), ("tuned LR", lr), strict=True):
        panel_look = looks(study)[arm]
        top.add("curve", f"{study.arms[arm].label}, {name}", panel_look, x=examples, **seed_band(curves, table))
    gaps = _gaps(metric, theirs, own, table)
    most = max(np.abs(gaps["y"]).max(), abs(seen.high) * 100) * 1.15
    under = Panel(x, Scale("gap, share of fall", 0, -most, most, ticks=5, percent=True), height=HEIGHTS[1])
    under.regions(criterion, "y", lambda value: 100 * value, (begins, np.inf), both_sides=metric.absolute)
    under.add("rule", "_null", y=0.0)
    under.add("curve", x=examples, **gaps)
    for panel in (top, under):
        panel.add("region", "_soft", right=begins)
    return top, under


def _gaps(metric: MeanGap, theirs: Numbers, own: Numbers, table: TrialArrays) -> Columns:
    """The gap in percent of the loss reduction at every evaluation with its band, at the chosen LRs."""
    weights = table.resamples / table.resamples.sum(axis=1, keepdims=True)
    start = initial_loss({metric.tuned_for: metric.over, metric.arm: metric.over}, table, table.resamples)
    fall = start - tuned_loss(metric.tuned_for, metric.over, table, table.resamples)
    return band(100 * (weights @ theirs - weights @ own) / fall[:, None], table.seeds)


FIGURE = ClaimFigure(
    "trajectories",
    "Above: validation loss with 95% bands. Below: the gap between the two. Gray: the first part of the run,"
    " which does not count.",
    draw,
)
