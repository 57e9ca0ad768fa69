"""Figures that a reader can ask: the frame of a drawing as data for the plotting library of the site (plotly.js)."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from .drawing import LINES, NOTES, POINTS, RULE, Drawing, Panel
from .layout import LEGEND_ROW, PIXELS_AN_INCH, Placed, laid_out
from .palette import Look
from .render import BAND, INTERVALS, NUMBER_TINT, TINTS
from .scales import Scale

DASHES = {"-": "solid", "--": "dash", "-.": "dashdot", ":": "dot"}
SYMBOLS = {
    "o": "circle", "s": "square", "^": "triangle-up", "D": "diamond", "v": "triangle-down", "P": "cross", "X": "x", "*": "star",
    "<": "triangle-left", ">": "triangle-right", "p": "pentagon", "h": "hexagon",
}  # fmt: skip
# Of marks that are no curves: plotly's symbol, where it is not the series's, size and opacity.
MARKS = {"run": ("circle", 5, 0.35), "ring": ("circle-open", 16, 1.0), "cross": ("x-thin-open", 8, 1.0)}
# Pixels around the panels (site.js: draw).
MARGINS, MOST_LEGEND_ROWS = 100, 6
# More numbers than a screen can tell apart.
DIGITS = 5
# In place of ink, which a dark page would swallow.
GRAY = "#7f7f7f"


def specification(drawing: Drawing) -> dict[str, Any]:
    """Traces and layout in the library's words: one set of axes a panel."""
    layout = laid_out(drawing)
    traces: list[dict[str, Any]] = []
    shown: dict[str, Any] = {"annotations": [], "shapes": []}
    # From the first panel to the last: the library adds margins of its own.
    top = min(each.top for each in layout.placed)
    bottom = max(each.top + each.panel.height for each in layout.placed)
    for index, placed in enumerate(layout.placed):
        number, panel = "" if index == 0 else str(index + 1), placed.panel
        x, y = f"x{number}", f"y{number}"
        left = placed.left / drawing.width
        domains = {"x": [left, left + placed.width / drawing.width]}
        domains["y"] = [1 - (at - top) / (bottom - top) for at in (placed.top + panel.height, placed.top)]
        for name, label, other in (("x", panel.x.label if placed.lowest else "", y), ("y", placed.y_label, x)):
            scale, ends = getattr(panel, name), panel.limits(name)
            shown[f"{name}axis{number}"] = {**_axis(scale, label, *ends), "domain": _rounded(domains[name]), "anchor": other}
        shown[f"xaxis{number}"]["showticklabels"] = placed.lowest
        traces += [{**trace, "xaxis": x, "yaxis": y} for trace in _traces(panel)]
        shown["shapes"] += [{**shape, "xref": x, "yref": y} for shape in _shapes(panel)]
        shown["annotations"] += [{**note, "showarrow": False, "align": "left"} for note in _notes(placed, x, y)]
    _show_each_name_once(traces)
    rows = min(MOST_LEGEND_ROWS, -(-sum(trace["showlegend"] for trace in traces) // 3))
    shown["height"] = round((bottom - top) * PIXELS_AN_INCH + MARGINS + LEGEND_ROW * PIXELS_AN_INCH * rows)
    return {"data": traces, "layout": shown}


def _axis(scale: Scale, label: str, low: float, high: float) -> dict[str, Any]:
    places = scale.places(low, high)
    ends = np.log10([low, high]) if scale.log else [low, high]
    return {
        "title": {"text": _escaped(label), "standoff": 6},
        "type": "log" if scale.log else "linear",
        "zeroline": False,
        "range": _rounded(ends),
        "tickvals": _rounded(list(places)),
        "ticktext": [_escaped(text) for text in places.values()],
        "automargin": scale.names is not None,
    }


def _traces(panel: Panel) -> Iterator[dict[str, Any]]:
    for (mark, series), rows in panel.frame.groupby(["mark", "series"], sort=False):
        if mark in (*LINES, *POINTS):
            look = panel.look(str(series))
            name = "" if str(series).startswith("_") else _escaped(str(series))
            if mark in LINES and np.isfinite(rows["low"]).any():
                yield _band(rows, look, name)
            yield {"type": "scatter", "name": name, "x": _rounded(rows["x"]), "y": _rounded(rows["y"])} | (
                _line(str(mark), look) if mark in LINES else _points(str(mark), look, rows)
            )


def _line(mark: str, look: Look) -> dict[str, Any]:
    line = {"color": _colour(look), "dash": DASHES.get(look.line, "solid"), "width": 1.2 if mark == "faint" else 2}
    if mark != "curve":
        return {"mode": "lines", "line": line, **({"opacity": 0.6} if mark == "faint" else {})}
    return {
        "mode": "lines+markers",
        "line": line,
        "marker": {"symbol": SYMBOLS[look.marker], "size": 6, "color": line["color"]},
    }


def _points(mark: str, look: Look, rows: pd.DataFrame) -> dict[str, Any]:
    symbol, size, opacity = MARKS.get(mark, (SYMBOLS.get(look.marker, "circle"), 9 if mark == "estimate" else 7, 1.0))
    shown: dict[str, Any] = {"mode": "markers", **({"opacity": opacity} if opacity < 1 else {})}
    shown["marker"] = {"symbol": symbol, "size": size, "color": _colour(look)}
    for axis, low, high in (("x", "left", "right"), ("y", "low", "high")):
        if mark in INTERVALS and np.isfinite(rows[low]).any():
            above, below = _rounded(rows[high] - rows[axis]), _rounded(rows[axis] - rows[low])
            ends = {"array": above} if above == below else {"symmetric": False, "array": above, "arrayminus": below}
            style = {"type": "data", "width": 0, "thickness": INTERVALS[mark], "color": _colour(look)}
            shown[f"error_{axis}"] = {**style, **ends}
    return shown


def _band(rows: pd.DataFrame, look: Look, name: str) -> dict[str, Any]:
    known = rows[np.isfinite(rows["low"]) & np.isfinite(rows["high"])]
    x, y = ([*known[one], *known[other][::-1]] for one, other in (("x", "x"), ("low", "high")))
    fill = {"fill": "toself", "fillcolor": _rgba(look, BAND), "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    return {"type": "scatter", "mode": "lines", "name": name, "x": _rounded(x), "y": _rounded(y), **fill}


def _shapes(panel: Panel) -> Iterator[dict[str, Any]]:
    for row, corners in panel.shapes():
        look = panel.look(row.series)
        line = {"color": _colour(look), "width": 1.2, "dash": DASHES.get(look.line, "solid")}
        rectangle = {"type": "rect", "fillcolor": _rgba(look, TINTS.get(row.series, NUMBER_TINT)), "line": {"width": 0}}
        shape = {"type": "line", "line": line} if row.mark == RULE else rectangle
        yield {**dict(zip(("x0", "x1", "y0", "y1"), _rounded(corners), strict=True)), **shape, "layer": "below"}


def _notes(placed: Placed, x: str, y: str) -> Iterator[dict[str, Any]]:
    panel, of_panel = placed.panel, {"xref": f"{x} domain", "yref": f"{y} domain"}
    if placed.title:
        yield {"text": f"<b>{_escaped(placed.title)}</b>", "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom", **of_panel}
    for row in panel.rows(*NOTES):
        note: dict[str, Any]
        text, note = _escaped(row.text), {"xref": x, "yref": y}
        for axis, value, scale in (("x", row.x, panel.x), ("y", row.y, panel.y)):
            if math.isinf(value):
                note |= {axis: int(value > 0), f"{axis}ref": of_panel[f"{axis}ref"]}
            else:  # the library wants logarithms of what annotations stand at
                note[axis] = float(f"{math.log10(value) if scale.log else value:.{DIGITS}g}")
        anchors = {"xanchor": row.align, "yanchor": {"above": "bottom", "below": "top"}.get(row.place, "middle")}
        colour = {} if row.mark == "finding" else {"font": {"color": _colour(panel.look(row.series))}}
        yield {"text": f"<b>{text}</b>" if row.mark == "finding" else text, **note, **anchors, **colour}


def _show_each_name_once(traces: list[dict[str, Any]]) -> None:
    """Panels share a legend: a name switches all of its traces."""
    seen: set[str] = set()
    for trace in traces:
        name = trace["legendgroup"] = trace["name"]
        trace["showlegend"] = trace.get("showlegend", True) and bool(name) and name not in seen
        seen |= {name} if trace["showlegend"] else set()


def _colour(look: Look) -> str:
    return GRAY if look.colour == "#222222" else look.colour


def _rgba(look: Look, alpha: float) -> str:
    red, green, blue = (int(look.colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha:g})"


def _escaped(text: str) -> str:
    """The library takes some HTML in texts."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("\n", "<br>")


def _rounded(values: Any) -> list[float | None]:
    """Whole numbers, such as steps, without a decimal point."""
    finite = (value if math.isfinite(value) else None for value in np.asarray(values, dtype=float).tolist())
    rounded = (None if value is None else float(f"{value:.{DIGITS}g}") for value in finite)
    return [int(value) if value is not None and value.is_integer() else value for value in rounded]
