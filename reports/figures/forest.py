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
from ...harness.declare.parts import all_parts, parts, with_other_arms
from ...harness.declare.trials import NotEstimableError, Numbers
from ...harness.judge.spelling import HUNDREDTHS, PERCENT, in_prose
from ...harness.judge.statistics.intervals import Observation
from ...harness.judge.trial_arrays import TrialArrays
from ...harness.judge.trial_sets import TrialSet
from .drawing import BOLD, LETTER, SIDE, WIDE, WIDTH, ClaimFigure, Drawing, Panel, across, grid, wrapped
from .frames import number, of_kind
from .palette import INK, SOFT, Look, looks
from .scales import Scale

# Inches of a row, of a further line of its text; of a panel, and of one that leads a page beside another one.
ROW, LINE, INNER, BESIDE = 0.52, 0.19, WIDTH - 2 * SIDE, WIDE / 2 - 2 * SIDE
# How much further out than what decides what stands beside it may reach, of the width of the former.
WIDER = 1.5
MOST_BESIDE, MOST_REPORTED, MOST_OWN = 7, 6, 2
# What an axis says after the quantity of a difference, and of other numbers by their unit.
DIFFERENCES = {RelativeGap: " (negative: lower)", LossGap: ", of the loss reduction (negative: lower)"}
UNITS = {"x": "ratio", "relative": "relative difference", "share": "share", POINTS: "points"}


@dataclass(frozen=True)
class Row:
    """criterion: what decides on it; None: it stands beside. seeds: single ones, on the axis of the number. arm, against:
    the two whose gap it is."""

    label: str
    observation: Observation
    unit: str
    look: Look
    criterion: Criterion | None
    seeds: Numbers
    arm: str = ""
    against: str = ""

    @property
    def number(self) -> str:
        return in_prose(self.observation.estimate, self.observation.low, self.observation.high, self.unit)

    def text(self, inner: float) -> str:
        """Its label in lines beside which its number has room. inner: inches of both."""
        return wrapped(self.label, (inner - len(self.number) * LETTER - 0.15) / BOLD)

    @property
    def core(self) -> list[float]:
        """The numbers that its axis has to hold: the interval that decides, and the edges of its regions."""
        if (asked := self.criterion) is None:
            return []
        edges = [edge for rule in (asked.claimed, asked.refuted) for piece in rule.pieces for edge in piece]
        lines = [asked.null, asked.expected.value if asked.expected else None]
        return [self.observation.low, self.observation.high, *edges, *(line for line in lines if line is not None)]


def draw(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """A row for each criterion whose metric can be shown so, and thinner ones for the other arms of its panel against the same
    reference, or for what is reported beside it; a panel for each unit. None where there is no number."""
    table = records.table
    criteria = [criterion for criterion in judgement.criteria_at(records.scale) if is_row(criterion.observe)]
    reported = [report for report in judgement.reported if is_row(report.observe)]
    own = [
        row for criterion in criteria if (row := _row(criterion.observe, criterion.written_in, table, criterion)) is not None
    ]
    beside = _beside(criteria, table) if len(own) <= MOST_OWN else []
    if len(reported) <= MOST_REPORTED:
        beside += [
            row for report in reported if (row := _row(report.observe, report.written_in, table, label=report.name)) is not None
        ]
    known = {row.label for row in own}
    panels: dict[tuple[str, bool], list[Row]] = {}
    for row in own:
        assert row.criterion is not None
        panels.setdefault((row.unit, row.criterion.observe.log_axis), []).append(row)
    for (unit, _), rows in panels.items():
        rows += [row for row in beside if row.unit == unit and row.label not in known][:MOST_BESIDE]
    inner = INNER if len(panels) == 1 else BESIDE
    return grid([_panel(rows, unit, log, inner, table) for (unit, log), rows in panels.items()], columns=1)


def is_row(metric: Observed) -> bool:
    """Whether a row shows it: it names this figure, or names none and has a part that does."""
    return metric.figure == FIGURE.name or (not metric.figure and any(is_row(part) for part in parts(metric)))


def _panel(rows: list[Row], unit: str, log: bool, inner: float, table: TrialArrays) -> Panel:
    """Rows from the top, in inches: a line of text, and under it the interval among its regions."""
    origin = table.study.arms[rows[0].against].label if rows[0].against and len({row.against for row in rows}) == 1 else ""
    label = _axis([row.criterion for row in rows if row.criterion is not None], unit, origin)
    if origin:  # the axis names the one arm that all are against, and not every row
        rows = [replace(row, label=arm_label(row.arm, table)) for row in rows]
    factor = 100.0 if unit in HUNDREDTHS else 1.0
    limits = _limits(rows, log)
    least, most = (factor * end for end in limits)
    x = Scale(label, 10 if log else 0, least, most, ticks=7, percent=unit in PERCENT)
    panel = Panel(x, Scale(names={}), height=0.0, caption="What decides, with 95% intervals.")
    for index, row in enumerate(rows):
        _add(panel, row, index, row.text(inner), factor, limits)
    panel.y = Scale(names={}, low=-panel.height, high=0.0)
    return panel


def _axis(criteria: Sequence[Criterion], unit: str, origin: str) -> str:
    """The quantity that its metrics measure, in their unit; without a unit, the words with which all their names begin.
    origin: the arm that all differences are from."""
    metrics = [criterion.observe for criterion in criteria]
    every = [part for metric in metrics for part in all_parts(metric)]
    read = {in_words(part.column) for part in every if hasattr(part, "column")}
    if not all(isinstance(metric, Gap | RelativeGap | LossGap) for metric in metrics) or not (read or of_kind(every, LossGap)):
        begin = {criterion.name.rpartition(", ")[0] or criterion.name for criterion in criteria}
        return UNITS.get(unit, unit) or (begin.pop() if len(begin) == 1 else "value")
    what = read.pop() if len(read) == 1 else "loss"
    ends = [words for kind, words in DIFFERENCES.items() if of_kind(every, kind)]
    return f"difference in {what}{f' from {origin}' * bool(origin)}{[*ends, f', {UNITS.get(unit, unit)}'][0]}"


def _add(panel: Panel, row: Row, index: int, text: str, factor: float, limits: tuple[float, float]) -> None:
    decides, ink = row.criterion is not None, "_ink" if row.criterion is not None else "_soft"
    panel.note(text, -math.inf, -panel.height, ink, place="below", kind="finding" if decides else "note")
    panel.note(row.number, math.inf, -panel.height, ink, "right", "below")
    panel.height += ROW + LINE * text.count("\n")
    y = 0.16 - panel.height
    if row.criterion is not None:
        panel.regions(row.criterion, "x", lambda value: value * factor, (y - 0.11, y + 0.11))
    kind, series = ("estimate", "_row") if decides else ("beside", "_beside")
    series = "_one_sided" if row.criterion is not None and row.criterion.one_sided else series
    look = replace(row.look, marker="s") if decides else row.look
    low, high = np.clip([row.observation.low, row.observation.high], *limits)
    estimate = row.observation.estimate if limits[0] <= row.observation.estimate <= limits[1] else math.nan
    panel.add(kind, f"{series} {index}", look, **across(factor * estimate, factor * low, factor * high), y=y)
    seeds = row.seeds[(row.seeds >= limits[0]) & (row.seeds <= limits[1])]
    panel.add("run", f"_seeds {index}", row.look, x=factor * seeds, y=y - 0.07)  # below the interval, which would cover them


def _limits(rows: Sequence[Row], log: bool) -> tuple[float, float]:
    """The ends of the axis: around what decides, its regions' edges, and whatever else is not too far away."""
    on, off = (np.log, np.exp) if log else (np.asarray, np.asarray)
    core, others = (
        on([value for value in values if math.isfinite(value) and (value > 0 or not log)])
        for values in (
            [value for row in rows for value in row.core],
            [value for row in rows for value in (row.observation.low, row.observation.high, *row.seeds)],
        )
    )
    low, high = (core.min(), core.max()) if len(core) else (0.0, 1.0)
    room = WIDER * (high - low) + 0.1 * log
    near = np.append(others[(others >= low - room) & (others <= high + room)], (low, high))
    pad = 0.06 * np.ptp(near) or 1.0
    return float(off(near.min() - pad)), float(off(near.max() + pad))


def _row(metric: Observed, unit: str, table: TrialArrays, criterion: Criterion | None = None, label: str = "") -> Row | None:
    """None where it has no number."""
    arm, against = pair(metric) if not label else ("", "")
    if not label:
        versus = f"{arm_label(arm, table)} against {table.study.arms[against].label}" if against else ""
        label = versus or (criterion.name if criterion is not None else in_words(getattr(metric, "kind", "")))
    try:
        observation, seeds = number(metric, table, criterion), by_seed(metric, table)
    except NotEstimableError:
        return None
    if observation is None:
        return None
    arms = arms_of(getattr(metric, "left", metric))
    subject = next(iter(arms)) if len(arms) == 1 else str(getattr(metric, "arm", ""))
    look = looks(table.study).get(subject, Look(INK if criterion is not None else SOFT, "o", ""))
    return Row(label, observation, unit, look, criterion, np.empty(0) if seeds is None else seeds, arm, against)


def arm_label(arm: str, table: TrialArrays) -> str:
    """An arm's label, with its panel if others have the same label."""
    chosen, arms = table.study.arms[arm], table.study.arms
    shared = chosen.panel and sum(other.label == chosen.label for other in arms.values()) > 1
    return f"{chosen.panel}: {chosen.label}" if shared else chosen.label


def _beside(criteria: Sequence[Criterion], table: TrialArrays) -> list[Row]:
    """The other arms of the panels against the same references, two arms once."""
    study = table.study
    own = {frozenset(pair(criterion.observe)) for criterion in criteria}
    rows_by_pair: dict[frozenset[str], Row] = {}
    for criterion in criteria:
        left, right = pair(criterion.observe)
        for arm in study.arms_at(table.scale) if left else ():
            if study.arms[arm].panel == study.arms[left].panel and arm != right and frozenset((arm, right)) not in own:
                row = _row(with_other_arms(criterion.observe, {left: arm}), criterion.written_in, table)
                if row is not None:
                    rows_by_pair.setdefault(frozenset((arm, right)), row)
    return list(rows_by_pair.values())


# ---- what a forest knows of kinds of metrics


def pair(metric: Observed) -> tuple[str, str]:
    """The two arms whose gap it is; empty: it is none of two arms."""
    if isinstance(metric, Gap | RelativeGap):
        left, right = tuple(arms_of(metric.left)), tuple(arms_of(metric.right))
        if len(left) == len(right) == 1 and left != right:
            return left[0], right[0]
    return "", ""


@singledispatch
def by_seed(metric: Observed, table: TrialArrays) -> Numbers | None:
    """The number of each seed, [S]; None: single seeds are not shown."""
    return None


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


FIGURE = ClaimFigure("forest", draw)
