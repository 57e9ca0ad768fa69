"""A drawing as a picture: seaborn's theme on matplotlib, a look for each kind of mark. Equal data gives equal bytes.

A kind of mark looks the same in all figures: a curve has markers and a pale band, what decides is thick and what stands beside
is thin, single runs are pale dots. A series has its colour, marker and line by the palette.
"""

import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product, zip_longest
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation

from ...harness.declare.trials import Numbers
from .drawing import BOLD, LETTER, LINES, NOTES, POINTS, REGION, RULE, SIDE, Drawing, Mark, Panel, Stack, wrapped
from .palette import INK, SOFT, Look
from .scales import FONT, TEXT, inches, set_ticks

# What a browser makes of inches.
PIXELS_AN_INCH = 96
# Inches around a stack, for its labels and its title; between names and their axis; of a line of a label, of a title, of a
# legend, of what stands before its names.
LEFT, RIGHT, BOTTOM, TOP, BESIDE = 0.85, 0.2, 0.58, 0.14, 0.12
LABEL_ROW, TITLE_ROW, LEGEND_ROW, LEGEND_MARK, GAP = 0.19, 0.2, 0.23, 0.6, 0.1
THEME: Any = {
    "svg.hashsalt": "folklore",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": [FONT],
    **dict.fromkeys(("font.size", "axes.titlesize", "axes.labelsize", "legend.fontsize"), TEXT),
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize"), TEXT),
    **dict.fromkeys(("xtick.color", "ytick.color", "axes.edgecolor"), SOFT),
    **dict.fromkeys(("xtick.labelcolor", "ytick.labelcolor"), INK),
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "legend.columnspacing": 1.2,
    "legend.handletextpad": 0.5,
    "legend.borderaxespad": 0.0,
    "legend.borderpad": 0.0,
}
# How each kind of mark looks: of lines as matplotlib's plot takes it, of points as its scatter; areas in square points.
MARKS: Mapping[str, Mapping[str, Any]] = {
    "curve": {"linewidth": 1.5, "markersize": 5, "markeredgewidth": 0},
    "line": {"linewidth": 1.6},
    "faint": {"linewidth": 1.0, "alpha": 0.55, "zorder": 1},
    "run": {"s": 11, "alpha": 0.35, "linewidth": 0, "zorder": 1.5, "marker": "o"},
    "beside": {"s": 28, "linewidth": 0, "zorder": 3},
    "estimate": {"s": 48, "linewidth": 0.6, "edgecolor": "white", "zorder": 4},
    "cross": {"s": 34, "linewidth": 1.6, "zorder": 4, "marker": "x"},
    "ring": {"s": 150, "linewidth": 1.6, "zorder": 5, "marker": "o", "facecolor": "none"},
}
INTERVALS = {"estimate": 2.4, "beside": 1.3}  # their widths
BAND, NUMBER_TINT, TINTS = 0.18, 0.3, {"_claimed": 0.13, "_refuted": 0.13, "_soft": 0.2}
# The other side of a note.
OTHER = {"left": "right", "right": "left", "above": "below", "below": "above"}
# Points by which a note may stand above its place; farther away it would be taken for another ring's.
LIFTS = (0, 12, -12, 24, -24, 6, -6, 18, -18)
# Markers of a curve; with more points, some have none.
MOST_MARKERS = 24


@dataclass(frozen=True)
class Placed:
    """A panel in its figure, in inches. label: of its x axis, in lines; None: it shares that of the panel below."""

    panel: Panel
    left: float
    top: float
    width: float
    title: str
    label: str | None


@dataclass(frozen=True)
class Legend:
    """The names of panels below their stack, or of all of them above."""

    panels: Sequence[Panel]
    names: tuple[str, ...]
    left: float
    top: float
    width: float

    @property
    def labels(self) -> list[str]:
        return [wrapped(name, self.width - LEGEND_MARK) for name in self.names]

    @property
    def columns(self) -> int:
        longest = max(len(line) for label in self.labels for line in label.split("\n"))
        return max(1, min(len(self.names), int(self.width / (longest * LETTER + LEGEND_MARK))))

    @property
    def height(self) -> float:
        """Names that are too long for a line have several."""
        lines, rows = [label.count("\n") + 1 for label in self.labels], -(-len(self.names) // self.columns)
        return LEGEND_ROW * max(sum(lines[at : at + rows]) for at in range(0, len(lines), rows))


@dataclass(frozen=True)
class Layout:
    height: float
    placed: tuple[Placed, ...]
    legends: tuple[Legend, ...]


def laid_out(drawing: Drawing) -> Layout:
    shared, width = _shared(drawing), drawing.width
    legends = [Legend(drawing.panels, shared, 0.05, 0.08, width)] if shared else []
    placed: list[Placed] = []
    top = sum(0.08 + legend.height for legend in legends)
    rows = [_row(drawing.stacks[at : at + drawing.columns]) for at in range(0, len(drawing.stacks), drawing.columns)]
    margins = [max(_margin(panel) for stack in column for panel in stack) for column in zip_longest(*rows, fillvalue=())]
    inside = (width - sum(margins)) / len(margins) - RIGHT
    for row in rows:
        titles = [wrapped(stack[0].title, inside / BOLD) for stack in row]
        head = TOP + TITLE_ROW * max(title.count("\n") + bool(title) for title in titles)
        start, bottom = 0.0, top
        labels = [wrapped(stack[-1].x.label, inside + RIGHT) for stack in row]
        for stack, title, label, margin in zip(row, titles, labels, margins, strict=False):
            below = top + head
            for panel in stack:
                of_stack = title if panel is stack[0] else ""
                placed.append(Placed(panel, start + margin, below, inside, of_stack, label if panel is stack[-1] else None))
                below += panel.height + GAP
            below += BOTTOM - GAP + LABEL_ROW * label.count("\n")
            if (names := _listed(stack)) and not shared:
                legends.append(Legend(stack, names, start + 0.1, below, margin + inside + RIGHT - 0.1))
                below += legends[-1].height
            start, bottom = start + margin + inside + RIGHT, max(bottom, below)
        top = bottom
    return Layout(top + 0.05, tuple(placed), tuple(legends))


def _row(stacks: Sequence[Stack]) -> list[Stack]:
    """Names that stand left of a panel do not stand between the two again."""
    row = list(stacks[:1])
    for before, stack in pairwise(stacks):
        taken = [panel.y.names for panel in before if panel.y.names]
        row.append(tuple(replace(it, y=replace(it.y, names={})) if it.y.names in taken else it for it in stack))
    return row


def _margin(panel: Panel) -> float:
    """Inches left of a panel, for the numbers or names of its y axis and its label."""
    widest = max(map(inches, panel.y.places(*panel.limits("y")).values()), default=0.0)
    if panel.y.names is not None:
        return widest + BESIDE if widest else SIDE
    return max(LEFT, widest + BESIDE + LABEL_ROW * (2 + _upright(panel).count("\n")))


def _upright(panel: Panel) -> str:
    """The label of the y axis, in lines that are little longer than the panel is high."""
    return wrapped(panel.y.label, panel.height + BOTTOM)


def _listed(panels: Sequence[Panel]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for panel in panels for name in panel.listed))


def _shared(drawing: Drawing) -> tuple[str, ...]:
    """The names of all series where one legend does for stacks that have nearly the same; else none."""
    names, of_stacks = _listed(drawing.panels), [_listed(stack) for stack in drawing.stacks]
    looks = {(name, panel.look(name)) for panel in drawing.panels for name in panel.listed}
    often = len(of_stacks) > 1 and len(names) <= 0.6 * sum(map(len, of_stacks))
    return names if often and len(looks) == len(names) else ()


def pixels(drawing: Drawing) -> tuple[str, str]:
    """Width and height on a page."""
    return str(round(PIXELS_AN_INCH * drawing.width)), str(round(PIXELS_AN_INCH * laid_out(drawing).height))


def as_figure(drawing: Drawing) -> Figure:
    layout, width = laid_out(drawing), drawing.width
    with sns.axes_style("ticks", rc=THEME), mpl.rc_context(THEME):
        figure = Figure(figsize=(width, layout.height))
        FigureCanvasAgg(figure)  # which measures text
        for placed in layout.placed:
            bottom, high = placed.top + placed.panel.height, placed.panel.height / layout.height
            box = placed.left / width, 1 - bottom / layout.height, placed.width / width, high
            _draw(figure.add_axes(box), placed)
        for legend in layout.legends:
            handles = [_handle(name, legend.panels) for name in legend.names]
            place = legend.left / width, 1 - legend.top / layout.height
            figure.legend(handles, legend.labels, loc="upper left", bbox_to_anchor=place, ncols=legend.columns)
        return figure


def as_svg(drawing: Drawing) -> str:
    buffer = io.StringIO()
    with mpl.rc_context(THEME):
        figure = as_figure(drawing)
        figure.savefig(buffer, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")), transparent=True)
    text = re.sub(r">\s+<", "><", buffer.getvalue())
    # A hundredth of a point is enough for what stands somewhere, which is most of a file.
    return re.sub(r'\b[dxy]="[^"]*"', lambda place: re.sub(r"(\.\d\d)\d+", r"\1", place[0]), text[text.index("<svg") :])


def save(drawing: Drawing, path: Path) -> None:
    """`path` ends in .svg or .png."""
    with mpl.rc_context(THEME):
        as_figure(drawing).savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=150, facecolor="white")


def _draw(axes: Axes, placed: Placed) -> None:
    panel = placed.panel
    for name, scale, axis in (("x", panel.x, axes.xaxis), ("y", panel.y, axes.yaxis)):
        axes.set(**{f"{name}scale": "log" if scale.log else "linear", f"{name}lim": panel.limits(name)})
        set_ticks(axis, scale, placed.width if name == "x" else math.inf)
    axes.set(xlabel=placed.label or "", ylabel=_upright(panel))
    axes.set_title(placed.title)
    axes.tick_params(labelbottom=placed.label is not None)
    if panel.y.names is not None:  # names are no numbers: rows have no line beside them
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
    for kinds, drawn in ((LINES, _line), (POINTS, _points), ((RULE, REGION), _shape), (NOTES, _note)):
        for mark in panel.of(*kinds):
            drawn(axes, panel.look(mark.series), mark)


def _line(axes: Axes, look: Look, mark: Mark) -> None:
    x, y, low, high = (mark.numbers[name] for name in ("x", "y", "low", "high"))
    if np.isfinite(low).any():
        axes.fill_between(x, low, high, color=look.colour, alpha=BAND, linewidth=0)
    marker: Any = {"marker": look.marker, "markevery": 0.12 if len(x) > MOST_MARKERS else 1} if mark.kind == "curve" else {}
    axes.plot(x, y, color=look.colour, linestyle=look.line, **marker, **MARKS[mark.kind])


def _points(axes: Axes, look: Look, mark: Mark) -> None:
    x, y, left, right, low, high = mark.numbers.values()
    for at, start, end, along in ((y, left, right, axes.hlines), (x, low, high, axes.vlines)):
        if mark.kind in INTERVALS and np.isfinite(start).any():
            along(at, start, end, colors=look.colour, linewidth=INTERVALS[mark.kind])
    colour = {"ring": "edgecolor"}.get(mark.kind, "color")
    style: Any = {"marker": look.marker, **({colour: look.colour}), **MARKS[mark.kind]}
    axes.scatter(x, y, **style)


def _shape(axes: Axes, look: Look, mark: Mark) -> None:
    limits = axes.get_xlim(), axes.get_ylim()
    x, y = (_ends(mark, *of) for of in zip((("x", "left", "right"), ("y", "low", "high")), limits, strict=True))
    if mark.kind == RULE:
        axes.plot(x, y, color=look.colour, linestyle=look.line, linewidth=1.1, zorder=1)
    else:
        (x0, x1), (y0, y1) = (np.clip(ends, *within) for ends, within in zip((x, y), limits, strict=True))
        tint = TINTS.get(mark.series, NUMBER_TINT)
        axes.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, color=look.colour, alpha=tint, linewidth=0, zorder=0))


def _ends(mark: Mark, names: Sequence[str], limits: tuple[float, float]) -> Numbers:
    """The ends of a shape: at a value or from where to where; without a number the panel's."""
    at, low, high = (mark.numbers[name][0] for name in names)
    both = np.array([at, at] if math.isfinite(at) else [low, high])
    return np.where(np.isfinite(both), both, limits)


def _note(axes: Axes, look: Look, mark: Mark) -> None:
    """At the first of the places around its own that no line crosses and no other note covers; if there is none, at its
    own."""
    for lift, across, down in product(LIFTS, (1, -1), (1, -1)):
        note = _annotated(axes, look, _turned(mark, across, down), lift)
        if not _covered(axes, note):
            return
        note.remove()
    _annotated(axes, look, mark)


def _turned(mark: Mark, across: int, down: int) -> Mark:
    """A note on the other side of its place, and of the panel where that is an edge of it."""
    align, place = OTHER.get(mark.align, mark.align), OTHER.get(mark.place, mark.place)
    x, y = (
        np.where(np.isinf(mark.numbers[name]), sign * mark.numbers[name], mark.numbers[name])
        for name, sign in (("x", across), ("y", down))
    )
    return replace(
        mark,
        numbers=mark.numbers | {"x": x, "y": y},
        align=mark.align if across > 0 else align,
        place=mark.place if down > 0 else place,
    )


def _covered(axes: Axes, note: Annotation) -> bool:
    """Whether a line, another note or the axis below it covers it."""
    box = note.get_window_extent()
    lines = (line.get_path().transformed(line.get_transform()) for line in axes.lines)
    others = (text.get_window_extent() for text in axes.texts if text is not note)
    crossed = any(line.intersects_bbox(box, filled=False) for line in lines) or any(map(box.overlaps, others))
    return crossed or box.y0 < axes.bbox.y0


def _annotated(axes: Axes, look: Look, mark: Mark, lift: int = 0) -> Annotation:
    """lift: points above where it would stand."""
    x, y = float(mark.numbers["x"][0]), float(mark.numbers["y"][0])
    coordinates = tuple("axes fraction" if math.isinf(value) else "data" for value in (x, y))
    place = tuple(float(value > 0) if math.isinf(value) else value for value in (x, y))
    beside = {"left": 5, "right": -5}.get(mark.align, 0) if math.isfinite(x) or (x > 0) == (mark.align == "left") else 0
    above = {"above": 5, "below": -5}.get(mark.place, 0)
    return axes.annotate(
        mark.text, place, xycoords=coordinates, xytext=(beside, above + lift),  # type: ignore[arg-type]
        textcoords="offset points", ha=mark.align, va={"above": "bottom", "below": "top"}.get(mark.place, "center"),
        color=look.colour, fontweight="bold" if mark.kind == "finding" else "normal", annotation_clip=False,
    )  # fmt: skip


def _handle(name: str, panels: Sequence[Panel]) -> Line2D:
    panel = next(panel for panel in panels if name in panel.listed)
    look, kinds = panel.look(name), {mark.kind for mark in panel.marks if mark.series == name}
    line: Any = look.line if kinds & {*LINES, RULE} else "none"
    marker = look.marker if kinds - {"line", "faint", RULE} else "none"
    return Line2D([], [], color=look.colour, marker=marker, linestyle=line, fillstyle="none" if kinds == {"ring"} else "full")
