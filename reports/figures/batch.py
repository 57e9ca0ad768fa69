"""Steps to a target loss against the batch size."""

import numpy as np

from ...harness.declare import Judgement
from ...harness.declare.metrics import CriticalBatch
from ...harness.declare.metrics.batch_sizes import BatchSweep
from ...harness.declare.metrics.estimating.fits import fit_hyperbola
from ...harness.declare.trials import NotEstimableError
from ...harness.judge.spelling import in_prose
from ...harness.judge.trial_arrays import TrialArrays
from ...harness.judge.trial_sets import TrialSet
from .drawing import ClaimFigure, Columns, Drawing, Panel, grid, upright
from .frames import band, example_unit, metrics, number
from .palette import HUES, INK, SOFT, Look
from .scales import Scale

# Of the resamples: how many fits a band of a curve is made of.
FITS = 400
CRITICAL = "#b97a00"
LOOKS = {
    "_run": Look(SOFT, "o", ""),
    "_fit": Look(HUES[0], "", "-"),
    "_critical": Look(CRITICAL, "", "-"),
    "_fewest": Look(SOFT, "", "--"),
    "_halving": Look(SOFT, "", ":"),
}


def draw(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """Every sweep that a claim reads, once; None where none of them was trained."""
    table = records.table
    found: dict[CriticalBatch, Panel] = {}
    for criterion, part in metrics(judgement, records.scale, BatchSweep):
        sweep = CriticalBatch(anchor=part.anchor, share=part.share, over=part.over, points=part.points)
        if sweep not in found:
            try:
                found[sweep] = _panel(sweep, criterion.panel or table.study.arms[part.anchor].panel, table)
            except NotEstimableError:
                continue
    return grid(list(found.values()))


def _panel(sweep: CriticalBatch, name: str, table: TrialArrays) -> Panel:
    batch, log_steps, copies, censored = sweep.runs(table, table.resamples[: 1 + FITS])
    hyperbola = fit_hyperbola(batch, log_steps, copies, censored)
    steps, reached = np.exp(log_steps[0]), ~censored[0]
    floor, knee = float(hyperbola.smallest_steps[0]), float(hyperbola.critical_batch[0])
    low, x = min(floor, float(steps.min())) / 1.5, np.geomspace(batch.min() / 1.2, batch.max() * 1.2, 60)
    unit = example_unit(sweep.anchor, sweep.over, table)
    seen = number(sweep, table)
    panel = Panel(
        Scale(f"batch size ({unit})", 2, x[0], x[-1], ticks=5),
        Scale("steps to the target", 10, low, float(steps.max()) * 1.4),
        name if seen is None else f"{name}\nB_crit = {in_prose(seen.estimate, seen.low, seen.high)}",
        height=2.6,
        looks=dict(LOOKS),
    )
    if seen is not None:
        panel.add("region", "_critical", left=seen.low, right=seen.high)
    panel.add("rule", "_critical", x=knee)
    panel.add("faint", "_fewest", x=x[[0, -1]], y=[floor, floor])
    ends = np.array([x[0], min(x[-1], floor * knee / low)])
    panel.add("faint", "_halving", x=ends, y=floor * knee / ends)
    panel.add("run", "_run", x=batch[reached], y=steps[reached])
    if not reached.all():
        panel.add("beside", "not reached by then", Look(INK, "^", ""), x=batch[~reached], y=steps[~reached])
    fitted: Columns = {end: np.exp(value) for end, value in band(hyperbola.log_steps(x), table.seeds).items()}
    panel.add("line", "_fit", x=x, **fitted)
    sizes = np.unique(batch)
    own = [batch == size for size in sizes]
    means = np.array([(copies * log_steps)[:, each].sum(axis=1) / copies[:, each].sum(axis=1) for each in own]).T
    panel.add("estimate", x=sizes, **upright(*(np.exp(value) for value in band(means, table.seeds).values())))
    return panel


FIGURE = ClaimFigure(
    "batch",
    "Steps to the target loss. Black: geometric means with 95% intervals; blue: the fitted curve and its 95% band. Dashed: the"
    " fewest steps; dotted: perfect scaling, half the steps for each doubling. Brown: the critical batch size, with its"
    " interval.",
    draw,
)
