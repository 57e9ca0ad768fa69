"""What remedies against forgetting cost: accuracy, or loss, on old tasks against that on the new one."""

import numpy as np

from folklore.harness.judging.trial_arrays import TrialArrays
from folklore.harness.judging.trial_sets import TrialSet
from folklore.harness.metrics import TaskAccuracy, TaskLoss
from folklore.harness.metrics.forgetting import chosen_value, last_task
from folklore.harness.spec import Judgement
from folklore.harness.statistics.intervals import Numbers
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
    """A dot for each arm where it ends, a pale line along which its mean went while the last task was trained, and, of a remedy
    that was tried at several strengths, a line through where each of them ends: its Pareto front."""
    study, measure = table.study, kind.MEASURE
    low, high = (0.0, 1.02) if kind is TaskAccuracy else (None, None)
    x, y = (Scale(f"{measure} on {tasks}", 0, low, high, ticks=5) for tasks in ("the new task", "old tasks"))
    panel = Panel(x, y, title)
    for arm, over in arms:
        look = looks(study)[arm]
        old, new = (number(kind(arm=arm, over=over, tasks=tasks), table) for tasks in ("old", "new"))
        if old is None or new is None:
            continue
        ways = [_mean_way(arm, over, place, table, measure) for place in range(len(table.grid(arm, over)))]
        on_new, on_old = ways[int(chosen_value(arm, over, table, table.resamples[:1])[0])]
        panel.add("faint", f"_{arm}", look, x=on_new, y=on_old)
        if len(ways) > 1:
            ends = np.array([(on_new[-1], on_old[-1]) for on_new, on_old in ways if len(on_new)])
            panel.add("line", f"_{arm}_front", look, x=ends[:, 0], y=ends[:, 1])
        panel.add("estimate", study.arms[arm].label, look, x=new.estimate, y=old.estimate, low=old.low, high=old.high)
    return panel


def _mean_way(arm: str, over: str, place: int, table: TrialArrays, measure: str) -> tuple[Numbers, Numbers]:
    """Means over seeds on the new task and on old ones, at the evaluations at which both are known."""
    y, x = (curves.mean(axis=0) for curves in last_task(arm, over, place, table, measure))
    known = np.isfinite(x) & np.isfinite(y)
    return x[known], y[known]


FIGURE = ClaimFigure(
    "tasks",
    "Test accuracy, or loss, where runs end, with 95% intervals on old tasks; pale: the way there while the last task was"
    " trained; a line joins the strengths at which a remedy was tried.",
    draw,
)
