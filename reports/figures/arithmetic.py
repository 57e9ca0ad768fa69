"""Computed numbers: where they come from."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .drawing import HEIGHT, Drawing, Panel, grid
from .palette import SOFT, Look, numbered
from .scales import Scale

CAPTION = "Computed, not trained; a curve that depends on the seed is that of the first seed."


def drawing(plots: Sequence[Mapping[str, Any]]) -> Drawing | None:
    """The plots of a claim (declare/computed.py), one below the other."""
    return grid([_panel(plot) for plot in plots], columns=1)


def _panel(plot: Mapping[str, Any]) -> Panel:
    x, y = (Scale(plot[f"{axis}_label"], 10 if plot[f"log_{axis}"] else 0) for axis in "xy")
    panel = Panel(x, y, height=0.8 * HEIGHT, caption=CAPTION)
    for index, curve in enumerate(plot["curves"]):
        panel.add("curve" if curve["dots"] else "line", curve["name"], numbered(index), x=curve["x"], y=curve["y"])
    panel.looks["_rule"] = Look(SOFT, "", ":")
    for at, words in plot["levels"]:
        panel.add("rule", "_rule", y=at)
        panel.note(words, -math.inf, at, "_ink", place="above")
    for at, words in plot["places"]:
        panel.add("rule", "_rule", x=at)
        panel.note(words, at, -math.inf, "_ink", place="above")
    return panel
