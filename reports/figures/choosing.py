"""Which figure shows a claim, and which show a study.

A metric names the form that shows it (Observed.figure); a claim has the first of its criteria's that can be drawn.
Nothing else chooses: no page asks what kind a metric is.
"""

from dataclasses import dataclass, replace

from ...harness.declare import Judgement
from ...harness.declare.metrics import Computed
from ...harness.declare.observed import Observed
from ...harness.declare.parts import parts
from ...harness.judge.combining import least_that_hold
from ...harness.judge.explaining import listed
from ...harness.judge.trial_sets import TrialSet
from ...harness.plan.catalog import register
from . import arithmetic, curves, detectors, fits, forest, lines, losses, lr, range_tests, search, values
from .drawing import ClaimFigure, Drawing, StudyFigure, caption
from .frames import of_kind

# The most telling first: of a criterion's parts, the first of these is drawn.
OF_CLAIMS: tuple[ClaimFigure, ...] = (
    range_tests.FIGURE,
    curves.FIGURE,
    fits.FIGURE,
    values.FIGURE,
    lines.FIGURE,
    detectors.FIGURE,
    values.SURVIVAL,
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
    return list(dict.fromkeys(name for criterion in judgement.criteria_at(scale) for name in _named(criterion.observe)))


def _named(metric: Observed) -> list[str]:
    """The figures that a metric names, or else those of its parts, the most telling first."""
    if metric.figure:
        return [metric.figure]
    return sorted({name for part in parts(metric) for name in _named(part)}, key=ORDER.index)


def claim_figure(records: TrialSet, judgement: Judgement) -> Shown | None:
    """The figure of a claim, or a line that says why there is none; None: nothing shows such a claim. Where its computed
    numbers come from shows it if its first criterion is one of these, or nothing else does."""
    plots = [plot for computation in records.computed_for(judgement) for plot in computation.plots]
    computed = _shown("arithmetic", arithmetic.drawing(plots))
    if computed is not None and of_kind([judgement.criteria_at(records.scale)[0].observe], Computed):
        return computed
    trained = _of_trials(records, judgement)
    if trained is not None and trained.drawing is not None:
        trained = replace(trained, caption=f"{trained.caption}{_enough(records, judgement)}")
    return trained if computed is None or (trained is not None and trained.drawing is not None) else computed


def _enough(records: TrialSet, judgement: Judgement) -> str:
    """On how many of its workloads a claim has to hold, if not on all: more may be red than green."""
    claim = register().including(records.study).claim(judgement.claim)
    names = list(
        dict.fromkeys(criterion.panel or "" for criterion in judgement.criteria_at(records.scale) if not criterion.precondition)
    )
    least = least_that_hold(judgement.quantifier or claim.quantifier, len(names))
    if least == len(names):
        return ""
    return f" It is enough that {'one' if least == 1 else least} of these {'holds' if least == 1 else 'hold'}: {listed(names)}."


def _of_trials(records: TrialSet, judgement: Judgement) -> Shown | None:
    missing = None
    for figure in (BY_NAME[name] for name in figures_of(judgement, records.scale)):
        if (shown := _shown(figure.name, figure.draw(records, judgement))) is not None:
            return shown
        if figure.missing and missing is None:
            missing = Shown(figure.name, figure.missing, None)
    return missing


def study_figures(records: TrialSet) -> list[Shown]:
    """The figures of a whole study, whatever its claims are; without estimates at a scale that is not judged."""
    figures = OF_STUDIES if records.study.scale(records.scale).judged else (losses.UNJUDGED,)
    drawn = [_shown(figure.name, figure.draw(records)) for figure in figures]
    return [shown for shown in drawn if shown is not None]


def _shown(kind: str, drawing: Drawing | None) -> Shown | None:
    return None if drawing is None else Shown(kind, caption(drawing), drawing)
