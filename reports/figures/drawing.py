"""What a figure holds before anything is drawn: panels with their axes, and in each a tidy frame of marks. And what it is to
the pages: a name, a caption, and a function that makes its drawing of trials."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...harness.declare import Criterion, Judgement
from ...harness.judge.trial_sets import TrialSet
from .palette import LOOKS, Look
from .scales import Scale

# What a row can be (how each looks: render.MARKS).
LINES = ("curve", "line", "faint")  # with a 95% band from low to high where these are given; a curve has markers
POINTS = ("estimate", "beside", "run", "ring", "cross")  # with an interval: from left to right, or from low to high
RULE, REGION = "rule", "region"  # a straight line at x or at y; what lies from left to right and from low to high
NOTES = ("note", "finding")  # words; a finding stands out


class Row(NamedTuple):
    """One thing to see; a number that is not given is NaN, and a text is empty."""

    mark: str
    series: str
    x: float
    y: float
    left: float
    right: float
    low: float
    high: float
    text: str
    align: str
    place: str


COLUMNS = Row._fields
NUMBERS = COLUMNS[2:8]
# Inches of what is inside a panel, and of a figure: 6 inches are 576 pixels, and 11 points of them 9 pixels on a phone's 360.
HEIGHT, WIDTH = 3.0, 6.0
# Of the figure that leads a page: 1,000 pixels; and of one on a card, a third of that.
WIDE, NARROW = 10.4, 4.2
# A page begins with no more panels than that.
MOST_LEADING = 2


@dataclass
class Panel:
    """x, y: its axes. names: inches left of it for names on its y axis; beside: inches right of it. Series that begin with an
    underscore are in no legend."""

    x: Scale
    y: Scale
    title: str = ""
    height: float = HEIGHT
    names: float = 0.0
    beside: float = 0.0
    looks: dict[str, Look] = field(default_factory=dict)
    added: list[dict[str, NDArray[Any]]] = field(default_factory=list)
    _frame: pd.DataFrame | None = None

    def add(self, mark: str, series: str = "_ink", look: Look | None = None, **columns: Any) -> None:
        """Rows of the frame: one for each number of its longest column, others repeated. look: of the series, from now on."""
        if look is not None:
            self.looks.setdefault(series, look)
        length = max((len(value) for value in columns.values() if isinstance(value, np.ndarray | list | tuple)), default=1)
        values = {"mark": mark, "series": series, **columns}
        self.added.append({name: _column(name, values.get(name), length) for name in COLUMNS})
        self._frame = None

    def note(self, text: str, x: float, y: float, series: str = "_soft", align: str = "left", place: str = "middle",
             mark: str = "note") -> None:  # fmt: skip
        """Words at a place; infinite: at that edge of the panel. place: of the words, above, below or in the middle of it."""
        self.add(mark, series, x=x, y=y, text=text, align=align, place=place)

    def regions(self, criterion: Criterion, axis: str = "x", times: Any = float,
                across: Sequence[float] = (-math.inf, math.inf), both_sides: bool = False) -> None:  # fmt: skip
        """What a criterion claims and what refutes it along an axis: the null dotted, the expected value dash-dotted. times:
        of a value, to lie on the axis; across: from where to where on the other one; both_sides: of an absolute value."""
        ends = {"x": ("left", "right", "low", "high"), "y": ("low", "high", "left", "right")}[axis]
        for rule, name in ((criterion.claimed, "_claimed"), (criterion.refuted, "_refuted")):
            for low, high in rule.pieces:
                self.add(REGION, name, **dict(zip(ends, (times(low), times(high), *across), strict=True)))
                if both_sides:
                    self.add(REGION, name, **dict(zip(ends, (-times(high), -times(low), *across), strict=True)))
        expected = criterion.expected.value if criterion.expected else None
        lines = [(criterion.null, "_null"), (None if expected == criterion.null else expected, "_expected")]
        for value, name in lines:
            if value is not None:
                self.add(RULE, name, **{axis: times(value), **dict(zip(ends[2:], across, strict=True))})

    @property
    def frame(self) -> pd.DataFrame:
        """One row for each thing to see. Texts are plain objects: columns of Arrow's strings cost ten times as much here."""
        if self._frame is None:
            whole = {name: np.concatenate([_column(name, None, 0), *(each[name] for each in self.added)]) for name in COLUMNS}
            self._frame = pd.DataFrame({name: pd.Series(values, dtype=values.dtype) for name, values in whole.items()})
        return self._frame

    def rows(self, *marks: str) -> Iterator[Row]:
        """Of these marks, one by one."""
        for columns in self._of(*marks):
            yield from (Row(*values) for values in zip(*(columns[name].tolist() for name in COLUMNS), strict=True))

    def _of(self, *marks: str) -> list[dict[str, NDArray[Any]]]:
        """What was added of these marks, or of all. Not by the frame: figures ask thousands of times, and pandas is slow for a
        few rows."""
        return [columns for columns in self.added if len(columns["mark"]) and (not marks or columns["mark"][0] in marks)]

    def shapes(self) -> Iterator[tuple[Row, tuple[float, float, float, float]]]:
        """Rules and regions, each with its left, right, lower and upper end within the panel."""
        x_limits, y_limits = self.limits("x"), self.limits("y")
        for row in self.rows(RULE, REGION):
            left, right = _within(row.x, row.left, row.right, *x_limits)
            low, high = _within(row.y, row.low, row.high, *y_limits)
            if left <= right and low <= high:
                yield row, (left, right, low, high)

    def look(self, series: str) -> Look:
        return self.looks.get(series) or LOOKS[series]

    @property
    def marks(self) -> set[str]:
        return {columns["mark"][0] for columns in self._of()}

    def series(self, *marks: str) -> list[str]:
        """Those that have one of these marks, or any, in order."""
        return list(dict.fromkeys(name for columns in self._of(*marks) for name in columns["series"].tolist()))

    @property
    def listed(self) -> list[str]:
        """The series that a legend names, in order."""
        return [name for name in self.series() if not name.startswith("_")]

    def limits(self, axis: str) -> tuple[float, float]:
        """The ends of an axis: as its scale says, or around all points, lines and intervals."""
        names, scale = (("x", "left", "right"), self.x) if axis == "x" else (("y", "low", "high"), self.y)
        seen = [columns[name] for columns in self._of(*LINES, *POINTS) for name in names]
        return scale.around(np.concatenate(seen) if seen else [])


def _column(name: str, value: Any, length: int) -> NDArray[Any]:
    """A value, or several, as this many rows have it; what was not given is no number, or no text."""
    number = name in NUMBERS
    given = value if value is not None else math.nan if number else ""
    return np.full(length, given, dtype=np.float64 if number else object)


def _within(at: float, low: float, high: float, least: float, most: float) -> tuple[float, float]:
    """Two ends within limits, at a value or from where to where; a number that is not there is no end."""
    low, high = (at, at) if math.isfinite(at) else (low, high)
    return least if math.isnan(low) else max(low, least), most if math.isnan(high) else min(high, most)


# Columns of a frame with their values.
Columns = dict[str, Any]
# Panels above each other that share an x axis.
Stack = tuple[Panel, ...]


@dataclass(frozen=True)
class Drawing:
    """rows: of stacks that stand side by side. width: inches."""

    rows: tuple[tuple[Stack, ...], ...]
    width: float = WIDTH

    @property
    def panels(self) -> list[Panel]:
        return [panel for row in self.rows for stack in row for panel in stack]

    @property
    def frame(self) -> pd.DataFrame:
        """All there is to see, with the number of its panel."""
        return pd.concat([panel.frame.assign(panel=index) for index, panel in enumerate(self.panels)], ignore_index=True)


def leading(drawing: Drawing, names: Sequence[str] = ()) -> Drawing:
    """The same, broad: its first panels, side by side where there are several. names: of workloads whose panels come first."""
    stacks = [stack for row in drawing.rows for stack in row]
    first = [next((each for each in stacks if each[0].title.startswith(name)), None) for name in names if name]
    named = [each for each in first if each is not None]
    stacks = [*named, *(each for each in stacks if not any(each is other for other in named))][:MOST_LEADING]
    columns = 1 if len(stacks) == 1 else 2
    return Drawing(tuple(tuple(stacks[at : at + columns]) for at in range(0, len(stacks), columns)), WIDE)


def on_a_card(drawing: Drawing) -> Drawing:
    """Its first panel, small."""
    return Drawing((drawing.rows[0][:1],), NARROW)


def grid(stacks: Sequence[Panel | Stack], columns: int = 2) -> Drawing | None:
    """Panels in rows; None if there are none."""
    whole = [each if isinstance(each, tuple) else (each,) for each in stacks]
    return Drawing(tuple(tuple(whole[at : at + columns]) for at in range(0, len(whole), columns))) if whole else None


def across(estimate: Any, low: Any, high: Any) -> Columns:
    """An estimate's columns along x."""
    return {"x": estimate, "left": low, "right": high}


def upright(estimate: Any, low: Any, high: Any) -> Columns:
    """An estimate's columns along y."""
    return {"y": estimate, "low": low, "high": high}


# What a caption says of marks and series that look alike in all figures; those in a legend say it themselves.
ALIKE = (
    ("_claimed", "Green: the claim holds; red: it fails."),
    ("_null", "Dotted: no difference."),
    ("_expected", "Dash-dotted: expected beforehand."),
    ("_beside", "Gray: for comparison, deciding nothing."),
    ("run", "Pale dots: single seeds."),
    ("above: over", "Dashed: a loss that far above the best; on it the LR at which an arm gets there, with its 95% interval."),
    ("_one_sided", "Tests of one side have 90% intervals."),
    ("_beyond", "An arrow points to a value beyond the axis."),
)


def caption(own: str, drawing: Drawing) -> str:
    """What a figure says itself, and how to read whatever else this one holds."""
    there = {name for panel in drawing.panels for name in (*panel.marks, *panel.series())}
    return " ".join([own, *(words for name, words in ALIKE if any(each.startswith(name) for each in there))])


@dataclass(frozen=True)
class ClaimFigure:
    """What shows a claim. name: as metrics name it (Observed.FIGURE). caption: what it shows, besides what looks alike in all
    figures. draw: None where there is
    nothing to draw; missing: what a page says then."""

    name: str
    caption: str
    draw: Callable[[TrialSet, Judgement], Drawing | None]
    missing: str = ""


@dataclass(frozen=True)
class StudyFigure:
    """What shows a whole study."""

    name: str
    caption: str
    draw: Callable[[TrialSet], Drawing | None]
