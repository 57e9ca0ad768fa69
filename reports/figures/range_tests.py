"""Range tests: what each rule picks, over the best LR of whole runs, under the losses of those."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...harness.declare import Criterion, Judgement
from ...harness.declare.design import in_words
from ...harness.declare.metrics import Log2, Optimum, Quotient
from ...harness.declare.metrics.estimating.range_test_rules import Suggestion
from ...harness.declare.metrics.estimating.weighted import initial_loss, mean
from ...harness.declare.observed import Observed
from ...harness.declare.parts import all_parts
from ...harness.declare.trials import NotEstimableError
from ...harness.judge.trial_arrays import TrialArrays
from ...harness.judge.trial_sets import TrialSet
from ...studies.metrics.lr_finder import Reading, finder_pick, finder_regret, picks, reading_of
from .drawing import ClaimFigure, Drawing, Panel, Stack, across, grid
from .frames import band, number, of_kind
from .palette import INK, SOFT, Look, looks
from .scales import Scale, rows

# The rules that are shown beside those of a claim.
RULES = ("divergence", "tenth_of_divergence", "tenth_of_minimum", "steepest_log", "valley", "slide")
SHORT = {
    "tenth_of_divergence": "divergence / 10",
    "tenth_of_minimum": "minimum / 10",
    "steepest_log": "steepest",
    "steepest_linear": "steepest, linear",
    "passes_initial": "back at the start",
    "tenth_of_passing": "back at start / 10",
    "rises_halfway": "half back",
    "tenth_of_halfway": "half back / 10",
    "steepest_centred": "steepest decade",
}
# Inches of a curve, of a rule's row.
CURVE, ROW = 1.15, 0.25


@dataclass(frozen=True)
class Comparison:
    """Range tests, the whole runs that they are compared with, the criterion for each rule that decides, and how that criterion
    smooths the losses."""

    range_test: str
    optimum: Optimum
    name: str
    criteria: dict[str, Criterion] = field(default_factory=dict)
    smoothed: dict[str, dict[str, Any]] = field(default_factory=dict)

    def pick(self, rule: Any) -> Any:
        """The pick of a rule: read off as its criterion does, or as tools do if it decides nothing."""
        return finder_pick(arm=self.range_test, rule=rule, **self.smoothed.get(rule, {}))

    def picked(self, rule: str, table: TrialArrays) -> list[float]:
        return [pick.lr for pick in picks(reading_of(self.pick(rule)), table) if isinstance(pick, Suggestion)]


def draw(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """A stack for each workload: mean test loss of whole runs against the LR over the best, and under it every seed's pick by
    every rule, with geometric means and intervals, one and a tenth of the best LR, and the claim's region on its rule's row."""
    table = records.table
    comparisons = [comparison for comparison in _comparisons(judgement, records.scale, table) if _is_known(comparison, table)]
    own = dict.fromkeys(rule for comparison in comparisons for rule in comparison.criteria)
    rules = list(dict.fromkeys((*RULES, *own)))
    best = {
        comparison.range_test: observation.estimate
        for comparison in comparisons
        if (observation := number(comparison.optimum, table))
    }
    values = [
        lr / best[comparison.range_test]
        for comparison in comparisons
        for rule in rules
        for lr in comparison.picked(rule, table)
    ]
    x = Scale("LR picked / best LR", 10, min([*values, 0.02]) / 2, max([*values, 20]) * 2, ticks=4)
    return grid([_stack(comparison, best[comparison.range_test], rules, x, table) for comparison in comparisons])


def _comparisons(judgement: Judgement, scale: str, table: TrialArrays) -> list[Comparison]:
    comparisons: dict[str, Comparison] = {}
    for criterion in judgement.criteria_at(scale):
        for part in all_parts(criterion.observe):
            for metric, optimum in compared(part):
                name = criterion.panel or table.study.arms[optimum.arm].panel
                reading, smoothed = reading_of(metric), {"smoothing": metric.smoothing, "delag": metric.delag}
                comparison = comparisons.setdefault(reading.arm, Comparison(reading.arm, optimum, name))
                if part is not metric or reading.rule not in comparison.criteria:
                    comparison.criteria[reading.rule] = criterion
                    comparison.smoothed[reading.rule] = smoothed
    return list(comparisons.values())


def compared(metric: Observed) -> list[tuple[Any, Optimum]]:
    """A metric's readings of a range test, each with the best LR of the whole runs that it is compared with."""
    for regret in of_kind([metric], finder_regret):
        return [(regret, Optimum(arm=regret.arm, over=regret.over))]
    if not isinstance(metric, Quotient) or not isinstance(optimum := metric.bottom, Optimum):
        return []
    return [(pick, optimum) for pick in of_kind([metric.top], finder_pick)]


def on_axis(metric: Observed) -> Any:
    """How a criterion's values lie on an axis of LRs over the best; None: they do not."""
    return float if isinstance(metric, Quotient) else np.exp2 if isinstance(metric, Log2) else None


def _is_known(comparison: Comparison, table: TrialArrays) -> bool:
    try:
        picks(Reading(comparison.range_test, "divergence"), table)
    except NotEstimableError:
        return False
    return number(comparison.optimum, table) is not None


def _stack(comparison: Comparison, best: float, rules: Sequence[str], x: Scale, table: TrialArrays) -> Stack:
    y = rows([("▸ " if rule in comparison.criteria else "") + SHORT.get(rule, in_words(rule)) for rule in rules])
    under = Panel(x, y, height=ROW * len(rules) + 0.1)
    under.looks |= {
        "_picks": looks(table.study)[comparison.optimum.arm],
        "_others": Look(SOFT, "o", ""),
        "_decides": Look(INK, "D", ""),
    }
    for row, rule in enumerate(rules):
        decides = rule in comparison.criteria
        if decides and (times := on_axis(comparison.criteria[rule].observe)) is not None:
            under.regions(comparison.criteria[rule], "x", times, (-row - 0.46, -row + 0.46))
        lrs = np.array(comparison.picked(rule, table)) / best
        under.add("run", "_picks" if decides else "_others", x=lrs, y=-row)
        if (observation := number(Quotient(top=comparison.pick(rule), bottom=comparison.optimum), table)) is not None:
            low, high = max(x.low or 0.0, observation.low), min(x.high or np.inf, observation.high)
            series = ("estimate", "_decides") if decides else ("beside", "_others")
            under.add(*series, **across(observation.estimate, low, high), y=-row)
    top = _whole_runs(comparison, best, x, table)
    for panel in (top, under):
        panel.add("rule", x=1.0)
        panel.add("rule", "_tenth", Look(INK, "", "--"), x=0.1)
    return top, under


def _whole_runs(comparison: Comparison, best: float, x: Scale, table: TrialArrays) -> Panel:
    arm, over = comparison.optimum.arm, comparison.optimum.over
    values = mean(table.losses(arm, over, "test_loss"), table.resamples)
    start, lowest = float(initial_loss({arm: over}, table, table.resamples[:1])[0]), float(values[0].min())
    fall = start - lowest
    label = table.study.loss_label("test", table.scale, [arm])
    y = Scale(label, low=max(0.0, lowest - 0.06 * fall), high=start + 0.08 * fall, ticks=4)
    panel = Panel(x, y, comparison.name, CURVE, caption=CAPTION)
    panel.add("curve", f"_{arm}", looks(table.study)[arm], x=table.grid(arm, over) / best, **band(values, table.seeds))
    return panel


CAPTION = (
    "Above: test loss of whole runs against their LR over the best. Below: LRs that rules pick from range tests:"
    " a diamond, or gray a large dot, is the geometric mean with its 95% interval. Solid line: the best LR; dashed: a tenth of"
    " it."
    " ▸: the rules of this claim."
)
FIGURE = ClaimFigure("range-tests", draw)
