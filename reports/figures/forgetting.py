"""What remedies against forgetting cost: accuracy, or loss, on old tasks against that on the new one."""

import numpy as np

from folklore.harness.judging.trial_arrays import TrialArrays
from folklore.harness.judging.trial_sets import TrialSet
from folklore.harness.metrics import TaskAccuracy, TaskLoss
from folklore.harness.metrics.forgetting import chosen_value, last_task
from folklore.harness.spec import Judgement
from folklore.reports.figures.drawing import ClaimFigure, Drawing, Panel, grid
from folklore.reports.figures.frames import arms_by_panel, number
from folklore.reports.figures.palette import looks
from folklore.reports.figures.scales import Scale

Kind = type[TaskAccuracy] | type[TaskLoss]
KINDS: tuple[Kind, ...] = (TaskAccuracy, TaskLoss)


def draw(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """A panel for each panel of the study. None where nothing of the kind is known."""
    return grid([panel for kind in KINDS for panel in _panels(records, judgement, kind)])


def _panels(records: TrialSet, judgement: Judgement, kind: Kind) -> list[Panel]:
    together = arms_by_panel(records, judgement, kind, lambda arm, over: kind(arm=arm, over=over))
    return [_panel(title, arms, records.table, kind) for title, arms in together.items()]


def _panel(title: str, arms: list[tuple[str, str]], table: TrialArrays, kind: Kind) -> Panel:
    """A dot for each arm where it ends, and a line along which its mean went while the last task was trained."""
    study, measure = table.study, kind.MEASURE
    low, high = (0.0, 1.02) if kind is TaskAccuracy else (None, None)
    x, y = (Scale(f"{measure} on {tasks}", 0, low, high, ticks=5) for tasks in ("the new task", "old tasks"))
    panel = Panel(x, y, title)
    for arm, over in arms:
        look = looks(study)[arm]
        old, new = (number(kind(arm=arm, over=over, tasks=tasks), table) for tasks in ("old", "new"))
        if old is None or new is None:
            continue
        place = int(chosen_value(arm, over, table, table.resamples[:1])[0])
        y, x = (curves.mean(axis=0) for curves in last_task(arm, over, place, table, measure))
        known = np.isfinite(x) & np.isfinite(y)
        panel.add("faint", f"_{arm}", look, x=x[known], y=y[known])
        panel.add("estimate", study.arms[arm].label, look, x=new.estimate, y=old.estimate, low=old.low, high=old.high)
    return panel


FIGURE = ClaimFigure(
    "tasks",
    "Test accuracy, or loss, where runs end, with 95% intervals on old tasks; pale: the way there while the last task was"
    " trained.",
    draw,
)
