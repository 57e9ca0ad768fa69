"""Which figure shows a claim, and which show a study.

An observable names the figure that shows it (Observed.figure); a claim has the first of its criteria's that can be drawn.
Nothing else chooses: no page asks what kind an observable is.
"""

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure

from folklore.harness.metrics import Computed
from folklore.harness.spec import Judgement
from folklore.harness.spec.observed import Observed
from folklore.harness.spec.parts import parts
from folklore.harness.verdicts.trial_sets import TrialSet
from folklore.reports import (
    arithmetic_figures,
    edge_figures,
    fit_figures,
    forest_figures,
    line_figures,
    lr_figures,
    range_figures,
    run_figures,
    search_figures,
    sharpness_figures,
)

Draw = Callable[[TrialSet, Judgement | None], Figure | None]


@dataclass(frozen=True)
class Kind:
    """caption: says how to read it; draw: of one claim, or without one of the whole study; missing: what a page says if
    there is nothing to draw; whole: it shows studies, too."""

    name: str
    caption: str
    draw: Draw
    missing: str = ""
    whole: bool = False


@dataclass(frozen=True)
class Shown:
    """figure: None where there is nothing to draw, and `caption` says why."""

    kind: str
    caption: str
    figure: Figure | None


# The most telling first: of a criterion's parts, the first of these is drawn.
KINDS: tuple[Kind, ...] = (
    Kind(
        "range-tests",
        "Above: test loss of whole runs against their LR over the best. Below: LRs that rules pick from range tests:"
        " a dot is a seed, a diamond the geometric mean with its 95% interval. Solid line: the best LR; dotted: a tenth of it."
        " Bold: the rules of this claim. Green: claimed; red: refutes.",
        range_figures.range_tests,
    ),
    Kind(
        "exponents",
        "Best values with 95% intervals, and the fitted powers with 95% bands. Thin lines: the slopes of common rules. Pale:"
        " other fits of this study.",
        fit_figures.exponents,
    ),
    Kind(
        "noise",
        "Noise scale over the run at the tuned LR, with a 95% band. Gray boxes: its mean over the part of the run that counts,"
        " with its interval. The ratio judged stands above.",
        run_figures.noise_scales,
    ),
    Kind(
        "batch",
        "Steps to the target loss. Pale dots: single runs; black: geometric means with 95% intervals; blue: the fitted curve"
        " and its 95% band. Dashed: the fewest steps; dotted: half for each doubling. Brown: the critical batch size, with"
        " its interval.",
        fit_figures.batch_sweeps,
    ),
    Kind(
        "trajectories",
        "Above: validation loss with 95% bands. Below: the gap between the two. Gray: the first part of the run,"
        " which does not count. Green: claimed; red: refutes.",
        run_figures.trajectories,
    ),
    Kind(
        "curves",
        "The run at the tuned LR, with 95% bands. Gray: the parts that are compared, or the number judged with its interval."
        " Green: claimed; red: refutes.",
        run_figures.probe_curves,
    ),
    Kind(
        "coordinates",
        "Mean size of activations against the width, with 95% bands, and the slope of each group of layers.",
        fit_figures.coordinates,
    ),
    Kind(
        "underflow",
        "Share of non-zero gradients that FP16 flushes to zero, with a 95% band. Ring: the loss scale that is judged. Green:"
        " claimed; red: refutes.",
        fit_figures.underflow,
    ),
    Kind(
        "growth",
        "Points with 95% intervals, on a logarithmic axis, and the factor of each further step by a fit to all of them. Dotted:"
        " what theory expects.",
        fit_figures.growths,
    ),
    Kind(
        "lines",
        "Every arm, a row each, with its 95% interval; arms of a line stand together, and an upright stroke is their mean. The"
        " share judged stands above.",
        line_figures.line_groups,
    ),
    Kind(
        "edge",
        "Sharpness over training: geometric means over seeds with 95% bands, pale once next to no loss is left. Dashed: the"
        " limit of each LR, above which the optimizer is unstable on a quadratic. Gray: other runs, which decide nothing.",
        edge_figures.sharpness_over_time,
    ),
    Kind(
        "sharpness",
        "Validation loss against sharpness, both where a run's training loss first falls to the level. Large dots: settings,"
        " means over seeds; pale: single runs. The correlation judged stands above.",
        sharpness_figures.sharpness_and_loss,
    ),
    Kind(
        "survival",
        "Share of seeds that finish, with exact 95% intervals, for the arms of which a run diverges. Vertical lines: the LRs"
        " that this claim reads.",
        lr_figures.survival,
        missing="No run of these arms diverged at any learning rate that was tried, so there is no figure of it.",
    ),
    Kind(
        "forest",
        "Bold: what decides, with its interval. Green: claimed; red: refutes; dotted: no difference. Gray text: beside it,"
        " deciding nothing. Pale dots are seeds; an arrow points beyond the axis.",
        forest_figures.forest,
    ),
    Kind(
        "lr",
        "Test loss against what is tuned: means over seeds with 95% bands. Below the curves: tuned values with 95% intervals."
        " On a dashed bar: the value at which an arm crosses it, with its interval. A cross: a seed diverged.",
        lr_figures.lr_curves,
        whole=True,
    ),
    Kind(
        "losses",
        "Training loss at each arm's tuned LR: means over seeds with 95% bands.",
        run_figures.training_losses,
        whole=True,
    ),
    Kind(
        "search",
        "LRs that the search tried, larger circles for a lower validation loss. Filled: the best, which judged seeds use.",
        search_figures.proposals,
        whole=True,
    ),
)
ORDER = [kind.name for kind in KINDS]
BY_NAME = {kind.name: kind for kind in KINDS}


def figures_of(judgement: Judgement, scale: str) -> list[str]:
    """Names of the figures that show a claim, the best first: its criteria's in their order."""
    return list(dict.fromkeys(name for each in judgement.criteria_at(scale) for name in _named(each.observe)))


def _named(observable: Observed) -> list[str]:
    """What an observable names, or else its parts, the most telling first."""
    if observable.figure:
        return [observable.figure]
    return sorted({name for part in parts(observable) for name in _named(part)}, key=ORDER.index)


def claim_figure(records: TrialSet, judgement: Judgement) -> Shown | None:
    """The figure of a claim, or a line that says why there is none; None: nothing shows such a claim. Where its computed
    numbers come from shows it if its first criterion is one of these, or nothing else does."""
    computed = _computed(records, judgement)
    if computed is not None and isinstance(judgement.criteria_at(records.scale)[0].observe, Computed):
        return computed
    trained = _of_trials(records, judgement)
    return trained if computed is None or (trained is not None and trained.figure is not None) else computed


def _computed(records: TrialSet, judgement: Judgement) -> Shown | None:
    plots = [plot for each in records.computed_for(judgement) for plot in each.plots]
    if not plots:
        return None
    return Shown("arithmetic", arithmetic_figures.CAPTION, arithmetic_figures.arithmetic_figure(plots))


def _of_trials(records: TrialSet, judgement: Judgement) -> Shown | None:
    missing = None
    for name in figures_of(judgement, records.scale):
        kind = BY_NAME[name]
        figure = kind.draw(records, judgement)
        if figure is not None:
            return Shown(name, kind.caption, figure)
        if kind.missing and missing is None:
            missing = Shown(name, kind.missing, None)
    return missing


def study_figures(records: TrialSet) -> list[Shown]:
    """What shows a whole study, whatever its claims are."""
    drawn = [Shown(kind.name, kind.caption, kind.draw(records, None)) for kind in KINDS if kind.whole]
    return [each for each in drawn if each.figure is not None]
