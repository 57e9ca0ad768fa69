"""What is fitted to points: what two figures of fits have in common."""

from collections import Counter
from collections.abc import Sequence
from functools import singledispatch

from ...harness.declare import arms_of
from ...harness.declare.design import in_words
from ...harness.declare.metrics import Curve, GrowthFactor, Optimum, Slope
from ...harness.declare.metrics.estimating.weighted import present
from ...harness.declare.observed import Observed
from ...harness.declare.trials import NotEstimableError
from ...harness.judge.observe import observe
from ...harness.judge.statistics.intervals import Observation
from ...harness.judge.trial_arrays import TrialArrays
from .drawing import Columns, upright

Fit = Slope | GrowthFactor
# Of one curve over another: what an axis says.
QUOTIENTS = {("probe_flow_first", "probe_flow_last"): "gradient of the first layer over the last's"}
AXIS = {"batch_size": "batch size (examples)", "width": "width", "steps": "steps", "depth": "depth"}


def points(fit: Fit, table: TrialArrays) -> tuple[list[float], list[Observation]] | None:
    """What it is fitted to; None where it has no number."""
    try:
        observe(fit, table)
        found = present(fit.points, table)
        return [x for x, _ in found], [observe(part, table) for _, part in found]
    except NotEstimableError:
        return None


def columns(x: Sequence[float], seen: Sequence[Observation]) -> Columns:
    return {"x": x, **upright([s.estimate for s in seen], [s.low for s in seen], [s.high for s in seen])}


def panel_of(fit: Fit, table: TrialArrays) -> str:
    """The panel that most of its arms are of: fits may share an arm, which has a panel of its own."""
    arms = sorted(arms_of(fit), key=list(table.study.arms).index)
    return Counter(table.study.arms[arm].panel for arm in arms).most_common(1)[0][0] or "points"


def varied(fit: Fit, table: TrialArrays) -> str:
    """The setting whose values are x, be it an arm's own or the study's; empty: none that is known."""
    found: set[str] | None = None
    for x, part in present(fit.points, table):
        for arm in arms_of(part):
            chosen = table.study.configuration(table.scale, arm, {"peak_lr": 1.0})
            settings = chosen.workload.model_dump() | chosen.training.model_dump()
            same = {name for name, value in settings.items() if isinstance(value, int | float) and value == x}
            found = same if found is None else found & same
    return next(iter(sorted(found or ())), "")


def axis_label(fit: Fit, table: TrialArrays) -> str:
    key = varied(fit, table)
    return AXIS.get(key, in_words(key) if key else "x")


@singledispatch
def quantity(metric: Observed) -> str:
    """What a fit's points are, by the kind of metric, as an axis says it."""
    return in_words(str(getattr(metric, "kind", "")))


@quantity.register
def _best(metric: Optimum) -> str:
    return "best peak LR" if metric.over == "peak_lr" else f"best {in_words(metric.over)}"


@quantity.register
def _curve(metric: Curve) -> str:
    return QUOTIENTS.get((metric.of, metric.divided_by or ""), in_words(metric.kind))
