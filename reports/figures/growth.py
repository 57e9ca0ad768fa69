"""What grows or falls by a factor with each further unit of x."""

import numpy as np

from ...harness.declare import Judgement
from ...harness.declare.metrics import GrowthFactor
from ...harness.judge.observe import observe
from ...harness.judge.spelling import in_prose
from ...harness.judge.trial_arrays import TrialArrays
from ...harness.judge.trial_sets import TrialSet
from . import fits
from .drawing import ClaimFigure, Drawing, Panel, grid
from .frames import of_kind
from .palette import SOFT, Look, numbered
from .scales import Scale


def draw(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """Points with intervals on a logarithmic axis, the fitted factor in the legend, and, dotted, what was expected; those that
    are reported stand beside those that are judged."""
    table = records.table
    expected = {each.observe: each.expected for each in judgement.criteria_at(records.scale)}
    metrics = of_kind((*expected, *(each.observe for each in judgement.reported)), GrowthFactor)
    found = {metric: points for metric in metrics if (points := fits.points(metric, table)) is not None}
    if not found:
        return None
    first = next(iter(found))
    places = {x: f"{x:g}" for x in found[first][0]}
    panel = Panel(Scale(fits.axis_label(first, table), names=places), Scale(fits.quantity(first.points[0][1]), 10), height=3.6)
    panel.looks["_expected"] = Look(SOFT, "", ":")
    for index, (metric, (x, seen)) in enumerate(found.items()):
        columns = fits.columns(x, seen)
        panel.add("estimate", _label(metric, table), numbered(index), **columns)
        panel.add("line", _label(metric, table), x=x, y=columns["y"])
        if (theory := expected.get(metric)) is not None:
            ends = np.array([x[0], x[-1]])
            panel.add("faint", "_expected", x=ends, y=seen[0].estimate * theory.value ** (ends - x[0]))
    return grid([panel])


def _label(metric: GrowthFactor, table: TrialArrays) -> str:
    seen, each = observe(metric, table), {"depth": "layer"}.get(fits.varied(metric, table), "step")
    return f"{fits.panel_of(metric, table)}: {in_prose(seen.estimate, seen.low, seen.high, 'x')} a {each}"


FIGURE = ClaimFigure(
    "growth",
    "Points with 95% intervals, on a logarithmic axis, and the factor of each further step by a fit to all of them. Dotted:"
    " what theory expects.",
    draw,
)
