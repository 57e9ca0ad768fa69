"""A criterion as a strip: its two regions along an axis, and the observed interval across them."""

import math
from collections.abc import Callable

from markupsafe import Markup, escape

from folklore.harness.judging.spelling import spell
from folklore.harness.judging.verdicts import Finding
from folklore.harness.spec import Criterion

WIDTH, HEIGHT, MARGIN = 640, 80, 24
# Of the labels of edges.
LABEL_WIDTH, LABEL_HEIGHT = 60, 14
BAND_TOP, BAND_HEIGHT, ROW_HEIGHT = 26, 18, 18


def strip(criterion: Criterion, finding: Finding, published: Finding | None = None) -> Markup:
    """An SVG with a text alternative; empty where nothing was observed. published: drawn below, dashed, to compare with."""
    seen = [each for each in (finding, published) if each is not None and _ends(each) is not None]
    if not seen:
        return Markup("")
    edges = sorted({edge for rule in (criterion.claimed, criterion.refuted) for piece in rule.pieces for edge in piece})
    edges = [edge for edge in edges if math.isfinite(edge)]
    position = _axis([*edges, *(end for each in seen for end in _ends(each) or ())], criterion.observe.log_axis)
    deep = BAND_HEIGHT + ROW_HEIGHT * (len(seen) - 1)
    parts = []
    for name, rule in (("supported", criterion.claimed), ("refuted", criterion.refuted)):
        for low, high in rule.pieces:
            left, right = position(low), position(high)
            size = f'width="{max(0.0, right - left):.1f}" height="{deep}"'
            parts.append(
                f'<rect class="{name}" x="{left:.1f}" y="{BAND_TOP}" {size}/>'
                f'<text x="{(left + right) / 2:.1f}" y="{BAND_TOP - 8}" text-anchor="middle">{name}</text>'
            )
    taken, lower = -math.inf, False
    for edge in edges:
        at = position(edge)
        # Labels that would lie on each other stand one below the other.
        lower = at - taken < LABEL_WIDTH and not lower
        taken = at
        parts.append(
            f'<text x="{at:.1f}" y="{BAND_TOP + deep + 16 + (LABEL_HEIGHT if lower else 0)}" text-anchor="middle">'
            f"{escape(spell(edge, criterion.unit))}</text>"
        )
    for row, each in enumerate(seen):
        height = BAND_TOP + BAND_HEIGHT / 2 + row * ROW_HEIGHT
        parts.append(_interval(each, position, height, "published" if each is published else "yours"))
    described = "; ".join(f"{'published: ' if each is published else ''}{each.reason}" for each in seen)
    box = f'viewBox="0 0 {WIDTH} {HEIGHT + deep - BAND_HEIGHT}" role="img" aria-label="{escape(described)}"'
    return Markup(f'<svg class="strip" {box}>{"".join(parts)}</svg>')


def _ends(finding: Finding) -> tuple[float, float, float] | None:
    if finding.estimate is None or finding.low is None or finding.high is None:
        return None
    return finding.low, finding.estimate, finding.high


def _interval(finding: Finding, position: Callable[[float], float], height: float, name: str) -> str:
    low, estimate, high = (position(end) for end in _ends(finding) or ())
    ends = [f'<line x1="{end:.1f}" x2="{end:.1f}" y1="{height - 6}" y2="{height + 6}"/>' for end in (low, high)]
    whole = f'<line class="whole" x1="{low:.1f}" x2="{high:.1f}" y1="{height}" y2="{height}"/>'
    return f'<g class="interval {name}">{whole}{"".join(ends)}<circle cx="{estimate:.1f}" cy="{height}" r="5"/></g>'


def _axis(values: list[float], log_axis: bool) -> Callable[[float], float]:
    """Maps a value to a pixel; what lies outside the values shown is put at the margin."""
    to_axis: Callable[[float], float] = math.log if log_axis and min(values) > 0 else float
    low, high = to_axis(min(values)), to_axis(max(values))
    pad = 0.25 * (high - low) or 1.0
    low, high = low - pad, high + pad

    def position(value: float) -> float:
        if value == -math.inf or (to_axis is math.log and value <= 0):
            return MARGIN
        if value == math.inf:
            return WIDTH - MARGIN
        share = (to_axis(value) - low) / (high - low)
        return MARGIN + min(1.0, max(0.0, share)) * (WIDTH - 2 * MARGIN)

    return position
