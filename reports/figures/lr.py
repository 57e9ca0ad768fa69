"""Losses against the learning rate, or whatever else is tuned, with what a claim reads off them."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from ...harness.declare import Judgement, arms_of
from ...harness.declare.design import in_words
from ...harness.declare.metrics import LossAt, MaxTrainable, Optimum
from ...harness.declare.metrics.estimating.weighted import initial_loss, mean, tuned_index
from ...harness.declare.observed import KINDS, Observed
from ...harness.declare.parts import all_parts, searched_factor
from ...harness.declare.trials import NotEstimableError, Numbers
from ...harness.judge.observe import observe
from ...harness.judge.trial_arrays import TrialArrays
from ...harness.judge.trial_sets import TrialSet
from .drawing import ClaimFigure, Drawing, Panel, Stack, StudyFigure, across, grid
from .frames import band, is_searched, number, of_kind
from .palette import INK, SOFT, Look, looks
from .scales import Scale

# Curves in a panel; more stand in a panel of their own.
MOST_CURVES = 8
# How much of the loss reduction from the start to the lowest loss a loss axis shows.
SHOWN_FALL = 0.6
# With a bar: this many times its height above the lowest loss.
SHOWN_BARS = 8.0
# Inches of a tuned value's row under the curves, and the share of the axis between bars that would cover each other.
ROW, STEP = 0.16, 0.055
FACTORS = {
    "peak_lr": "peak learning rate",
    "warmup_fraction": "share of warmup",
    "final_fraction": "final LR over peak LR",
}
CAPTION = "Means over seeds with 95% bands; below the curves: tuned values with 95% intervals."


@dataclass(frozen=True)
class Curve:
    """An arm's losses [G] at the values of a factor, where a seed diverged, and where its runs began."""

    x: Numbers
    ends: Mapping[str, Numbers]
    diverged: Numbers
    start: float

    @classmethod
    def of(cls, arm: str, over: str, table: TrialArrays) -> "Curve | None":
        """The curve of an arm; None if trials are missing."""
        if table.study.arms[arm].searched:
            x, y = np.asarray(table.tunings[arm].values), np.asarray(table.tunings[arm].losses)
            order = np.argsort(x)
            return cls(x[order], {"y": y[order]}, np.empty(0), float(y.max())) if len(x) else None
        try:
            losses = table.losses(arm, over, "test_loss")
        except NotEstimableError:
            return None
        x, happened = table.grid(arm, over), table.diverged(arm, over).any(axis=1)
        ends = band(mean(losses, table.resamples), table.seeds)
        # The loss that a diverged seed counts with is no spread of losses.
        ends |= {end: np.where(happened, np.nan, ends[end]) for end in ("low", "high")}
        return cls(x, ends, x[happened], float(initial_loss({arm: over}, table, table.resamples[:1])[0]))


@dataclass(frozen=True)
class Group:
    """The curves of a panel, drawn up to a loss."""

    over: str
    curves: Mapping[str, Curve]
    table: TrialArrays
    panel: Panel
    lowest: float
    top: float

    def series(self, arm: str) -> str:
        """An arm that is alone stands in the title, not in a legend."""
        return self.table.study.arms[arm].label if len(self.curves) > 1 else f"_{arm}"

    @property
    def height(self) -> float:
        return self.top - self.lowest


def of_claim(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """A panel for each panel of the study with an arm of which the claim reads a tuned value."""
    metrics = dict.fromkeys(part for criterion in judgement.criteria_at(records.scale) for part in all_parts(criterion.observe))
    wanted: dict[str, str] = {}
    for metric in metrics:
        if (factor := searched_factor(metric)) is not None:
            wanted |= {arm: factor for arm in arms_of(metric) if is_searched(records.table, arm, factor)}
    return _drawing(records, wanted, metrics)


def of_study(records: TrialSet) -> Drawing | None:
    """None where every arm is trained at one value."""
    wanted = {}
    for arm in records.study.arms_at(records.scale):
        factors = records.study.factors_at(records.scale, arm)
        search = records.study.search_of(records.scale, arm)
        over = search.factor if search else next((name for name, values in factors.items() if len(values) > 1), "peak_lr")
        if is_searched(records.table, arm, over):
            wanted[arm] = over
    return _drawing(records, wanted, ())


def _drawing(records: TrialSet, wanted: Mapping[str, str], metrics: Iterable[Observed]) -> Drawing | None:
    table = records.table
    together: dict[tuple[str, str], dict[str, Curve]] = {}
    for arm in records.study.arms_at(records.scale):
        if arm in wanted and (curve := Curve.of(arm, wanted[arm], table)) is not None:
            together.setdefault((records.study.arms[arm].panel, wanted[arm]), {})[arm] = curve
    return grid(
        [
            _stack(title, over, {arm: curves[arm] for arm in part}, list(metrics), table)
            for (title, over), curves in together.items()
            for part in chunks(list(curves), MOST_CURVES)
        ]
    )


def chunks(names: Sequence[str], most: int) -> list[list[str]]:
    """Names in as few lists as hold at most this many each, about equally long."""
    return [[str(name) for name in part] for part in np.array_split(np.array(names, dtype=object), -(-len(names) // most))]


def _stack(title: str, over: str, curves: Mapping[str, Curve], metrics: Sequence[Observed], table: TrialArrays) -> Stack:
    """The curves, and under them a row for each tuned value."""
    study = table.study
    alone = study.arms[next(iter(curves))].label if len(curves) == 1 else ""
    own = [metric for metric in metrics if arms_of(metric) & set(curves)]
    values = np.concatenate([curve.x for curve in curves.values()])
    base = 2 if values.min() > 0 else 0
    low, high = Scale(log=base).around(values)
    x = Scale(FACTORS.get(over, in_words(over)), base, low, high, ticks=5)
    searched = any(study.arms[arm].searched for arm in curves)
    label = study.loss_label("proposals' validation" if searched else "test", table.scale, list(curves))
    lowest, top = _shown(curves, [bar for metric in of_kind(own, MaxTrainable) if (bar := _bar(metric, table)) is not None])
    room = 0.05 * (top - lowest)
    y = Scale(label, low=max(0.0, lowest - room), high=top + room)
    panel = Panel(x, y, ": ".join(part for part in (title, alone) if part), caption=CAPTION)
    group = Group(over, curves, table, panel, lowest, top)
    for index, (arm, curve) in enumerate(curves.items()):
        panel.add("curve", group.series(arm), looks(study)[arm], x=curve.x, **curve.ends)
        panel.add("cross", f"_{arm}", looks(study)[arm], x=curve.diverged, y=top - 0.02 * group.height * (1 + index))
    if any(len(curve.diverged) for curve in curves.values()):
        panel.add("cross", "a seed diverged", Look(INK, "X", ""), y=np.nan)
    for metric in own:
        with suppress(NotEstimableError):
            overlay(metric, group)
    return (panel, *_tuned(group, own))


def _shown(curves: Mapping[str, Curve], bars: Sequence[float]) -> tuple[float, float]:
    """The lowest loss, and the highest that is shown: of an arm alone with its band."""
    names = ["y", "low", "high"] if len(curves) == 1 else ["y"]
    losses = np.concatenate([curve.ends[name] for curve in curves.values() for name in names if name in curve.ends])
    lowest, start = float(np.nanmin(losses)), float(np.mean([curve.start for curve in curves.values()]))
    top = min(float(np.nanmax(losses)), lowest + SHOWN_FALL * (start - lowest))
    if bars:
        above = max(bars) - lowest
        top = lowest + max(min(top - lowest, SHOWN_BARS * above), 1.05 * above)
    return lowest, top if top > lowest else lowest + 0.01 * (abs(lowest) or 1.0)


def _tuned(group: Group, metrics: Sequence[Observed]) -> Stack:
    """A row for the tuned value of each arm, as the claim reads it, if it does."""
    read = {optimum.arm: optimum for optimum in of_kind(metrics, Optimum)}
    panel = Panel(group.panel.x, Scale(names={}), height=0.0)
    for arm, curve in group.curves.items():
        if not group.table.study.arms[arm].searched and len(curve.x) > 2 and curve.x.min() > 0:
            observation = number(read.get(arm, Optimum(arm=arm, over=group.over)), group.table)
            if observation is not None:
                ends = across(observation.estimate, *np.clip((observation.low, observation.high), curve.x[0], curve.x[-1]))
                panel.height += ROW
                panel.add("estimate", group.series(arm), looks(group.table.study)[arm], **ends, y=ROW / 2 - panel.height)
    panel.y = Scale(names={}, low=-panel.height, high=0.0)
    return (panel,) if panel.marks else ()


@singledispatch
def overlay(metric: Observed, group: Group) -> None:
    """Draws what a claim reads off the curves, by the kind of metric; a kind without an entry adds nothing."""


@overlay.register
def _max_trainable(metric: MaxTrainable, group: Group) -> None:
    """The bar, and on it, or above what stands there, the largest value that still trains."""
    if metric.arm not in group.curves or (bar := _bar(metric, group.table)) is None:
        return
    panel, look, observation = group.panel, looks(group.table.study)[metric.arm], observe(metric, group.table)
    # A small loss and a large one, and two small ones, where a claim reads both, look different.
    name = f"above: over {metric.within:.0%} lost"
    small = ":" if any(mark.series.startswith("above") and mark.series != name for mark in panel.of("rule")) else "--"
    line = Look(SOFT if metric.best_of else look.colour, "o", small if metric.within < 0.25 else "-.")
    panel.add("rule", name, line, y=bar)
    low, high = np.clip((observation.low, observation.high), *panel.limits("x"))
    others = [mark.numbers for mark in panel.of("estimate")]
    covered = [abs(it["y"] - bar) < STEP * group.height and it["left"] < high and low < it["right"] for it in others]
    y = bar + sum(map(bool, covered)) * STEP * group.height
    panel.add("estimate", group.series(metric.arm), look, **across(observation.estimate, low, high), y=y)


def _bar(metric: MaxTrainable, table: TrialArrays) -> float | None:
    try:
        return float(metric.bar(table, table.resamples[:1])[0])
    except NotEstimableError:
        return None


@overlay.register(KINDS["transfer_regret"])
def _transfer_regret(metric: Any, group: Group) -> None:
    if metric.arm in group.curves:
        at, loss = _taken_over(metric, group)
        regret = observe(metric, group.table)
        middle = float(np.exp(np.mean(np.log(group.curves[metric.arm].x))))
        text = f"{100 * regret.estimate:+.1f}%".replace("-", "−")
        align, place = "left" if at < middle else "right", "below" if loss > group.lowest + group.height / 2 else "above"
        # In the arm's colour, for among several rings its place alone does not say whose it is.
        group.panel.note(text, at, loss, group.series(metric.arm), align, place, kind="finding")


@overlay.register
def _loss_at(metric: LossAt, group: Group) -> None:
    if metric.arm in group.curves:
        _taken_over(metric, group)


def _taken_over(metric: Any, group: Group) -> tuple[float, float]:
    """Draws a ring around the loss at a value that was taken over from another arm, or declared; returns where."""
    at = getattr(metric, "value", None)
    if at is None:
        assert metric.tuned_for is not None
        grid = group.table.grid(metric.tuned_for, group.over)
        at = float(grid[tuned_index(metric.tuned_for, group.over, group.table)]) * metric.times
    curve = group.curves[metric.arm]
    loss = min(float(np.interp(np.log(at), np.log(curve.x), curve.ends["y"])), group.top)
    name = "the value compared" if metric.tuned_for is None else "the value transferred"
    name = f"{metric.times:g}x the best value" if metric.tuned_for == metric.arm else name
    group.panel.add("ring", name, Look(INK, "o", ""), x=at, y=loss)
    return at, loss


OF_CLAIM = ClaimFigure("lr", of_claim)
OF_STUDY = StudyFigure("lr", of_study)
