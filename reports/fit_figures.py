"""What is fitted to points: exponents, steps against the batch size, activations against the width, underflow."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from folklore.harness.metrics import (
    CriticalBatch,
    Curve,
    GrowthFactor,
    MeanActivationSlope,
    Optimum,
    Slope,
    UnderflowShare,
)
from folklore.harness.metrics.batch_sizes import BatchSweep
from folklore.harness.metrics.estimating import fits
from folklore.harness.metrics.estimating.evaluation import evaluate
from folklore.harness.metrics.estimating.weighted import present, tuned_index
from folklore.harness.spec import Criterion, Judgement, arms_of
from folklore.harness.spec.configuration import LOSS_SCALES
from folklore.harness.spec.trials import Numbers, UndecidableError, in_words
from folklore.harness.statistics.intervals import Observation
from folklore.harness.verdicts.observe import observe
from folklore.harness.verdicts.spelling import in_prose
from folklore.harness.verdicts.trial_arrays import TrialArrays
from folklore.harness.verdicts.trial_sets import TrialSet
from folklore.reports.colours import HUES, INK, LINES, MARKERS, SOFT, Look, looks, shades
from folklore.reports.figures import (
    BAND,
    STYLE,
    WIDTH,
    band,
    draw_band,
    interval,
    legend_below,
    legend_rows,
    log_ticks,
    mark,
    observed_by,
    panels,
    regions,
    ring,
    seed_band,
    tint,
)
from folklore.reports.run_figures import example_unit

# Of the resamples: how many fits a band of a curve is made of.
FITS = 400
# Slopes that are drawn beside a fit, by what is along the axis, with their names.
REFERENCES: dict[str, tuple[tuple[float, str], ...]] = {
    "batch_size": ((1.0, "slope 1"), (0.5, "slope ½")),
    "width": ((0.0, "slope 0"), (-1.0, "slope −1")),
}
# Of one curve over another: what stands along the axis.
QUOTIENTS = {("probe_flow_first", "probe_flow_last"): "gradient of the first layer over the last's"}
AXIS = {"batch_size": "batch size (examples)", "width": "width", "steps": "steps", "depth": "depth"}


def exponents(records: TrialSet, judgement: Judgement | None = None) -> Figure | None:
    """What slopes are fitted to: points with intervals, the fitted line with its band and the slopes that rules have. Other
    slopes of the study over the same axis stand beside, paler."""
    if judgement is None:
        return None
    table, study = records.table, records.study
    own = {c.name: c.observe for c in judgement.criteria_at(records.scale) if isinstance(c.observe, Slope)}
    xs = [[x for x, _ in slope.points] for slope in own.values()]
    others = {
        c.name: c.observe for each in study.judgements for c in each.criteria_at(records.scale)
        if isinstance(c.observe, Slope) and c.name not in own and c.observe not in own.values()
        and any({x for x, _ in c.observe.points} & set(x) for x in xs)
    }  # fmt: skip
    declared = [c.name for each in study.judgements for c in each.criteria if isinstance(c.observe, Slope)]
    drawn = [(slope, name in own, found) for name, slope in (own | others).items() if (found := _points(slope, table))]
    places = [declared.index(name) for name, slope in (own | others).items() if any(slope is each for each, _, _ in drawn)]
    if not any(strong for _, strong, _ in drawn):
        return None
    key = _varied(drawn[0][0], table)
    names = [_fit_label(slope, table) for slope, _, _ in drawn]
    with mpl.rc_context(STYLE):
        figure, (axes,) = panels(1, below=legend_rows(names, WIDTH), height=3.6)
        axes.set_xscale("log")
        axes.set_yscale("log")
        for (slope, strong, (x, seen)), name, index in zip(drawn, names, places, strict=True):
            look = Look(HUES[index % len(HUES)], MARKERS[index % len(MARKERS)], LINES[index % len(LINES)])
            _fit(axes, slope, x, seen, look, name, strong, table)
        least, most = axes.get_xlim()
        axes.set_xlim(least / 1.1, most * 1.1)
        strong_points = [(x, seen) for _, strong, (x, seen) in drawn if strong]
        _references(axes, key, strong_points[0])
        log_ticks(axes.xaxis, 2, 10)
        log_ticks(axes.yaxis, 2)
        axes.set(xlabel=AXIS.get(key, in_words(key) if key else "x"), ylabel=_optimum_label(drawn[0][0]))
        legend_below(axes, WIDTH)
        return figure


def growths(records: TrialSet, judgement: Judgement | None = None) -> Figure | None:
    """What grows or falls by a factor with each further unit of x, on a logarithmic axis: points with intervals, the fitted
    factor in the legend, and, dotted, what was expected. Those that are reported stand beside those that are judged."""
    if judgement is None:
        return None
    table = records.table
    judged = [(c.observe, c.expected) for c in judgement.criteria_at(records.scale)]
    parts = [*judged, *((each.observe, None) for each in judgement.reported)]
    drawn = [
        (part, expected, found)
        for part, expected in parts
        if isinstance(part, GrowthFactor) and (found := _points(part, table))
    ]
    if not drawn:
        return None
    names = [_growth_label(part, table) for part, _, _ in drawn]
    with mpl.rc_context(STYLE):
        figure, (axes,) = panels(1, below=legend_rows(names, WIDTH), height=3.6)
        axes.set_yscale("log")
        for index, ((_, expected, (x, seen)), name) in enumerate(zip(drawn, names, strict=True)):
            look = Look(HUES[index % len(HUES)], MARKERS[index % len(MARKERS)], LINES[index % len(LINES)])
            estimates = [each.estimate for each in seen]
            for at, each in zip(x, seen, strict=True):
                axes.plot([at, at], [each.low, each.high], color=look.colour, linewidth=2, label="_")
            axes.plot(x, estimates, color=look.colour, marker=look.marker, linestyle=look.line, linewidth=1.2, label=name)
            if expected is not None:
                ends = np.array([x[0], x[-1]])
                axes.plot(ends, estimates[0] * expected.value ** (ends - x[0]), color=SOFT, linestyle=":", label="_", zorder=0)
        key = _varied(drawn[0][0], table)
        first = drawn[0][0].points[0][1]
        of = QUOTIENTS.get((first.of, first.divided_by or ""), "") if isinstance(first, Curve) else ""
        axes.set(xlabel=AXIS.get(key, in_words(key) if key else "x"), ylabel=of or in_words(str(getattr(first, "kind", ""))))
        axes.set_xticks(drawn[0][2][0], [f"{at:g}" for at in drawn[0][2][0]])
        legend_below(axes, WIDTH)
        return figure


def _growth_label(growth: GrowthFactor, table: TrialArrays) -> str:
    seen, each = observe(growth, table), {"depth": "layer"}.get(_varied(growth, table), "step")
    return f"{_panel_of(growth, table)}: {in_prose(seen.estimate, seen.low, seen.high, 'x')} a {each}"


def _points(slope: Slope | GrowthFactor, table: TrialArrays) -> tuple[list[float], list[Observation]] | None:
    try:
        observe(slope, table)
        points = present(slope.points, table)
        return [x for x, _ in points], [observe(part, table) for _, part in points]
    except UndecidableError:
        return None


def _fit(axes: Axes, slope: Slope, x: Sequence[float], seen: Sequence[Observation], look: Look, name: str, strong: bool,
         table: TrialArrays) -> None:  # fmt: skip
    faint: dict[str, Any] = {} if strong else {"alpha": 0.45}
    for at, each in zip(x, seen, strict=True):
        axes.plot([at, at], [each.low, each.high], color=look.colour, linewidth=2 if strong else 1.2, label="_", **faint)
    axes.plot(x, [each.estimate for each in seen], color=look.colour, marker=look.marker, linestyle="none",
              markersize=7 if strong else 5, label=name, **faint)  # fmt: skip
    # The line of the judge: its slope, through the middle of the points, under every resample.
    logs = np.log2(np.array([evaluate(part, table, table.resamples) for _, part in present(slope.points, table)])).T
    along = np.log2(np.geomspace(min(x), max(x), 25))
    slopes = evaluate(slope, table, table.resamples)
    lines = logs.mean(axis=1)[:, None] + slopes[:, None] * (along - np.log2(x).mean())
    centre, low, high = (np.exp2(each) for each in band(lines, table.seeds))
    if strong:
        axes.fill_between(np.exp2(along), low, high, color=look.colour, alpha=BAND, linewidth=0)
    axes.plot(
        np.exp2(along), centre, color=look.colour, linestyle=look.line, linewidth=1.6 if strong else 1, label="_", **faint
    )


def _references(axes: Axes, key: str, points: tuple[Sequence[float], Sequence[Observation]]) -> None:
    x, seen = points
    middle = np.exp2(np.log2(x).mean())
    height = np.exp2(np.log2([each.estimate for each in seen]).mean())
    ends = np.array([min(x) / 1.05, max(x) * 1.05])
    for slope, name in REFERENCES.get(key, ()):
        y = height * (ends / middle) ** slope
        axes.plot(ends, y, color=SOFT, linewidth=0.8, label="_", zorder=0)
        # Labelled where it begins or ends highest, which is where the lines are apart.
        axes.text(ends[-1] * 1.01, y[-1], name, color=SOFT, va="center")
    low, high = axes.get_xlim()
    axes.set_xlim(low, max(high, ends[-1] * (max(x) / min(x)) ** 0.17))


def _fit_label(slope: Slope, table: TrialArrays) -> str:
    seen = observe(slope, table)
    return f"{_panel_of(slope, table)}: slope {in_prose(seen.estimate, seen.low, seen.high)}"


def _panel_of(fitted: Slope | GrowthFactor, table: TrialArrays) -> str:
    """The panel that most of its arms are of: fits may share an arm, which has a panel of its own."""
    arms = sorted(arms_of(fitted), key=list(table.study.arms).index)
    return Counter(table.study.arms[arm].panel for arm in arms).most_common(1)[0][0] or "points"


def _varied(slope: Slope | GrowthFactor, table: TrialArrays) -> str:
    """The setting whose values are x, be it an arm's own or the study's."""
    found: set[str] | None = None
    for x, part in present(slope.points, table):
        for arm in arms_of(part):
            chosen = table.study.configuration(table.scale, arm, {"peak_lr": 1.0})
            settings = chosen.workload.model_dump() | chosen.training.model_dump()
            same = {name for name, value in settings.items() if isinstance(value, int | float) and value == x}
            found = same if found is None else found & same
    return next(iter(sorted(found or ())), "")


def _optimum_label(slope: Slope) -> str:
    part = slope.points[0][1]
    if isinstance(part, Optimum):
        return "best peak LR" if part.over == "peak_lr" else f"best {in_words(part.over)}"
    return in_words(str(getattr(part, "kind", "")))


def batch_sweeps(records: TrialSet, judgement: Judgement | None = None) -> Figure | None:
    """Steps to the target against the batch size: every seed, geometric means with intervals, the fitted hyperbola with its
    band, its two straight limits and the critical batch size with its interval."""
    if judgement is None:
        return None
    table = records.table
    drawn: dict[CriticalBatch, str] = {}
    for criterion, part in observed_by(judgement, records.scale):
        if isinstance(part, BatchSweep):
            sweep = CriticalBatch(anchor=part.anchor, share=part.share, over=part.over, points=part.points)
            with suppress(UndecidableError):
                sweep.runs(table, table.resamples[:1])
                drawn.setdefault(sweep, criterion.panel or table.study.arms[part.anchor].panel)
    if not drawn:
        return None
    found = {sweep: _observed(sweep, table) for sweep in drawn}
    told = {sweep: f"\nB_crit = {in_prose(each.estimate, each.low, each.high)}" for sweep, each in found.items() if each}
    with mpl.rc_context(STYLE):
        titles = [f"{name}{told.get(sweep, '')}" for sweep, name in drawn.items()]
        figure, axes = panels(len(drawn), height=2.6, titles=titles)
        for axis, (sweep, critical) in zip(axes, found.items(), strict=True):
            _sweep(axis, sweep, critical, table)
        return figure


def _observed(sweep: CriticalBatch, table: TrialArrays) -> Observation | None:
    try:
        return observe(sweep, table)
    except UndecidableError:
        return None


def _sweep(axes: Axes, sweep: CriticalBatch, critical: Observation | None, table: TrialArrays) -> None:
    weights = table.resamples[: 1 + FITS]
    batch, steps, copies, censored = sweep.runs(table, weights)
    hyperbola = fits.fit_hyperbola(batch, steps, copies, censored)
    x = np.geomspace(batch.min() / 1.2, batch.max() * 1.2, 60)
    colour = HUES[0]
    reached = ~censored[0]
    axes.plot(batch[reached], np.exp(steps[0][reached]), color=SOFT, marker="o", markersize=3.5, markeredgewidth=0, alpha=0.4,
              linestyle="none", label="_")  # fmt: skip
    if not reached.all():
        axes.plot(
            batch[~reached], np.exp(steps[0][~reached]), color=INK, marker="^", linestyle="none", label="not reached by then"
        )
    sizes = np.unique(batch)
    at = [batch == size for size in sizes]
    means = band(np.array([(copies * steps)[:, own].sum(axis=1) / copies[:, own].sum(axis=1) for own in at]).T, table.seeds)
    for size, *ends in zip(sizes, *(np.exp(each) for each in means), strict=True):
        interval(axes, ends[1], ends[2], size, INK, ends[0], "o", size=5, width=1.6, upright=True)
    seen = band(hyperbola.log_steps(x), table.seeds)
    centre, low, high = (np.exp(each) for each in seen)
    axes.fill_between(x, low, high, color=colour, alpha=BAND, linewidth=0)
    axes.plot(x, centre, color=colour, label="hyperbola")
    floor, knee = float(hyperbola.smallest_steps[0]), float(hyperbola.critical_batch[0])
    axes.set_xscale("log")
    axes.set_yscale("log")
    least = min(floor, float(np.exp(steps[0]).min())) / 1.5
    axes.set_ylim(least, float(np.exp(steps[0]).max()) * 1.4)
    axes.set_xlim(x[0], x[-1])
    axes.plot([x[0], x[-1]], [floor, floor], color=SOFT, linewidth=0.8, linestyle="--", label="_")
    slope_ends = np.array([x[0], min(x[-1], floor * knee / least)])
    axes.plot(slope_ends, floor * knee / slope_ends, color=SOFT, linewidth=0.8, linestyle=":", label="_")
    if critical is not None:
        tint(axes, max(x[0], critical.low), min(x[-1], critical.high), "#b97a00", None, alpha=0.3)
    if x[0] <= knee <= x[-1]:
        mark(axes, knee, "-", colour="#8a5a00")
    log_ticks(axes.xaxis, 2, 5)
    log_ticks(axes.yaxis)
    unit = example_unit(sweep.anchor, sweep.over, table)
    axes.set(xlabel=f"batch size ({unit.partition(' of ')[0]})", ylabel="steps to the target")


def coordinates(records: TrialSet, judgement: Judgement | None = None) -> Figure | None:
    """Size of each layer group's activations against the width, at the first and the last step that count, with slopes."""
    if judgement is None:
        return None
    table = records.table
    for _, part in observed_by(judgement, records.scale):
        if isinstance(part, MeanActivationSlope):
            with suppress(UndecidableError):
                observe(part, table)
                return _coordinates(part, table)
    return None


def _coordinates(each: MeanActivationSlope, table: TrialArrays) -> Figure:
    points = present(each.points, table)
    log_widths, sizes_WSTA = each.log_sizes(table)
    widths = np.exp(log_widths)
    usable_TA = np.asarray(np.isfinite(sizes_WSTA).all(axis=(0, 1)))
    count = sizes_WSTA.shape[3]
    centred = (log_widths - log_widths.mean()) / ((log_widths - log_widths.mean()) ** 2).sum()
    names = _tap_names(points[0][1], count, table)
    with mpl.rc_context(STYLE):
        steps = (0, sizes_WSTA.shape[2] - 1)
        titles = [f"{_when(each, step)}: slope in width" for step in steps]
        figure, axes = panels(2, below=count, height=2.6, titles=titles)
        for axis, step in zip(axes, steps, strict=True):
            for tap, colour in enumerate(shades(count)):
                if not usable_TA[step, tap]:
                    continue
                values = sizes_WSTA[:, :, step, tap].T
                slope = float(centred @ values.mean(axis=0))
                label = f"{names[tap]}: {slope:+.2f}".replace("-", "−")
                look = Look(colour, MARKERS[tap], LINES[tap % 4])
                draw_band(axis, widths, seed_band(np.exp(values), table, log=True), look, label, every=None)
            axis.set_xscale("log")
            log_ticks(axis.xaxis, 2)
            log_ticks(axis.yaxis)
            axis.set(xlabel="width", ylabel="mean |activation|" if step == 0 else "")
            legend_below(axis, WIDTH / 2)
        return figure


def _when(each: MeanActivationSlope, step: int) -> str:
    if not each.end:
        return f"Step {step + 1}"
    before = each.steps - 1 - step
    return f"{before} probes before the last" if before else "Last probe"


def _tap_names(arm: str, count: int, table: TrialArrays) -> list[str]:
    """Groups of layers in the order in which a model shows their activations: the last are its logits."""
    model = table.study.configuration(table.scale, arm, {"peak_lr": 1.0}).workload.model
    first = {"gpt": ["embedding"], "cnn": ["stem"]}.get(model, [])
    inner = "hidden" if model == "mlp" else "block"
    between = count - len(first) - 1
    return [*first, *(f"{inner} {index + 1}" if between > 1 else inner for index in range(between)), "logits"]


def underflow(records: TrialSet, judgement: Judgement | None = None) -> Figure | None:
    """Share of gradients that FP16 flushes to zero against the loss scale, with the one that a claim reads. None where no arm
    has a number."""
    if judgement is None:
        return None
    table = records.table
    drawn: dict[tuple[str, str], tuple[Criterion, UnderflowShare, tuple[Numbers, Numbers, Numbers]]] = {}
    for criterion, part in observed_by(judgement, records.scale):
        if isinstance(part, UnderflowShare):
            with suppress(UndecidableError):
                observe(part, table)
                drawn.setdefault((part.arm, part.of), (criterion, part, _shares(part, table)))
    if not drawn:
        return None
    look = looks(table.study)
    names = [f"{table.study.arms[arm].label}, gradients of {_OF[of]}" for arm, of in drawn]
    with mpl.rc_context(STYLE):
        figure, (axes,) = panels(1, below=legend_rows(names, WIDTH), height=2.8)
        axes.set_xscale("log")
        axes.set_xlim(0.8, LOSS_SCALES[-1] * 1.25)
        axes.set_ylim(0, max(100 * float(np.nanmax(values[0])) for _, _, values in drawn.values()) * 1.25 + 0.5)
        (criterion, part, _) = next(iter(drawn.values()))
        if criterion.observe is part:
            regions(axes, criterion, upright=True, to_axis=lambda value: 100 * value)
        for (arm, _), name, (_, part, seen) in zip(drawn, names, drawn.values(), strict=True):
            scaled = tuple(np.clip(100 * each, 0, 100) for each in seen)
            draw_band(axes, LOSS_SCALES, (scaled[0], scaled[1], scaled[2]), look[arm], name, every=None)
            at = float(LOSS_SCALES[part.scale_exponent])
            number = observe(part, table)
            ring(axes, at, 100 * number.estimate)
            axes.text(at * 1.6, 100 * number.estimate, in_prose(number.estimate, number.low, number.high, "share"), va="center",
                      fontweight="bold")  # fmt: skip
        log_ticks(axes.xaxis, 2)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}%"))
        axes.set(xlabel="loss scale", ylabel="flushed to zero in FP16")
        legend_below(axes, WIDTH)
        return figure


_OF = {"activation": "activations", "logits": "logits", "weight": "weights"}


def _shares(part: UnderflowShare, table: TrialArrays) -> tuple[Numbers, Numbers, Numbers]:
    """Share flushed at every loss scale, with its band."""
    best = tuned_index(part.arm, part.over, table)
    column = table.values(part.arm, part.over, f"curve_probe_layer_underflow_{part.of}")[best]
    by_seed = np.array([np.mean([np.asarray(step, dtype=np.float64) for step in curve], axis=0) for curve in column])
    return seed_band(by_seed, table)
