"""What happened over the runs: gradients, losses, noise scales, with steps or examples along."""

import math
from contextlib import suppress

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from folklore.harness.metrics import (
    CriticalBatch,
    Curve,
    CurveDistance,
    CurveRatio,
    MeanGap,
    NoiseScale,
)
from folklore.harness.metrics.curves import noise_curve
from folklore.harness.metrics.estimating.weighted import (
    evaluation_curves,
    initial_loss,
    position,
    stacked,
    tuned_index,
    tuned_loss,
)
from folklore.harness.spec import Criterion, Judgement, Training
from folklore.harness.spec.parts import all_parts
from folklore.harness.spec.trials import Numbers, UndecidableError
from folklore.harness.verdicts.observe import observe
from folklore.harness.verdicts.spelling import in_prose
from folklore.harness.verdicts.trial_arrays import TrialArrays
from folklore.harness.verdicts.trial_sets import TrialSet
from folklore.reports.colours import CLAIMED, INK, REFUTED, SOFT, looks
from folklore.reports.figures import (
    MOST_CURVES,
    STYLE,
    WIDTH,
    band,
    chunks,
    draw_band,
    few_ticks,
    is_searched,
    legend_below,
    legend_rows,
    log_ticks,
    mark,
    observed_by,
    panels,
    pieces,
    regions,
    seed_band,
    tint,
)

TITLES = {
    "gradient_norm": "Gradient norm",
    "gradient_variance": "Variance of the gradient",
    "update_ratio": "Update over weight",
    "median_update_ratio": "Update over weight, median layer",
    "matrix_update_ratio": "Update over weight, median matrix",
    "matrix_update_ratio_low": "Update over weight, lower quartile of the matrices",
    "matrix_update_ratio_high": "Update over weight, upper quartile of the matrices",
}
AXES = {
    "gradient_norm": "norm",
    "gradient_variance": "variance",
    "update_ratio": "update / weight",
    "median_update_ratio": "update / weight",
    "matrix_update_ratio": "update / weight",
    "matrix_update_ratio_low": "update / weight",
    "matrix_update_ratio_high": "update / weight",
}
# A training curve is drawn with so many points.
MOST_POINTS = 100


def training_of(arm: str, over: str, table: TrialArrays) -> Training:
    """Steps and batch size, which do not depend on the value of the factor."""
    return table.study.configuration(table.scale, arm, {over: float(table.grid(arm, over)[0])}).training


def example_unit(arm: str, over: str, table: TrialArrays) -> str:
    """What a batch counts: examples, of a language model sequences."""
    workload = table.study.configuration(table.scale, arm, {over: float(table.grid(arm, over)[0])}).workload
    return f"sequences of {workload.context} tokens" if workload.model == "gpt" else "examples"


def probe_curves(records: TrialSet, judgement: Judgement | None = None) -> Figure | None:
    """What probes saw over the run at the tuned LR, with what a claim reads off it: the mean of the beginning over that of the
    end, a median, or a distance from a reference. None where there is no number."""
    if judgement is None:
        return None
    table = records.table
    drawn: list[Criterion] = []
    for criterion in judgement.criteria_at(records.scale):
        if criterion.observe.figure == "curves":
            with suppress(UndecidableError):
                observe(criterion.observe, table)
                drawn.append(criterion)
    if not drawn:
        return None
    with mpl.rc_context(STYLE):
        figure, axes = panels(len(drawn), height=2.3, titles=[_titled(criterion, table) for criterion in drawn])
        for axis, criterion in zip(axes, drawn, strict=True):
            observable = criterion.observe
            if isinstance(observable, CurveRatio):
                _ratio(axis, observable, table)
            elif isinstance(observable, Curve):
                _median(axis, criterion, observable, table)
            elif isinstance(observable, CurveDistance):
                _distance(axis, criterion, observable, table)
        return figure


def _titled(criterion: Criterion, table: TrialArrays) -> str:
    """What a panel shows, in lines."""
    observable, arms = criterion.observe, table.study.arms
    if isinstance(observable, CurveRatio):
        return f"{TITLES[observable.curve]}\n{arms[observable.arm].label}"
    if isinstance(observable, CurveDistance):
        return f"{arms[observable.arm].label} from {arms[observable.reference].label}"
    assert isinstance(observable, Curve)
    return criterion.panel or arms[observable.arm].label


def _at_tuned(arm: str, curve: str, over: str, index: int, table: TrialArrays) -> tuple[Numbers, Numbers]:
    """Steps [P] and a probe curve [S, P]."""
    steps = stacked(table.values(arm, over, "curve_probe_step")[index : index + 1])[0, 0]
    return steps, stacked(table.values(arm, over, f"curve_probe_{curve}")[index : index + 1])[0]


def _ratio(axes: Axes, each: CurveRatio, table: TrialArrays) -> None:
    steps, values = _at_tuned(each.arm, each.curve, each.over, tuned_index(each.arm, each.over, table), table)
    total = training_of(each.arm, each.over, table).steps
    look = looks(table.study)[each.arm]
    axes.set_xlim(0.85, total * 1.05)
    draw_band(axes, steps, seed_band(values, table, log=True), look, table.study.arms[each.arm].label, every=None, markersize=4)
    log_ticks(axes.yaxis)
    low, high = axes.get_ylim()
    axes.set_ylim(low / 1.1, high * 1.9)
    log_ticks(axes.yaxis)
    first, last = (0.85, math.ceil(each.first * total) * 1.0), ((1 - each.last) * total, total * 1.05)
    for low, high in (first, last):
        tint(axes, low, high, SOFT, None, alpha=0.2)
    log_ticks(axes.xaxis)
    seen = observe(each, table)
    top = axes.get_ylim()[1] / 1.08
    axes.text(total**0.5, top, in_prose(seen.estimate, seen.low, seen.high, "x"), ha="center", va="top", fontweight="bold")
    axes.set(xlabel="step", ylabel=AXES[each.curve])


def _median(axes: Axes, criterion: Criterion, each: Curve, table: TrialArrays) -> None:
    name = each.of.removeprefix("probe_")
    steps, values = _at_tuned(each.arm, name, each.over, tuned_index(each.arm, each.over, table), table)
    total = training_of(each.arm, each.over, table).steps
    seen = observe(each, table)
    ends = [end for rule in (criterion.claimed, criterion.refuted) for piece in rule.pieces for end in piece]
    ends = [end for end in ends if 0 < end < math.inf]
    curve = seed_band(values, table, log=True)
    known = curve[0][np.isfinite(curve[0]) & (curve[0] > 0)]
    axes.set_yscale("log")
    axes.set_ylim(min([*ends, known.min(), seen.low]) / 1.7, max([*ends, known.max(), seen.high]) * 1.7)
    axes.set_xlim(0.85, total * 1.05)
    log_ticks(axes.xaxis)
    log_ticks(axes.yaxis)
    regions(axes, criterion, upright=True)
    draw_band(axes, steps, curve, looks(table.study)[each.arm], "_", every=None, markersize=4)
    tint(axes, seen.low, seen.high, INK, None, upright=True, alpha=0.15)
    mark(axes, seen.estimate, "-", upright=True)
    axes.set(xlabel="step", ylabel=AXES[name])


def _distance(axes: Axes, criterion: Criterion, each: CurveDistance, table: TrialArrays) -> None:
    best = tuned_index(each.reference, each.over, table)
    steps, own = _at_tuned(each.arm, each.curve, each.over, best, table)
    _, reference = _at_tuned(each.reference, each.curve, each.over, best, table)
    seen = observe(each, table)
    curve = seed_band(100 * np.abs(own / reference - 1), table)
    ends = [100 * end for rule in (criterion.claimed, criterion.refuted) for piece in rule.pieces for end in piece]
    # A step that overflowed has no distance.
    known = curve[0][np.isfinite(curve[0])]
    most = max([*(end for end in [*ends, 100 * seen.high] if math.isfinite(end)), *known])
    axes.set_ylim(0, 1.15 * most)
    axes.set_xlim(0.85, steps.max() * 1.15)
    log_ticks(axes.xaxis)
    few_ticks(axes.yaxis, percent=True)
    regions(axes, criterion, upright=True, to_axis=lambda value: 100 * value)
    draw_band(axes, steps, curve, looks(table.study)[each.arm], "_", every=None)
    tint(axes, 100 * max(0.0, seen.low), 100 * seen.high, INK, None, upright=True, alpha=0.15)
    mark(axes, 100 * seen.estimate, "-", upright=True)
    axes.set(xlabel="step", ylabel="distance of gradient norms")


def trajectories(records: TrialSet, judgement: Judgement | None = None) -> Figure | None:
    """Validation loss against the examples seen of two arms, and under it their gap, with the share of the run that counts."""
    if judgement is None:
        return None
    table = records.table
    for criterion, part in observed_by(judgement, records.scale):
        if isinstance(part, MeanGap):
            with suppress(UndecidableError):
                observe(part, table)
                return _trajectory(criterion, part, table)
    return None


def _trajectory(criterion: Criterion, each: MeanGap, table: TrialArrays) -> Figure:
    over, study, look = each.over, table.study, looks(table.study)
    best = tuned_index(each.tuned_for, over, table)
    value = float(table.grid(each.tuned_for, over)[best]) * each.times
    theirs = evaluation_curves(each.arm, over, table)[position(table, each.arm, over, value)]
    own = evaluation_curves(each.tuned_for, over, table)[best]
    training = training_of(each.tuned_for, over, table)
    share = (np.arange(own.shape[1]) + 1) / own.shape[1]
    examples = share * training.examples
    centre, low, high = _gaps(each, theirs, own, table)
    seen = observe(each, table)
    names = [f"{study.arms[arm].label}{lr}" for arm, lr in ((each.tuned_for, ", tuned LR"), (each.arm, _times(each.times)))]
    with mpl.rc_context(STYLE):
        figure = mpl.figure.Figure(figsize=(WIDTH, 5.0))
        top, under = figure.add_axes((0.15, 0.53, 0.82, 0.41)), figure.add_axes((0.15, 0.2, 0.82, 0.28))
        late = share > each.after + 1e-9
        limits = (examples[0] / 1.1, examples[-1] * 1.1)
        for axes in (top, under):
            axes.set_xlim(*limits)
            log_ticks(axes.xaxis)
        for arm, curves, name in ((each.tuned_for, own, names[0]), (each.arm, theirs, names[1])):
            draw_band(top, examples, seed_band(curves, table), look[arm], name, every=None)
        for axes in (top, under):
            if axes is under:
                height = max(np.abs(centre).max(), abs(seen.high) * 100) * 1.15
                axes.set_ylim(-height, height)
            begins = float(examples[late][0]) / 1.03
            tint(axes, limits[0], begins, SOFT, axes.get_ylim(), alpha=0.22)
        few_ticks(top.yaxis)
        few_ticks(under.yaxis, 4, percent=True)
        _two_sided(under, criterion, (float(examples[late][0]) / 1.03, limits[1]))
        mark(under, 0, ":", upright=True)
        under.fill_between(examples, low, high, color=INK, alpha=BAND_OF_GAP, linewidth=0)
        under.plot(examples, centre, color=INK, marker="o", markersize=4)
        top.set_xticklabels([])
        top.set(ylabel=study.loss_label("validation", table.scale, [each.arm, each.tuned_for]))
        top.set_title(f"Mean gap: {in_prose(seen.estimate, seen.low, seen.high, criterion.unit)}")
        under.set(xlabel=f"{example_unit(each.arm, over, table)} seen", ylabel="gap, share of fall")
        legend_below_figure(figure, top)
        return figure


BAND_OF_GAP = 0.15


def legend_below_figure(figure: Figure, axes: Axes) -> None:
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="lower left", bbox_to_anchor=(0.02, 0.01), ncols=2)


def _times(times: float) -> str:
    return ", the same LR" if times == 1 else f", {times:g}x that LR"


def _gaps(each: MeanGap, theirs: Numbers, own: Numbers, table: TrialArrays) -> tuple[Numbers, Numbers, Numbers]:
    """The gap in percent of the fall at every evaluation with its band, at the chosen LRs."""
    weights = table.resamples / table.resamples.sum(axis=1, keepdims=True)
    left, right = weights @ theirs, weights @ own
    start = initial_loss({each.tuned_for: each.over, each.arm: each.over}, table, table.resamples)
    fall = start - tuned_loss(each.tuned_for, each.over, table, table.resamples)
    return band(100 * (left - right) / fall[:, None], table.seeds)


def _two_sided(axes: Axes, criterion: Criterion, across: tuple[float, float]) -> None:
    """Regions of an absolute gap, on both sides of zero."""
    if not getattr(criterion.observe, "absolute", False):
        regions(axes, criterion, across, upright=True, to_axis=lambda value: 100 * value)
        return
    for rule, colour in ((criterion.claimed, CLAIMED), (criterion.refuted, REFUTED)):
        for low, high in pieces(rule, 0.0, axes.get_ylim()[1], lambda value: 100 * value):
            for ends in {(low, high), (-high, -low)}:
                tint(axes, *ends, colour, across, upright=True)


def noise_scales(records: TrialSet, judgement: Judgement | None = None) -> Figure | None:
    """The noise scale over training with its band, its means over the parts of the run that a claim reads, and the critical
    batch size where the claim compares them. None where none has a number."""
    if judgement is None:
        return None
    table = records.table
    drawn: dict[tuple[str, str], tuple[Criterion, NoiseScale, Numbers, Numbers]] = {}
    for criterion, part in observed_by(judgement, records.scale):
        if isinstance(part, NoiseScale):
            with suppress(UndecidableError):
                share, scale = noise_curve(part.arm, part.over, table, table.resamples)
                if (scale[0] > 0).any():
                    drawn.setdefault((criterion.name, part.arm), (criterion, part, share, scale))
    if not drawn:
        return None
    with mpl.rc_context(STYLE):
        titles = [_noise_title(criterion, part, table) for criterion, part, *_ in drawn.values()]
        figure, axes = panels(len(drawn), height=2.4, titles=titles)
        for axis, (criterion, part, share, scale) in zip(axes, drawn.values(), strict=True):
            _noise(axis, criterion, part, share, scale, table)
        return figure


def _noise_title(criterion: Criterion, part: NoiseScale, table: TrialArrays) -> str:
    number = ""
    with suppress(UndecidableError):
        found = observe(criterion.observe, table)
        number = f"\n{in_prose(found.estimate, found.low, found.high, criterion.unit)}"
    return f"{criterion.panel or table.study.arms[part.arm].label}{number}"


def _noise(axes: Axes, criterion: Criterion, part: NoiseScale, share: Numbers, scale: Numbers, table: TrialArrays) -> None:
    training = training_of(part.arm, part.over, table)
    total = training.examples
    look = looks(table.study)[part.arm]
    unit = example_unit(part.arm, part.over, table)
    x = share * total
    axes.set_xlim(x[0] / 1.3, total * 1.08)
    seen = band(scale, table.seeds, log=True)
    draw_band(axes, x, seen, look, "_", every=None, markersize=3)
    heights = [value for value in np.concatenate(seen) if np.isfinite(value) and value > 0]
    marks: list[tuple[float, float, float, float, float]] = []
    for each in all_parts(criterion.observe):
        with suppress(UndecidableError):
            if isinstance(each, NoiseScale) and each.arm == part.arm:
                found = observe(each, table)
                marks.append((max(each.first * total, x[0] / 1.3), each.last * total, found.estimate, found.low, found.high))
                heights += [found.low, found.high]
    critical = None
    for each in all_parts(criterion.observe):
        if isinstance(each, CriticalBatch):
            with suppress(UndecidableError):
                critical = observe(each, table)
                heights += [critical.low, critical.high]
    axes.set_yscale("log")
    low, high = np.quantile(heights, [0.02, 1.0])
    axes.set_ylim(low / 1.5, high * 2.2)
    for start, end, estimate, least, most in marks:
        tint(axes, least, most, INK, (start, end), upright=True, alpha=0.18)
        mark(axes, estimate, "-", (start, end), upright=True)
        axes.lines[-1].set_linewidth(2)
    if critical is not None:
        tint(axes, critical.low, critical.high, "#b97a00", None, upright=True, alpha=0.3)
        mark(axes, critical.estimate, "--", upright=True, colour="#8a5a00")
        axes.text(axes.get_xlim()[0] * 1.15, critical.high * 1.06, "critical batch", color="#8a5a00", va="bottom")
    log_ticks(axes.xaxis, most=4)
    log_ticks(axes.yaxis, most=4)
    unit = unit.partition(" of ")[0]
    axes.set(xlabel=f"{unit} seen", ylabel=f"noise scale ({unit})")


def training_losses(records: TrialSet, judgement: Judgement | None = None) -> Figure | None:
    """Training loss over the steps at each arm's tuned LR, mean and band over seeds, a panel for each panel of the study. Where
    no arm is tuned, at the one LR that arms have; None where they have none."""
    study, table = records.study, records.table
    trained = study.arms_at(records.scale)
    arms = [arm for arm in trained if is_searched(table, arm, "peak_lr")]
    arms = arms or [arm for arm in trained if list(study.factors_at(records.scale, arm)) == ["peak_lr"]]
    curves = {arm: found for arm in arms if (found := _tuned_losses(arm, table)) is not None}
    together: dict[str, list[str]] = {}
    for arm in curves:
        together.setdefault(study.arms[arm].panel, []).append(arm)
    groups = [(panel, part) for panel, names in together.items() for part in chunks(names, MOST_CURVES)]
    if not groups:
        return None
    width = WIDTH / min(2, len(groups))
    with mpl.rc_context(STYLE):
        rows = max(legend_rows([study.arms[arm].label for arm in names], width) for _, names in groups)
        figure, axes = panels(len(groups), below=rows, titles=[panel for panel, _ in groups])
        for index, (axis, (_, names)) in enumerate(zip(axes, groups, strict=True)):
            for arm in names:
                steps, seen = curves[arm]
                draw_band(axis, steps, seen, looks(study)[arm], study.arms[arm].label, every=0.2, markersize=4, linewidth=1.2)
            log_ticks(axis.xaxis)
            few_ticks(axis.yaxis)
            axis.set(xlabel="step", ylabel="" if index % 2 else study.loss_label("training", records.scale, names))
            legend_below(axis, width)
        return figure


def _tuned_losses(arm: str, table: TrialArrays) -> tuple[Numbers, tuple[Numbers, Numbers, Numbers]] | None:
    try:
        best = tuned_index(arm, "peak_lr", table)
        values = stacked(table.values(arm, "peak_lr", "curve_train_loss")[best : best + 1])[0]
        steps = np.asarray(table.values(arm, "peak_lr", "curve_step")[best][0], dtype=np.float64)
    except (UndecidableError, ValueError):  # an optimum on the grid's edge; curves of different lengths
        return None
    kept = np.unique(np.linspace(0, len(steps) - 1, min(len(steps), MOST_POINTS)).round().astype(np.int64))
    values, steps = values[:, kept], steps[kept]
    if not np.isfinite(values.mean(axis=0)).any():
        return None
    return steps, seed_band(values, table)
