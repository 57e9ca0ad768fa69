"""Sizes of activations against the width: the coordinate check."""

import numpy as np

from ...harness.declare import Judgement
from ...harness.declare.metrics import MeanActivationSlope
from ...harness.declare.metrics.estimating.weighted import present
from ...harness.judge.trial_arrays import TrialArrays
from ...harness.judge.trial_sets import TrialSet
from .drawing import ClaimFigure, Drawing, Panel, grid
from .frames import known, seed_band
from .palette import LINES, MARKERS, Look, shades
from .scales import Scale


def draw(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """Each layer group's activations at the first and the last step that count; None where there is no slope."""
    for _, metric, _ in known(records, judgement, MeanActivationSlope):
        return grid([_panel(metric, step, records.table) for step in (0, metric.steps - 1)])
    return None


def _panel(metric: MeanActivationSlope, step: int, table: TrialArrays) -> Panel:
    log_widths, sizes_WSTA = metric.log_sizes(table)
    step = min(step, sizes_WSTA.shape[2] - 1)
    usable_A = np.asarray(np.isfinite(sizes_WSTA[:, :, step]).all(axis=(0, 1)))
    names = _tap_names(present(metric.points, table)[0][1], len(usable_A), table)
    panel = Panel(Scale("width", 2), Scale("mean |activation|", 10), f"{_when(metric, step)}: slope in width", height=2.6)
    for tap, colour in enumerate(shades(len(usable_A))):
        if usable_A[tap]:
            values = sizes_WSTA[:, :, step, tap].T
            slope = float(np.polyfit(log_widths, values.mean(axis=0), 1)[0])
            label = f"{names[tap]}: {slope:+.2f}".replace("-", "−")
            look = Look(colour, MARKERS[tap], LINES[tap % len(LINES)])
            panel.add("curve", label, look, x=np.exp(log_widths), **seed_band(np.exp(values), table, log=True))
    return panel


def _when(metric: MeanActivationSlope, step: int) -> str:
    if not metric.end:
        return f"Step {step + 1}"
    before = metric.steps - 1 - step
    return f"{before} probes before the last" if before else "Last probe"


def _tap_names(arm: str, count: int, table: TrialArrays) -> list[str]:
    """Groups of layers in the order in which a model shows their activations: the last are its logits."""
    model = table.study.configuration(table.scale, arm, {"peak_lr": 1.0}).workload.model
    first = {"gpt": ["embedding"], "cnn": ["stem"]}.get(model, [])
    inner = "hidden" if model == "mlp" else "block"
    between = count - len(first) - 1
    return [*first, *(f"{inner} {index + 1}" if between > 1 else inner for index in range(between)), "logits"]


FIGURE = ClaimFigure(
    "coordinates",
    "Mean size of activations against the width, with 95% bands, and the slope of each group of layers.",
    draw,
)
