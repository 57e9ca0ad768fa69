"""What remedies against forgetting cost: accuracy on old tasks against accuracy on the new one."""

import numpy as np

from folklore.harness.judging.trial_arrays import TrialArrays
from folklore.harness.judging.trial_sets import TrialSet
from folklore.harness.metrics import TaskAccuracy
from folklore.harness.metrics.forgetting import chosen_value, last_task
from folklore.harness.spec import Judgement
from folklore.reports.figures.drawing import ClaimFigure, Drawing, Panel, grid
from folklore.reports.figures.frames import arms_by_panel, number
from folklore.reports.figures.palette import looks
from folklore.reports.figures.scales import Scale


def draw(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """A panel for each panel of the study. None where no accuracy is known."""
    together = arms_by_panel(records, judgement, TaskAccuracy, lambda arm, over: TaskAccuracy(arm=arm, over=over))
    return grid([_panel(title, arms, records.table) for title, arms in together.items()])


def _panel(title: str, arms: list[tuple[str, str]], table: TrialArrays) -> Panel:
    """A dot for each arm where it ends, and a line along which its mean went while the last task was trained."""
    study = table.study
    panel = Panel(
        Scale("accuracy on the new task", 0, 0.0, 1.02, ticks=5), Scale("accuracy on old tasks", 0, 0.0, 1.02, ticks=5), title
    )
    for arm, over in arms:
        look = looks(study)[arm]
        old, new = (number(TaskAccuracy(arm=arm, over=over, tasks=tasks), table) for tasks in ("old", "new"))
        if old is None or new is None:
            continue
        place = int(chosen_value(arm, over, table, table.resamples[:1])[0])
        y, x = (curves.mean(axis=0) for curves in last_task(arm, over, place, table))
        known = np.isfinite(x) & np.isfinite(y)
        panel.add("faint", f"_{arm}", look, x=x[known], y=y[known])
        panel.add("estimate", study.arms[arm].label, look, x=new.estimate, y=old.estimate, low=old.low, high=old.high)
    return panel


FIGURE = ClaimFigure(
    "tasks",
    "Test accuracy where runs end, with 95% intervals on old tasks; pale: the way there while the last task was trained.",
    draw,
)
