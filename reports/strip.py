"""A criterion as a strip: its two regions along an axis, and the observed interval across them."""

import math
from collections.abc import Callable

from markupsafe import Markup, escape

from harness.judge import Finding, spell
from harness.spec import Criterion

WIDTH, HEIGHT, MARGIN = 640, 74, 24
BAND_TOP, BAND_HEIGHT = 26, 18


def strip(criterion: Criterion, finding: Finding) -> Markup:
    """An SVG with a text alternative; empty where nothing was observed."""
    if finding.estimate is None or finding.low is None or finding.high is None:
        return Markup("")
    edges = sorted({edge for rule in (criterion.supported, criterion.refuted) for piece in rule.pieces for edge in piece})
    edges = [edge for edge in edges if math.isfinite(edge)]
    position = _axis([*edges, finding.low, finding.high, finding.estimate], criterion.unit == "x")
    parts = []
    for name, rule in (("supported", criterion.supported), ("refuted", criterion.refuted)):
        for low, high in rule.pieces:
            left, right = position(low), position(high)
            size = f'width="{max(0.0, right - left):.1f}" height="{BAND_HEIGHT}"'
            parts.append(
                f'<rect class="{name}" x="{left:.1f}" y="{BAND_TOP}" {size}/>'
                f'<text x="{(left + right) / 2:.1f}" y="{BAND_TOP - 8}" text-anchor="middle">{name}</text>'
            )
    for edge in edges:
        parts.append(
            f'<text x="{position(edge):.1f}" y="{BAND_TOP + BAND_HEIGHT + 16}" text-anchor="middle">'
            f"{escape(spell(edge, criterion.unit))}</text>"
        )
    middle = BAND_TOP + BAND_HEIGHT / 2
    low, high, estimate = position(finding.low), position(finding.high), position(finding.estimate)
    parts.append(f'<line class="interval" x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}"/>')
    for end in (low, high):
        parts.append(f'<line class="interval" x1="{end:.1f}" x2="{end:.1f}" y1="{middle - 6}" y2="{middle + 6}"/>')
    parts.append(f'<circle class="estimate" cx="{estimate:.1f}" cy="{middle}" r="5"/>')
    described = f'role="img" aria-label="{escape(finding.reason)}"'
    return Markup(f'<svg class="strip" viewBox="0 0 {WIDTH} {HEIGHT}" {described}>{"".join(parts)}</svg>')


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
