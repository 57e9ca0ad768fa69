"""Losses against the learning rate, or whatever else is tuned, and the share of seeds that finish there."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from folklore.harness.metrics import (
    CureRate,
    DivergenceTime,
    FailureRate,
    LossAt,
    MaxTrainable,
    Optimum,
    TransferRegret,
)
from folklore.harness.metrics.divergence import divergence_edge
from folklore.harness.metrics.estimating.weighted import initial_loss, mean, tuned_index
from folklore.harness.spec import Judgement, arms_of
from folklore.harness.spec.observed import Observed
from folklore.harness.spec.parts import searched_factor
from folklore.harness.spec.trials import UndecidableError, in_words
from folklore.harness.statistics.intervals import binomial
from folklore.harness.verdicts.observe import observe
from folklore.harness.verdicts.trial_arrays import TrialArrays
from folklore.harness.verdicts.trial_sets import TrialSet
from folklore.reports.colours import INK, SOFT, Look, looks
from folklore.reports.figures import (
    BAND,
    LEFT,
    MOST_CURVES,
    STYLE,
    WIDTH,
    band,
    chunks,
    draw_band,
    few_ticks,
    interval,
    is_searched,
    legend_below,
    legend_rows,
    log_ticks,
    mark,
    observed_by,
    panels,
    ring,
)

# Of the fall from the start to the lowest loss: how much of it a loss axis shows.
SHOWN_FALL = 0.6
# With a bar: so many times its height above the lowest loss.
SHOWN_BARS = 8.0
# Of the axis: a row of the intervals under the curves.
ROW = 0.055


@dataclass(frozen=True)
class _Group:
    """Arms in one panel, and what a claim observes of them."""

    title: str
    over: str
    arms: list[str]
    observed: list[Observed] = field(default_factory=list)

    def of(self, *kinds: type[Observed]) -> list[Observed]:
        return [each for each in self.observed if isinstance(each, kinds) and arms_of(each) & set(self.arms)]


def lr_curves(records: TrialSet, judgement: Judgement | None = None) -> Figure | None:
    """Test loss against what is tuned: means with bands, the tuned value with its interval below, and the bar of a largest
    trainable value with that value. A panel for each panel of the study. None where every arm is trained at one value."""
    table, study = records.table, records.study
    groups = [_drawable(group, table) for group in _groups(records, judgement)]
    groups = [group for group in groups if group.arms]
    if not groups:
        return None
    width = WIDTH / min(2, len(groups))
    names = [[study.arms[arm].label for arm in group.arms] for group in groups]
    with mpl.rc_context(STYLE):
        below = max(legend_rows([*each, *_signs(group, table)], width) for each, group in zip(names, groups, strict=True))
        figure, axes = panels(len(groups), below=below, titles=[_title(group, table) for group in groups])
        for axis, group in zip(axes, groups, strict=True):
            _curves(axis, group, table, width, first=len(groups) == 1 or axis in axes[::2])
        return figure


def _groups(records: TrialSet, judgement: Judgement | None) -> list[_Group]:
    study, table = records.study, records.table
    trained = study.arms_at(records.scale)
    wanted: dict[str, str] = {}
    observed: list[Observed] = []
    if judgement is None:
        for arm in trained:
            factors = study.factors_at(records.scale, arm)
            over = next((name for name, values in factors.items() if len(values) > 1), "peak_lr")
            if is_searched(table, arm, over):
                wanted[arm] = over
    else:
        observed = list(dict.fromkeys(part for _, part in observed_by(judgement, records.scale)))
        for part in observed:
            factor = searched_factor(part)
            if factor is not None:
                wanted |= {arm: factor for arm in trained if arm in arms_of(part) and is_searched(table, arm, factor)}
    together: dict[tuple[str, str], list[str]] = {}
    for arm in trained:
        if arm in wanted:
            together.setdefault((study.arms[arm].panel, wanted[arm]), []).append(arm)
    return [
        _Group(panel, over, part, observed) for (panel, over), arms in together.items() for part in chunks(arms, MOST_CURVES)
    ]


def _drawable(group: _Group, table: TrialArrays) -> _Group:
    """Without arms of which trials are missing."""
    arms = []
    for arm in group.arms:
        with suppress(UndecidableError):
            if table.study.arms[arm].searched:
                if not table.tunings[arm].values:
                    continue
            else:
                table.losses(arm, group.over, "test_loss")
            arms.append(arm)
    return _Group(group.title, group.over, arms, group.observed)


def _curves(axes: Axes, group: _Group, table: TrialArrays, width: float, first: bool) -> None:
    study, look = table.study, looks(table.study)
    searched = any(study.arms[arm].searched for arm in group.arms)
    lowest, highest = np.inf, -np.inf
    start: list[float] = []
    diverged: list[tuple[str, float]] = []
    for arm in group.arms:
        if study.arms[arm].searched:
            x, y = np.asarray(table.tunings[arm].values), np.asarray(table.tunings[arm].losses)
            axes.plot(x, y, color=look[arm].colour, marker=look[arm].marker, linestyle=look[arm].line, linewidth=0.8,
                      label=study.arms[arm].label)  # fmt: skip
            start.append(float(y.max()))
        else:
            x = table.grid(arm, group.over)
            values = mean(table.losses(arm, group.over, "test_loss"), table.resamples)
            happened = table.diverged(arm, group.over).any(axis=1)
            y, low, high = band(values, table.seeds)
            # What a diverged seed counts with is no spread of losses.
            seen = (y, np.where(happened, np.nan, low), np.where(happened, np.nan, high))
            draw_band(axes, x, seen, look[arm], study.arms[arm].label, every=None)
            start.append(float(initial_loss({arm: group.over}, table, table.resamples[:1])[0]))
            diverged += [(arm, float(value)) for value in x[happened]]
            if len(group.arms) == 1:  # alone, its band is what is seen beside it
                y = np.concatenate([y, *(each[np.isfinite(each)] for each in seen[1:])])
        lowest, highest = min(lowest, float(np.min(y))), max(highest, float(np.max(y)))
    bars = _bars(group, table)
    top = min(highest + 0.05 * (highest - lowest), lowest + SHOWN_FALL * (float(np.mean(start)) - lowest))
    if bars:
        top = min(top, lowest + SHOWN_BARS * (max(bars) - lowest))
        top = max(top, max(bars) + 0.05 * (max(bars) - lowest))
    if not top > lowest:  # nothing differs
        top = lowest + 0.01 * (abs(lowest) or 1.0)
    _set_x(axes, group, table)
    bottom = _below(axes, group, table, lowest, top)
    axes.set_ylim(bottom, top + 0.03 * (top - lowest))
    for place, (arm, value) in enumerate(diverged):
        height = top - 0.02 * (top - lowest) * (1 + group.arms.index(arm))
        axes.plot([value], [height], color=look[arm].colour, marker="x", markersize=6, markeredgewidth=1.6, linestyle="none",
                  label="_" if place else "a seed diverged")  # fmt: skip
    for bar, colour in bars.items():
        mark(axes, bar, "--", upright=True, colour=colour)
    _trainable(axes, group, table, ROW * (top - lowest))
    _transferred(axes, group, table)
    label = study.loss_label("proposals' validation" if searched else "test", table.scale, group.arms)
    alone = len(group.arms) == 1
    axes.set(xlabel=_factor_label(group.over), ylabel=label if first else "")
    few_ticks(axes.yaxis)
    handles: list[Any] = axes.get_legend_handles_labels()[0]
    handles = [each for each in handles if each.get_label() != "a seed diverged"] * (not alone) + _sign_handles(group, table)
    legend_below(axes, width, handles=handles)


def _title(group: _Group, table: TrialArrays) -> str:
    """Its panel, and the arm if that is alone in it."""
    alone = table.study.arms[group.arms[0]].label if len(group.arms) == 1 else ""
    return ": ".join(part for part in (group.title, alone) if part)


def _set_x(axes: Axes, group: _Group, table: TrialArrays) -> None:
    grids = [table.tunings[arm].values if table.study.arms[arm].searched else table.grid(arm, group.over) for arm in group.arms]
    values = np.concatenate([np.asarray(grid, dtype=float) for grid in grids])
    if values.min() > 0:
        axes.set_xlim(values.min() / 1.15, values.max() * 1.15)
        log_ticks(axes.xaxis, 2)
    else:
        pad = 0.04 * (values.max() - values.min())
        axes.set_xlim(values.min() - pad, values.max() + pad)
        few_ticks(axes.xaxis)


def _below(axes: Axes, group: _Group, table: TrialArrays, lowest: float, top: float) -> float:
    """Draws the tuned value of each arm with its interval in a row of its own under the curves. Returns where the axis ends."""
    look = looks(table.study)
    rows = 0
    for arm in group.arms:
        grid = np.ones(1) if table.study.arms[arm].searched else table.grid(arm, group.over)
        if len(grid) > 2 and grid.min() > 0:
            with suppress(UndecidableError):
                seen = observe(_optimum(arm, group), table)
                rows += 1
                at = lowest - (rows + 0.6) * ROW * (top - lowest)
                interval(axes, seen.low, seen.high, at, look[arm].colour, seen.estimate, look[arm].marker)
    return lowest - (rows + 1.4 if rows else 0.8) * ROW * (top - lowest)


def _optimum(arm: str, group: _Group) -> Optimum:
    """The one that the claim observes, if it does."""
    own = [each for each in group.of(Optimum) if isinstance(each, Optimum) and each.arm == arm]
    return own[0] if own else Optimum(arm=arm, over=group.over)


def _bars(group: _Group, table: TrialArrays) -> dict[float, str]:
    """Highest loss that is good enough -> the colour of its line: that of an arm whose own it is."""
    found = {}
    for each in group.of(MaxTrainable):
        assert isinstance(each, MaxTrainable)
        if each.arm in group.arms:
            with suppress(UndecidableError):
                bar = float(each.bar(table, table.resamples[:1])[0])
                found[bar] = SOFT if each.best_of else looks(table.study)[each.arm].colour
    return found


def _trainable(axes: Axes, group: _Group, table: TrialArrays, step: float) -> None:
    """On the bar: the largest value that still trains, with its interval. Those that would lie on another stand above it."""
    look = looks(table.study)
    least, most = axes.get_xlim()
    taken: list[tuple[float, float, float]] = []
    for each in group.of(MaxTrainable):
        assert isinstance(each, MaxTrainable)
        if each.arm not in group.arms:
            continue
        with suppress(UndecidableError):
            seen = observe(each, table)
            at = float(each.bar(table, table.resamples[:1])[0])
            low, high = max(least, seen.low), min(most, seen.high)
            while any(abs(at - height) < step and low < right and left < high for height, left, right in taken):
                at += 1.05 * step
            taken.append((at, low, high))
            axes.plot([low, high], [at, at], color=look[each.arm].colour, linewidth=4, alpha=0.5, solid_capstyle="butt",
                      label="_", zorder=4)  # fmt: skip
            axes.plot([seen.estimate], [at], color=look[each.arm].colour, marker=look[each.arm].marker, markersize=8,
                      markeredgecolor="white", markeredgewidth=0.8, linestyle="none", label="_", zorder=5)  # fmt: skip


def _transferred(axes: Axes, group: _Group, table: TrialArrays) -> None:
    """A ring around the loss at a value that was taken over from another arm."""
    for each in group.of(TransferRegret, LossAt):
        assert isinstance(each, TransferRegret | LossAt)
        if each.arm not in group.arms:
            continue
        with suppress(UndecidableError):
            at = _taken_over(each, group.over, table)
            grid = table.grid(each.arm, group.over)
            losses = mean(table.losses(each.arm, group.over, "test_loss"), table.resamples[:1])[0]
            loss = min(float(np.interp(np.log(at), np.log(grid), losses)), axes.get_ylim()[1])
            ring(axes, at, loss)
            if isinstance(each, TransferRegret):
                regret = observe(each, table)
                text = f"{100 * regret.estimate:+.1f}%".replace("-", "−")
                low = loss < np.mean(axes.get_ylim())
                place: dict[str, Any] = {"xytext": (0, 9), "ha": "center", "va": "bottom"}
                if not low:
                    side = 1 if at < np.sqrt(np.prod(axes.get_xlim())) else -1
                    place = {"xytext": (9 * side, 4), "ha": "left" if side > 0 else "right"}
                axes.annotate(text, (at, loss), textcoords="offset points", fontweight="bold", **place)


def _taken_over(each: TransferRegret | LossAt, over: str, table: TrialArrays) -> float:
    if isinstance(each, LossAt) and each.value is not None:
        return each.value
    assert each.tuned_for is not None
    return float(table.grid(each.tuned_for, over)[tuned_index(each.tuned_for, over, table)]) * each.times


def _signs(group: _Group, table: TrialArrays) -> list[str]:
    return [str(each.get_label()) for each in _sign_handles(group, table)]


def _sign_handles(group: _Group, table: TrialArrays) -> list[Line2D]:
    """What a legend says of marks that are no arm's."""
    found = []
    if group.of(MaxTrainable):
        found.append(Line2D([], [], color=SOFT, linestyle="--", linewidth=1, label="bar: still trains"))
    if group.of(TransferRegret, LossAt):
        found.append(Line2D([], [], color=INK, marker="o", markersize=9, markerfacecolor="none", linestyle="none",
                            label="value taken over"))  # fmt: skip
    grid = [arm for arm in group.arms if not table.study.arms[arm].searched]
    if any(table.diverged(arm, group.over).any() for arm in grid):
        found.append(Line2D([], [], color=INK, marker="x", linestyle="none", label="a seed diverged"))
    return found


def _factor_label(over: str) -> str:
    if over == "peak_lr":
        return "peak learning rate"
    return {"warmup_fraction": "share of warmup", "final_fraction": "final LR over peak LR"}.get(over, in_words(over))


def survival(records: TrialSet, judgement: Judgement | None = None) -> Figure | None:
    """Share of seeds that finish against the peak LR, with exact binomial intervals, of the arms of which a run diverges in the
    panels that a claim speaks of. None where nothing diverged."""
    if judgement is None:
        return None
    table, study, over = records.table, records.study, "peak_lr"
    observed = [part for _, part in observed_by(judgement, records.scale)]
    spoken_of = {arm for part in observed for arm in arms_of(part)}
    shown: dict[str, list[str]] = {}
    for panel in dict.fromkeys(study.arms[arm].panel for arm in study.arms_at(records.scale) if arm in spoken_of):
        arms = [arm for arm in study.arms_at(records.scale) if study.arms[arm].panel == panel and _diverges(arm, over, table)]
        if any(arm in spoken_of for arm in arms):
            shown[panel] = arms
    if not shown:
        return None
    width = WIDTH / min(2, len(shown))
    look = looks(study)
    with mpl.rc_context(STYLE):
        rows = [[*(study.arms[arm].label for arm in arms), *_limits(observed, arms, table)] for arms in shown.values()]
        first = min(
            float(table.grid(arm, over)[table.diverged(arm, over).any(axis=1)].min()) for arms in shown.values() for arm in arms
        )
        figure, axes = panels(len(shown), below=max(legend_rows(each, width) for each in rows), titles=list(shown))
        for axis, arms in zip(axes, shown.values(), strict=True):
            for arm in arms:
                _survivors(axis, arm, over, table, look[arm])
            values = np.concatenate([table.grid(arm, over) for arm in arms])
            # Where all finish there is little to see: two octaves of that do.
            least = max(values.min(), min([first / 4, *(at / 1.3 for at in _limits(observed, arms, table).values())]))
            axis.set_xlim(least / 1.15, values.max() * 1.15)
            log_ticks(axis.xaxis, 2)
            axis.set_ylim(-0.04, 1.04)
            few_ticks(axis.yaxis)
            for style, (label, at) in zip(("--", ":", "-."), _limits(observed, arms, table).items(), strict=False):
                mark(axis, at, style, label=label)
            axis.set(xlabel="peak learning rate", ylabel="share of seeds that finish")
            legend_below(axis, width, LEFT)
        return figure


def _survivors(axes: Axes, arm: str, over: str, table: TrialArrays, look: Look) -> None:
    finished = (~table.diverged(arm, over)).sum(axis=1)
    seen = [binomial(int(count), table.seeds) for count in finished]
    x = table.grid(arm, over)
    axes.fill_between(
        x, [each.low for each in seen], [each.high for each in seen], color=look.colour, alpha=0.7 * BAND, linewidth=0
    )
    axes.plot(x, finished / table.seeds, color=look.colour, marker=look.marker, linestyle=look.line,
              label=table.study.arms[arm].label)  # fmt: skip


def _diverges(arm: str, over: str, table: TrialArrays) -> bool:
    if table.study.arms[arm].searched or len(table.study.factors_at(table.scale, arm).get(over, ())) < 2:
        return False
    try:
        return bool(table.diverged(arm, over).any())
    except UndecidableError:
        return False


def _limits(observed: Sequence[Observed], arms: Sequence[str], table: TrialArrays) -> dict[str, float]:
    """Where a claim reads the shares: at an arm's tuned LR, or at its edge of divergence and so far below it."""
    found: dict[str, float] = {}
    for part in observed:
        with suppress(UndecidableError):
            if isinstance(part, FailureRate) and part.arm in arms:
                at = float(table.grid(part.tuned_for, part.over)[tuned_index(part.tuned_for, part.over, table)])
                found[f"LR tuned for {table.study.arms[part.tuned_for].label}"] = at
            if isinstance(part, CureRate | DivergenceTime) and part.arm in arms:
                edge = float(table.grid(part.arm, part.over)[divergence_edge(part.arm, part.over, table)])
                found[f"most of {table.study.arms[part.arm].label} diverge"] = edge
                if isinstance(part, CureRate) and part.octaves_down:
                    found[f"the same, {2**part.octaves_down:g}x lower"] = edge * 2.0**-part.octaves_down
    return found
