"""A horizontal axis in percent of its drawing's width, so that a drawing fits any screen and its text keeps its size."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

# What stays free at either end.
PAD = 4.0


@dataclass(frozen=True)
class Axis:
    """low, high: the values at its ends. log: whether it is a logarithm."""

    low: float
    high: float
    log: bool = False

    @classmethod
    def around(cls, core: Iterable[float], ends: Iterable[float] = (), log: bool = False) -> "Axis":
        """Holds all of `core`, and of `ends` what is no further out than the core is wide: a long interval must not press
        everything else together."""
        inner = [each for each in core if math.isfinite(each)]
        log = log and all(each > 0 for each in inner)
        on = math.log if log else float
        values = [on(each) for each in inner]
        low, high = min(values), max(values)
        width = (high - low) or abs(high) or 1.0
        others = [on(each) for each in ends if math.isfinite(each) and (each > 0 or not log)]
        low, high = (
            max(low - width, min([low, *others])),
            min(high + width, max([high, *others])),
        )
        if low == high:
            low, high = low - width / 2, high + width / 2
        return cls(math.exp(low), math.exp(high), True) if log else cls(low, high)

    def at(self, value: float) -> float:
        """Percent of the width; what lies outside is put at the edge of the drawing."""
        on = math.log if self.log else float
        if math.isnan(value):
            raise ValueError("nan has no place on an axis")
        if value == -math.inf or (self.log and value <= 0):
            return 0.0
        if value == math.inf:
            return 100.0
        share = (on(value) - on(self.low)) / (on(self.high) - on(self.low))
        return min(100.0, max(0.0, PAD + share * (100 - 2 * PAD)))

    def holds(self, value: float) -> bool:
        return 0.0 < self.at(value) < 100.0


def percent(position: float) -> str:
    return f"{position:.2f}%"


# How long an arrow is whose interval lies outside the drawing altogether, in percent.
ARROW = 8.0


def interval_marks(axis: Axis, low: float, estimate: float, high: float, middle: float, name: str) -> str:
    """A line with its ends and a dot. What lies outside the drawing is an arrow head at its edge."""
    left, right = axis.at(low), axis.at(high)
    ends = sorted({left, right})
    heads = [end for end in ends if not 0.0 < end < 100.0]
    if left == right and heads:
        left, right = max(0.0, left - ARROW), min(100.0, right + ARROW)
    parts = [f'<line x1="{percent(left)}" x2="{percent(right)}" y1="{middle:g}" y2="{middle:g}"/>']
    for end in ends if low < high else ():
        if end not in heads:
            parts.append(f'<line x1="{percent(end)}" x2="{percent(end)}" y1="{middle - 5:g}" y2="{middle + 5:g}"/>')
    for end in heads:
        # A path takes no percent: a nested drawing moves it there.
        back = -7 if end else 7
        path = f'<path class="beyond" d="M{back} -4L0 0L{back} 4"/>'
        parts.append(f'<svg x="{percent(end)}" y="{middle:g}" overflow="visible">{path}</svg>')
    if axis.holds(estimate):
        parts.append(f'<circle cx="{percent(axis.at(estimate))}" cy="{middle:g}" r="4.5"/>')
    return f'<g class="{name}">{"".join(parts)}</g>'


@dataclass(frozen=True)
class Label:
    """A text below an axis: where it belongs, and the class that colours it."""

    position: float
    text: str
    name: str = ""


# Of a narrow drawing and of small letters, in pixels: labels that fit there fit everywhere.
NARROW, LETTER = 300.0, 6.2


def placed(labels: Iterable[Label]) -> list[tuple[Label, str, float, int]]:
    """Each label with its anchor, the percent it is anchored at, and the line it stands on, so that none covers another."""
    taken: list[list[tuple[float, float]]] = []
    found = []
    for label in labels:
        half = 50 * len(label.text) * LETTER / NARROW
        anchor, at = "middle", label.position
        if label.position - half < 0:
            anchor, at = "start", max(0.0, min(label.position, 100 - 2 * half))
        elif label.position + half > 100:
            anchor, at = "end", min(100.0, max(label.position, 2 * half))
        left = {"middle": at - half, "start": at, "end": at - 2 * half}[anchor] - 1
        right = left + 2 * half + 2
        line = next((i for i, row in enumerate(taken) if all(right < a or b < left for a, b in row)), len(taken))
        if line == len(taken):
            taken.append([])
        taken[line].append((left, right))
        found.append((label, anchor, at, line))
    return found
