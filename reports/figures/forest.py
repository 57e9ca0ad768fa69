"""Forests: what a claim observes as rows on one axis, each with its interval, its seeds and the regions that decide on it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch

import numpy as np

from ...harness.declare import POINTS, Criterion, Judgement, arms_of
from ...harness.declare.design import in_words
from ...harness.declare.metrics import FinalLoss, Gap, LossGap, RelativeGap, TunedLoss
from ...harness.declare.metrics.estimating.weighted import tuned_index
from ...harness.declare.observed import Observed
from ...harness.declare.parts import parts, with_other_arms
from ...harness.declare.trials import NotEstimableError, Numbers
from ...harness.judge.spelling import HUNDREDTHS, PERCENT, in_prose
from ...harness.judge.statistics.intervals import Observation
from ...harness.judge.trial_arrays import TrialArrays
from ...harness.judge.trial_sets import TrialSet
from .drawing import WIDTH, ClaimFigure, Drawing, Panel, across, grid
from .frames import number
from .layout import BOLD, LETTER, wrapped
from .palette import INK, SOFT, Look, looks
from .scales import Scale, rounded

# Inches of a row, of a line of its text, at the sides, and of the words below.
ROW, LINE, SIDE, FOOT = 0.52, 0.19, 0.2, 0.2
INNER = WIDTH - 2 * SIDE
# How much wider than what decides the axis may be for what stands beside it.
WIDER = 4.0
MOST_BESIDE, MOST_REPORTED, MOST_OWN = 7, 6, 2


@dataclass(frozen=True)
class Row:
    """criterion: what decides on it; None: it stands beside. seeds: single ones, on the axis of the number. arm, against:
    the two whose gap it is."""

    label: str
    seen: Observation
    unit: str
    look: Look
    criterion: Criterion | None
    seeds: Numbers | None
    arm: str = ""
    against: str = ""

    @property
    def number(self) -> str:
        if self.unit or self.criterion is not None or self.seen.low < 0:
            return in_prose(self.seen.estimate, self.seen.low, self.seen.high, self.unit)
        return f"{rounded(self.seen.estimate)} ({rounded(self.seen.low)}–{rounded(self.seen.high)})"

    @property
    def text(self) -> str:
        """Its label in lines beside which its number has room."""
        room = INNER - len(self.number) * LETTER - 0.15
        return wrapped(self.label, room / (BOLD if self.criterion is not None else 1.0))

    @property
    def height(self) -> float:
        return ROW + LINE * self.text.count("\n")


def draw(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """A row for each criterion whose metric can be shown so, and thinner ones for the other arms of its panel against the same
    reference, or for what is reported beside it; a panel for each unit. None where there is no number."""
    table = records.table
    criteria = [each for each in judgement.criteria_at(records.scale) if is_row(each.observe)]
    own = [row for each in criteria if (row := _row(each.observe, each.written_in, table, each)) is not None]
    beside = _beside(criteria, table) if len(own) <= MOST_OWN else []
    reported = [each for each in judgement.reported if is_row(each.observe)]
    if len(reported) <= MOST_REPORTED:
        beside += [row for each in reported if (row := _row(each.observe, each.written_in, table, label=each.name)) is not None]
    known = {row.label for row in own}
    panels: dict[tuple[str, bool], list[Row]] = {}
    for row in own:
        assert row.criterion is not None
        panels.setdefault((row.unit, row.criterion.observe.log_axis), []).append(row)
    for (unit, _), rows in panels.items():
        rows += [row for row in beside if row.unit == unit and row.label not in known][:MOST_BESIDE]
    return grid([_panel(rows, unit, log, table) for (unit, log), rows in panels.items()], columns=1)


def is_row(metric: Observed) -> bool:
    """Whether a row shows it: it names this figure, or names none and has a part that does."""
    return metric.figure == FIGURE.name or (not metric.figure and any(is_row(part) for part in parts(metric)))


def _panel(rows: list[Row], unit: str, log: bool, table: TrialArrays) -> Panel:
    """Rows from the top, in inches: a line of text, and under it the interval among its regions."""
    label = _axis_label(rows, unit)
    if len({row.against for row in rows}) == 1 and rows[0].against:
        # The axis names the one arm that all are against, and not every row.
        label = f"difference in test loss from {table.study.arms[rows[0].against].label}"
        several = len({table.study.arms[row.arm].panel for row in rows}) > 1
        rows = [replace(row, label=arm_label(row.arm, table, several)) for row in rows]
    factor = 100.0 if unit in HUNDREDTHS else 1.0
    least, most = _limits(rows, log)
    height = sum(row.height for row in rows)
    x = Scale(label, 10 if log else 0, least * factor, most * factor, ticks=7, percent=unit in PERCENT)
    panel = Panel(x, Scale(hidden=True, low=-height, high=0.0), height=height, names=SIDE, beside=SIDE)
    at = 0.0
    for index, row in enumerate(rows):
        decides = row.criterion is not None
        ink, series = "_ink" if decides else "_soft", f"_row {index}"
        panel.note(row.text, -math.inf, at, ink, place="below", mark="finding" if decides else "note")
        panel.note(row.number, math.inf, at, ink, "right", "below")
        at -= row.height
        middle = at + 0.16
        if row.criterion is not None:
            panel.regions(row.criterion, "x", lambda value: value * factor, (middle - 0.11, middle + 0.11))
        if row.seeds is not None:  # below the interval, which would cover them
            inside = row.seeds[np.isfinite(row.seeds) & (row.seeds >= least) & (row.seeds <= most)]
            panel.add("run", series, row.look, x=inside * factor, y=[middle - 0.07] * len(inside))
        numbers = [float(np.clip(each, least, most)) for each in (row.seen.estimate, row.seen.low, row.seen.high)]
        look = replace(row.look, marker="s") if decides else row.look
        columns = {**across(*(factor * each for each in numbers)), "y": middle}
        if numbers[0] != row.seen.estimate:  # beyond the axis: an arrow to where it lies; its number stands beside it
            panel.note("→" if row.seen.estimate > most else "←", columns["x"], middle, "_beyond", "center")
            columns["x"] = math.nan
        mark, kind = ("estimate", "_row") if decides else ("beside", "_beside")
        kind = "_one_sided" if row.criterion is not None and row.criterion.one_sided else kind
        panel.add(mark, f"{kind} {index} number", look, **columns)
    _name_regions(panel, [row.criterion for row in rows if row.criterion is not None], factor, -height)
    return panel


def _name_regions(panel: Panel, criteria: Sequence[Criterion], factor: float, y: float) -> None:
    """Below rows with equal regions: where the claim holds and where it fails, if there is room for these words."""
    first, *others = criteria
    if any((each.claimed, each.refuted) != (first.claimed, first.refuted) for each in others):
        return
    on, off = (np.log, np.exp) if panel.x.log else (np.asarray, np.asarray)
    limits = panel.limits("x")
    for series, text, rule in (("_claimed", "claim holds", first.claimed), ("_refuted", "claim fails", first.refuted)):
        for piece in rule.pieces:
            ends = on(np.clip([factor * end for end in piece], *limits))
            if INNER * np.ptp(ends) / np.ptp(on(limits)) > LETTER * len(text):
                panel.note(text, float(off(ends.mean())), y - FOOT / 2, series, "center")
    panel.y, panel.height = replace(panel.y, low=y - FOOT), panel.height + FOOT


def _limits(rows: Sequence[Row], log: bool) -> tuple[float, float]:
    """What decides, its regions' edges, and of the rest what is not too far away."""
    on, off = (np.log, np.exp) if log else (np.asarray, np.asarray)
    core: list[float] = []
    for row in rows:
        if (criterion := row.criterion) is not None:
            core += [row.seen.low, row.seen.high, row.seen.estimate, *([] if criterion.null is None else [criterion.null])]
            core += [criterion.expected.value] if criterion.expected else []
            core += [edge for rule in (criterion.claimed, criterion.refuted) for piece in rule.pieces for edge in piece]
    others = [each for row in rows for each in (row.seen.low, row.seen.high, *([] if row.seeds is None else row.seeds))]
    inner, outer = (on([each for each in values if np.isfinite(each) and (each > 0 or not log)]) for values in (core, others))
    low, high = (inner.min(), inner.max()) if len(inner) else (0.5, 2.0)
    room = (high - low) * (WIDER - 1) / 2 + 0.1 * log
    near = np.append(outer[(outer >= low - room) & (outer <= high + room)], (low, high))
    pad = max(0.05 * np.ptp(near), 0.05) if log else 0.06 * np.ptp(near) or 1.0
    return float(off(near.min() - pad)), float(off(near.max() + pad))


def _row(metric: Observed, unit: str, table: TrialArrays, criterion: Criterion | None = None, label: str = "") -> Row | None:
    """None where it has no number."""
    arm, against = pair(metric) if not label else ("", "")
    name = label or (criterion.name if criterion is not None and not against else _versus(metric, arm, against, table))
    try:
        seen, seeds = number(metric, table, criterion), by_seed(metric, table)
    except NotEstimableError:
        return None
    if seen is None:
        return None
    subject = _subject(metric)
    look = looks(table.study).get(subject, Look(INK if criterion is not None else SOFT, "o", ""))
    return Row(name, seen, unit, look, criterion, seeds, arm, against)


def _subject(metric: Observed) -> str:
    """The arm that a row is about."""
    arms = arms_of(getattr(metric, "left", metric))
    return next(iter(arms)) if len(arms) == 1 else str(getattr(metric, "arm", ""))


def _versus(metric: Observed, arm: str, against: str, table: TrialArrays) -> str:
    """Two arms by their labels; with the panel where it is not the reference's."""
    if not against:
        return in_words(getattr(metric, "kind", ""))
    return f"{arm_label(arm, table)} against {table.study.arms[against].label}"


def arm_label(arm: str, table: TrialArrays, panel: bool = True) -> str:
    """With the panel where others have the same label."""
    chosen, arms = table.study.arms[arm], table.study.arms
    shared = panel and chosen.panel and sum(each.label == chosen.label for each in arms.values()) > 1
    return f"{chosen.panel}: {chosen.label}" if shared else chosen.label


def _beside(criteria: Sequence[Criterion], table: TrialArrays) -> list[Row]:
    """The other arms of the panels against the same references."""
    study = table.study
    found: dict[str, Row] = {}
    for criterion in criteria:
        left, right = pair(criterion.observe)
        for arm in study.arms_at(table.scale) if left else ():
            if study.arms[arm].panel == study.arms[left].panel and arm not in (left, right):
                row = _row(with_other_arms(criterion.observe, {left: arm}), criterion.written_in, table)
                if row is not None:
                    found.setdefault(row.label, row)
    return list(found.values())


# ---- what a forest knows of kinds of metrics


@singledispatch
def pair(metric: Observed) -> tuple[str, str]:
    """The two arms whose gap it is; empty: it is none of two arms."""
    return "", ""


@singledispatch
def by_seed(metric: Observed, table: TrialArrays) -> Numbers | None:
    """What each seed has, [S]; None: single seeds are not shown."""
    return None


@singledispatch
def axis_label(metric: Observed) -> str:
    """What its axis says; empty: its unit."""
    return ""


@pair.register(Gap)
@pair.register(RelativeGap)
def _arms(metric: Gap | RelativeGap) -> tuple[str, str]:
    left, right = arms_of(metric.left), arms_of(metric.right)
    return (*left, *right) if len(left) == len(right) == 1 and left != right else ("", "")  # type: ignore[return-value]


@by_seed.register(TunedLoss)
def _tuned(metric: TunedLoss, table: TrialArrays) -> Numbers:
    best = tuned_index(metric.arm, metric.over, table)
    return np.asarray(table.losses(metric.arm, metric.over, metric.column)[best])


@by_seed.register(FinalLoss)
def _final(metric: FinalLoss, table: TrialArrays) -> Numbers:
    return np.asarray(table.losses(metric.arm, table.only_factor(metric.arm), metric.column)[0])


@by_seed.register(Gap)
@by_seed.register(RelativeGap)
def _gaps(metric: Gap | RelativeGap, table: TrialArrays) -> Numbers | None:
    left, right = by_seed(metric.left, table), by_seed(metric.right, table)
    return None if left is None or right is None else left - right


@axis_label.register(RelativeGap)
def _difference(metric: RelativeGap) -> str:
    return "difference in test loss (negative: lower)"


@axis_label.register(LossGap)
def _loss_gap(metric: LossGap) -> str:
    return "difference in loss, of the loss reduction (negative: lower)"


def _axis_label(rows: Sequence[Row], unit: str) -> str:
    said = {axis_label(row.criterion.observe) for row in rows if row.criterion is not None}
    units = {"x": "ratio", "relative": "relative difference", "share": "share", POINTS: "points"}
    return (said.pop() if len(said) == 1 else "") or units.get(unit, unit)


FIGURE = ClaimFigure(
    "forest",
    "What decides, with 95% intervals.",
    draw,
)
