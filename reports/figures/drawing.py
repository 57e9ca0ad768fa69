"""The one specification of figures: panels with their axes, and in each the marks of its series. And what a figure is to the
pages: a name, and a function that makes its drawing of trials. How it looks, one place decides (render.py)."""

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...harness.declare import Criterion, Judgement
from ...harness.declare.trials import Numbers
from ...harness.judge.trial_sets import TrialSet
from .palette import LOOKS, Look
from .scales import Scale

# What a mark can be (how each looks: render.py).
LINES = ("curve", "line", "faint")  # with a 95% band from low to high where these are given; a curve has markers
POINTS = ("estimate", "beside", "run", "ring", "cross")  # with an interval: from left to right, or from low to high
RULE, REGION = "rule", "region"  # a straight line at x or at y; what lies from left to right and from low to high
NOTES = ("note", "finding")  # words; a finding stands out
NUMBERS = ("x", "y", "left", "right", "low", "high")
# Inches at the sides of a panel without numbers or names; of what is inside a panel, and of a figure: 6 inches are 576 pixels,
# and 11 points of them 9 pixels on a phone's 360.
SIDE, HEIGHT, WIDTH = 0.25, 3.0, 6.0
# Inches of the figure that leads a page: 1,000 pixels; and of one on a card, a third of that.
WIDE, NARROW = 10.4, 4.2
# A page begins with no more panels than that.
MOST_LEADING = 2
# Inches of a letter in the mean, and how much wider bold ones are.
LETTER, BOLD = 0.087, 1.17
# Columns of a mark with their values.
Columns = dict[str, Any]


@dataclass(frozen=True)
class Mark:
    """The marks of a series. numbers: those of NUMBERS, of one length; what is not given is NaN. text: of a note, which
    stands above, below or in the middle of its place; an infinite number is that edge of the panel."""

    kind: str
    series: str
    numbers: dict[str, Numbers]
    text: str = ""
    align: str = "left"
    place: str = "middle"


@dataclass
class Panel:
    """x, y: its axes. caption: how to read it. Series that begin with an underscore are in no legend."""

    x: Scale
    y: Scale
    title: str = ""
    height: float = HEIGHT
    caption: str = ""
    looks: dict[str, Look] = field(default_factory=dict)
    marks: list[Mark] = field(default_factory=list)

    def add(self, kind: str, series: str = "_ink", look: Look | None = None, /, **numbers: Any) -> None:
        """A mark for each number of the longest column, others repeated. look: of the series, from now on."""
        if look is not None:
            self.looks.setdefault(series, look)
        columns = (np.atleast_1d(np.asarray(numbers.get(name, math.nan), dtype=np.float64)) for name in NUMBERS)
        self.marks.append(Mark(kind, series, dict(zip(NUMBERS, np.broadcast_arrays(*columns), strict=True))))

    def note(self, text: str, x: float, y: float, series: str = "_soft", align: str = "left", place: str = "middle",
             kind: str = "note") -> None:  # fmt: skip
        self.add(kind, series, x=x, y=y)
        self.marks[-1] = replace(self.marks[-1], text=text, align=align, place=place)

    def regions(self, criterion: Criterion, axis: str = "x", times: Any = float,
                across: Sequence[float] = (-math.inf, math.inf), both_sides: bool = False) -> None:  # fmt: skip
        """Adds a criterion's claimed and refuted regions along an axis: the null dotted, the expected value dash-dotted. times:
        of a value, to lie on the axis; across: from where to where on the other one; both_sides: of an absolute value."""
        low, high, start, end = {"x": NUMBERS[2:], "y": (*NUMBERS[4:], *NUMBERS[2:4])}[axis]
        span = {start: across[0], end: across[1]}
        for rule, name in ((criterion.claimed, "_claimed"), (criterion.refuted, "_refuted")):
            for ends in rule.pieces:
                least, most = map(times, ends)
                self.add(REGION, name, **{low: least, high: most}, **span)
                if both_sides:
                    self.add(REGION, name, **{low: -most, high: -least}, **span)
        expected = criterion.expected.value if criterion.expected else None
        for value, name in ((criterion.null, "_null"), (None if expected == criterion.null else expected, "_expected")):
            if value is not None:
                self.add(RULE, name, **{axis: times(value)}, **span)

    def of(self, *kinds: str) -> list[Mark]:
        return [mark for mark in self.marks if mark.kind in kinds and len(mark.numbers["x"])]

    def look(self, series: str) -> Look:
        return self.looks.get(series) or LOOKS[series]

    @property
    def listed(self) -> list[str]:
        """The series that a legend names, in order."""
        there = (mark.series for mark in self.marks if len(mark.numbers["x"]))
        return list(dict.fromkeys(name for name in there if not name.startswith("_")))

    def limits(self, axis: str) -> tuple[float, float]:
        """The ends of an axis: as its scale says, or around all that lies along it."""
        names, scale = (("x", "left", "right"), self.x) if axis == "x" else (("y", "low", "high"), self.y)
        marks = self.of(*LINES, *POINTS, RULE, REGION)
        return scale.around(np.concatenate([[], *(mark.numbers[name] for mark in marks for name in names)]))


# Panels above each other that share an x axis.
Stack = tuple[Panel, ...]


@dataclass(frozen=True)
class Drawing:
    """Stacks, row by row of `columns` of them. width: inches."""

    stacks: tuple[Stack, ...]
    columns: int = 2
    width: float = WIDTH

    @property
    def panels(self) -> list[Panel]:
        return [panel for stack in self.stacks for panel in stack]


def leading(drawing: Drawing, names: Sequence[str] = ()) -> Drawing:
    """The same, broad: its first panels, side by side where there are several. names: of workloads whose panels come first."""
    first = tuple(name for name in names if name)
    stacks = sorted(drawing.stacks, key=lambda stack: not (first and stack[0].title.startswith(first)))
    return Drawing(tuple(stacks[:MOST_LEADING]), 2, WIDE)


def on_a_card(drawing: Drawing) -> Drawing:
    """Its first panel, small."""
    return Drawing(drawing.stacks[:1], 1, NARROW)


def grid(stacks: Sequence[Panel | Stack], columns: int = 2) -> Drawing | None:
    """Panels in rows; None if there are none."""
    whole = tuple(stack if isinstance(stack, tuple) else (stack,) for stack in stacks)
    return Drawing(whole, columns) if whole else None


def wrapped(text: str, inches: float) -> str:
    return "\n".join(textwrap.fill(line, max(12, int(inches / LETTER))) for line in text.split("\n"))


def across(estimate: Any, low: Any, high: Any) -> Columns:
    """An estimate's columns along x."""
    return {"x": estimate, "left": low, "right": high}


# What a caption says of marks and series that look alike in all figures; those in a legend say it themselves.
ALIKE = (
    ("_claimed", "Green: the claim holds; red: it fails."),
    ("_null", "Dotted: no difference."),
    ("_expected", "Dash-dotted: expected beforehand."),
    ("_beside", "Gray: for comparison, deciding nothing."),
    ("run", "Pale dots: single seeds."),
    (
        "above: over",
        "Dashed, or dotted: a loss that far above the best; on it the LR at which an arm gets there, with its 95% interval.",
    ),
    ("_one_sided", "Tests of one side have 90% intervals."),
)


def caption(drawing: Drawing) -> str:
    """The panels' own captions, and how to read the other marks that are there."""
    there = {name for panel in drawing.panels for mark in panel.marks for name in (mark.kind, mark.series)}
    own = dict.fromkeys(panel.caption for panel in drawing.panels if panel.caption)
    return " ".join([*own, *(words for name, words in ALIKE if any(mark_name.startswith(name) for mark_name in there))])


@dataclass(frozen=True)
class ClaimFigure:
    """A form that shows claims. name: as metrics name it (Observed.FIGURE). draw: None where there is nothing to draw; missing:
    what a page says then."""

    name: str
    draw: Callable[[TrialSet, Judgement], Drawing | None]
    missing: str = ""


@dataclass(frozen=True)
class StudyFigure:
    """A form that shows a whole study."""

    name: str
    draw: Callable[[TrialSet], Drawing | None]
