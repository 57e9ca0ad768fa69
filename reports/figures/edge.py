"""Sharpness over training, against the limits of the LRs that it is trained at."""

import math

import numpy as np

from ...harness.declare import Judgement
from ...harness.declare.metrics import EdgeLoss, EdgeSharpness
from ...harness.declare.parts import all_parts
from ...harness.declare.trials import NotEstimableError, Numbers
from ...harness.judge.trial_arrays import TrialArrays
from ...harness.judge.trial_sets import TrialSet
from .drawing import HEIGHT, ClaimFigure, Drawing, Panel
from .frames import of_kind, seed_band
from .palette import SOFT, Look, looks
from .scales import Scale, number

Edge = EdgeSharpness | EdgeLoss
# Inches of a panel's inside beside another, and right of one across the figure for the names of limits.
SHORT, NAMES = 1.9, 0.95
# Highest over lowest value from which on an axis is logarithmic.
WIDE = 30.0


def draw(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """Panel by panel, the first across the figure and the others two a row. None where nothing was measured."""
    shown = _judged(records, judgement)
    if not shown:
        return None
    beside = _beside(judgement, records.table)
    count = len(shown) - 1
    panels = [
        _panel(title, arms, beside.get(_limit(arms[0]), []), index == 0 or (index == count and count % 2 == 1), records.table)
        for index, (title, arms) in enumerate(shown.items())
    ]
    pairs = [panels[at : at + 2] for at in range(1, len(panels), 2)]
    return Drawing(tuple(tuple((panel,) for panel in row) for row in [panels[:1], *pairs]))


def _edges(metric: object) -> list[Edge]:
    parts = list(all_parts(metric))  # type: ignore[arg-type]
    return [*of_kind(parts, EdgeSharpness), *of_kind(parts, EdgeLoss)]


def _judged(records: TrialSet, judgement: Judgement) -> dict[str, list[Edge]]:
    """Panel -> what its arms are held against, each arm once: those that decide, then those whose medians are reported."""
    judged = [(each.panel, part) for each in judgement.criteria_at(records.scale) if not each.precondition
              for part in _edges(each.observe)]  # fmt: skip
    reported = [("", part) for each in judgement.reported for part in _edges(each.observe) if _is_median(part)]
    found: dict[str, list[Edge]] = {}
    for panel, part in (*judged, *reported):
        if _is_measured(part, records.table):
            arms = found.setdefault(panel or records.table.study.arms[part.arm].panel or "", [])
            if part.arm not in {each.arm for each in arms}:
                arms.append(part)
    return found


def _is_median(part: Edge) -> bool:
    return part.of == "median"


def _limit(part: Edge) -> tuple[float, bool]:
    return part.limit, part.preconditioned


def _beside(judgement: Judgement, table: TrialArrays) -> dict[tuple[float, bool], list[Edge]]:
    """What nothing limits, or is reported without a panel of its own, by the limit that it is held against; each arm once."""
    reported = [each.observe for each in judgement.reported]
    taken = {part.arm for each in judgement.criteria if not each.precondition for part in _edges(each.observe)}
    taken |= {part.arm for each in reported for part in _edges(each) if _is_median(part)}
    found: dict[tuple[float, bool], list[Edge]] = {}
    for metric in (*(each.observe for each in judgement.criteria if each.precondition), *reported):
        for part in _edges(metric):
            there = found.setdefault(_limit(part), [])
            if part.arm not in taken | {each.arm for each in there} and _is_measured(part, table):
                there.append(part)
    return found


def _is_measured(part: Edge, table: TrialArrays) -> bool:
    try:
        return bool(np.isfinite(part.measured(table)[1]).any())
    except NotEstimableError:
        return False


def _panel(title: str, arms: list[Edge], beside: list[Edge], across: bool, table: TrialArrays) -> Panel:
    """Arms of several LRs along LR x steps, and what decides nothing behind them."""
    in_time = len({part.lr(table) for part in arms}) > 1
    y = _scale(arms, table)
    most = max(float(_x(part, part.measured(table)[0], in_time, table).max()) for part in arms)
    panel = Panel(Scale("LR x steps" if in_time else "steps", low=0.0, high=1.02 * most), y, title)
    panel.height, panel.beside = (HEIGHT, NAMES) if across else (SHORT, 0.0)
    for part in beside:
        _behind(panel, part, in_time, table)
    for part in arms:
        look, lr = looks(table.study)[part.arm], _own_lr(part, table)
        _sharpness(panel, part, look, in_time, table)
        panel.add("rule", f"_limit {part.arm}", Look(look.colour, "", "--"), y=part.limit / lr)
        name = f"{number(float(f'{part.limit:.4g}'))}/LR, LR {number(lr)}"
        if across:  # beside the panel, or above its line where there is no room
            panel.note(name.replace(", ", "\n"), math.inf, part.limit / lr, f"_{part.arm}")
        else:
            panel.note(name, math.inf, part.limit / lr, f"_{part.arm}", "right", "above")
    return panel


def _own_lr(part: Edge, table: TrialArrays) -> float:
    return float(table.grid(part.arm, table.only_factor(part.arm))[0])


def _x(part: Edge, steps: Numbers, in_time: bool, table: TrialArrays) -> Numbers:
    return steps * _own_lr(part, table) if in_time else steps


def _scale(arms: list[Edge], table: TrialArrays) -> Scale:
    """Holds the limits."""
    values = np.concatenate([part.measured(table)[1].ravel() for part in arms])
    positive = values[np.isfinite(values) & (values > 0)]
    limits = [part.limit / _own_lr(part, table) for part in arms]
    least, most = float(np.quantile(positive, 0.02)), max(float(np.quantile(positive, 0.995)), *limits)
    label = "preconditioned sharpness" if arms[0].preconditioned else "sharpness"
    return Scale(label, 10, least / 1.3, most * 1.6) if most > WIDE * least else Scale(label, low=0.0, high=1.2 * most)


def _sharpness(panel: Panel, part: Edge, look: Look, in_time: bool, table: TrialArrays) -> None:
    """An arm's; what comes after most of its runs have no loss left is pale."""
    steps, values = part.measured(table)
    end = float(np.median(part.ends(table)))
    for mark, inside in (("line", steps <= end), ("faint", steps >= end)):
        if inside.sum() > 1:
            x = _x(part, steps[inside], in_time, table)
            panel.add(mark, f"_{part.arm}", look, x=x, **seed_band(values[:, inside], table, log=True))


def _behind(panel: Panel, part: Edge, in_time: bool, table: TrialArrays) -> None:
    """What deciding arms are seen against, with its name where it ends or leaves the panel."""
    steps, values = part.measured(table)
    y, x = seed_band(values, table, log=True)["y"], _x(part, steps, in_time, table)
    panel.add("faint", f"_{part.arm}", Look(SOFT, "", "-" if getattr(part, "lr_of", None) else ":"), x=x, y=y)
    most = panel.limits("y")[1]
    inside = np.flatnonzero((y <= most) & (x <= panel.limits("x")[1]))
    if len(inside):
        last = int(inside[-1])
        leaves = last + 1 < len(x) and y[last + 1] > most
        place = {"align": "left", "place": "middle"} if leaves else {"align": "right", "place": "below"}
        panel.note(table.study.arms[part.arm].label, float(x[last]), float(y[last]), **place)


FIGURE = ClaimFigure(
    "edge",
    "Sharpness over training: geometric means over seeds with 95% bands, pale once next to no loss is left. Dashed: the"
    " limit of each LR, above which the optimizer is unstable on a quadratic. Gray: other runs, not used for the verdict.",
    draw,
)
