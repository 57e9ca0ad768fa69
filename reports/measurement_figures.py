"""Figures of procedures: range tests, steps to a target by batch size, noise scales, underflow by loss scale.

Each is drawn where a study observes it, and is None where it does not.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from folklore.harness.judging.observe import observe
from folklore.harness.judging.trial_arrays import TrialArrays
from folklore.harness.judging.trial_sets import TrialSet
from folklore.harness.observables import (
    CriticalBatch,
    FinderPick,
    NoiseScale,
    Optimum,
    Quotient,
    UnderflowShare,
)
from folklore.harness.observables.curves import noise_curve
from folklore.harness.observables.estimating import fits
from folklore.harness.observables.estimating.range_test_rules import Suggestion, smoothed
from folklore.harness.observables.range_tests import Reading, picks
from folklore.harness.spec import arms_of
from folklore.harness.spec.configuration import LOSS_SCALES
from folklore.harness.spec.observed import Observed
from folklore.harness.spec.parts import all_parts
from folklore.harness.spec.trials import UndecidableError
from folklore.reports.figures import MARKERS, STYLE, is_searched, log_axis, panel_grid
from folklore.reports.words import power

# Of a smoothed curve: one for every second pixel of a panel.
MOST_POINTS = 200


def range_tests(records: TrialSet) -> Figure | None:
    """Smoothed loss against the LR for every range test that is compared with a best LR, which a line marks."""
    table = records.table
    pairs = {
        found.top.arm: found.bottom
        for found in _observed(records)
        if isinstance(found, Quotient) and isinstance(found.top, FinderPick) and isinstance(found.bottom, Optimum)
    }
    if not pairs:
        return None
    figure, axes = _panels(len(pairs), below=2)
    for axis, (arm, optimum) in zip(axes, pairs.items(), strict=True):
        _range_test(axis, arm, optimum, table)
    handles = {text: handle for axis in axes for handle, text in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncols=4, fontsize=8, frameon=False)
    return figure


def _range_test(axis: Axes, arm: str, optimum: Optimum, table: TrialArrays) -> None:
    factor = table.only_factor(arm)
    (lrs,), (losses,) = table.values(arm, factor, "curve_lr"), table.values(arm, factor, "curve_train_loss")
    means = [smoothed(np.asarray(loss, dtype=np.float64)) for loss in losses]
    for lr, mean in zip(lrs, means, strict=True):
        kept = _as_many_as_seen(len(mean))
        axis.plot(np.asarray(lr)[kept], mean[kept], color="gray", linewidth=0.7)
    low, high = min(np.nanmin(mean) for mean in means), max(mean[0] for mean in means)
    for index, rule in enumerate(("divergence", "tenth_of_divergence", "tenth_of_minimum", "steepest_log", "valley", "slide")):
        found = [pick.lr for pick in picks(Reading(arm, rule), table) if isinstance(pick, Suggestion)]
        height = low - (index + 1) * 0.06 * (high - low)
        axis.plot(found, [height] * len(found), MARKERS[index], markersize=4, label=rule.replace("_", " "), alpha=0.7)
    with suppress(UndecidableError):
        best = observe(optimum, table).estimate
        axis.axvline(best, linestyle="--", color="black", linewidth=1, label="best LR of whole runs")
    axis.set(xlabel="learning rate", ylabel=table.study.loss_label("smoothed training"), title=table.study.arms[arm].panel)
    log_axis(axis.xaxis)
    axis.set_ylim(low - 0.45 * (high - low), high + 0.4 * (high - low))


def _as_many_as_seen(points: int) -> NDArray[np.int64]:
    """Which points of a smooth curve are drawn, the first and the last among them."""
    return np.unique(np.linspace(0, points - 1, min(points, MOST_POINTS)).round().astype(np.int64))


def batch_sweeps(records: TrialSet) -> Figure | None:
    """Steps to the target against the batch size, every seed, and the fitted hyperbola."""
    table = records.table
    sweeps = list(dict.fromkeys(found for found in _observed(records) if isinstance(found, CriticalBatch)))
    if not sweeps:
        return None
    figure, axes = _panels(len(sweeps))
    for axis, sweep in zip(axes, sweeps, strict=True):
        try:
            batch, steps, weights, censored = sweep.runs(table, table.resamples[:1])
        except UndecidableError as error:
            axis.set_title(str(error), fontsize=7, wrap=True)
            continue
        fit = fits.fit_hyperbola(batch, steps, weights, censored)
        axis.plot(batch[~censored[0]], np.exp(steps[0][~censored[0]]), "o", color="black", markersize=3, label="runs")
        if censored[0].any():
            axis.plot(batch[censored[0]], np.exp(steps[0][censored[0]]), "^", color="gray", label="not reached by then")
        x = np.geomspace(batch.min(), batch.max(), 100)
        knee = float(fit.critical_batch[0])
        axis.plot(x, np.exp(fit.log_steps(x)[0]), "--", color="black", label=f"hyperbola, knee at B = {knee:.3g}")
        axis.axvline(knee, linestyle=":", color="gray")
        axis.set(xlabel="batch size", ylabel="steps to the target loss", title=table.study.arms[sweep.anchor].panel)
        log_axis(axis.xaxis, 2)
        log_axis(axis.yaxis)
        axis.legend(fontsize=8, frameon=False)
    return figure


def noise_scales(records: TrialSet) -> Figure | None:
    """The noise scale over training, seeds averaged and neighbouring probes smoothed, of every arm it is observed in. None
    where none has a number."""
    table = records.table
    arms = dict.fromkeys((found.arm, found.over) for found in _observed(records) if isinstance(found, NoiseScale))
    if not arms:
        return None
    drawn = []
    for arm, over in arms:
        with suppress(UndecidableError):
            share, scale = noise_curve(arm, over, table)
            if (scale > 0).any():
                drawn.append((arm, share, scale))
    if not drawn:
        return None
    figure, axes = _panels(1)
    for index, (arm, share, scale) in enumerate(drawn):
        label = f"{table.study.arms[arm].panel}: {table.study.arms[arm].label}"
        axes[0].plot(share, scale, marker=MARKERS[index % len(MARKERS)], markersize=4, linewidth=1, label=label)
    axes[0].set(xlabel="share of the run", ylabel="gradient noise scale (examples)")
    log_axis(axes[0].yaxis)
    axes[0].legend(fontsize=8, frameon=False)
    return figure


def survival(records: TrialSet) -> Figure | None:
    """Share of seeds that finish against the peak LR, of every arm whose divergence is observed."""
    table, over = records.table, "peak_lr"
    arms = list(dict.fromkeys(arm for found in _observed(records) if found.FIGURE == "survival" for arm in arms_of(found)))
    arms = [arm for arm in arms if arm in table.study.arms_at(records.scale) and not table.study.arms[arm].searched]
    arms = [arm for arm in arms if len(table.study.factors_at(records.scale, arm).get(over, ())) > 1]
    if not arms:
        return None
    panels = list(dict.fromkeys(table.study.arms[arm].panel for arm in arms))
    figure, axes = _panels(len(panels))
    for axis, panel in zip(axes, panels, strict=True):
        # An arm looks as it does where its loss is drawn.
        places = [
            arm
            for arm in table.study.arms_at(records.scale)
            if table.study.arms[arm].panel == panel and is_searched(table, arm, over)
        ]
        for index, arm in enumerate(places):
            if arm not in arms:
                continue
            finished = 1 - table.diverged(arm, over).mean(axis=1)
            style: dict[str, Any] = {"linestyle": ("-", "--", ":", "-.")[index % 4], "marker": MARKERS[index % len(MARKERS)]}
            style["color"] = f"C{index % 10}"
            axis.plot(table.grid(arm, over), finished, markersize=5, linewidth=1.2, label=table.study.arms[arm].label, **style)
        log_axis(axis.xaxis, 2)
        axis.set(xlabel="peak learning rate", ylabel="share of seeds that finish", title=panel, ylim=(-0.05, 1.05))
        axis.legend(fontsize=8, frameon=False, loc="lower left")
    return figure


def underflow(records: TrialSet) -> Figure | None:
    """Share of gradients that FP16 flushes to zero against the loss scale. None where no arm has a number."""
    table = records.table
    arms = dict.fromkeys((found.arm, found.of) for found in _observed(records) if isinstance(found, UnderflowShare))
    drawn = {}
    for arm, of in arms:
        with suppress(UndecidableError):
            drawn[f"{table.study.arms[arm].label}: {of}"] = [
                observe(UnderflowShare(arm=arm, of=of, scale_exponent=exponent), table).estimate
                for exponent in range(len(LOSS_SCALES))
            ]
    if not drawn:
        return None
    figure, axes = _panels(1, below=-(-len(drawn) // 2))
    for index, (label, shares) in enumerate(drawn.items()):
        axes[0].plot(LOSS_SCALES, shares, marker=MARKERS[index % len(MARKERS)], linewidth=1, label=label)
    log_axis(axes[0].xaxis, 2)
    axes[0].set_yscale("symlog", linthresh=1e-6)
    axes[0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: power(value) if value else "0"))
    axes[0].set(xlabel="loss scale", ylabel="share flushed to zero in FP16", ylim=(0, 1))
    figure.legend(loc="lower center", ncols=2, fontsize=8, frameon=False)
    return figure


def _observed(records: TrialSet) -> Iterator[Observed]:
    """Every observable that the study judges or reports, however deep it lies."""
    for judgement in records.study.judgements:
        judged = [each.observe for each in judgement.criteria_at(records.scale)]
        for observable in [*judged, *(each.observe for each in judgement.reported)]:
            yield from all_parts(observable)


def _panels(count: int, below: int = 0) -> tuple[Figure, list[Axes]]:
    with mpl.rc_context(STYLE):
        columns = min(count, 2)
        figure, axes = panel_grid(-(-count // columns), columns, below)
    flat = list(axes.ravel())
    for spare in flat[count:]:
        spare.set_visible(False)
    return figure, flat[:count]
