"""Figures of computed numbers: where they come from."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from folklore.reports.colours import HUES, INK, LINES, MARKERS, SOFT
from folklore.reports.figures import (
    PANEL_HEIGHT,
    STYLE,
    WIDTH,
    few_ticks,
    legend_below,
    legend_rows,
    log_ticks,
    mark,
    panels,
)

CAPTION = "Computed, not trained; what is measured by seeds is drawn for the first of them."
HEIGHT = PANEL_HEIGHT * 0.8


def arithmetic_figure(plots: Sequence[Mapping[str, Any]]) -> Figure:
    """The plots of a claim (spec/computed.py), one below the other."""
    rows = max(legend_rows([each["name"] for each in plot["curves"]], WIDTH) for plot in plots)
    with mpl.rc_context(STYLE):
        figure, every = panels(len(plots), below=rows, height=HEIGHT, columns=1)
        for axes, plot in zip(every, plots, strict=True):
            _draw(axes, plot)
            legend_below(axes, WIDTH)
    return figure


def _draw(axes: Axes, plot: Mapping[str, Any]) -> None:
    for index, curve in enumerate(plot["curves"]):
        look = {"color": HUES[index], "linestyle": LINES[index % len(LINES)], "label": curve["name"]}
        marker = MARKERS[index] if curve["dots"] else None
        axes.plot(curve["x"], curve["y"], marker=marker, **look)
    axes.set(xlabel=plot["x_label"], ylabel=plot["y_label"])
    for axis, logarithmic in ((axes.xaxis, plot["log_x"]), (axes.yaxis, plot["log_y"])):
        if logarithmic:
            (axes.set_xscale if axis is axes.xaxis else axes.set_yscale)("log")
            log_ticks(axis)
        else:
            few_ticks(axis)
    for levels, upright in ((plot["levels"], True), (plot["places"], False)):
        for at, words in levels:
            mark(axes, at, ":", upright=upright, colour=SOFT)
            if words:
                _name(axes, at, words, upright)


def _name(axes: Axes, at: float, words: str, upright: bool) -> None:
    """Words beside a line, inside the panel."""
    place = (axes.get_xlim()[0], at) if upright else (at, axes.get_ylim()[0])
    axes.annotate(words, place, color=INK, xytext=(3, 3), textcoords="offset points", va="bottom")
