"""Whether flat runs generalize better: what is held out against sharpness, of runs that fit as well."""

import numpy as np

from ...harness.declare import Judgement
from ...harness.declare.metrics import SharpnessCorrelation
from ...harness.judge.spelling import in_prose
from ...harness.judge.statistics.intervals import Observation
from ...harness.judge.trial_arrays import TrialArrays
from ...harness.judge.trial_sets import TrialSet
from .drawing import ClaimFigure, Drawing, Panel, grid
from .frames import known
from .palette import looks
from .scales import Scale


def draw(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """A panel a criterion: every setting's mean over seeds, its runs pale behind it. None where no criterion has a number."""
    found = known(records, judgement, SharpnessCorrelation)
    return grid([_panel(metric, seen, records.table) for _, metric, seen in found], columns=1)


def _panel(metric: SharpnessCorrelation, seen: Observation, table: TrialArrays) -> Panel:
    study = table.study
    unit = study.loss_unit_of(table.scale, metric.arms)
    where = "at the end of training" if metric.level is None else f"at a training loss of {metric.level:g} {unit}".rstrip()
    errors = metric.of == "evaluation_accuracy"
    held_out = "validation error" if errors else study.loss_label("validation", table.scale, metric.arms)
    panel = Panel(
        Scale(f"largest eigenvalue of the Hessian {where}", 10),
        Scale("validation error there (share)" if errors else f"{held_out} there", least=0.0),
        "rank correlation " + in_prose(seen.estimate, seen.low, seen.high, ""),
    )
    log_sharpness, losses = metric.points(table)
    usable = np.isfinite(log_sharpness) & np.isfinite(losses)
    start = 0
    for arm in metric.arms:
        rows = slice(start, start + len(table.grid(arm, metric.over)))
        start = rows.stop
        look, label = looks(study)[arm], study.arms[arm].label
        own, x, y = usable[rows], log_sharpness[rows], losses[rows]
        panel.add("run", f"_{arm}", look, x=np.exp(x[own]), y=y[own])
        settings = [(np.exp(x[row][own[row]].mean()), y[row][own[row]].mean()) for row in np.flatnonzero(own.any(axis=1))]
        if settings:
            panel.add("estimate", label, look, **dict(zip("xy", np.array(settings).T, strict=True)))
    return panel


FIGURE = ClaimFigure(
    "sharpness",
    "Validation loss against sharpness, both where the axis says. Large dots: settings, means over seeds. The correlation"
    " judged stands above.",
    draw,
)
