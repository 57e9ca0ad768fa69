"""Figures as SVG text, byte-stable for equal data, readable without colour (markers and line styles differ)."""

import io
import re
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator
from numpy.typing import NDArray

from folklore.harness.judging.intervals import Observation
from folklore.harness.judging.observe import observe
from folklore.harness.judging.trial_arrays import TrialArrays
from folklore.harness.judging.trial_sets import TrialSet
from folklore.harness.observables import Slope
from folklore.harness.observables.estimating.range_test_rules import Suggestion
from folklore.harness.observables.estimating.weighted import tuned_index
from folklore.harness.spec.trials import UndecidableError
from folklore.harness.storing.trial_schema import CURVE_PREFIX
from folklore.reports.words import power

if TYPE_CHECKING:
    from folklore.harness.judging.lr_find import RangeTest  # imports torch, which takes seconds

STYLE: dict[Any, Any] = {
    "svg.hashsalt": "folklore",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "white",
}
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h")
PANEL_WIDTH, PANEL_HEIGHT = 5.2, 4.0
MOST_COLUMNS = 2
# Inches around a panel: for its labels and its title. Fixed, because matplotlib's own layouts draw every figure twice.
LEFT, RIGHT, BOTTOM, TOP = 0.75, 0.15, 0.55, 0.35
LEGEND_ROW = 0.2
# Names that a legend inside a panel has room for.
MOST_INSIDE = 4
# The curve whose axis is no logarithm.
LINEAR = "train_loss"
# Beyond this many runs single points hide the lines and fill the page.
MOST_POINTS = 2000


def lr_curves(records: TrialSet, over: str = "peak_lr") -> Figure | None:
    """Test loss against the LR: a panel for each group of arms, means as lines, single seeds as faint points. None where every
    arm is trained at one LR."""
    study = records.study
    table = records.table
    searched = {name: study.arms[name] for name in study.arms_at(records.scale) if is_searched(table, name, over)}
    panels = list(dict.fromkeys(arm.panel for arm in searched.values()))
    if not panels:
        return None
    columns = min(len(panels), MOST_COLUMNS)
    rows = -(-len(panels) // columns)
    with mpl.rc_context(STYLE):
        in_panel = {panel: [name for name, arm in searched.items() if arm.panel == panel] for panel in panels}
        # Many names would hide the curves: they stand below them, two in a row.
        most = max(len(arms) for arms in in_panel.values())
        figure, axes = panel_grid(rows, columns, below=-(-most // 2) if most > MOST_INSIDE else 0)
        for spare in axes.ravel()[len(panels) :]:
            spare.set_visible(False)
        for axis, (panel, arms) in zip(axes.ravel(), in_panel.items(), strict=False):
            data = pd.concat([_tidy(table, arm, over) for arm in arms], ignore_index=True)
            names = [study.arms[arm].label for arm in arms]
            if len(records.trials) <= MOST_POINTS:
                sns.scatterplot(
                    data, x="value", y="loss", hue="arm", hue_order=names, s=8, alpha=0.35, linewidth=0, legend=False, ax=axis
                )
            sns.lineplot(
                data, x="value", y="loss", hue="arm", style="arm", hue_order=names, style_order=names, errorbar=None,
                markers=[MARKERS[index % len(MARKERS)] for index in range(len(names))], markersize=5, ax=axis,
            )  # fmt: skip
            log_axis(axis.xaxis, 2)
            proposed = any(study.arms[arm].searched for arm in arms)
            ylabel = study.loss_label("proposals' validation" if proposed else "test")
            axis.set(xlabel="peak learning rate", ylabel=ylabel, title=panel)
            below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.13), "ncols": 2} if len(arms) > MOST_INSIDE else {}
            axis.legend(title=None, fontsize=8, frameon=False, **below)
        return figure


def training_curves(records: TrialSet, curves: Sequence[tuple[str, str, str]], over: str = "peak_lr") -> Figure | None:
    """Curves at each arm's tuned LR, mean over seeds: a panel for each (curve, its steps, axis label). Where no arm is
    tuned, at the one LR that arms have; None where they have none."""
    study = records.study
    table = records.table
    trained = study.arms_at(records.scale)
    arms = [arm for arm in trained if is_searched(table, arm, over)]
    arms = arms or [arm for arm in trained if list(study.factors_at(records.scale, arm)) == [over]]
    means = {curve: _tuned_means(table, arms, over, curve, steps) for curve, steps, _ in curves}
    # A panel without a line says nothing, and one without a positive value has no logarithmic axis.
    shown = [(curve, label) for curve, _, label in curves if means[curve]]
    if not shown:
        return None
    with mpl.rc_context(STYLE):
        figure, axes = panel_grid(1, len(shown), below=-(-len(arms) // 3), width=2 * PANEL_WIDTH / len(shown))
        several = len({arm.panel for arm in study.arms.values()}) > 1
        names = {name: f"{arm.panel}: {arm.label}" if several else arm.label for name, arm in study.arms.items()}
        for axis, (curve, label) in zip(axes[0], shown, strict=True):
            for arm, (step, values) in means[curve].items():
                index = arms.index(arm)
                style = {"linestyle": ("-", "--", "-.", ":")[index % 4], "marker": MARKERS[index % len(MARKERS)]}
                axis.plot(step, values, label=names[arm], markersize=4, markevery=0.12, linewidth=1, **style)
            axis.set(xlabel="step", title=label)
            if curve != LINEAR:
                log_axis(axis.yaxis)
        figure.legend(*axes[0][0].get_legend_handles_labels(), loc="lower center", ncols=3, fontsize=8, frameon=False)
        return figure


def _tuned_means(
    table: TrialArrays, arms: Sequence[str], over: str, curve: str, steps: str
) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Arm -> steps [N] and the mean curve over seeds [N] at its tuned LR; without those that no axis shows."""
    seen = {}
    for arm in arms:
        with suppress(UndecidableError):  # an arm whose optimum lies on the grid's edge has no tuned LR to show
            best = tuned_index(arm, over, table)
            values = np.stack(table.values(arm, over, CURVE_PREFIX + curve)[best]).astype(float).mean(axis=0)
            if (np.isfinite(values) & ((values > 0) | (curve == LINEAR))).any():
                seen[arm] = np.asarray(table.values(arm, over, CURVE_PREFIX + steps)[best][0]), values
    return seen


def exponents(records: TrialSet) -> Figure | None:
    """What each slope criterion is fitted to: observations with their intervals, and the line. None where there is none."""
    study = records.study
    table = records.table
    criteria = [c for judgement in study.judgements for c in judgement.criteria]
    slopes = [(c.name, c.observe) for c in criteria if isinstance(c.observe, Slope)]
    drawn = [(name, found) for name, slope in slopes if (found := _slope_points(slope, table))]
    if not drawn:
        return None
    with mpl.rc_context(STYLE):
        figure, axes = panel_grid(1, len(drawn), sharey=True)
        for axis, (name, (x, seen)) in zip(axes[0], drawn, strict=True):
            y = np.array([each.estimate for each in seen])
            below, above = y - [each.low for each in seen], np.array([each.high for each in seen]) - y
            axis.errorbar(x, y, yerr=[below, above], fmt="o", capsize=4, color="black")
            slope, height = np.polyfit(np.log2(x), np.log2(y), 1)
            axis.plot(x, np.exp2(height + slope * np.log2(x)), linestyle="--", color="gray", label=f"slope {slope:.2f}")
            log_axis(axis.xaxis, 2)
            log_axis(axis.yaxis, 2)
            axis.set_title(textwrap.fill(name, 48), fontsize=10)
            axis.legend(frameon=False)
        return figure


def draw_range_test(found: "RangeTest", path: Path) -> None:
    """Loss against the LR of a range test, raw and smoothed, with what each rule picks. `path` ends in .svg or .png."""
    with mpl.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(1.6 * PANEL_WIDTH, 1.2 * PANEL_HEIGHT), layout="constrained")
        means = found.smoothed
        axis.plot(found.lr, found.losses.T, color="lightgray", linewidth=0.6, zorder=1)
        axis.plot(found.lr, means.T, color="black", linewidth=1.2, zorder=2)
        lowest, top = _range_of(means)
        for index, (rule, picks) in enumerate(found.picks.items()):
            lrs = [pick.lr for pick in picks if isinstance(pick, Suggestion)]
            # Marks of one rule on a line of their own below the curve.
            height = lowest - (index + 1) * 0.05 * (top - lowest)
            axis.plot(lrs, [height] * len(lrs), MARKERS[index % len(MARKERS)], label=rule.replace("_", " "), markersize=6)
        axis.update_datalim([(found.lr[0], lowest), (found.lr[-1], top)])  # the whole ramp, whatever is finite
        axis.set(xlabel="learning rate", ylabel="training loss (nats)", ylim=(lowest - 0.45 * (top - lowest), top))
        log_axis(axis.xaxis)
        figure.legend(loc="outside lower center", ncols=4, fontsize=8, frameon=False)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
        plt.close(figure)


def _range_of(means_SN: NDArray[np.float64]) -> tuple[float, float]:
    """The lowest smoothed loss and somewhat more than the highest of the first tenth; some range where no loss gives one."""
    known = means_SN[np.isfinite(means_SN)]
    if not len(known):
        return 0.0, 1.0
    early = means_SN[:, : max(2, means_SN.shape[1] // 10)]
    lowest, top = float(known.min()), 1.3 * float(early.max(where=np.isfinite(early), initial=known[0]))
    return lowest, top if top > lowest else lowest + 1.0


def panel_grid(rows: int, columns: int, below: int = 0, width: float = PANEL_WIDTH, sharey: bool = False) -> tuple[Figure, Any]:
    """A grid of panels, axes [rows, columns]. below: rows of a legend that stands below each row of panels."""
    room = BOTTOM + LEGEND_ROW * below
    high, wide = PANEL_HEIGHT + LEGEND_ROW * below, width
    figure, axes = plt.subplots(rows, columns, figsize=(wide * columns, high * rows), squeeze=False, sharey=sharey)
    inner_wide, inner_high = wide - LEFT - RIGHT, high - room - TOP
    figure.subplots_adjust(
        left=LEFT / (wide * columns),
        right=1 - RIGHT / (wide * columns),
        bottom=room / (high * rows),
        top=1 - TOP / (high * rows),
        wspace=(LEFT + RIGHT) / inner_wide,
        hspace=(room + TOP) / inner_high,
    )
    return figure, axes


def log_axis(axis: Axis, base: int = 10) -> None:
    """A logarithmic axis whose labels are plain text: matplotlib's go through its TeX parser, which took a fifth of a site."""
    (axis.axes.set_xscale if axis is axis.axes.xaxis else axis.axes.set_yscale)("log", base=base)
    axis.set_major_formatter(FuncFormatter(lambda value, _: power(value, base)))
    # Marks between labels are objects each, and took a third of a figure's time.
    axis.set_minor_locator(NullLocator())


def _slope_points(slope: Slope, table: TrialArrays) -> tuple[list[float], list[Observation]] | None:
    try:
        return [x for x, _ in slope.points], [observe(part, table) for _, part in slope.points]
    except UndecidableError:
        return None


def is_searched(table: TrialArrays, arm: str, over: str) -> bool:
    """Whether an arm has more than one value of a factor, on a grid or proposed."""
    return bool(table.study.arms[arm].searched) or len(table.study.factors_at(table.scale, arm).get(over, ())) > 1


def _tidy(table: TrialArrays, arm: str, over: str) -> pd.DataFrame:
    """One row a trial of the arm: value, loss (a diverged run counts with its loss at initialization), name of the arm.

    Of an arm that was searched a row a proposal, with the mean over the search's seeds.
    """
    if table.study.arms[arm].searched:
        found = table.tunings[arm]
        return pd.DataFrame({"value": found.values, "loss": found.losses, "arm": table.study.arms[arm].label})
    losses = table.losses(arm, over, "test_loss")
    grid = np.repeat(table.grid(arm, over), losses.shape[1])
    return pd.DataFrame({"value": grid, "loss": losses.ravel(), "arm": table.study.arms[arm].label})


def as_svg(figure: Figure) -> str:
    """The figure's text, and its end. Coordinates keep two decimals of a point: more would only fill pages."""
    buffer = io.StringIO()
    with mpl.rc_context(STYLE):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    plt.close(figure)
    text = buffer.getvalue()
    return _TAG.sub(lambda tag: _DECIMALS.sub(r"\1", tag[0]), text[text.index("<svg") :])


_TAG, _DECIMALS = re.compile(r"<[^>]*>"), re.compile(r"(\d\.\d\d)\d+")
