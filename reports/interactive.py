"""Figures that a reader can ask: the same lines and points as the static ones, as data for the plotting library of the site.

Read off the drawn figure itself, so that the two cannot differ.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox

DASHES = {"-": "solid", "--": "dash", "-.": "dashdot", ":": "dot"}
MARKERS = {
    "o": "circle", "s": "square", "^": "triangle-up", "D": "diamond", "v": "triangle-down", "P": "cross", "X": "x", "*": "star",
    "<": "triangle-left", ">": "triangle-right", "p": "pentagon", "h": "hexagon",
}  # fmt: skip
# Inches to pixels of a page.
PIXELS_AN_INCH = 88
# In place of black, which a dark page would swallow.
GRAY = "#7f7f7f"
# More numbers than a screen can tell apart.
DIGITS = 5


def specification(figure: Figure) -> dict[str, Any]:
    """Traces and layout in the library's words: one set of axes a panel, logarithms and tick labels as drawn."""
    panels = [axes for axes in figure.axes if axes.get_visible()]
    whole = Bbox.union([axes.get_position() for axes in panels])  # the library adds margins of its own
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"annotations": [], "shapes": []}
    shared = [name for legend in figure.legends for name in zip(legend.legend_handles, legend.get_texts(), strict=True)]
    for index, axes in enumerate(panels):
        number = "" if index == 0 else str(index + 1)
        place = axes.get_position()
        across = [(x - whole.x0) / whole.width for x in (place.x0, place.x1)]
        up = [(y - whole.y0) / whole.height for y in (place.y0, place.y1)]
        layout[f"xaxis{number}"] = {**_axis(axes.xaxis), "domain": _rounded(across), "anchor": f"y{number}"}
        layout[f"yaxis{number}"] = {**_axis(axes.yaxis), "domain": _rounded(up), "anchor": f"x{number}"}
        where = {"xref": f"x{number} domain", "yref": f"y{number} domain"}
        if axes.get_title():
            title = {"text": _escaped(axes.get_title()), "x": 0.5, "y": 1.0, "yanchor": "bottom", "showarrow": False}
            layout["annotations"].append({**title, **where})
        names = _names(axes, shared)
        for trace in _traces(axes, names):
            traces.append({**trace, "xaxis": f"x{number}", "yaxis": f"y{number}"})
        layout["shapes"] += [{**shape, "xref": f"x{number}", "yref": f"y{number} domain"} for shape in _marks(axes)]
    _show_each_name_once(traces)
    layout["height"] = round(figure.get_figheight() * PIXELS_AN_INCH)
    return {"data": traces, "layout": layout}


def _traces(axes: Axes, names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    bars = [each for each in axes.containers if isinstance(each, ErrorbarContainer)]
    barred = {id(each.lines[0]) for each in bars}
    decoration = {id(cap) for each in bars for cap in each.lines[1]}
    for collection in axes.collections:
        if isinstance(collection, PathCollection):
            yield from _points(collection, names)
    for line in axes.lines:
        if id(line) in decoration or len(np.atleast_1d(line.get_xdata())) == 0 or line.get_transform() != axes.transData:
            continue
        trace = _line(line, names)
        if id(line) in barred:
            (bar,) = [each for each in bars if each.lines[0] is line]
            trace["error_y"] = _errors(bar, np.asarray(line.get_ydata(), dtype=float))
        yield trace


def _line(line: Line2D, names: Mapping[str, str]) -> dict[str, Any]:
    marker, dash = str(line.get_marker()), str(line.get_linestyle())
    drawn = [part for part, there in (("lines", dash in DASHES), ("markers", marker in MARKERS)) if there]
    colour = _hex(line.get_color())
    return {
        "type": "scatter",
        "mode": "+".join(drawn) or "lines",
        "name": _name(line.get_label(), colour, names),
        "x": _rounded(line.get_xdata()),
        "y": _rounded(line.get_ydata()),
        "line": {"color": colour, "width": round(1.4 * line.get_linewidth(), 1), "dash": DASHES.get(dash, "solid")},
        "marker": {"color": colour, "symbol": MARKERS.get(marker, "circle"), "size": round(1.3 * line.get_markersize(), 1)},
    }


def _points(collection: PathCollection, names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Single runs: a trace for each colour."""
    at = np.asarray(collection.get_offsets(), dtype=float)
    colours = [_hex(tuple(each)) for each in np.asarray(collection.get_facecolor())]
    of = np.array(colours * len(at) if len(colours) == 1 else colours)
    for colour in dict.fromkeys(colours):
        own = at[of == colour]
        yield {
            "type": "scatter",
            "mode": "markers",
            "name": _escaped(names.get(colour, "")),
            "x": _rounded(own[:, 0]),
            "y": _rounded(own[:, 1]),
            "marker": {"color": colour, "size": 4, "opacity": 0.4},
            "showlegend": False,
        }


def _errors(bar: ErrorbarContainer, y: Any) -> dict[str, Any]:
    (lines,) = [each for each in bar.lines[2] if isinstance(each, LineCollection)]
    ends = np.array([np.sort(segment[:, 1]) for segment in lines.get_segments()])
    return {
        "type": "data", "symmetric": False, "array": _rounded(ends[:, 1] - y), "arrayminus": _rounded(y - ends[:, 0]),
    }  # fmt: skip


def _marks(axes: Axes) -> Iterator[dict[str, Any]]:
    """Vertical lines."""
    for line in axes.lines:
        if len(np.atleast_1d(line.get_xdata())) == 2 and line.get_transform() != axes.transData:
            x = float(np.atleast_1d(line.get_xdata())[0])
            yield {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "line": {"dash": "dash", "width": 1, "color": GRAY}}


def _axis(axis: Axis) -> dict[str, Any]:
    """A scale that is neither linear nor logarithmic is shown as a logarithm; what is zero there is left out."""
    log = axis.get_scale() != "linear"
    low, high = sorted(axis.get_view_interval())
    ticks = [value for value in axis.get_majorticklocs() if low <= value <= high and (value > 0 or not log)]
    formatter = axis.get_major_formatter()
    shown: dict[str, Any] = {
        "title": {"text": _escaped(axis.get_label_text()), "standoff": 6},
        "type": "log" if log else "linear",
        "zeroline": False,
        "range": _rounded(np.log10([low, high]) if log and low > 0 else [low, high]),
    }
    if log and low <= 0:
        del shown["range"]
    if log and ticks:
        shown |= {"tickvals": _rounded(ticks), "ticktext": [formatter(value) for value in ticks]}
    return shown


def _names(axes: Axes, shared: Sequence[tuple[Any, Any]]) -> dict[str, str]:
    """Colour -> name, by the legends."""
    legend = axes.get_legend()
    own = [] if legend is None else list(zip(legend.legend_handles, legend.get_texts(), strict=True))
    return {_hex(handle.get_color()): text.get_text() for handle, text in [*own, *shared] if hasattr(handle, "get_color")}


def _name(label: object, colour: str, names: Mapping[str, str]) -> str:
    text = str(label)
    return _escaped(names.get(colour, "") if text.startswith("_") else text)


def _show_each_name_once(traces: Sequence[dict[str, Any]]) -> None:
    """Panels share a legend: a name switches all of its traces."""
    seen: set[str] = set()
    for trace in traces:
        trace["legendgroup"] = trace["name"]
        listed = trace.get("showlegend", True) and bool(trace["name"]) and trace["name"] not in seen
        trace["showlegend"] = listed
        if listed:
            seen.add(trace["name"])


def _hex(colour: Any) -> str:
    found = to_hex(colour)
    return GRAY if found == "#000000" else found


def _escaped(text: str) -> str:
    """The library takes some HTML in texts."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("\n", "<br>")


def _rounded(values: Any) -> list[float | None]:
    return [float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None for value in np.asarray(values, dtype=float)]
