"""The share of seeds that finish, against the peak LR."""

from functools import singledispatch

import numpy as np

from ...harness.declare import Judgement, arms_of
from ...harness.declare.metrics import CureRate, DivergenceTime, FailureRate
from ...harness.declare.metrics.divergence import divergence_edge
from ...harness.declare.metrics.estimating.weighted import tuned_index
from ...harness.declare.observed import Observed
from ...harness.declare.parts import all_parts
from ...harness.declare.trials import NotEstimableError
from ...harness.judge.statistics.intervals import binomial
from ...harness.judge.trial_arrays import TrialArrays
from ...harness.judge.trial_sets import TrialSet
from .drawing import ClaimFigure, Drawing, Panel, grid
from .palette import INK, LINES, Look, looks
from .scales import Scale

OVER = "peak_lr"


def draw(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """The arms of which a run diverges in the panels that a claim speaks of, with exact binomial intervals."""
    study, table = records.study, records.table
    metrics = [part for each in judgement.criteria_at(records.scale) for part in all_parts(each.observe)]
    spoken_of = {arm for metric in metrics for arm in arms_of(metric)}
    trained = study.arms_at(records.scale)
    shown: dict[str, list[str]] = {}
    for panel in dict.fromkeys(study.arms[arm].panel for arm in trained if arm in spoken_of):
        arms = [arm for arm in trained if study.arms[arm].panel == panel and _diverges(arm, table)]
        if any(arm in spoken_of for arm in arms):
            shown[panel] = arms
    return grid([_panel(title, arms, metrics, table) for title, arms in shown.items()])


def _panel(title: str, arms: list[str], metrics: list[Observed], table: TrialArrays) -> Panel:
    read = _all_read(metrics, arms, table)
    first = min(float(table.grid(arm, OVER)[table.diverged(arm, OVER).any(axis=1)].min()) for arm in arms)
    values = np.concatenate([table.grid(arm, OVER) for arm in arms])
    # Where all finish there is little to see: two octaves of that do.
    least = max(values.min(), min([first / 4, *(at / 1.3 for at in read.values())]))
    x = Scale("peak learning rate", 2, least / 1.15, float(values.max()) * 1.15)
    panel = Panel(x, Scale("share of seeds that finish", low=-0.04, high=1.04), title)
    for arm in arms:
        finished = (~table.diverged(arm, OVER)).sum(axis=1)
        seen = [binomial(int(count), table.seeds) for count in finished]
        ends = {"low": [each.low for each in seen], "high": [each.high for each in seen]}
        panel.add("curve", table.study.arms[arm].label, looks(table.study)[arm], x=table.grid(arm, OVER),
                  y=finished / table.seeds, **ends)  # fmt: skip
    for line, (label, at) in zip(LINES[1:], read.items(), strict=False):
        panel.add("rule", label, Look(INK, "", line), x=at)
    return panel


def _diverges(arm: str, table: TrialArrays) -> bool:
    if len(table.study.factors_at(table.scale, arm).get(OVER, ())) < 2:
        return False
    try:
        return bool(table.diverged(arm, OVER).any())
    except NotEstimableError:
        return False


def _all_read(metrics: list[Observed], arms: list[str], table: TrialArrays) -> dict[str, float]:
    found: dict[str, float] = {}
    for metric in metrics:
        if getattr(metric, "arm", None) in arms:
            try:
                found |= read(metric, table)
            except NotEstimableError:
                continue
    return found


@singledispatch
def read(metric: Observed, table: TrialArrays) -> dict[str, float]:
    """The LRs at which a claim reads the shares, by the kind of metric: name -> LR."""
    return {}


@read.register
def _at_tuned(metric: FailureRate, table: TrialArrays) -> dict[str, float]:
    at = float(table.grid(metric.tuned_for, metric.over)[tuned_index(metric.tuned_for, metric.over, table)])
    return {f"LR tuned for {table.study.arms[metric.tuned_for].label}": at}


@read.register
def _at_edge(metric: DivergenceTime, table: TrialArrays) -> dict[str, float]:
    return {f"most of {table.study.arms[metric.arm].label} diverge": _edge(metric.arm, metric.over, table)}


@read.register
def _below_edge(metric: CureRate, table: TrialArrays) -> dict[str, float]:
    edge, down = _edge(metric.arm, metric.over, table), metric.octaves_down
    lower = {f"the same, {2**down:g}x lower": edge * 2.0**-down} if down else {}
    return {f"most of {table.study.arms[metric.arm].label} diverge": edge, **lower}


def _edge(arm: str, over: str, table: TrialArrays) -> float:
    return float(table.grid(arm, over)[divergence_edge(arm, over, table)])


FIGURE = ClaimFigure(
    "survival",
    "Share of seeds that finish, with exact 95% intervals, for the arms of which a run diverges. Vertical lines: the LRs"
    " that this claim reads.",
    draw,
    missing="No run of these arms diverged at any learning rate that was tried, so there is no figure of it.",
)
