"""Where everything of a figure stands, in inches: the same for the picture and for what can be asked.

A figure in a claim's card is WIDTH wide and has text of at least TEXT points, so that it can be read on a phone, where it is
shown at 360 pixels.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from .drawing import LINES, Drawing, Panel, Stack

# Points, and what a browser makes of inches.
TEXT, PIXELS_AN_INCH = 11, 96
# Around a stack: for its labels and its title.
LEFT, RIGHT, BOTTOM, TOP = 0.85, 0.12, 0.58, 0.14
TITLE_ROW, LEGEND_ROW, GAP = 0.2, 0.22, 0.1
# Of a letter in the mean, and where nothing may be cut; how much wider bold ones are; what stands before a legend's name.
LETTER, WIDE_LETTER, BOLD, LEGEND_MARK = 0.087, 0.1, 1.17, 0.6
# A stack that is so wide has room for names at the ends of its lines.
ALONE = 5.0
# A stack across the figure has at most this many names on its lines, and they are at most this long in inches.
MOST_ON_LINES, WIDEST_ON_LINES = 5, 1.75


@dataclass(frozen=True)
class Placed:
    """A panel's inside, and what stands around it. left and top: from the figure's. named: the series with their names at the
    ends of their lines. lowest: whether the x axis of its stack is its own."""

    panel: Panel
    left: float
    top: float
    width: float
    title: str
    y_label: str
    lowest: bool
    named: tuple[str, ...]


@dataclass(frozen=True)
class Legend:
    """The names of a stack's series below it, or of all of them above (panels: whose looks it shows)."""

    names: tuple[str, ...]
    panels: Stack
    left: float
    top: float
    width: float


@dataclass(frozen=True)
class Layout:
    width: float
    height: float
    placed: tuple[Placed, ...]
    legends: tuple[Legend, ...]


def wrapped(text: str, inches: float, most: int = 12) -> str:
    return "\n".join(textwrap.fill(line, max(most, int(inches / LETTER))) for line in text.split("\n"))


def on_lines(stack: Stack, alone: bool) -> list[str]:
    """The series whose names stand at the ends of their lines, not in a legend: few, of a stack across the figure."""
    panel = stack[0]
    drawn = panel.series(*LINES[:2])
    names = [name for name in panel.listed if name in drawn]
    free = alone and not any(each.beside for each in stack)
    return names if free and 1 < len(names) <= MOST_ON_LINES else []


def laid_out(drawing: Drawing) -> Layout:
    shared, whole = _shared(drawing), drawing.width
    placed: list[Placed] = []
    legends: list[Legend] = []
    top = 0.0
    if shared:
        legends.append(Legend(shared, tuple(drawing.panels), 0.05, 0.08, whole))
        top = 0.08 + LEGEND_ROW * legend_rows(shared, whole)
    for row in drawing.rows:
        slots = max(len(row), min(2, len(drawing.rows[0])))  # a last panel is no wider than those above it
        alone = whole / slots >= ALONE
        margins = [_margins(stack, () if shared else on_lines(stack, alone)) for stack in row]
        inside = (whole - sum(map(sum, margins)) - (slots - len(row)) * (LEFT + RIGHT)) / slots
        titles = [[wrapped(panel.title, inside / BOLD) for panel in stack] for stack in row]
        head = TOP + TITLE_ROW * max(lines[0].count("\n") + 1 if lines[0] else 0 for lines in titles)
        start, bottom = 0.0, 0.0
        for stack, lines, (left, right) in zip(row, titles, margins, strict=True):
            at, named = top + head, () if shared else tuple(on_lines(stack, alone))
            for panel, title in zip(stack, lines, strict=True):
                label = "" if start and panel.y.label in {each.y.label for each in row[0]} else panel.y.label
                placed.append(Placed(panel, start + left, at, inside, title, label, panel is stack[-1], named))
                at, named = at + panel.height + GAP, ()
            at += BOTTOM - GAP
            names = tuple(
                dict.fromkeys(name for panel in stack for name in panel.listed if name not in placed[-len(stack)].named)
            )
            width = left + inside + right - 0.1
            if names and not shared:
                legends.append(Legend(names, stack, start + 0.1, at, width))
                at += LEGEND_ROW * legend_rows(names, width)
            start, bottom = start + left + inside + right, max(bottom, at)
        top = bottom
    return Layout(whole, top + 0.05, tuple(placed), tuple(legends))


def _shared(drawing: Drawing) -> tuple[str, ...]:
    """The names of all series where one legend does for stacks that have nearly the same; else none."""
    listed = [{name for panel in stack for name in panel.listed} for row in drawing.rows for stack in row]
    names = tuple(dict.fromkeys(name for panel in drawing.panels for name in panel.listed))
    looks = {(name, panel.looks[name]) for panel in drawing.panels for name in panel.listed if name in panel.looks}
    often = len(listed) > 1 and len(names) <= 0.6 * sum(map(len, listed))
    return names if often and len(looks) == len(names) else ()


def _margins(stack: Stack, named: Sequence[str]) -> tuple[float, float]:
    left = max(panel.names for panel in stack) or LEFT
    names = (max(map(len, wrapped(name, WIDEST_ON_LINES).split("\n"))) * WIDE_LETTER + 0.1 for name in named)
    return left, max([RIGHT, *(panel.beside for panel in stack), *names])


def legend_columns(names: Sequence[str], width: float) -> int:
    """How many of some names stand side by side."""
    longest = max((len(name) for name in names), default=1)
    return max(1, min(len(names), int(width / (longest * LETTER + LEGEND_MARK))))


def legend_rows(names: Sequence[str], width: float) -> int:
    """Lines that a legend takes: names that are too long for one have several."""
    columns = legend_columns(names, width)
    lines = [wrapped(name, width - LEGEND_MARK).count("\n") + 1 for name in names]
    of_column = -(-len(names) // columns)
    return max(sum(lines[start : start + of_column]) for start in range(0, len(names), of_column))


def apart(labels: Sequence[tuple[float, float]]) -> list[float]:
    """Where labels stand that would like to be at a height, and are so high, so that none covers another; all as shares of what
    they stand beside, in rising order."""
    places: list[float] = []
    least = 0.0
    for height, size in labels:
        places.append(max(height, least + size / 2))
        least = places[-1] + size / 2
    most = 1.0
    for index, (_, size) in reversed(list(enumerate(labels))):
        places[index] = min(places[index], most - size / 2)
        most = places[index] - size / 2
    return places
