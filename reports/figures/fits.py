"""Fits to points: powers, factors of growth, and steps to a target against the batch size."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...harness.declare import Judgement, Observed, arms_of
from ...harness.declare.design import in_words
from ...harness.declare.metrics import Curve, Optimum, Slope
from ...harness.declare.metrics.batch_sizes import Target
from ...harness.declare.metrics.estimating.evaluation import evaluate
from ...harness.declare.metrics.estimating.fits import fit_hyperbola
from ...harness.declare.metrics.estimating.weighted import present
from ...harness.declare.trials import NotEstimableError, Numbers
from ...harness.judge.observe import observe
from ...harness.judge.spelling import in_prose
from ...harness.judge.statistics.intervals import Observation
from ...harness.judge.trial_arrays import TrialArrays
from ...harness.judge.trial_sets import TrialSet
from ...studies.metrics.critical_batch import critical_batch_size, runs
from ...studies.metrics.gradient_flow import growth_factor
from .drawing import ClaimFigure, Columns, Drawing, Panel, grid
from .frames import band, example_unit, metrics, number, of_kind
from .palette import CRITICAL, HUES, INK, SOFT, Look, numbered
from .scales import Scale

Fit = Any  # a slope or a factor of growth
POWERS = (
    "Best values with 95% intervals, and the fitted powers with 95% bands. Gray: the slopes of common rules."
    " Thin and small: other fits of this study."
)
GROWTH = (
    "Points with 95% intervals, on a logarithmic axis, and the factor of each further step by a fit to all of them. Dotted:"
    " what theory expects."
)
BATCH = (
    "Steps to the target loss. Black: geometric means with 95% intervals; blue: the fitted curve and its 95% band. Dashed: the"
    " fewest steps; dotted: perfect scaling, half the steps for each doubling. Brown: the critical batch size, with its"
    " interval."
)
# How many fits, to resamples, a band of a curve is made of.
FITS = 400
# Slopes that are drawn beside a fit, by what is along the axis, with their names.
REFERENCES = {"batch_size": ((1.0, "slope 1"), (0.5, "slope ½")), "width": ((0.0, "slope 0"), (-1.0, "slope −1"))}
AXIS = {"batch_size": "batch size (examples)"}
# What an axis says of one curve over another.
QUOTIENTS = {("probe_flow_first", "probe_flow_last"): "gradient of the first layer over the last's"}


def draw(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """None where nothing that is fitted has a number."""
    panels = [_powers(records, judgement), _growth(records, judgement), *_sweeps(records, judgement)]
    return grid([panel for panel in panels if panel is not None])


# ---- powers, and factors of growth


def _powers(records: TrialSet, judgement: Judgement) -> Panel | None:
    """A claim's slopes, and, thinner, the study's others over the same axis."""
    table, scale = records.table, records.scale
    declared = dict.fromkeys(
        criterion.observe
        for of in records.study.judgements
        for criterion in of.criteria_at(scale)
        if isinstance(criterion.observe, Slope)
    )
    slopes = of_kind((criterion.observe for criterion in judgement.criteria_at(scale)), Slope)
    own = {slope: fit_points for slope in slopes if (fit_points := points(slope, table)) is not None}
    if not own:
        return None
    first, (x, through) = next(iter(own.items()))
    panel = _panel(first, 2, 2, POWERS, table)
    along = {x for slope in own for x, _ in slope.points}
    others = (slope for slope in declared if slope not in own and along & {at for at, _ in slope.points})
    for slope in (*own, *others):
        if points(slope, table) is not None:
            _power(panel, slope, list(declared).index(slope), slope in own, table)
    middle, height = (np.exp(np.mean(np.log(values))) for values in (x, [observation.estimate for observation in through]))
    ends = np.array([min(x) / 1.05, max(x) * 1.05])
    for (exponent, name), line in zip(REFERENCES.get(varied(first, table), ()), (":", "-."), strict=False):
        panel.add("faint", name, Look(SOFT, "", line), x=ends, y=height * (ends / middle) ** exponent)
    return panel


def _power(panel: Panel, slope: Slope, index: int, strong: bool, table: TrialArrays) -> None:
    """Points, and the line of the judge: its slope, through the middle of the points, under every resample."""
    table = table.of_arms(arms_of(slope) & set(table.study.arms_at(table.scale)))
    fit_points, observation = points(slope, table), observe(slope, table)
    assert fit_points is not None
    x, numbers = fit_points
    label = f"{panel_of(slope, table)}: slope {in_prose(observation.estimate, observation.low, observation.high)}"
    panel.add("estimate" if strong else "beside", label, numbered(index), **columns(x, numbers))
    logs = np.log2(np.array([evaluate(part, table, table.resamples) for _, part in present(slope.points, table)])).T
    along = np.log2(np.geomspace(min(x), max(x), 25))
    lines = logs.mean(axis=1)[:, None] + evaluate(slope, table, table.resamples)[:, None] * (along - np.log2(x).mean())
    ends = band(np.exp2(lines), table.seeds, log=True)
    panel.add("line" if strong else "faint", label, x=np.exp2(along), **(ends if strong else {"y": ends["y"]}))


def _growth(records: TrialSet, judgement: Judgement) -> Panel | None:
    """Factors of growth that a claim reads or reports; dotted, what was expected."""
    table = records.table
    expected = {criterion.observe: criterion.expected for criterion in judgement.criteria_at(records.scale)}
    every = of_kind((*expected, *(report.observe for report in judgement.reported)), growth_factor)
    fits = {metric: fitted for metric in every if (fitted := points(metric, table)) is not None}
    panel = None
    for index, (metric, (x, observations)) in enumerate(fits.items()):
        panel = panel or _panel(metric, 0, 10, GROWTH, table)
        factor, step = observe(metric, table), {"depth": "layer"}.get(varied(metric, table), "step")
        label = f"{panel_of(metric, table)}: {in_prose(factor.estimate, factor.low, factor.high, 'x')} a {step}"
        panel.add("estimate", label, numbered(index), **columns(x, observations))
        panel.add("line", label, x=x, y=[observation.estimate for observation in observations])
        if (theory := expected.get(metric)) is not None:
            ends = np.array([x[0], x[-1]])
            y = observations[0].estimate * theory.value ** (ends - x[0])
            panel.add("faint", "_theory", Look(SOFT, "", ":"), x=ends, y=y)
    return panel


def _panel(fit: Fit, log_x: int, log_y: int, caption: str, table: TrialArrays) -> Panel:
    key, metric = varied(fit, table), fit.points[0][1]
    label = in_words(str(getattr(metric, "kind", "")))
    if isinstance(metric, Optimum):
        label = "best peak LR" if metric.over == "peak_lr" else f"best {in_words(metric.over)}"
    elif isinstance(metric, Curve):
        label = QUOTIENTS.get((metric.of, metric.divided_by or ""), label)
    x = Scale(AXIS.get(key, in_words(key) if key else "x"), log_x, ticks=10)
    return Panel(x, Scale(label, log_y), height=3.6, caption=caption)


def points(fit: Fit, table: TrialArrays) -> tuple[list[float], list[Observation]] | None:
    """The points of a fit; None if it has no number."""
    try:
        observe(fit, table)
        parts = present(fit.points, table)
        return [x for x, _ in parts], [observe(part, table) for _, part in parts]
    except NotEstimableError:
        return None


def columns(x: Sequence[float], observations: Sequence[Observation]) -> Columns:
    return {
        "x": x,
        "y": [s.estimate for s in observations],
        "low": [s.low for s in observations],
        "high": [s.high for s in observations],
    }


def panel_of(fit: Fit, table: TrialArrays) -> str:
    """The panel that most of its arms are of: fits may share an arm, which has a panel of its own."""
    arms = sorted(arms_of(fit), key=list(table.study.arms).index)
    return Counter(table.study.arms[arm].panel for arm in arms).most_common(1)[0][0] or "points"


def varied(fit: Fit, table: TrialArrays) -> str:
    """The setting whose values are x, be it an arm's own or the study's; empty: none that is known."""
    candidates: set[str] | None = None
    for x, part in present(fit.points, table):
        for arm in arms_of(part):
            chosen = table.study.configuration(table.scale, arm, {"peak_lr": 1.0})
            settings = chosen.workload.model_dump() | chosen.training.model_dump()
            same = {name for name, value in settings.items() if isinstance(value, int | float) and value == x}
            candidates = same if candidates is None else candidates & same
    return min(candidates or {""})


# ---- steps to a target


def _sweeps(records: TrialSet, judgement: Judgement) -> list[Panel]:
    """Every sweep that a claim reads, once."""
    panels: dict[Observed, Panel] = {}
    for criterion, sweep in metrics(judgement, records.scale, critical_batch_size):
        title = criterion.panel or records.study.arms[sweep.anchor].panel
        if sweep not in panels:
            try:
                panels[sweep] = _sweep(sweep, title, records.table)
            except NotEstimableError:
                continue
    return list(panels.values())


def _sweep(sweep: Any, name: str, table: TrialArrays) -> Panel:
    batch, log_steps, copies, censored = runs(
        sweep.points, Target(sweep.anchor, sweep.share, sweep.over), table, table.resamples[: 1 + FITS]
    )
    hyperbola = fit_hyperbola(batch, log_steps, copies, censored)
    steps, reached = np.exp(log_steps[0]), ~censored[0]
    floor, knee = float(hyperbola.smallest_steps[0]), float(hyperbola.critical_batch[0])
    low, x = min(floor, float(steps.min())) / 1.5, np.geomspace(batch.min() / 1.2, batch.max() * 1.2, 60)
    panel = Panel(
        Scale(f"batch size ({example_unit(sweep.anchor, sweep.over, table)})", 2, x[0], x[-1], ticks=5),
        Scale("steps to the target", 10, low, float(steps.max()) * 1.4), name, height=2.6, caption=BATCH,
    )  # fmt: skip
    panel.looks |= {"_critical": Look(CRITICAL, "", "-"), "_fit": Look(HUES[0], "", "-"), "_halving": Look(SOFT, "", ":")}
    if (observation := number(sweep, table)) is not None:
        panel.title += f"\nB_crit = {in_prose(observation.estimate, observation.low, observation.high)}"
        panel.add("region", "_critical", left=observation.low, right=observation.high)
        panel.add("rule", "_critical", x=observation.estimate)
    panel.add("faint", "_fewest", Look(SOFT, "", "--"), x=x[[0, -1]], y=floor)
    ends = np.array([x[0], min(x[-1], floor * knee / low)])
    panel.add("faint", "_halving", x=ends, y=floor * knee / ends)
    panel.add("run", "_run", Look(SOFT, "o", ""), x=batch[reached], y=steps[reached])
    panel.add("beside", "not reached by then", Look(INK, "^", ""), x=batch[~reached], y=steps[~reached])
    panel.add("line", "_fit", x=x, **band(np.exp(hyperbola.log_steps(x)), table.seeds, log=True))
    own: list[Numbers] = [batch == size for size in np.unique(batch)]
    means = np.array([(copies * log_steps)[:, mask].sum(axis=1) / copies[:, mask].sum(axis=1) for mask in own]).T
    panel.add("estimate", x=np.unique(batch), **band(np.exp(means), table.seeds, log=True))
    return panel


FIGURE = ClaimFigure("fit", draw)
