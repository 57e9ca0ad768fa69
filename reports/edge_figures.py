"""Sharpness over training, against the limits of the LRs that it is trained at."""

from contextlib import suppress

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from folklore.harness.metrics import EdgeLoss, EdgeSharpness
from folklore.harness.spec import Judgement
from folklore.harness.spec.parts import all_parts
from folklore.harness.spec.trials import Numbers, UndecidableError
from folklore.harness.verdicts.trial_arrays import TrialArrays
from folklore.harness.verdicts.trial_sets import TrialSet
from folklore.reports.colours import HUES, INK, SOFT
from folklore.reports.figures import (
    BAND,
    BOTTOM,
    LEFT,
    RIGHT,
    STYLE,
    TOP,
    WIDTH,
    few_ticks,
    log_ticks,
    mark,
    number,
    observed_by,
    seed_band,
)

Edge = EdgeSharpness | EdgeLoss
# Inches of a panel's inside: of the one across the figure, and of those side by side.
TALL, SHORT = 3.0, 1.9
# What is left of a line where it does not count.
PALE = 0.35
# Inches right of a panel across the figure, for the names of limits.
NAMES = 0.95
# Highest over lowest value from which on an axis is logarithmic.
WIDE = 30.0


def sharpness_over_time(records: TrialSet, judgement: Judgement | None = None) -> Figure | None:
    """Panel by panel, the first across the figure. None where nothing was measured."""
    if judgement is None:
        return None
    table = records.table
    shown = {panel: arms for panel, arms in _panels(records, judgement).items() if arms}
    if not shown:
        return None
    beside = _beside(judgement, table)
    with mpl.rc_context(STYLE):
        figure, all_axes = _laid_out(len(shown))
        for axes, (panel, arms) in zip(all_axes, shown.items(), strict=True):
            in_time = len({part.lr(table) for part in arms}) > 1
            for index, part in enumerate(arms):
                _draw(axes, part, HUES[index % len(HUES)], table, in_time)
            _limits(axes, arms, table)
            for part in beside.get(_kind(arms[0]), ()):
                _behind(axes, part, table, in_time)
            axes.set_xlim(left=0)
            axes.set_xlabel("LR x steps" if in_time else "steps")
            axes.set_ylabel("preconditioned sharpness" if arms[0].preconditioned else "sharpness")
            axes.set_title(panel, color=INK)
            few_ticks(axes.xaxis, 5)
        return figure


def _panels(records: TrialSet, judgement: Judgement) -> dict[str, list[Edge]]:
    """Panel -> what its arms are held against, each arm once: those that decide, then those whose medians are reported."""
    found: dict[str, list[Edge]] = {}
    judged = [(each.panel, part) for each, part in observed_by(judgement, records.scale) if not each.precondition]
    reported = [("", part) for each in judgement.reported for part in _edges(each.observe) if _is_of_the_edge(part)]
    for panel, part in (*judged, *reported):
        if isinstance(part, Edge) and _is_measured(part, records.table):
            arms = found.setdefault(panel or records.table.study.arms[part.arm].panel or "", [])
            if part.arm not in {each.arm for each in arms}:
                arms.append(part)
    return found


def _is_of_the_edge(part: Edge) -> bool:
    return isinstance(part, EdgeSharpness) and part.of == "median"


def _beside(judgement: Judgement, table: TrialArrays) -> dict[tuple[float, bool], list[Edge]]:
    """What nothing limits, or is reported without a panel of its own, by the limit that it is held against; each arm once."""
    criteria = [each.observe for each in judgement.criteria if each.precondition]
    judged = {part.arm for each in judgement.criteria if not each.precondition for part in _edges(each.observe)}
    judged |= {part.arm for each in judgement.reported for part in _edges(each.observe) if _is_of_the_edge(part)}
    found: dict[tuple[float, bool], list[Edge]] = {}
    for observable in (*criteria, *(each.observe for each in judgement.reported)):
        for part in _edges(observable):
            there = found.setdefault(_kind(part), [])
            if part.arm not in judged | {each.arm for each in there} and _is_measured(part, table):
                there.append(part)
    return found


def _edges(observable: object) -> list[Edge]:
    return [part for part in all_parts(observable) if isinstance(part, Edge)]  # type: ignore[arg-type]


def _kind(part: Edge) -> tuple[float, bool]:
    return part.limit, part.preconditioned


def _is_measured(part: Edge, table: TrialArrays) -> bool:
    with suppress(UndecidableError):
        return bool(np.isfinite(part.measured(table)[1]).any())
    return False


def _laid_out(count: int) -> tuple[Figure, list[Axes]]:
    """The first panel across the figure, the others two a row; an odd last one across it again."""
    rows = [1, *[2] * ((count - 1) // 2), *[1] * ((count - 1) % 2)]
    insides = [TALL, *[SHORT] * (len(rows) - 1)]
    height = sum(insides) + len(rows) * (TOP + BOTTOM)
    figure, found, top = mpl.figure.Figure(figsize=(WIDTH, height)), [], height
    for inside, columns in zip(insides, rows, strict=True):
        bottom, wide = top - TOP - inside, WIDTH / columns
        right = NAMES if columns == 1 else RIGHT
        for column in range(columns):
            box = (wide * column + LEFT) / WIDTH, bottom / height, (wide - LEFT - right) / WIDTH, inside / height
            found.append(figure.add_axes(box))
        top = bottom - BOTTOM
    return figure, found


def _own_lr(part: Edge, table: TrialArrays) -> float:
    return float(table.grid(part.arm, table.only_factor(part.arm))[0])


def _x(part: Edge, steps: Numbers, table: TrialArrays, in_time: bool) -> Numbers:
    return steps * _own_lr(part, table) if in_time else steps


def _draw(axes: Axes, part: Edge, colour: str, table: TrialArrays, in_time: bool) -> None:
    """An arm's sharpness; what comes after most of its runs have no loss left is pale."""
    steps, values = part.measured(table)
    end = float(np.median(part.ends(table)))
    for inside, strength in ((steps <= end, 1.0), (steps >= end, PALE)):
        if inside.sum() > 1:
            centre, low, high = seed_band(values[:, inside], table, log=True)
            x = _x(part, steps[inside], table, in_time)
            if np.isfinite(low).any():
                axes.fill_between(x, low, high, color=colour, alpha=BAND * strength, linewidth=0)
            axes.plot(x, centre, color=colour, alpha=strength, label=table.study.arms[part.arm].label)


def _limits(axes: Axes, arms: list[Edge], table: TrialArrays) -> None:
    """The limit of each arm's LR, named at its end; and an axis that holds them."""
    limits = [part.limit / _own_lr(part, table) for part in arms]
    values = np.concatenate([part.measured(table)[1].ravel() for part in arms])
    positive = values[np.isfinite(values) & (values > 0)]
    least, most = float(np.quantile(positive, 0.02)), max(float(np.quantile(positive, 0.995)), *limits)
    if most > WIDE * least:
        axes.set_ylim(least / 1.3, most * 1.6)
        log_ticks(axes.yaxis)
    else:
        axes.set_ylim(0, 1.2 * most)
        few_ticks(axes.yaxis)
    alone = axes.get_position().width * WIDTH < WIDTH / 2
    for index, (part, limit) in enumerate(zip(arms, limits, strict=True)):
        mark(axes, limit, "--", upright=True, colour=HUES[index % len(HUES)])
        name = f"{number(float(f'{part.limit:.4g}'))}/LR, LR {number(_own_lr(part, table))}"
        # Beside the panel, or in its empty corner where there is no room.
        axes.annotate(
            name if alone else name.replace(", ", "\n"),
            (0.98, 0.05) if alone else (1.0, limit),
            xycoords="axes fraction" if alone else ("axes fraction", "data"),
            xytext=(0, 0) if alone else (5, 0),
            textcoords="offset points",
            color=HUES[index % len(HUES)],
            ha="right" if alone else "left",
            va="bottom" if alone else "center",
            annotation_clip=False,
        )


def _behind(axes: Axes, part: Edge, table: TrialArrays, in_time: bool) -> None:
    """What deciding arms are seen against, with its name where it ends or leaves the panel."""
    limits, across = axes.get_ylim(), axes.get_xlim()
    steps, values = part.measured(table)
    centre = seed_band(values, table, log=True)[0]
    x = _x(part, steps, table, in_time)
    axes.plot(x, centre, color=SOFT, linewidth=1.2, linestyle="-" if isinstance(part, EdgeSharpness) and part.lr_of else ":",
              zorder=1)  # fmt: skip
    inside = np.flatnonzero((centre <= limits[1]) & (x <= across[1]))
    if len(inside):
        # Right of a line that leaves the panel at its top, else below its end.
        leaves = inside[-1] + 1 < len(x) and centre[inside[-1] + 1] > limits[1]
        at = (x[inside[-1]], centre[inside[-1]])
        beside, side = ((10, -2), "left") if leaves else ((0, -4), "right")
        name = table.study.arms[part.arm].label
        axes.annotate(name, at, xytext=beside, textcoords="offset points", color=SOFT, va="top", ha=side)
    axes.set_ylim(*limits)
    axes.set_xlim(*across)
