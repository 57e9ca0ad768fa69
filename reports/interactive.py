"""Figures that a reader can ask: the same lines and points as the static ones, as data for the plotting library of the site.

Read off the drawn figure itself, so that the two cannot differ.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation
from matplotlib.ticker import FixedFormatter, FuncFormatter
from matplotlib.transforms import Bbox

DASHES = {"-": "solid", "--": "dash", "-.": "dashdot", ":": "dot"}
MARKERS = {
    "o": "circle", "s": "square", "^": "triangle-up", "D": "diamond", "v": "triangle-down", "P": "cross", "X": "x", "*": "star",
    "<": "triangle-left", ">": "triangle-right", "p": "pentagon", "h": "hexagon", "x": "x-thin-open",
}  # fmt: skip
# Inches to pixels of a page, and pixels around the panels (site.js: draw).
PIXELS_AN_INCH = 96
MARGINS, LEGEND_ROW, MOST_LEGEND_ROWS = 100, 20, 6
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
        if text := axes.get_title(loc="left") or axes.get_title():
            title = {"text": f"<b>{_escaped(text)}</b>", "x": 0.0, "xanchor": "left", "align": "left", "y": 1.0}
            layout["annotations"].append({**title, "yanchor": "bottom", "showarrow": False, **where})
        names = _names(axes, shared)
        for trace in _traces(axes, names):
            traces.append({**trace, "xaxis": f"x{number}", "yaxis": f"y{number}"})
        layout["shapes"] += [{**shape, "xref": f"x{number}", "yref": f"y{number}"} for shape in _tints(axes)]
        layout["annotations"] += _texts(axes, number)
    _show_each_name_once(traces)
    listed = sum(bool(trace["showlegend"]) for trace in traces)
    # Panels are as high as drawn; above and below them is what site.js leaves for titles, labels and the legend.
    rows = min(MOST_LEGEND_ROWS, -(-listed // 3))
    layout["height"] = round(whole.height * figure.get_figheight() * PIXELS_AN_INCH + MARGINS + LEGEND_ROW * rows)
    return {"data": traces, "layout": layout}


def _traces(axes: Axes, names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for collection in axes.collections:
        if isinstance(collection, PolyCollection):
            yield from _bands(collection)
    for line in axes.lines:
        if len(np.atleast_1d(line.get_xdata())) and line.get_transform() == axes.transData:
            yield _line(line, names)


def _line(line: Line2D, names: Mapping[str, str]) -> dict[str, Any]:
    marker, dash = str(line.get_marker()), str(line.get_linestyle())
    drawn = [part for part, there in (("lines", dash in DASHES), ("markers", marker in MARKERS)) if there]
    colour = _hex(line.get_color())
    symbol = MARKERS.get(marker, "circle") + ("-open" if str(line.get_markerfacecolor()) == "none" else "")
    return {
        "type": "scatter",
        "mode": "+".join(drawn) or "lines",
        "name": _name(line.get_label(), colour, names),
        "x": _rounded(line.get_xdata()),
        "y": _rounded(line.get_ydata()),
        "line": {"color": colour, "width": round(1.4 * line.get_linewidth(), 1), "dash": DASHES.get(dash, "solid")},
        "opacity": 1 if line.get_alpha() is None else float(line.get_alpha() or 0),
        "marker": {"color": colour, "symbol": symbol, "size": round(1.3 * line.get_markersize(), 1)},
    }


def _bands(collection: PolyCollection) -> Iterator[dict[str, Any]]:
    """What lies between two lines, a trace for each piece."""
    fill = _rgba(np.asarray(collection.get_facecolor())[0])
    for path in collection.get_paths():
        corners = np.asarray(path.vertices, dtype=float)
        yield {
            "type": "scatter",
            "mode": "lines",
            "name": "",
            "x": _rounded(corners[:, 0]),
            "y": _rounded(corners[:, 1]),
            "fill": "toself",
            "fillcolor": fill,
            "line": {"width": 0},
            "hoverinfo": "skip",
            "showlegend": False,
        }


def _tints(axes: Axes) -> Iterator[dict[str, Any]]:
    """Regions of an axis."""
    for patch in axes.patches:
        if isinstance(patch, Rectangle):
            x, y = patch.get_xy()
            ends = dict(
                zip(("x0", "x1", "y0", "y1"), _rounded([x, x + patch.get_width(), y, y + patch.get_height()]), strict=True)
            )
            yield {"type": "rect", **ends, "fillcolor": _rgba(patch.get_facecolor()), "line": {"width": 0}, "layer": "below"}


def _texts(axes: Axes, number: str) -> Iterator[dict[str, Any]]:
    """What stands beside points, and at an end of a row."""
    for text in axes.texts:
        x, y = (float(value) for value in (text.xy if isinstance(text, Annotation) else text.get_position()))
        inside = isinstance(text, Annotation) and text.xycoords == ("axes fraction", "data")
        told = _escaped(text.get_text())
        yield {
            "text": f"<b>{told}</b>" if text.get_fontweight() == "bold" else told,
            "x": x if inside else _on_axis(axes.xaxis, x),
            "y": _on_axis(axes.yaxis, y),
            "xref": f"x{number} domain" if inside else f"x{number}",
            "yref": f"y{number}",
            "xanchor": text.get_horizontalalignment(),
            "yanchor": {"center": "middle", "baseline": "bottom"}.get(
                text.get_verticalalignment(), text.get_verticalalignment()
            ),
            "align": "left",
            "showarrow": False,
        }


def _on_axis(axis: Axis, value: float) -> float:
    """The library wants logarithms of what annotations stand at."""
    return float(f"{np.log10(value) if axis.get_scale() == 'log' else value:.{DIGITS}g}")


def _axis(axis: Axis) -> dict[str, Any]:
    """A scale that is neither linear nor logarithmic is shown as a logarithm; what is zero there is left out."""
    log = axis.get_scale() != "linear"
    low, high = sorted(axis.get_view_interval())
    ticks = [float(value) for value in axis.get_majorticklocs() if low <= value <= high and (value > 0 or not log)]
    formatter = axis.get_major_formatter()
    named = log or isinstance(formatter, FixedFormatter | FuncFormatter)
    shown: dict[str, Any] = {
        "title": {"text": _escaped(axis.get_label_text()), "standoff": 6},
        "type": "log" if log else "linear",
        "zeroline": False,
        "range": _rounded(np.log10([low, high]) if log and low > 0 else [low, high]),
    }
    if log and low <= 0:
        del shown["range"]
    if named:
        # A fixed formatter goes by the place among all ticks, whether they are in view or not.
        texts = dict(
            zip(
                axis.get_majorticklocs(),
                formatter.format_ticks([float(value) for value in axis.get_majorticklocs()]),
                strict=True,
            )
        )
        shown |= {"tickvals": _rounded(ticks), "ticktext": [_escaped(texts[value]) for value in ticks]}
        shown["automargin"] = isinstance(formatter, FixedFormatter)  # names are long
    elif not ticks:
        shown["showticklabels"] = False
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


def _rgba(colour: Any) -> str:
    red, green, blue, alpha = to_rgba(colour)
    return f"rgba({round(255 * red)},{round(255 * green)},{round(255 * blue)},{alpha:.2g})"


def _escaped(text: str) -> str:
    """The library takes some HTML in texts."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("\n", "<br>")


def _rounded(values: Any) -> list[float | None]:
    """Whole numbers, such as steps, without a decimal point."""
    rounded = [float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None for value in np.asarray(values, dtype=float)]
    return [int(value) if value is not None and value.is_integer() else value for value in rounded]
