"""An effect against the size of the model, along a ladder: what was measured, the line through it, and what was predicted."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...harness.declare import Criterion
from ...harness.judge.spelling import HUNDREDTHS, PERCENT
from ...harness.judge.trends import ClaimTrend, Point, Prediction
from .drawing import Columns, Drawing, Panel
from .forest import UNITS
from .palette import HUES, INK, SOFT, Look
from .scales import Scale

LINE = (
    "The effect at each rung, with its interval, against the size of the model. Blue: the line fitted in the logarithm of the"
    " size, from the smallest rung to the largest; its band joins the 95% intervals at the two ends."
)
RATIO = "Ratios are fitted as logarithms: no effect is 1x."
PREDICTED = "Ring: predicted from the rungs below, with its 95% interval, which may leave the picture."
# Kinds of devices, as a legend names them.
DEVICES = {"cpu": ("on CPUs", Look(INK, "o", "")), "cuda": ("on GPUs", Look(HUES[1], "s", ""))}


def draw(grown: ClaimTrend, criterion: Criterion) -> Drawing:
    """In the criterion's unit. The ends of intervals of predictions, which are wide of few rungs, set no limits."""
    factor, log = (100.0 if grown.unit in HUNDREDTHS else 1.0), criterion.observe.log_axis
    y = Scale(_label(grown), 10 if log else 0, percent=grown.unit in PERCENT)
    panel = Panel(Scale("parameters without embeddings", 10), y, height=2.4, caption=_caption(grown, log))
    panel.regions(criterion, "y", lambda value: factor * value)
    ends = np.array([(end.estimate, end.low, end.high) for end in (grown.trend.smallest, grown.trend.largest)]).T
    line = factor * (np.exp(ends) if log else ends)
    panel.add("line", "_fit", Look(HUES[0], "", "-"), x=grown.trend.sizes, y=line[0], low=line[1], high=line[2])
    devices = list(dict.fromkeys(point.device for point in grown.points))
    for device in devices:
        name, look = DEVICES.get(device, (device, Look(HUES[2], "^", "")))
        name = "_one_sided" if criterion.one_sided and len(devices) == 1 else name if len(devices) > 1 else "_measured"
        panel.add("estimate", name, look, **_columns([p for p in grown.points if p.device == device], factor))
    if grown.predictions:
        _add_predictions(panel, _columns(grown.predictions, factor))
    return Drawing(((panel,),), 1)


def _label(grown: ClaimTrend) -> str:
    """The criterion stands above the figure, and does not fit beside a low panel."""
    return f"effect ({UNITS.get(grown.unit, grown.unit)})" if grown.unit else "effect"


def _caption(grown: ClaimTrend, log: bool) -> str:
    return " ".join(text for text, there in ((LINE, True), (RATIO, log), (PREDICTED, grown.predictions)) if there)


def _add_predictions(panel: Panel, columns: Columns) -> None:
    panel.add("ring", "_predicted", Look(SOFT, "o", ""), x=columns["x"], y=columns["y"])
    low, high = panel.limits("y")
    panel.y = replace(panel.y, low=low, high=high)
    panel.add("beside", "_predicted", **columns)


def _columns(rungs: Sequence[Point | Prediction], factor: float) -> Columns:
    ends = {"y": [rung.estimate for rung in rungs], "low": [rung.low for rung in rungs], "high": [rung.high for rung in rungs]}
    return {"x": [rung.size for rung in rungs], **{name: factor * np.array(values) for name, values in ends.items()}}
