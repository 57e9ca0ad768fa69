"""Which figure shows a claim, and which show a study.

A metric names the figure that shows it (Observed.figure); a claim has the first of its criteria's that can be drawn.
Nothing else chooses: no page asks what kind a metric is.
"""

from dataclasses import dataclass

from ...harness.declare import Judgement
from ...harness.declare.metrics import Computed
from ...harness.declare.observed import Observed
from ...harness.declare.parts import parts
from ...harness.judge.trial_sets import TrialSet
from . import (
    arithmetic,
    batch,
    coordinates,
    detectors,
    edge,
    exponents,
    forest,
    forgetting,
    growth,
    lines,
    losses,
    lr,
    noise,
    overfitting,
    probes,
    range_tests,
    search,
    sharpness,
    survival,
    trajectories,
    underflow,
)
from .drawing import ClaimFigure, Drawing, StudyFigure, caption
from .frames import of_kind

# The most telling first: of a criterion's parts, the first of these is drawn.
OF_CLAIMS: tuple[ClaimFigure, ...] = (
    range_tests.FIGURE,
    exponents.FIGURE,
    noise.FIGURE,
    batch.FIGURE,
    trajectories.FIGURE,
    probes.FIGURE,
    coordinates.FIGURE,
    underflow.FIGURE,
    growth.FIGURE,
    lines.FIGURE,
    edge.FIGURE,
    sharpness.FIGURE,
    overfitting.FIGURE,
    forgetting.FIGURE,
    detectors.FIGURE,
    survival.FIGURE,
    forest.FIGURE,
    lr.OF_CLAIM,
)
OF_STUDIES: tuple[StudyFigure, ...] = (lr.OF_STUDY, losses.FIGURE, search.FIGURE)
BY_NAME = {figure.name: figure for figure in OF_CLAIMS}
ORDER = list(BY_NAME)


@dataclass(frozen=True)
class Shown:
    """drawing: None where there is nothing to draw, and `caption` says why."""

    kind: str
    caption: str
    drawing: Drawing | None


def figures_of(judgement: Judgement, scale: str) -> list[str]:
    """Names of the figures that show a claim, the best first: its criteria's in their order."""
    return list(dict.fromkeys(name for each in judgement.criteria_at(scale) for name in _named(each.observe)))


def _named(metric: Observed) -> list[str]:
    """What a metric names, or else its parts, the most telling first."""
    if metric.figure:
        return [metric.figure]
    return sorted({name for part in parts(metric) for name in _named(part)}, key=ORDER.index)


def claim_figure(records: TrialSet, judgement: Judgement) -> Shown | None:
    """The figure of a claim, or a line that says why there is none; None: nothing shows such a claim. Where its computed
    numbers come from shows it if its first criterion is one of these, or nothing else does."""
    computed = _computed(records, judgement)
    if computed is not None and of_kind([judgement.criteria_at(records.scale)[0].observe], Computed):
        return computed
    trained = _of_trials(records, judgement)
    return trained if computed is None or (trained is not None and trained.drawing is not None) else computed


def _computed(records: TrialSet, judgement: Judgement) -> Shown | None:
    plots = [plot for each in records.computed_for(judgement) for plot in each.plots]
    return Shown("arithmetic", arithmetic.CAPTION, arithmetic.drawing(plots)) if plots else None


def _of_trials(records: TrialSet, judgement: Judgement) -> Shown | None:
    missing = None
    for figure in (BY_NAME[name] for name in figures_of(judgement, records.scale)):
        drawing = figure.draw(records, judgement)
        if drawing is not None:
            return Shown(figure.name, caption(figure.caption, drawing), drawing)
        if figure.missing and missing is None:
            missing = Shown(figure.name, figure.missing, None)
    return missing


def study_figures(records: TrialSet) -> list[Shown]:
    """What shows a whole study, whatever its claims are; of a scale that is not judged, nothing that is estimated."""
    figures = OF_STUDIES if records.study.scale(records.scale).judged else (losses.UNJUDGED,)
    drawn = [(figure, figure.draw(records)) for figure in figures]
    return [Shown(figure.name, caption(figure.caption, drawing), drawing) for figure, drawing in drawn if drawing is not None]
