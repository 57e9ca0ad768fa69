"""Gradients that FP16 flushes to zero, against the loss scale."""

import numpy as np

from ...harness.declare import Judgement
from ...harness.declare.configuration import LOSS_SCALES
from ...harness.declare.metrics import UnderflowShare
from ...harness.declare.metrics.estimating.weighted import tuned_index
from ...harness.judge.spelling import in_prose
from ...harness.judge.trial_arrays import TrialArrays
from ...harness.judge.trial_sets import TrialSet
from .drawing import ClaimFigure, Columns, Drawing, Panel, grid
from .frames import known, seed_band
from .palette import looks
from .scales import Scale

GRADIENTS = {"activation": "activations", "logits": "logits", "weight": "weights"}


def draw(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """The share flushed at every loss scale, with the one that a claim reads. None where no arm has a number."""
    table = records.table
    found = known(records, judgement, UnderflowShare)
    if not found:
        return None
    panel = Panel(Scale("loss scale", 2, 0.8, float(LOSS_SCALES[-1]) * 1.25), Scale(), height=2.8)
    first, metric, _ = found[0]
    if first.observe is metric:
        panel.regions(first, "y", times=lambda value: 100 * value)
    most, there = 0.0, set()
    for _, metric, seen in found:
        if (metric.arm, metric.of) not in there:
            there.add((metric.arm, metric.of))
            label = f"{table.study.arms[metric.arm].label}, gradients of {GRADIENTS[metric.of]}"
            ends = _shares(metric, table)
            most = max(most, float(np.nanmax(ends["y"])))
            panel.add("curve", label, looks(table.study)[metric.arm], x=LOSS_SCALES, **ends)
            at = float(LOSS_SCALES[metric.scale_exponent])
            panel.add("ring", x=at, y=100 * seen.estimate)
            text = in_prose(seen.estimate, seen.low, seen.high, "share")
            panel.note(text, at * 1.4, 100 * seen.estimate, "_ink", mark="finding")
    panel.y = Scale("flushed to zero in FP16", low=0.0, high=1.25 * most + 0.5, percent=True)
    return grid([panel])


def _shares(metric: UnderflowShare, table: TrialArrays) -> Columns:
    best = tuned_index(metric.arm, metric.over, table)
    column = table.values(metric.arm, metric.over, f"curve_probe_layer_underflow_{metric.of}")[best]
    by_seed = np.array([np.mean([np.asarray(step, dtype=np.float64) for step in curve], axis=0) for curve in column])
    return {end: np.clip(100 * value, 0, 100) for end, value in seed_band(by_seed, table).items()}


FIGURE = ClaimFigure(
    "underflow",
    "Share of non-zero gradients that FP16 flushes to zero, with a 95% band. Ring: the loss scale that is judged.",
    draw,
)
