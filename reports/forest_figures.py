"""Forests: what a claim observes as rows on one axis, each with its interval, its seeds and the regions that decide on it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from folklore.harness.metrics import FinalLoss, Gap, RelativeGap, TunedLoss
from folklore.harness.metrics.estimating.weighted import tuned_index
from folklore.harness.spec import Criterion, Judgement, arms_of
from folklore.harness.spec.observed import Observed
from folklore.harness.spec.parts import with_other_arms
from folklore.harness.spec.trials import Numbers, UndecidableError, in_words
from folklore.harness.statistics.intervals import Observation
from folklore.harness.verdicts.observe import observe
from folklore.harness.verdicts.spelling import in_prose
from folklore.harness.verdicts.trial_arrays import TrialArrays
from folklore.harness.verdicts.trial_sets import TrialSet
from folklore.reports.colours import INK, SOFT, looks
from folklore.reports.figures import BOLD, LETTER, STYLE, WIDTH, few_ticks, interval, log_ticks, regions, rounded, wrapped

# Inches of a row, of a line of its text, at the sides, and under the last.
ROW, LINE, SIDE, FOOT, HEAD = 0.52, 0.19, 0.2, 0.62, 0.12
# How much wider than what decides the axis may be for what stands beside it.
WIDER = 4.0
MOST_BESIDE, MOST_REPORTED, MOST_OWN = 7, 6, 2


@dataclass(frozen=True)
class Row:
    """criterion: what decides on it; None: it stands beside. seeds: single ones, on the axis of the number."""

    label: str
    seen: Observation
    unit: str
    colour: str
    marker: str
    criterion: Criterion | None = None
    seeds: Numbers | None = None
    arm: str = ""
    against: str = ""


def forest(records: TrialSet, judgement: Judgement | None = None) -> Figure | None:
    """A row for each criterion whose observable can be shown so, and paler ones for the other arms of its panel against the
    same reference, or for what is reported beside it. None where there is no number."""
    if judgement is None:
        return None
    table = records.table
    criteria = [each for each in judgement.criteria_at(records.scale) if each.observe.figure == "forest"]
    own = [row for each in criteria if (row := _row(each.observe, each.unit, table, each)) is not None]
    if not own:
        return None
    units = list(dict.fromkeys((row.unit, row.criterion.observe.log_axis) for row in own if row.criterion))
    beside = _beside(criteria, table) if len(own) <= MOST_OWN else []
    reported = [each for each in judgement.reported if each.observe.figure == "forest"]
    if len(reported) <= MOST_REPORTED:
        beside += [row for each in reported if (row := _row(each.observe, each.unit, table, None, each.name)) is not None]
    shown = []
    known = {row.label for row in own}
    for unit, log in units:
        rows = [row for row in own if row.criterion and (row.unit, row.criterion.observe.log_axis) == (unit, log)]
        others = [row for row in beside if row.unit == unit and row.label not in known][:MOST_BESIDE]
        shown.append((rows + others, log, unit))
    return draw_forest([_with_one_reference(*each, table) for each in shown])


def _with_one_reference(rows: list[Row], log: bool, unit: str, table: TrialArrays) -> tuple[list[Row], bool, str, str]:
    """Where all rows are against one arm, the axis names it, and not every row."""
    references = {row.against for row in rows}
    if len(references) != 1 or references == {""}:
        return rows, log, unit, ""
    (reference,) = references
    panels = {table.study.arms[row.arm].panel for row in rows}
    rows = [replace(row, label=_arm_label(row.arm, table, len(panels) > 1)) for row in rows]
    return rows, log, unit, f"difference in test loss from {table.study.arms[reference].label}"


def draw_forest(shown: Sequence[tuple[list[Row], bool, str, str]]) -> Figure:
    """Panels of rows under each other; each with whether its axis is a logarithm, its unit and what its axis says."""
    inner = WIDTH - 2 * SIDE
    with mpl.rc_context(STYLE):
        heights = [sum(_height(row, inner) for row in rows) for rows, *_ in shown]
        total = sum(heights) + len(shown) * (HEAD + FOOT)
        figure = mpl.figure.Figure(figsize=(WIDTH, total))
        top = total
        for (rows, log, unit, axis_label), height in zip(shown, heights, strict=True):
            top -= HEAD + height
            axes = figure.add_axes((SIDE / WIDTH, top / total, inner / WIDTH, height / total))
            draw_rows(axes, rows, log, unit, inner, axis_label)
            top -= FOOT
        return figure


def _height(row: Row, inner: float) -> float:
    return ROW + LINE * _text(row, inner).count("\n")


def _text(row: Row, inner: float) -> str:
    """Its label in lines beside which its number has room."""
    room = inner - len(_number(row)) * LETTER - 0.15
    return wrapped(row.label, room / (BOLD if row.criterion is not None else 1.0))


def _number(row: Row) -> str:
    if row.unit or row.criterion is not None:
        return in_prose(row.seen.estimate, row.seen.low, row.seen.high, row.unit)
    return f"{rounded(row.seen.estimate)} ({rounded(row.seen.low)}–{rounded(row.seen.high)})"


def draw_rows(axes: Axes, rows: Sequence[Row], log: bool, unit: str, inner: float, axis_label: str = "") -> None:
    """Rows from the top, in inches: a line of text, and under it the interval among its regions."""
    factor = 100.0 if unit in ("relative", "share") else 1.0
    least, most = _limits(rows, log)
    axes.set_ylim(-sum(_height(row, inner) for row in rows), 0)
    axes.set_xlim(least * factor, most * factor)
    at = 0.0
    for row in rows:
        height = _height(row, inner)
        weight = "bold" if row.criterion is not None else "normal"
        text = _text(row, inner)
        colour = INK if weight == "bold" else SOFT
        axes.annotate(text, (0, at - 0.04), xycoords=("axes fraction", "data"), va="top", color=colour, fontweight=weight)
        axes.annotate(_number(row), (1, at - 0.04), xycoords=("axes fraction", "data"), va="top", ha="right", color=colour)
        middle = at - height + 0.16
        if row.criterion is not None:
            across = (middle - 0.11, middle + 0.11)
            regions(axes, row.criterion, across, to_axis=lambda value: value * factor)
        _interval(axes, row, middle, least, most, factor)
        at -= height
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(axis_label or _axis_label(rows, unit))
    if log:
        log_ticks(axes.xaxis)
    else:
        few_ticks(axes.xaxis, 6, percent=factor == 100)


def _interval(axes: Axes, row: Row, at: float, least: float, most: float, factor: float) -> None:
    if row.seeds is not None:
        inside = row.seeds[np.isfinite(row.seeds) & (row.seeds >= least) & (row.seeds <= most)]
        axes.plot(inside * factor, np.full(len(inside), at), color=row.colour, marker="o", markersize=4, alpha=0.3,
                  markeredgewidth=0, linestyle="none", label="_")  # fmt: skip
    low, high, estimate = (float(np.clip(each, least, most)) for each in (row.seen.low, row.seen.high, row.seen.estimate))
    if not least <= row.seen.estimate <= most:
        # Beyond the axis: an arrow to where it lies; its number stands beside it.
        side = ">" if row.seen.estimate > most else "<"
        axes.plot(
            [estimate * factor], [at], color=row.colour, marker=side, markersize=8, linestyle="none", label="_", clip_on=False
        )
        return
    marker = row.marker if row.criterion is None else "s"
    size, width = (6, 1.5) if row.criterion is None else (7, 2.5)
    interval(axes, low * factor, high * factor, at, row.colour, estimate * factor, marker, size, width)


def _limits(rows: Sequence[Row], log: bool) -> tuple[float, float]:
    """What decides, its regions' edges, and of the rest what is not too far away."""

    def span(values: list[float]) -> tuple[float, float]:
        finite = [each for each in values if np.isfinite(each) and (each > 0 or not log)]
        return (min(finite), max(finite)) if finite else (0.5, 2.0)

    values: list[float] = []
    for row in rows:
        if row.criterion is not None:
            criterion = row.criterion
            values += [row.seen.low, row.seen.high, row.seen.estimate, *([] if criterion.null is None else [criterion.null])]
            values += [criterion.expected.value] if criterion.expected else []
            values += [edge for rule in (criterion.claimed, criterion.refuted) for piece in rule.pieces for edge in piece]
    low, high = span(values)
    others = [each for row in rows for each in (row.seen.low, row.seen.high)]
    others += [float(each) for row in rows if row.seeds is not None for each in row.seeds]
    if log:
        room = np.log(high / low) * (WIDER - 1) / 2 + 0.1
        least, most = low * np.exp(-room), high * np.exp(room)
    else:
        room = (high - low) * (WIDER - 1) / 2
        least, most = low - room, high + room
    low, high = span([low, high, *(each for each in others if least <= each <= most)])
    if log:
        pad = max(0.05 * np.log(high / low), 0.05)
        return low * np.exp(-pad), high * np.exp(pad)
    pad = 0.06 * (high - low) or 1.0
    return low - pad, high + pad


def _row(
    observable: Observed, unit: str, table: TrialArrays, criterion: Criterion | None = None, label: str = ""
) -> Row | None:
    """None where it has no number."""
    look = looks(table.study)
    arm = _subject(observable)
    shown = INK if criterion is not None else SOFT
    style = (look[arm].colour, look[arm].marker) if arm in look else (shown, "o")
    name = label or (criterion.name if criterion is not None and not _compared(observable) else _versus(observable, table))
    pair = _pair(observable) if _compared(observable) and not label else ("", "")
    try:
        seen, seeds = observe(observable, table), _by_seed(observable, table)
    except UndecidableError:
        return None
    return Row(name, seen, unit, *style, criterion, seeds, arm=pair[0], against=pair[1])


def _compared(observable: Observed) -> bool:
    return isinstance(observable, Gap | RelativeGap) and len(arms_of(observable)) == 2


def _subject(observable: Observed) -> str:
    """The arm that a row is about."""
    left = getattr(observable, "left", observable)
    return next(iter(sorted(arms_of(left))), "") if len(arms_of(left)) == 1 else str(getattr(observable, "arm", ""))


def _versus(observable: Observed, table: TrialArrays) -> str:
    """Two arms by their labels; with the panel where it is not the reference's."""
    if not _compared(observable):
        return in_words(getattr(observable, "kind", ""))
    left, right = _pair(observable)
    return f"{_arm_label(left, table)} against {table.study.arms[right].label}"


def _pair(observable: Observed) -> tuple[str, str]:
    (left,), (right,) = (arms_of(getattr(observable, side)) for side in ("left", "right"))
    return left, right


def _arm_label(arm: str, table: TrialArrays, panel: bool = True) -> str:
    """With the panel where others have the same label."""
    chosen, arms = table.study.arms[arm], table.study.arms
    shared = panel and chosen.panel and sum(each.label == chosen.label for each in arms.values()) > 1
    return f"{chosen.panel}: {chosen.label}" if shared else chosen.label


def _beside(criteria: Sequence[Criterion], table: TrialArrays) -> list[Row]:
    """The other arms of the panels against the same references."""
    study = table.study
    found: dict[str, Row] = {}
    for criterion in criteria:
        observable = criterion.observe
        if not _compared(observable):
            continue
        left, right = _pair(observable)
        for arm in study.arms_at(table.scale):
            if study.arms[arm].panel == study.arms[left].panel and arm not in (left, right):
                other = with_other_arms(observable, {left: arm})
                row = _row(other, criterion.unit, table)
                if row is not None:
                    found.setdefault(row.label, row)
    return list(found.values())


def _by_seed(observable: Observed, table: TrialArrays) -> Numbers | None:
    """What each seed has, of a gap of two losses at their tuned values."""
    if not isinstance(observable, Gap | RelativeGap):
        return None
    left, right = (_losses(side, table) for side in (observable.left, observable.right))
    if left is None or right is None:
        return None
    return (left - right) / (right.mean() if isinstance(observable, RelativeGap) else 1.0)


def _losses(observable: Observed, table: TrialArrays) -> Numbers | None:
    """Test loss, or what else is read of an arm, of every seed [S]."""
    if isinstance(observable, TunedLoss):
        best = tuned_index(observable.arm, observable.over, table)
        return np.asarray(table.losses(observable.arm, observable.over, observable.column)[best])
    if isinstance(observable, FinalLoss):
        return np.asarray(table.losses(observable.arm, table.only_factor(observable.arm), observable.column)[0])
    return None


def _axis_label(rows: Sequence[Row], unit: str) -> str:
    observables = [row.criterion.observe for row in rows if row.criterion is not None]
    if all(isinstance(each, RelativeGap) for each in observables):
        return "difference in test loss (negative: lower)"
    if unit == "x":
        return "ratio"
    return {"relative": "relative difference", "share": "share"}.get(unit, unit)
