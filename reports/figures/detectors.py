"""What detectors of loss spikes find against how often they are wrong, whatever their limit."""

import numpy as np

from folklore.harness.judging.trial_arrays import TrialArrays
from folklore.harness.judging.trial_sets import TrialSet
from folklore.harness.metrics import DetectedShare
from folklore.harness.metrics.detection import FIRST, sound_scores
from folklore.harness.metrics.detectors import RULES, Detector
from folklore.harness.metrics.spikes import every_step, within
from folklore.harness.spec import Judgement
from folklore.harness.spec.trials import NotEstimableError
from folklore.reports.figures.drawing import ClaimFigure, Drawing, Panel, grid
from folklore.reports.figures.frames import metrics
from folklore.reports.figures.palette import ARM_LOOKS, INK, Look
from folklore.reports.figures.scales import Scale

# Alarms in a thousand sound steps: of the curves, from the left edge on.
LEAST, MOST = 0.3, 300.0


def draw(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """A panel for each arm whose faults are looked for."""
    found = {each.arm: each for _, each in metrics(judgement, records.scale, DetectedShare)}
    return grid([panel for each in found.values() if (panel := _panel(each, records.table)) is not None])


def _panel(metric: DetectedShare, table: TrialArrays) -> Panel | None:
    """A line for each detector, and a dot at its published limit; the vertical line is where the claim reads them."""
    x = Scale("alarms in 1,000 sound steps", 10, LEAST, MOST)
    panel = Panel(x, Scale("share of runs found", low=-0.04, high=1.04), table.study.arms[metric.arm].panel)
    for look, (name, rule) in zip(LOOKS, RULES.items(), strict=False):
        try:
            rates, found = _traded(metric, name, table)
            (rate,), (share,) = _traded(metric, name, table, np.array([rule.limit]))
        except NotEstimableError:
            return None
        panel.add("line", rule.label, look, x=rates, y=found)
        panel.add("estimate", rule.label, look, x=max(rate, LEAST), y=share)
    panel.add("rule", "_ink", Look(INK, "", "dotted"), x=metric.per_thousand)
    return panel
