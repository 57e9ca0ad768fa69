"""A drawing as a picture: seaborn on matplotlib, one theme, a look for each kind of mark. Equal data gives equal bytes.

A kind of mark looks the same in all figures: a curve has markers and a pale band, what decides is thick and what stands beside
is thin, single runs are pale dots. A series has its colour, marker and line by the palette.
"""

import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from .drawing import LINES, NOTES, POINTS, RULE, Drawing, Panel, Row
from .layout import LEGEND_MARK, TEXT, WIDEST_ON_LINES, Layout, Legend, Placed, apart, laid_out, legend_columns, wrapped
from .palette import INK, SOFT, Look
from .scales import Scale, set_ticks
from .svg import compact

THEME: Any = {
    "svg.hashsalt": "folklore",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    **dict.fromkeys(("font.size", "axes.titlesize", "axes.labelsize", "legend.fontsize"), TEXT),
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize"), TEXT),
    **dict.fromkeys(("xtick.color", "ytick.color"), SOFT),
    **dict.fromkeys(("xtick.labelcolor", "ytick.labelcolor"), INK),
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": SOFT,
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "legend.columnspacing": 1.2,
    "legend.handletextpad": 0.5,
    "legend.borderaxespad": 0.0,
    "legend.borderpad": 0.0,
    "lines.linewidth": 1.5,
    "lines.markersize": 5,
}
DASHES: Mapping[str, Any] = {"-": "", "--": (4, 1.5), "-.": (5, 1.5, 1.2, 1.5), ":": (1.2, 1.4)}
# How each kind of mark looks: of lines seaborn's lineplot, of points its scatterplot; areas of points in square points.
MARKS: Mapping[str, Mapping[str, Any]] = {
    "curve": {"linewidth": 1.5, "markersize": 5, "markeredgewidth": 0},
    "line": {"linewidth": 1.6},
    "faint": {"linewidth": 1.0, "alpha": 0.55, "zorder": 1},
    "run": {"s": 11, "alpha": 0.35, "linewidth": 0, "zorder": 1.5},
    "beside": {"s": 28, "linewidth": 0, "zorder": 3},
    "estimate": {"s": 48, "linewidth": 0.6, "edgecolor": "white", "zorder": 4},
    "cross": {"s": 34, "linewidth": 1.6, "zorder": 4},
    "ring": {"s": 150, "linewidth": 1.6, "zorder": 5},
}
INTERVALS = {"estimate": 2.4, "beside": 1.3}  # their widths
BAND, NUMBER_TINT, TINTS = 0.18, 0.3, {"_claimed": 0.13, "_refuted": 0.13, "_soft": 0.2}
# Of a curve; of one with more points some have none.
MOST_MARKERS = 24


def as_figure(drawing: Drawing) -> Figure:
    layout = laid_out(drawing)
    with sns.axes_style("ticks", rc=THEME), mpl.rc_context(THEME):
        figure = Figure(figsize=(layout.width, layout.height))
        for each in layout.placed:
            high = each.panel.height
            box = (
                each.left / layout.width,
                1 - (each.top + high) / layout.height,
                each.width / layout.width,
                high / layout.height,
            )
            _draw(figure.add_axes(box), each)
        for legend in layout.legends:
            _legend(figure, legend, layout)
        return figure


def as_svg(drawing: Drawing) -> str:
    figure, buffer = as_figure(drawing), io.StringIO()
    with mpl.rc_context(THEME):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    return compact(buffer.getvalue())


def save(drawing: Drawing, path: Path) -> None:
    """`path` ends in .svg or .png."""
    with mpl.rc_context(THEME):
        as_figure(drawing).savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=150, facecolor="white")


def _draw(axes: Axes, placed: Placed) -> None:
    panel = placed.panel
    # All of an axis first: seaborn would make each tick's label that matplotlib thinks of, and take most of a figure's time.
    for name, scale, axis in (("x", panel.x, axes.xaxis), ("y", panel.y, axes.yaxis)):
        axes.set(**{f"{name}scale": "log" if scale.log else "linear", f"{name}lim": panel.limits(name)})
        set_ticks(axis, scale)
    axes.set_title(placed.title)
    axes.tick_params(labelbottom=placed.lowest)
    _plain(axes, panel.y)
    # Seaborn names an axis without a name after a column, and makes all labels of its ticks once more to see whether to.
    axes.set(xlabel=panel.x.label or " ", ylabel=placed.y_label or " ")
    for mark, rows in panel.frame.groupby("mark", sort=False):
        if mark in LINES:
            _lines(axes, panel, str(mark), rows)
        elif mark in POINTS:
            _points(axes, panel, str(mark), rows)
    for row, corners in panel.shapes():
        _shape(axes, panel.look(row.series), row, *corners)
    for row in panel.rows(*NOTES):
        _note(axes, panel.look(row.series), row)
    _name_lines(axes, placed)
    axes.set(xlabel=panel.x.label if placed.lowest else "", ylabel=placed.y_label)


def _plain(axes: Axes, scale: Scale) -> None:
    """Names are no numbers: rows have no line beside them."""
    if scale.names is not None or scale.hidden:
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
    for at, text in zip(axes.get_yticks(), axes.get_yticklabels(), strict=True) if scale.bold else ():
        text.set_fontweight("bold" if float(at) in scale.bold else "normal")


def _lines(axes: Axes, panel: Panel, mark: str, rows: pd.DataFrame) -> None:
    looks = {str(name): panel.look(str(name)) for name in dict.fromkeys(rows["series"])}
    for name, own in rows.groupby("series", sort=False):
        if np.isfinite(own["low"]).any():
            look = looks[str(name)]
            axes.fill_between(own["x"], own["low"], own["high"], color=look.colour, alpha=BAND, linewidth=0)
    style = dict(MARKS[mark])
    if mark == "curve":
        style |= {"markers": {name: look.marker for name, look in looks.items()}}
        style |= {"markevery": 0.12} if rows["series"].value_counts().max() > MOST_MARKERS else {}
    # A line ends where it has no number, and goes on behind.
    rows = rows.assign(piece=rows["y"].isna().groupby(rows["series"]).cumsum())
    sns.lineplot(
        rows, x="x", y="y", hue="series", style="series", units="piece", estimator=None, legend=False, ax=axes,
        palette={name: look.colour for name, look in looks.items()},
        dashes={name: DASHES[look.line] for name, look in looks.items()}, **style,
    )  # fmt: skip


def _points(axes: Axes, panel: Panel, mark: str, rows: pd.DataFrame) -> None:
    looks = {str(name): panel.look(str(name)) for name in dict.fromkeys(rows["series"])}
    colours = {name: look.colour for name, look in looks.items()}
    if mark in INTERVALS:
        for (low, high), along in ((("left", "right"), axes.hlines), (("low", "high"), axes.vlines)):
            own = rows[np.isfinite(rows[low]) & np.isfinite(rows[high])]
            if len(own):
                at = own["y"] if low == "left" else own["x"]
                along(at, own[low], own[high], colors=own["series"].map(colours).tolist(), linewidth=INTERVALS[mark])
    shapes: dict[str, Any] = {"style": "series", "markers": {name: look.marker for name, look in looks.items()}}
    shapes = {"ring": {"marker": "o", "facecolors": "none"}, "cross": {"marker": "x"}, "run": {"marker": "o"}}.get(mark, shapes)
    if mark == "ring":
        axes.scatter(rows["x"], rows["y"], edgecolors=rows["series"].map(colours).tolist(), **shapes, **MARKS[mark])
        return
    sns.scatterplot(rows, x="x", y="y", hue="series", palette=colours, legend=False, ax=axes, **shapes, **MARKS[mark])


def _shape(axes: Axes, look: Look, row: Row, left: float, right: float, low: float, high: float) -> None:
    if row.mark == RULE:
        style: Any = {"linestyle": look.line, "scalex": False, "scaley": False}
        axes.plot((left, right), (low, high), color=look.colour, linewidth=1.1, zorder=1, **style)
    else:
        alpha = TINTS.get(row.series, NUMBER_TINT)
        axes.add_patch(Rectangle((left, low), right - left, high - low, color=look.colour, alpha=alpha, linewidth=0, zorder=0))


def _note(axes: Axes, look: Look, row: Row) -> None:
    coordinates = tuple("axes fraction" if math.isinf(value) else "data" for value in (row.x, row.y))
    place = tuple(float(value > 0) if math.isinf(value) else value for value in (row.x, row.y))
    outside = row.align == "left" and row.x == math.inf
    shift = {"left": 5, "right": -5}.get(row.align, 0) if outside or not math.isinf(row.x) else 0
    lift = {"above": 5, "below": -5}.get(row.place, 0)
    axes.annotate(
        row.text, place, xycoords=coordinates, xytext=(shift, lift), textcoords="offset points", ha=row.align,  # type: ignore[arg-type]
        va={"above": "bottom", "below": "top"}.get(row.place, "center"), color=look.colour,
        fontweight="bold" if row.mark == "finding" else "normal", annotation_clip=False,
    )  # fmt: skip


def _name_lines(axes: Axes, placed: Placed) -> None:
    """Names at the right ends of lines, moved apart where they would cover each other."""
    panel = placed.panel
    frame = panel.frame
    ends = []
    for name in placed.named:
        own = frame[(frame["series"] == name) & frame["mark"].isin(LINES) & np.isfinite(frame["y"])].sort_values("x")
        at = axes.transAxes.inverted().transform(axes.transData.transform((own["x"].iloc[-1], own["y"].iloc[-1])))[1]
        ends.append((float(np.clip(at, 0, 1)), wrapped(name, WIDEST_ON_LINES), name))
    row = TEXT * 1.25 / 72 / panel.height
    heights = apart([(at, row * (text.count("\n") + 1)) for at, text, _ in sorted(ends)])
    for (_, text, name), height in zip(sorted(ends), heights, strict=True):
        axes.annotate(text, (1, height), xycoords="axes fraction", xytext=(6, 0), textcoords="offset points",
                      color=panel.look(name).colour, va="center", annotation_clip=False)  # fmt: skip


def _legend(figure: Figure, legend: Legend, layout: Layout) -> None:
    handles = [_handle(name, legend) for name in legend.names]
    labels = [wrapped(name, legend.width - LEGEND_MARK) for name in legend.names]
    place = legend.left / layout.width, 1 - legend.top / layout.height
    columns = legend_columns(legend.names, legend.width)
    figure.legend(handles, labels, loc="upper left", bbox_to_anchor=place, ncols=columns)


def _handle(name: str, legend: Legend) -> Line2D:
    panel = next(panel for panel in legend.panels if name in panel.listed)
    look, frame = panel.look(name), panel.frame
    marks = set(frame.loc[frame["series"] == name, "mark"])
    if marks <= {"ring"}:
        return Line2D([], [], color=look.colour, marker="o", markersize=9, markerfacecolor="none", linestyle="none")
    line: Any = look.line if marks & {*LINES, RULE} else "none"
    marker = "x" if marks <= {"cross"} else look.marker if marks - {"line", "faint", RULE} else "none"
    return Line2D([], [], color=look.colour, marker=marker, linestyle=line)
