"""The criteria of a claim on axes: what was claimed and what would refute as bands, what was seen across them.

Criteria of one unit share an axis; each has a row with its own bands, which are one band where the regions agree.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup, escape

from ...harness.declare import Criterion, Published
from ...harness.judge.spelling import number_and_interval, region, spell_declared
from ...harness.judge.verdict import CriterionFinding
from ..words import OUTCOMES, short_source
from .axis import Axis, Label, interval_marks, percent, placed

ROW_HEIGHT, LINE_HEIGHT = 30, 15
# Bands that are narrower have no room for their name.
NAMED_WIDTH = 16.0


@dataclass(frozen=True)
class StripMark:
    """One criterion with what was found. name: of its row. others: numbers of publications on its axis. kind: how it is
    drawn."""

    criterion: Criterion
    finding: CriterionFinding
    name: str
    others: tuple[Published, ...] = ()
    kind: str = "yours"


@dataclass(frozen=True)
class Row:
    """A row of a page's table: drawing is empty where there is nothing to draw, and `instead` says why."""

    name: str
    drawing: Markup
    number: str
    interval: str
    outcome: str
    verdict: str
    instead: str = ""


@dataclass(frozen=True)
class Strip:
    """Rows that share an axis. heads: the names of the bands; ticks: what lies where, below the rows."""

    rows: tuple[Row, ...]
    heads: Markup = field(default_factory=Markup)
    ticks: Markup = field(default_factory=Markup)


def strips(seen: Sequence[StripMark], scale: str = "") -> list[Strip]:
    """An axis for each unit, in the order of their first criteria; what has no number, or no error, has rows without one."""
    groups: dict[tuple[object, ...], list[StripMark]] = {}
    for each in seen:
        groups.setdefault(_axis_key(each), []).append(each)
    return [_drawn(group, scale) if key else Strip(tuple(map(_undrawn, group))) for key, group in groups.items()]


def _axis_key(seen: StripMark) -> tuple[object, ...]:
    """Equal for what may share an axis; empty for what has none."""
    if _ends(seen.finding) is None or seen.criterion.observe.grade != "measured":
        return ()
    observed = seen.criterion.observe
    return seen.criterion.written_in, observed.log_axis, "" if seen.criterion.unit else observed.UNIT


def _ends(finding: CriterionFinding) -> tuple[float, float, float] | None:
    if finding.estimate is None or finding.low is None or finding.high is None:
        return None
    return finding.low, finding.estimate, finding.high


def _undrawn(seen: StripMark) -> Row:
    finding = seen.finding
    number, interval = _numbers(finding)
    instead = f"no number: {finding.reason}" if finding.estimate is None else f"claimed: {_claimed(seen.criterion)}"
    return Row(seen.name, Markup(""), number, interval, OUTCOMES[finding.verdict], finding.verdict, instead)


def _claimed(criterion: Criterion) -> str:
    return region(criterion.claimed, criterion)


def _numbers(finding: CriterionFinding) -> tuple[str, str]:
    """The estimate, and its interval in brackets."""
    ends = _ends(finding)
    if ends is None:
        return "", ""
    low, estimate, high = ends
    number, interval = number_and_interval(estimate, low, high, finding.unit)
    level = "" if math.isclose(finding.level, 0.95) or low == high else f" {finding.level:.0%}"
    return number, interval + level


def _drawn(seen: Sequence[StripMark], scale: str) -> Strip:
    axis = _axis(seen, scale)
    alike = all(regions(each.criterion) == regions(seen[0].criterion) for each in seen)
    rows = tuple(_row(each, axis, scale, named=not alike) for each in seen)
    return Strip(rows, _heads(seen[0].criterion, axis) if alike else Markup(""), _ticks(seen, axis, scale))


def _axis(seen: Sequence[StripMark], scale: str) -> Axis:
    core, ends = [], []
    for each in seen:
        criterion = each.criterion
        core += [edge for _, pieces in regions(criterion) for piece in pieces for edge in piece]
        core += [value for value, _ in _expected(criterion, scale)]
        core += [other.value for other in each.others if other.value is not None]
        core += [] if criterion.null is None else [criterion.null]
        low, estimate, high = _ends(each.finding) or (math.nan, math.nan, math.nan)
        core.append(estimate)
        ends += [low, high]
    return Axis.around(core, ends, log=seen[0].criterion.observe.log_axis)


def regions(criterion: Criterion) -> list[tuple[str, tuple[tuple[float, float], ...]]]:
    """Name of a band -> its pieces. What refutes is the region declared and the other side of the null."""
    refuting = criterion.refuted.pieces
    if criterion.side and criterion.null is not None:
        other = (-math.inf, criterion.null) if criterion.side > 0 else (criterion.null, math.inf)
        refuting = _joined((*refuting, other))
    negligible = (criterion.negligible,) if criterion.negligible else ()
    return [("claimed", criterion.claimed.pieces), ("refuting", refuting), ("margin", negligible)]


def _joined(pieces: Iterable[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Overlapping pieces as one, or tints would add up."""
    found: list[tuple[float, float]] = []
    for low, high in sorted(pieces):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return tuple(found)


def _expected(criterion: Criterion, scale: str) -> list[tuple[float, str]]:
    expected = criterion.expected
    if expected is None or (expected.scales is not None and scale not in expected.scales):
        return []
    return [(expected.value, expected.source)]


def _row(seen: StripMark, axis: Axis, scale: str, *, named: bool) -> Row:
    """named: its bands have their names in the row itself."""
    criterion, finding, middle = seen.criterion, seen.finding, ROW_HEIGHT / 2
    low, estimate, high = _ends(finding) or (math.nan, math.nan, math.nan)
    parts = []
    for name, pieces in regions(criterion):
        for piece in pieces:
            left, right = (axis.at(edge) for edge in piece)
            width = percent(max(0.0, right - left))
            parts.append(f'<rect class="{name}" x="{percent(left)}" width="{width}" y="0" height="{ROW_HEIGHT}"/>')
    if criterion.null is not None:
        parts.append(_line(axis.at(criterion.null), "null"))
    parts += [_line(axis.at(value), "expected") for value, _ in _expected(criterion, scale)]
    for other in seen.others:
        if other.value is not None:
            # A diamond is a path, which takes no percent.
            parts.append(
                f'<svg x="{percent(axis.at(other.value))}" y="{middle:g}" overflow="visible">'
                '<path class="other" d="M0 -6L6 0L0 6L-6 0Z"/></svg>'
            )
    parts.append(interval_marks(axis, low, estimate, high, middle, f"interval {seen.kind}"))
    drawing = f'<svg class="plot" width="100%" height="{ROW_HEIGHT}" aria-hidden="true">{"".join(parts)}</svg>'
    if named:
        drawing = f"{_heads(criterion, axis)}{drawing}"
    return Row(seen.name, Markup(drawing), *_numbers(finding), OUTCOMES[finding.verdict], finding.verdict)


def _line(position: float, name: str) -> str:
    return f'<line class="{name}" x1="{percent(position)}" x2="{percent(position)}" y1="0" y2="{ROW_HEIGHT}"/>'


def _heads(criterion: Criterion, axis: Axis) -> Markup:
    """Names of the bands, where they have room."""
    labels = []
    for name, pieces in regions(criterion)[:2]:
        for low, high in pieces:
            left, right = axis.at(low), axis.at(high)
            if right - left >= NAMED_WIDTH:
                labels.append(Label((left + right) / 2, "claimed" if name == "claimed" else "refutes", name))
    return _texts(labels, "heads")


def _ticks(seen: Sequence[StripMark], axis: Axis, scale: str) -> Markup:
    """Edges of regions first, then the null, then what was expected and what others measured."""
    unit = seen[0].criterion.written_in
    edges = sorted(
        {
            edge
            for each in seen
            for _, pieces in regions(each.criterion)
            for piece in pieces
            for edge in piece
            if math.isfinite(edge)
        }
    )
    nulls = sorted({each.criterion.null for each in seen if each.criterion.null is not None})
    marks = {edge: Label(axis.at(edge), spell_declared(edge, unit).replace("-", "−")) for edge in edges}
    marks.update({null: Label(axis.at(null), f"no effect: {spell_declared(null, unit)}") for null in nulls})
    expected = {
        value: Label(axis.at(value), f"expected {spell_declared(value, unit)}: {short_source(source)}", "expected")
        for each in seen
        for value, source in _expected(each.criterion, scale)
    }
    said = {(value, short_source(source)) for each in seen for value, source in _expected(each.criterion, scale)}
    others = {
        (other.value, other.source): Label(
            axis.at(other.value), f"{spell_declared(other.value, unit)}: {short_source(other.source)}", "other"
        )
        for each in seen
        for other in each.others
        if other.value is not None and (other.value, short_source(other.source)) not in said
    }
    return _texts([*(marks[key] for key in sorted(marks)), *expected.values(), *others.values()], "ticks")


def _texts(labels: Sequence[Label], name: str) -> Markup:
    if not labels:
        return Markup("")
    lines = placed(labels)
    parts = [
        f'<text class="{label.name}" x="{percent(at)}" y="{12 + LINE_HEIGHT * line}" text-anchor="{anchor}">'
        f"{escape(label.text)}</text>"
        for label, anchor, at, line in lines
    ]
    height = LINE_HEIGHT * (1 + max(line for *_, line in lines)) + 2
    return Markup(f'<svg class="{name}" width="100%" height="{height}" aria-hidden="true">{"".join(parts)}</svg>')


def beside(criterion: Criterion, yours: CriterionFinding, theirs: CriterionFinding) -> list[Strip]:
    """One criterion in this store and as it is published."""
    return strips([StripMark(criterion, yours, "yours"), StripMark(criterion, theirs, "published", kind="published")])
