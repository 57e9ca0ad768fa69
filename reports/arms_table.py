"""Every arm of a scale at its own best learning rate: its loss, and how it differs from its panel's reference, seeds paired."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from ..harness.declare import Observed, Study
from ..harness.declare.design import in_words
from ..harness.declare.metrics import FinalLoss, LossGap, TunedLoss
from ..harness.declare.metrics.estimating.weighted import mean
from ..harness.declare.trials import NotEstimableError
from ..harness.judge.observe import observe
from ..harness.judge.sentences import Number
from ..harness.judge.spelling import number_and_interval
from ..harness.judge.trial_arrays import TrialArrays
from ..harness.judge.trial_sets import TrialSet
from ..harness.judge.verdict import Verdict
from .words import with_power

LR = "peak_lr"
# A schedule whose loss at the end means nothing: the LR rises until the run diverges.
RANGE_TEST = "exponential"
Interval = tuple[float, float, float]
# Two losses -> the first less the second, of the loss reduction.
Decided = dict[tuple[Observed, Observed], Number]
# Rows of a panel beyond these are folded, and panels of a table with more rows than fit one screen.
MOST_ROWS = 12
MOST_OPEN = 14


@dataclass(frozen=True)
class Row:
    """One arm. best: the value it is tuned to, or given. note: why a number is missing. gap: spelled, with its interval; side:
    better or worse, where that is sure. seen, difference: loss and gap as numbers: low, estimate, high."""

    label: str
    reference: bool
    best: Markup
    loss: str = ""
    loss_interval: str = ""
    gap: str = ""
    gap_interval: str = ""
    side: str = ""
    diverged: str = ""
    note: str = ""
    seen: Interval | None = None
    difference: Interval | None = None


@dataclass(frozen=True)
class Panel:
    """The arms that are compared with one of them. name: for files and anchors."""

    title: str
    name: str
    reference: str
    best_of: str
    loss: str
    rows: tuple[Row, ...]
    summary: str = ""

    @property
    def open_rows(self) -> tuple[Row, ...]:
        return self.rows[:MOST_ROWS]

    @property
    def folded_rows(self) -> tuple[Row, ...]:
        return self.rows[MOST_ROWS:]


@dataclass(frozen=True)
class ArmsTable:
    """panels beyond the first `open_panels` are folded. range_tests: the arms that are left out."""

    panels: tuple[Panel, ...]
    open_panels: int
    range_tests: tuple[str, ...]

    @property
    def arms(self) -> int:
        return sum(len(panel.rows) for panel in self.panels)


def arms_table(records: TrialSet, verdicts: Sequence[Verdict] = ()) -> ArmsTable:
    """verdicts: of these trials. A difference that one rests on is shown as there: a comparison has one interval on a page."""
    study, scale = records.study, records.scale
    arms = study.arms_at(scale)
    ramps = [arm for arm in arms if _schedule(study, scale, arm) == RANGE_TEST]
    shown = [arm for arm in arms if arm not in ramps]
    by_panel: dict[str, list[str]] = {}
    for arm in shown:
        by_panel.setdefault(study.arms[arm].panel, []).append(arm)
    # An arm that is alone in its panel has none to be compared with.
    compared = {panel: names for panel, names in by_panel.items() if len(names) > 1}
    alone = [names[0] for panel, names in by_panel.items() if panel not in compared]
    decided = _decided(study, verdicts)
    panels = [_panel(records, title, names, index, decided) for index, (title, names) in enumerate(compared.items())]
    if alone:
        panels.append(_uncompared(records, alone, len(panels)))
    open_panels = len(panels) if len(shown) <= MOST_OPEN else 1
    labels = tuple(_full_label(study, arm) for arm in ramps)
    return ArmsTable(tuple(panels), open_panels, labels)


def _schedule(study: Study, scale: str, arm: str) -> str:
    return study.configuration(
        scale, arm, {name: values[0] for name, values in study.factors_at(scale, arm).items()}
    ).training.schedule


def _full_label(study: Study, arm: str) -> str:
    chosen = study.arms[arm]
    return f"{chosen.panel}: {chosen.label}" if chosen.panel else chosen.label


def _panel(records: TrialSet, title: str, arms: Sequence[str], index: int, decided: Decided) -> Panel:
    study, table = records.study, records.table
    reference = next((arm for arm in arms if study.arms[arm].reference), arms[0])
    gaps = _gaps(records, arms, reference, decided)
    rows = spelled([_row(records, arm, study.arms[arm].label, arm == reference, gaps.get(arm, "")) for arm in arms])
    name = f"{study.name}-{records.scale}-{records.device}-arms-{index + 1}"
    return Panel(
        title, name, study.arms[reference].label, _best_of(table, arms), study.loss_label("test", records.scale, arms),
        rows, _summary(rows, study.arms[reference].label),
    )  # fmt: skip


def _uncompared(records: TrialSet, arms: Sequence[str], index: int) -> Panel:
    rows = spelled([_row(records, arm, _full_label(records.study, arm)) for arm in arms])
    name = f"{records.study.name}-{records.scale}-{records.device}-arms-{index + 1}"
    return Panel("", name, "", _best_of(records.table, arms), records.study.loss_label("test", records.scale, arms), rows)


def _best_of(table: TrialArrays, arms: Sequence[str]) -> str:
    """The heading of the column of tuned values."""
    factors = {over for arm in arms for over in _varied(table, arm)}
    if factors <= {LR}:
        return "best LR" if factors else "LR"
    return f"best {in_words(factors.pop())}" if len(factors) == 1 else "best value"


def searched(table: TrialArrays, arm: str) -> str | None:
    """The factor that an arm is tuned over; None: it is trained at one point. Raises NotEstimableError if it varies two."""
    varied = _varied(table, arm)
    if len(varied) > 1:
        raise NotEstimableError("open", f"it varies {' and '.join(map(in_words, varied))}")
    return varied[0] if varied else None


def _varied(table: TrialArrays, arm: str) -> list[str]:
    if search := table.study.search_of(table.scale, arm):
        return [search.factor]
    return [name for name, values in table.study.factors_at(table.scale, arm).items() if len(values) > 1]


def loss_of(table: TrialArrays, arm: str) -> Observed:
    """Its loss where it is tuned, or at its one point."""
    over = searched(table, arm)
    if over is None and len(table.study.factors_at(table.scale, arm)) == 1:
        return FinalLoss(arm=arm)
    return TunedLoss(arm=arm, over=over or _any_factor(table, arm))


def _any_factor(table: TrialArrays, arm: str) -> str:
    """Any factor of an arm that is trained at one point: all of its factors have one value."""
    if search := table.study.search_of(table.scale, arm):
        return search.factor
    for factor in table.study.factors_at(table.scale, arm):
        return factor
    raise NotEstimableError("open", "no factor is declared for it")


def _gaps(records: TrialSet, arms: Sequence[str], reference: str, decided: Decided) -> dict[str, Number | str]:
    """The difference of every arm but the reference, or why there is none. One that a claim rests on is its criterion's, with
    its interval."""
    others = [arm for arm in arms if arm != reference]
    try:
        right = loss_of(records.table, reference)
        observe(right, records.table)
    except NotEstimableError:
        return dict.fromkeys(others, "the reference has no number")
    gaps: dict[str, Number | str] = {}
    for arm in others:
        try:
            left = loss_of(records.table, arm)
            gaps[arm] = decided.get((left, right)) or _observed(LossGap(left=left, right=right), records.table)
        except NotEstimableError as error:
            gaps[arm] = error.reason
    return gaps


def _observed(gap: LossGap, table: TrialArrays) -> Number:
    observation = observe(gap, table)
    return Number(observation.estimate, observation.low, observation.high, "relative")


def _decided(study: Study, verdicts: Sequence[Verdict]) -> Decided:
    """The differences of two losses that criteria decide on, whichever of the two they subtract."""
    judgements = {judgement.claim: judgement for judgement in study.judgements}
    differences: Decided = {}
    for verdict in verdicts:
        for criterion, finding in zip(judgements[verdict.claim].criteria_at(verdict.scale), verdict.findings, strict=False):
            gap, estimate, low, high = criterion.observe, finding.estimate, finding.low, finding.high
            if isinstance(gap, LossGap) and estimate is not None and low is not None and high is not None:
                level = f"{finding.level:.0%}"
                differences[gap.left, gap.right] = Number(estimate, low, high, "relative", level)
                differences[gap.right, gap.left] = Number(-estimate, -high, -low, "relative", level)
    return differences


def _row(records: TrialSet, arm: str, label: str, reference: bool = False, gap: Number | str = "") -> Row:
    outcomes = records.trials.loc[records.trials["arm"] == arm, "outcome"]
    diverged = f"{int((outcomes == 'diverged').sum())} of {len(outcomes)}"
    try:
        over = searched(records.table, arm)
        best, at_edge = _best(records.table, arm, over)
        if at_edge:
            return Row(label, reference, best, diverged=diverged, note="at the edge of its grid: no optimum")
        observation = observe(loss_of(records.table, arm), records.table)
    except NotEstimableError as error:
        return Row(label, reference, Markup(""), diverged=diverged, note=error.reason)
    own_ends = (observation.low, observation.estimate, observation.high)
    if isinstance(gap, str):
        return Row(label, reference, best, diverged=diverged, note=gap, seen=own_ends)
    interval = number_and_interval(gap.estimate, gap.low, gap.high, "relative")[1] + f" {gap.level}" * (gap.level != "95%")
    return Row(
        label, reference, best, gap=_signed(gap.value), gap_interval=interval, side=_side(gap), diverged=diverged,
        seen=own_ends, difference=(gap.low, gap.estimate, gap.high),
    )  # fmt: skip


def _best(table: TrialArrays, arm: str, over: str | None) -> tuple[Markup, bool]:
    """The value it is trained best at, by validation loss, and whether that is an edge of its grid."""
    if over is None:
        factors = table.study.factors_at(table.scale, arm)
        value = float(factors[LR][0]) if LR in factors else table.study.configuration(table.scale, arm, {}).training.peak_lr  # type: ignore[arg-type]
        return with_power(value), False
    grid = table.grid(arm, over)
    best = int(mean(table.losses(arm, over, "validation_loss"), table.resamples[:1])[0].argmin())
    return with_power(float(grid[best])), len(grid) > 1 and best in (0, len(grid) - 1)


def spelled(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows, losses in words: all to the digits that most of their intervals leave meaningful, three at the least."""
    halves = [(row.seen[2] - row.seen[0]) / 2 for row in rows if row.seen is not None]
    typical = max(statistics.median(halves), 1e-6) if halves else 1.0
    digits = min(6, max(3, 1 - math.floor(math.log10(typical))))
    return tuple(
        row
        if row.seen is None
        else replace(row, loss=f"{row.seen[1]:.{digits}f}", loss_interval=f"{row.seen[0]:.{digits}f}–{row.seen[2]:.{digits}f}")
        for row in rows
    )


def _signed(number: str) -> str:
    return number if number.startswith("−") or not number.strip("0.%") else f"+{number}"


def _side(gap: Number) -> str:
    """Surely better, surely worse, or neither."""
    return "better" if gap.high < 0 else "worse" if gap.low > 0 else ""


def _summary(rows: Sequence[Row], reference: str) -> str:
    """The line that a folded panel shows: its best arm."""
    known = [row for row in rows if row.seen is not None]
    if not known:
        return ""
    best = min(known, key=lambda row: row.seen[1] if row.seen else math.inf)
    if best.reference:
        return f"lowest loss: {best.label}"
    return f"lowest loss: {best.label}" + (f", {best.gap} {best.gap_interval} against {reference}" if best.gap else "")
