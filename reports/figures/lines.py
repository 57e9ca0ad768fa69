"""Groups of arms that should be alike."""

from typing import Any

import numpy as np

from ...harness.declare import Judgement
from ...harness.judge.spelling import in_prose
from ...harness.judge.statistics.intervals import Observation
from ...harness.judge.trial_arrays import TrialArrays
from ...harness.judge.trial_sets import TrialSet
from ...studies.metrics.gradient_noise import between_lines, of_arm
from .drawing import ClaimFigure, Drawing, Panel, across, grid
from .frames import band, known
from .palette import looks
from .scales import Scale, rows

# Inches of a row.
ROW = 0.21
SHARPNESS = "sharpness (natural logarithm)"


def draw(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """A panel for each criterion, with the arms of its lines one by one. None if no criterion has a number."""
    return grid(
        [_panel(metric, observation, records.table) for _, metric, observation in known(records, judgement, between_lines)],
        columns=1,
    )


def _panel(metric: Any, observation: Observation, table: TrialArrays) -> Panel:
    study, arms = table.study, [arm for line in metric.lines for arm in line]
    # Between two lines a row is free.
    spread = [arm for line in metric.lines for arm in (*line, "")][:-1]
    label = SHARPNESS if metric.of == "sharpness" else study.loss_label("test", table.scale, arms)
    title = in_prose(observation.estimate, observation.low, observation.high, "share") + " between lines"
    y = rows([study.arms[arm].label if arm else "" for arm in spread])
    panel = Panel(Scale(label), y, title, height=ROW * (1 + len(spread)), caption=CAPTION)
    ends = band(np.stack([of_arm(arm, metric.of, table, table.resamples) for arm in arms], axis=1), table.seeds)
    for place, arm in enumerate(arms):
        estimate = across(*(ends[name][place] for name in ("y", "low", "high")))
        panel.add("estimate", f"_{arm}", looks(study)[arm], **estimate, y=-spread.index(arm))
    for line in metric.lines:
        at = float(np.mean([ends["y"][arms.index(arm)] for arm in line]))
        panel.add("rule", "_soft", x=at, low=-spread.index(line[-1]) - 0.4, high=0.4 - spread.index(line[0]))
    return panel


CAPTION = (
    "Every arm, a row each, with its 95% interval; arms of a line stand together, and an upright stroke is their mean. The"
    " share judged stands above."
)
FIGURE = ClaimFigure("lines", draw)
