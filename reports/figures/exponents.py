"""Powers that are fitted to points."""

from collections.abc import Sequence

import numpy as np

from ...harness.declare import Judgement, arms_of
from ...harness.declare.metrics import Slope
from ...harness.declare.metrics.estimating.evaluation import evaluate
from ...harness.declare.metrics.estimating.weighted import present
from ...harness.judge.observe import observe
from ...harness.judge.spelling import in_prose
from ...harness.judge.trial_arrays import TrialArrays
from ...harness.judge.trial_sets import TrialSet
from . import fits
from .drawing import ClaimFigure, Columns, Drawing, Panel, grid
from .frames import band
from .palette import numbered
from .scales import Scale

# Slopes that are drawn beside a fit, by what is along the axis, with their names.
REFERENCES: dict[str, tuple[tuple[float, str], ...]] = {
    "batch_size": ((1.0, "slope 1"), (0.5, "slope ½")),
    "width": ((0.0, "slope 0"), (-1.0, "slope −1")),
}


def draw(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """A claim's slopes, and, thinner, the study's others over the same axis; None where the claim's have no number."""
    table, scale = records.table, records.scale
    own = _slopes([judgement], scale)
    along = [{x for x, _ in slope.points} for slope in own.values()]
    others = {
        name: slope
        for name, slope in _slopes(records.study.judgements, scale).items()
        if name not in own and slope not in own.values() and any({x for x, _ in slope.points} & each for each in along)
    }
    slopes = {name: slope for name, slope in (own | others).items() if fits.points(slope, table) is not None}
    if not any(name in own for name in slopes):
        return None
    first = next(iter(slopes.values()))
    x, y = Scale(fits.axis_label(first, table), 2, ticks=10), Scale(fits.quantity(first.points[0][1]), 2)
    panel = Panel(x, y, height=3.6)
    judged = [each for judgement in records.study.judgements for each in judgement.criteria]
    declared = [each.name for each in judged if each.observe.figure == FIGURE.name]  # its colours are the same for all claims
    for name, slope in slopes.items():
        _fit(panel, slope, declared.index(name), name in own, table)
    _references(panel, fits.varied(first, table), first, table)
    return grid([panel])


def _slopes(judgements: Sequence[Judgement], scale: str) -> dict[str, Slope]:
    """Criterion -> its slope, each slope once."""
    found: dict[str, Slope] = {}
    for judgement in judgements:
        for each in judgement.criteria_at(scale):
            if each.observe.figure == FIGURE.name and each.observe not in found.values():
                found[each.name] = each.observe  # type: ignore[assignment]
    return found


def _fit(panel: Panel, slope: Slope, index: int, strong: bool, table: TrialArrays) -> None:
    """Points, and the line of the judge: its slope, through the middle of the points, under every resample."""
    table = table.of_arms(arms_of(slope) & set(table.study.arms_at(table.scale)))
    found, seen = fits.points(slope, table), observe(slope, table)
    assert found is not None
    x, numbers = found
    label = f"{fits.panel_of(slope, table)}: slope {in_prose(seen.estimate, seen.low, seen.high)}"
    panel.add("estimate" if strong else "beside", label, numbered(index), **fits.columns(x, numbers))
    logs = np.log2(np.array([evaluate(part, table, table.resamples) for _, part in present(slope.points, table)])).T
    along = np.log2(np.geomspace(min(x), max(x), 25))
    lines = logs.mean(axis=1)[:, None] + evaluate(slope, table, table.resamples)[:, None] * (along - np.log2(x).mean())
    ends: Columns = {name: np.exp2(value) for name, value in band(lines, table.seeds).items()}
    panel.add("line" if strong else "faint", label, x=np.exp2(along), **(ends if strong else {"y": ends["y"]}))


def _references(panel: Panel, key: str, slope: Slope, table: TrialArrays) -> None:
    """The slopes of common rules, named where they end."""
    found = fits.points(slope, table)
    assert found is not None
    x, middle = found[0], np.exp2(np.log2(found[0]).mean())
    height = np.exp2(np.log2([each.estimate for each in found[1]]).mean())
    ends = np.array([min(x) / 1.05, max(x) * 1.05])
    for exponent, name in REFERENCES.get(key, ()):
        y = height * (ends / middle) ** exponent
        panel.add("faint", f"_{name}", numbered(6), x=ends, y=y)
        panel.note(name, np.inf, float(y[-1]))
        panel.beside = 0.75


FIGURE = ClaimFigure(
    "exponents",
    "Best values with 95% intervals, and the fitted powers with 95% bands. Thin gray lines: the slopes of common rules."
    " Thin and small: other fits of this study.",
    draw,
)
