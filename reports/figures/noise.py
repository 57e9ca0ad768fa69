"""The noise scale over training."""

import numpy as np

from ...harness.declare import Criterion, Judgement
from ...harness.declare.metrics import CriticalBatch, NoiseScale
from ...harness.declare.metrics.curves import noise_curve
from ...harness.declare.parts import all_parts
from ...harness.declare.trials import NotEstimableError
from ...harness.judge.spelling import in_prose
from ...harness.judge.trial_arrays import TrialArrays
from ...harness.judge.trial_sets import TrialSet
from .batch import CRITICAL
from .drawing import ClaimFigure, Drawing, Panel, grid
from .frames import band, example_unit, metrics, number, of_kind, training_of
from .palette import INK, Look, looks
from .scales import Scale


def draw(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """Its means over the parts of the run that a claim reads, and the critical batch size where the claim compares them. None
    where none has a number."""
    found: dict[tuple[str, str], Panel] = {}
    for criterion, metric in metrics(judgement, records.scale, NoiseScale):
        if (criterion.name, metric.arm) not in found:
            try:
                panel = _panel(criterion, metric, records.table)
            except NotEstimableError:
                continue
            found |= {} if panel is None else {(criterion.name, metric.arm): panel}
    return grid(list(found.values()))


def _panel(criterion: Criterion, metric: NoiseScale, table: TrialArrays) -> Panel | None:
    share, scale = noise_curve(metric.arm, metric.over, table, table.resamples)
    if not (scale[0] > 0).any():
        return None
    total, unit = training_of(metric.arm, metric.over, table).examples, example_unit(metric.arm, metric.over, table)
    x, curve = share * total, band(scale, table.seeds, log=True)
    begins = x[0] / 1.3
    panel = Panel(Scale(f"{unit} seen", 10, begins, total * 1.08, ticks=4), Scale(), _title(criterion, metric, table), 2.4)
    panel.looks |= {"_mean": Look(INK, "", "-"), "_critical": Look(CRITICAL, "", "--")}
    parts = list(all_parts(criterion.observe))
    heights = list(np.concatenate(list(curve.values())))
    for each in of_kind(parts, NoiseScale):
        if each.arm == metric.arm and (seen := number(each, table)) is not None:
            ends = {"left": max(each.first * total, begins), "right": each.last * total}
            panel.add("region", "_mean", low=seen.low, high=seen.high, **ends)
            panel.add("rule", "_mean", y=seen.estimate, **ends)
            heights += [seen.low, seen.high]
    for sweep in of_kind(parts, CriticalBatch):
        if (seen := number(sweep, table)) is not None:
            panel.add("region", "_critical", low=seen.low, high=seen.high)
            panel.add("rule", "_critical", y=seen.estimate)
            panel.note("critical batch", begins, seen.high, "_critical", place="above")
            heights += [seen.low, seen.high]
    panel.add("curve", f"_{metric.arm}", looks(table.study)[metric.arm], x=x, **curve)
    low, high = np.quantile([each for each in heights if np.isfinite(each) and each > 0], [0.02, 1.0])
    panel.y = Scale(f"noise scale ({unit})", 10, low / 1.5, high * 2.2, ticks=4)
    return panel


def _title(criterion: Criterion, metric: NoiseScale, table: TrialArrays) -> str:
    seen = number(criterion.observe, table, criterion)
    told = "" if seen is None else f"\n{in_prose(seen.estimate, seen.low, seen.high, criterion.written_in)}"
    return f"{criterion.panel or table.study.arms[metric.arm].label}{told}"


FIGURE = ClaimFigure(
    "noise",
    "Noise scale over the run at the tuned LR, with a 95% band. Gray boxes: its mean over the part of the run that counts,"
    " with its interval. The ratio judged stands above.",
    draw,
)
