"""What remedies against forgetting cost: accuracy, or loss, on old tasks against that on the new one."""

from collections.abc import Collection, Mapping

from ...harness.declare import Judgement
from ...harness.declare.metrics import TaskAccuracy, TaskLoss
from ...harness.declare.metrics.forgetting import last_task
from ...harness.judge.statistics.intervals import Observation
from ...harness.judge.trial_arrays import TrialArrays
from ...harness.judge.trial_sets import TrialSet
from .drawing import ClaimFigure, Drawing, Panel, grid
from .frames import metrics, number
from .palette import looks
from .scales import Scale
from .scales import number as spelled

Kind = type[TaskAccuracy] | type[TaskLoss]
KINDS: tuple[Kind, ...] = (TaskAccuracy, TaskLoss)
# Of a remedy: the strength, and where runs end on the new task and on old ones.
Ends = list[tuple[float, Observation, Observation]]
# Left, right, lower and upper end of what is in a panel, and the width of a letter, as shares of the panel.
Box = tuple[float, float, float, float]
LETTER = 0.045


def draw(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """A panel for each panel of the study of which a claim reads an arm. None where nothing of the kind is known."""
    arms, panels = records.study.arms, []
    for kind in KINDS:
        read = {each.arm for _, each in metrics(judgement, records.scale, kind)}
        titles = dict.fromkeys(arms[arm].panel for arm in records.study.arms_at(records.scale) if arm in read)
        panels += [_panel(title, records.table, kind, read) for title in titles]
    return grid([panel for panel in panels if panel is not None])


def _panel(title: str, table: TrialArrays, kind: Kind, read: Collection[str]) -> Panel | None:
    """All arms of a panel, so that remedies can be compared, and small those that a claim does not read: through the strengths
    of each a line, which begins at the first arm, where there is none; pale, that arm's way while the last task was trained."""
    study = table.study
    found = {arm: _ends(kind, arm, table) for arm in study.arms_at(table.scale) if study.arms[arm].panel == title}
    found = {arm: ends for arm, ends in found.items() if ends}
    if not found:
        return None
    # The way there comes from far below, and what remedies cost is little.
    news = [new.estimate for ends in found.values() for _, new, _ in ends]
    pad = 0.05 * (max(news) - min(news)) + 0.005
    x = Scale(f"{kind.MEASURE} on the new task", 0, min(news) - pad, max(news) + pad, ticks=5)
    panel = Panel(x, Scale(f"{kind.MEASURE} on old tasks", ticks=5), title)
    (first, start), *_ = found.items()
    on_old, on_new = (curves.mean(axis=0) for curves in last_task(first, _over(first, table), 0, table, kind.MEASURE))
    panel.add("faint", "_soft", x=on_new, y=on_old)
    for arm, ends in found.items():
        look, label = looks(study)[arm], _label(arm, ends, table)
        if len(ends) > 1:
            line = [*start, *ends]
            panel.add("line", label, look, x=[new.estimate for _, new, _ in line], y=[old.estimate for *_, old in line])
        for _, new, old in ends:
            mark = "estimate" if arm in read else "beside"
            panel.add(mark, label, look, x=new.estimate, y=old.estimate, low=old.low, high=old.high)
    _name_strengths(panel, found, table)
    return panel


def _name_strengths(panel: Panel, found: Mapping[str, Ends], table: TrialArrays) -> None:
    """Beside the ends that have room for it, on the right or the left; the strongest first."""
    (left, right), (low, high) = panel.limits("x"), panel.limits("y")

    def box(new: Observation, old: Observation, text: str = "", side: int = 0) -> Box:
        """Of a point, or of words beside it, as shares of the panel."""
        x, y = (new.estimate - left) / (right - left), (old.estimate - low) / (high - low)
        if not side:
            return x - 0.015, x + 0.015, y - 0.01, y + 0.01
        near, far = x + 0.02 * side, x + (0.05 + LETTER * len(text)) * side
        return min(near, far), max(near, far), y + 0.015, y + 0.07

    taken = [box(new, old) for ends in found.values() for _, new, old in ends]
    for arm, ends in found.items():
        for strength, new, old in reversed(ends if len(ends) > 1 else []):
            text = spelled(strength)
            for side, align in ((1, "left"), (-1, "right")):
                words = box(new, old, text, side)
                if words[0] >= 0 and words[1] <= 1 and not any(_overlap(words, each) for each in taken):
                    panel.note(text, new.estimate, old.estimate, _label(arm, ends, table), align, "above")
                    taken.append(words)
                    break


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def _label(arm: str, ends: Ends, table: TrialArrays) -> str:
    label = table.study.arms[arm].label
    return f"{label} {', '.join(spelled(strength) for strength, *_ in ends)}" if len(ends) > 1 else label


def _over(arm: str, table: TrialArrays) -> str:
    """The factor of which an arm has several values, if there is one."""
    factors = table.study.factors_at(table.scale, arm)
    return next((name for name, values in factors.items() if len(values) > 1), "peak_lr")


def _ends(kind: Kind, arm: str, table: TrialArrays) -> Ends:
    over = _over(arm, table)
    found: Ends = []
    for value in map(float, table.grid(arm, over)):
        new, old = (number(kind(arm=arm, over=over, at=value, tasks=tasks), table) for tasks in ("new", "old"))
        if new is not None and old is not None:
            found.append((value, new, old))
    return found


FIGURE = ClaimFigure(
    "tasks",
    "Test accuracy, or loss, where runs end, with 95% intervals on old tasks. A line joins the strengths of a remedy, in the"
    " order of its name, and begins where there is none. Pale: the way without one while the last task was trained. Best is the"
    " upper right, or of losses the lower left.",
    draw,
)
