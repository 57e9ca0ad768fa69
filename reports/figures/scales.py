"""Axes: their ends, and the marks and numbers on them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axis import Axis
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, NullLocator

from ..words import power

# Points of all text; inches between the numbers of an axis.
FONT, TEXT, APART = "DejaVu Sans", 11, 0.06
# Labels on an axis.
MOST_TICKS = 6
# Share of an axis at either end, if its limits are not given.
PAD = 0.05


@dataclass(frozen=True)
class Scale:
    """label: what it says. log: the base of a logarithm, 0 for none. low, high: its ends, where they are known; least: it shows
    nothing below. percent: of its numbers. names: words at places, instead of numbers."""

    label: str = ""
    log: int = 0
    low: float | None = None
    high: float | None = None
    least: float = -math.inf
    ticks: int = MOST_TICKS
    percent: bool = False
    names: Mapping[float, str] | None = None

    def around(self, values: Any) -> tuple[float, float]:
        known = np.asarray(values, dtype=np.float64)
        known = known[np.isfinite(known) & ((known > 0) | (not self.log))]
        known = np.append(known, [end for end in (self.low, self.high) if end is not None])
        low, high = (float(known.min()), float(known.max())) if len(known) else (1.0, 2.0)
        if self.log:
            pad = max(PAD * math.log(high / low), 0.05)
            ends = low * math.exp(-pad), high * math.exp(pad)
        else:
            pad = PAD * (high - low) or 0.01 * (abs(high) or 1.0)
            ends = low - pad, high + pad
        return max(self.least, ends[0]) if self.low is None else self.low, ends[1] if self.high is None else self.high

    def places(self, low: float, high: float) -> dict[float, str]:
        """Where marks are between two ends, with what they say."""
        if self.names is not None:
            return {at: name for at, name in self.names.items() if low <= at <= high}
        if self.log:
            return {at: power(at, 2) if self.log == 2 else number(at) for at in _log_places(low, high, self.log, self.ticks)}
        places = MaxNLocator(self.ticks - 1).tick_values(low, high)
        inside = [float(f"{at:.10g}") for at in places if low <= at <= high]
        digits = max((len(f"{at:.6g}".partition(".")[2]) for at in inside), default=0)
        if self.percent or max(map(abs, inside), default=0.0) >= 1e4:
            return {at: (f"{at:g}%" if self.percent else number(at)).replace("-", "−") for at in inside}
        return {at: f"{at:.{digits}f}".replace("-", "−") for at in inside}


def rows(labels: Sequence[str]) -> Scale:
    """Names from the top: row number n lies at -n."""
    names = {-float(row): label for row, label in enumerate(labels)}
    return Scale(names=names, low=0.4 - len(labels), high=0.6)


@cache
def inches(text: str) -> float:
    """The width of a line of text."""
    width, _, _ = text_to_path.get_text_width_height_descent(text, FontProperties(family=FONT, size=TEXT), False)
    return float(width) / 72


def set_ticks(axis: Axis, scale: Scale, length: float = math.inf) -> None:
    """length: inches of an axis on which numbers lie beside each other; what has no room is left out. Plain text: matplotlib's
    own labels of logarithms go through its TeX parser, and took a fifth of a site."""
    ends = np.sort(axis.get_view_interval())
    places, free = {}, -math.inf
    for at, text in sorted(scale.places(*ends).items()):
        low, middle, high = axis.get_transform().transform(np.array([ends[0], at, ends[1]]))
        share, room = (middle - low) / (high - low), inches(text) / 2 / length
        if share - room > free:
            places[at], free = text, share + room + APART / length
    axis.set_major_locator(FixedLocator(list(places)))
    axis.set_major_formatter(FixedFormatter(list(places.values())))
    axis.set_minor_locator(NullLocator())


def _log_places(low: float, high: float, base: int, most: int) -> list[float]:
    """Whole powers between two ends, or finer ones if there are few."""
    exponents = range(math.floor(math.log(low, base)) - 1, math.ceil(math.log(high, base)) + 1)
    places: list[float] = []
    for parts in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8)) if base == 10 else ((1,), (1, 2**0.5)):
        finer = [part * float(base) ** exponent for exponent in exponents for part in parts]
        finer = [place for place in finer if low <= place * (1 + 1e-9) and place <= high * (1 + 1e-9)]
        places = finer if len(finer) <= most or len(places) < 2 else places
        if len(places) >= (3 if base == 10 else 2):
            break
    return (
        places[:: max(1, -(-len(places) // most))]
        if len(places) > 1
        else [float(f"{at:.2g}") for at in np.geomspace(low, high, 4)[1:3]]
    )


def number(value: float) -> str:
    """As an axis says it: 0.003, 200, 5000, 30k, 2·10⁻⁴."""
    if 1e6 <= value < 1e9:
        return f"{value / 1e6:g}M"
    if 1e4 <= value < 1e6:
        return f"{value / 1e3:g}k"
    if 9.9e-4 <= value < 1e9 or value <= 0:
        return f"{value:g}"
    exponent = math.floor(math.log10(value) + 1e-9)
    factor = f"{value / 10.0**exponent:.3g}"
    return power(10.0**exponent) if factor == "1" else f"{factor}·{power(10.0**exponent)}"
