"""Range tests: what each rule picks, over the best LR of whole runs, under the losses of those."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator

from folklore.harness.metrics import FinderPick, FinderRegret, Log2, Optimum, Quotient
from folklore.harness.metrics.estimating.range_test_rules import Suggestion
from folklore.harness.metrics.estimating.weighted import initial_loss, mean
from folklore.harness.metrics.range_tests import picks
from folklore.harness.spec import Criterion, Judgement
from folklore.harness.spec.parts import all_parts
from folklore.harness.spec.trials import UndecidableError, in_words
from folklore.harness.verdicts.observe import observe
from folklore.harness.verdicts.trial_arrays import TrialArrays
from folklore.harness.verdicts.trial_sets import TrialSet
from folklore.reports.colours import HUES, INK, SOFT, Look, looks
from folklore.reports.figures import STYLE, WIDTH, band, draw_band, few_ticks, interval, log_ticks, mark, regions

# The rules that are shown beside those of a claim.
RULES = ("divergence", "tenth_of_divergence", "tenth_of_minimum", "steepest_log", "valley", "slide")
SHORT = {"tenth_of_divergence": "divergence / 10", "tenth_of_minimum": "minimum / 10", "steepest_log": "steepest",
         "steepest_linear": "steepest, linear", "passes_initial": "back at the start", "tenth_of_passing": "back at start / 10",
         "rises_halfway": "half back", "tenth_of_halfway": "half back / 10",
         "steepest_centred": "steepest decade"}  # fmt: skip


def rule_name(rule: str) -> str:
    return SHORT.get(rule, in_words(rule))


# Inches: at the left for rules' names, of a curve, of a rule's row, between panels, under and over a pair.
NAMES, CURVE, ROW, GAP, FOOT, HEAD = 1.42, 1.15, 0.25, 0.35, 0.62, 0.32


@dataclass(frozen=True)
class _Pair:
    """Range tests, the whole runs that they are compared with, the criterion for each rule that decides, and how that criterion
    smooths the losses."""

    range_test: str
    optimum: Optimum
    name: str
    criteria: dict[str, Criterion]
    smoothed: dict[str, dict[str, float | bool | None]]

    def pick(self, rule: str) -> FinderPick:
        """As the criterion reads it off; a rule that decides nothing, as tools do."""
        return FinderPick.model_validate({"arm": self.range_test, "rule": rule, **self.smoothed.get(rule, {})})


def range_tests(records: TrialSet, judgement: Judgement | None = None) -> Figure | None:
    """A panel for each workload: mean test loss of whole runs against the LR over the best, and under it every seed's pick by
    every rule, with geometric means and intervals, one and a tenth of the best LR, and the claim's region on its rule's row."""
    if judgement is None:
        return None
    table = records.table
    pairs = [pair for pair in _pairs(judgement, records.scale, table) if _known(pair, table)]
    if not pairs:
        return None
    own = list(dict.fromkeys(rule for pair in pairs for rule in pair.criteria))
    rules = [*RULES, *(rule for rule in own if rule not in RULES)]
    columns = min(2, len(pairs))
    rows = -(-len(pairs) // columns)
    wide = (WIDTH - NAMES - 0.12 - GAP * (columns - 1)) / columns
    picked = ROW * len(rules) + 0.1
    high = HEAD + CURVE + 0.08 + picked + FOOT
    with mpl.rc_context(STYLE):
        figure = mpl.figure.Figure(figsize=(WIDTH, rows * high))
        limits = _limits(pairs, rules, table)
        for index, pair in enumerate(pairs):
            row, column = divmod(index, columns)
            x, base = NAMES + column * (wide + GAP), (rows - 1 - row) * high + FOOT
            box = [x / WIDTH, base / (rows * high), wide / WIDTH, picked / (rows * high)]
            under = figure.add_axes((box[0], box[1], box[2], box[3]))
            top = figure.add_axes((box[0], (base + picked + 0.08) / (rows * high), box[2], CURVE / (rows * high)))
            _draw(top, under, pair, rules, limits, table, first=column == 0)
        return figure


def _pairs(judgement: Judgement, scale: str, table: TrialArrays) -> list[_Pair]:
    found: dict[str, _Pair] = {}
    for criterion in judgement.criteria_at(scale):
        for part in all_parts(criterion.observe):
            if isinstance(part, Quotient) and isinstance(part.top, FinderPick) and isinstance(part.bottom, Optimum):
                read: FinderPick | FinderRegret = part.top
                arm, optimum, direct = part.top.arm, part.bottom, True
            elif isinstance(part, FinderRegret):
                read = part
                arm, optimum, direct = part.range_test, Optimum(arm=part.arm, over=part.over), False
            else:
                continue
            name = criterion.panel or table.study.arms[optimum.arm].panel
            pair = found.setdefault(arm, _Pair(arm, optimum, name, {}, {}))
            if direct or read.rule not in pair.criteria:
                pair.criteria[read.rule] = criterion
                pair.smoothed[read.rule] = {"smoothing": read.smoothing, "delag": read.delag}
    return list(found.values())


def _known(pair: _Pair, table: TrialArrays) -> bool:
    try:
        observe(pair.optimum, table)
        picks(FinderPick(arm=pair.range_test, rule="divergence").reading, table)
    except UndecidableError:
        return False
    return True


def _picked(pair: _Pair, rule: str, table: TrialArrays) -> list[float]:
    return [each.lr for each in picks(pair.pick(rule).reading, table) if isinstance(each, Suggestion)]


def _limits(pairs: Sequence[_Pair], rules: Sequence[str], table: TrialArrays) -> tuple[float, float]:
    """One axis for all panels: where the picks are."""
    values = [
        lr / observe(pair.optimum, table).estimate for pair in pairs for rule in rules for lr in _picked(pair, rule, table)
    ]
    return min([*values, 0.02]) / 2, max([*values, 20]) * 2


def _draw(top: Axes, under: Axes, pair: _Pair, rules: Sequence[str], limits: tuple[float, float], table: TrialArrays,
          first: bool) -> None:  # fmt: skip
    best = observe(pair.optimum, table)
    for axes in (top, under):
        axes.set_xlim(*limits)
        log_ticks(axes.xaxis, 10, 4)
    under.set_ylim(-len(rules) + 0.5 - 0.2, 0.5 + 0.2)
    _whole_runs(top, pair, best.estimate, table)
    for row, rule in enumerate(rules):
        decides = rule in pair.criteria
        if decides and isinstance(pair.criteria[rule].observe, Quotient | Log2):
            octaves = isinstance(pair.criteria[rule].observe, Log2)
            regions(under, pair.criteria[rule], (-row - 0.46, -row + 0.46), to_axis=np.exp2 if octaves else float)
        lrs = np.array(_picked(pair, rule, table))
        colour = HUES[0] if decides else SOFT
        under.plot(lrs / best.estimate, np.full(len(lrs), -float(row)), color=colour, marker="o", markersize=4, alpha=0.4,
                   markeredgewidth=0, linestyle="none", label="_")  # fmt: skip
        with suppress(UndecidableError):
            seen = observe(Quotient(top=pair.pick(rule), bottom=pair.optimum), table)
            low, high = max(limits[0], seen.low), min(limits[1], seen.high)
            colour, size, width = (INK, 6, 2.0) if decides else (SOFT, 5, 1.2)
            interval(under, low, high, -row, colour, seen.estimate, "D", size=size, width=width)
    for axes in (top, under):
        mark(axes, 1.0, "-", colour=INK)
        mark(axes, 0.1, ":", colour=INK)
    under.yaxis.set_major_locator(FixedLocator([-float(row) for row in range(len(rules))]))
    names = [rule_name(rule) for rule in rules]
    under.yaxis.set_major_formatter(FixedFormatter(names if first else [""] * len(rules)))
    under.tick_params(axis="y", length=0)
    for row, text in enumerate(under.get_yticklabels()):
        text.set_fontweight("bold" if rules[row] in pair.criteria else "normal")
    top.set_xticklabels([])
    top.set_title(pair.name)
    top.set_ylabel(table.study.loss_label("test", table.scale, [pair.optimum.arm]) if first else "")
    under.set_xlabel("LR picked / best LR")


def _whole_runs(axes: Axes, pair: _Pair, best: float, table: TrialArrays) -> None:
    arm, over = pair.optimum.arm, pair.optimum.over
    grid = table.grid(arm, over)
    values = mean(table.losses(arm, over, "test_loss"), table.resamples)
    look = looks(table.study)[arm]
    draw_band(axes, grid / best, band(values, table.seeds), Look(HUES[0], look.marker, "-"), "_", every=None, markersize=2.5)
    start = float(initial_loss({arm: over}, table, table.resamples[:1])[0])
    lowest = float(values[0].min())
    axes.set_ylim(lowest - 0.06 * (start - lowest), start + 0.08 * (start - lowest))
    few_ticks(axes.yaxis, 3)
