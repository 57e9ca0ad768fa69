"""Trials that figures are drawn of."""

from collections.abc import Callable, Mapping
from functools import cache
from itertools import combinations

import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from folklore.harness.declare import Arm, AtLeast, AtMost, Criterion, Judgement, Study
from folklore.harness.declare.observed import Observed
from folklore.harness.declare.trial import Trial
from folklore.harness.judge.trial_sets import HERE, TrialSet, published_sets, trial_sets
from folklore.harness.plan.catalog import load_study
from folklore.harness.train.result import LaneResult
from folklore.reports.figures.choosing import Shown, claim_figure, figures_of
from folklore.reports.figures.drawing import POINTS, WIDTH, Drawing, Panel
from folklore.reports.figures.render import TEXT
from tests.harness.helpers import bowl, changed, computations, frame, result


@cache
def published(study: str) -> TrialSet:
    return published_sets(load_study(study))[0]


def judgement_of(records: TrialSet, claim: str) -> Judgement:
    (judgement,) = [judgement for judgement in records.study.judgements if judgement.claim == claim]
    return judgement


def figure_of(study: str, what: str) -> Shown:
    """The figure of a claim, or of the first claim that this kind of figure shows and that leaves something to draw."""
    records = published(study)
    claims = (
        judgement.claim
        for judgement in records.study.judgements
        if what in (judgement.claim, *figures_of(judgement, records.scale)[:1])
    )
    return next(figure for figure in (_shown(study, claim) for claim in claims) if figure is not None and figure.drawing)


@cache
def _shown(study: str, claim: str) -> Shown | None:
    return claim_figure(published(study), judgement_of(published(study), claim))


def recorded(study: Study, optimum: float = -7, **curves: list[float]) -> TrialSet:
    """Trials of all its arms, and results of its computed criteria."""
    trials = frame(study, lambda trial: result(bowl(trial, optimum, 2.0), **curves))  # type: ignore[arg-type]
    (records,) = trial_sets(study, trials, HERE, computations=computations(study))
    return records


def planted(study: Study, arms: Mapping[str, Arm], outcome: Callable[[Trial], LaneResult]) -> TrialSet:
    """Trials of a study that has these arms beside its own, and judges nothing."""
    made = changed(study, arms={**study.model_dump()["arms"], **arms}, judgements=())
    (records,) = trial_sets(made, frame(made, outcome), HERE)
    return records


def judging(study: Study, *observables: Observed) -> Study:
    criteria = tuple(
        Criterion(name=str(index), observe=metric, claimed=AtLeast(value=0.5), refuted=AtMost(value=0.1))
        for index, metric in enumerate(observables)
    )
    return study.model_copy(update={"judgements": (Judgement(claim=study.judgements[0].claim, criteria=criteria),)})


def drawn(drawing: Drawing | None) -> Drawing:
    assert drawing is not None
    return drawing


def seen_in(panel: Panel) -> pd.DataFrame:
    """One row for each thing to see."""
    rows = [pd.DataFrame({"mark": mark.kind, "series": mark.series, **mark.numbers, "text": mark.text}) for mark in panel.marks]
    return pd.concat(rows, ignore_index=True)


def check_figure(drawing: Drawing, figure: Figure) -> None:
    """It can be read on a phone."""
    for panel in drawing.panels:
        _check_panel(panel)
    assert figure.get_figwidth() == WIDTH
    assert 360 / (96 * WIDTH) * TEXT * 96 / 72 >= 9
    sizes = [float(text.get_fontsize()) for axes in figure.axes for text in (*axes.texts, axes.title, axes.xaxis.label)]
    assert min(sizes) >= TEXT
    check_texts(figure)


def check_texts(figure: Figure) -> None:
    """No words are cut off, cover others, or are struck through by a curve."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    ticks = [tick for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for tick in axis.get_major_ticks()]
    hidden = {id(tick.label1) for tick in ticks if not tick.label1.get_visible()} | {id(tick.label2) for tick in ticks}
    boxes = {text: text.get_window_extent(renderer) for text in texts if id(text) not in hidden}
    whole = figure.bbox.padded(1)
    cut = [text.get_text() for text, box in boxes.items() if not (whole.contains(*box.min) and whole.contains(*box.max))]
    assert cut == [], "cut off"
    pairs = combinations(boxes.items(), 2)
    covered = [(a.get_text(), b.get_text()) for (a, of_a), (b, of_b) in pairs if of_a.padded(-1).overlaps(of_b.padded(-1))]
    assert covered == [], "one covers the other"
    notes = [(note, axes) for axes in figure.axes for note in axes.texts if note in boxes]
    struck = [note.get_text() for note, axes in notes for line in axes.lines if _crosses(line, boxes[note])]
    assert struck == [], "struck through"


def _crosses(line: Line2D, box: Bbox) -> bool:
    return bool(line.get_path().transformed(line.get_transform()).intersects_bbox(box.padded(-1), filled=False))


def _check_panel(panel: Panel) -> None:
    """Every marker within its axes, no loss below zero, few curves, and names that differ."""
    assert panel.x.label, f"{panel.title}: an axis without a name"
    assert _outside(panel).empty, f"{panel.title}: a marker lies outside its axes"
    curves = seen_in(panel).query("mark == 'curve'")
    assert curves["series"].nunique() <= 8
    assert len(set(panel.listed)) == len(panel.listed), f"{panel.title}: two series have one name"
    looks = [panel.look(name) for name in panel.listed]
    assert len(set(looks)) == len(looks), f"{panel.title}: two names look alike"
    if "loss" in panel.y.label and "flushed" not in panel.y.label:
        assert panel.limits("y")[0] >= 0, f"{panel.title}: a loss below zero"


def _outside(panel: Panel) -> pd.DataFrame:
    """Points of the frame beyond the axes; a curve may leave its panel."""
    (left, right), (low, high) = panel.limits("x"), panel.limits("y")
    points = seen_in(panel)[seen_in(panel)["mark"].isin(set(POINTS) - {"run"})].dropna(subset=["x", "y"])
    return points[~(points["x"].between(left, right) & points["y"].between(low, high))]
