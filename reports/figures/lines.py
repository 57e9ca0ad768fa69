"""Groups of arms that should be alike."""

import numpy as np

from ...harness.declare import Judgement
from ...harness.declare.metrics import BetweenLines
from ...harness.judge.spelling import in_prose
from ...harness.judge.statistics.intervals import Observation
from ...harness.judge.trial_arrays import TrialArrays
from ...harness.judge.trial_sets import TrialSet
from .drawing import ClaimFigure, Drawing, Panel, across, grid
from .frames import band, known
from .palette import looks
from .scales import Scale

# Inches for the names of arms, and of a row.
NAMES, ROW = 1.75, 0.21
SHARPNESS = "sharpness (natural logarithm)"


def draw(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """What is shared out between lines, arm by arm, a panel a criterion. None where no criterion has a number."""
    return grid([_panel(metric, seen, records.table) for _, metric, seen in known(records, judgement, BetweenLines)], columns=1)


def _panel(metric: BetweenLines, seen: Observation, table: TrialArrays) -> Panel:
    arms = [arm for line in metric.lines for arm in line]
    # Between two lines a row is free.
    rows = {
        arm: -float(place + index) for index, line in enumerate(metric.lines) for place, arm in enumerate(arms) if arm in line
    }
    label = SHARPNESS if metric.of == "sharpness" else table.study.loss_label("test", table.scale, arms)
    names = {rows[arm]: table.study.arms[arm].label for arm in arms}
    title = in_prose(seen.estimate, seen.low, seen.high, "share") + " between lines"
    y = Scale(names=names, low=min(rows.values()) - 0.6, high=0.6)
    panel = Panel(Scale(label), y, title, height=ROW * (len(arms) + len(metric.lines)), names=NAMES, caption=CAPTION)
    values = np.stack([metric.of_arm(arm, table, table.resamples) for arm in arms], axis=1)
    ends = band(values, table.seeds)
    centre = dict(zip(arms, ends["y"], strict=True))
    for arm, *numbers in zip(arms, ends["y"], ends["low"], ends["high"], strict=True):
        panel.add("estimate", f"_{arm}", looks(table.study)[arm], **across(*numbers), y=rows[arm])
    for line in metric.lines:
        of_line = [rows[arm] for arm in line]
        at = float(np.mean([centre[arm] for arm in line]))
        panel.add("rule", "_soft", x=at, low=min(of_line) - 0.4, high=max(of_line) + 0.4)
    return panel


CAPTION = (
    "Every arm, a row each, with its 95% interval; arms of a line stand together, and an upright stroke is their mean. The"
    " share judged stands above."
)
FIGURE = ClaimFigure("lines", draw)
