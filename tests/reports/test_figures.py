"""Figures draw what is judged, an arm looks the same in all of them, and what leaves little to draw breaks nothing."""

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from folklore.harness.metrics import (
    CurveRatio,
    MaxTrainable,
    MeanGap,
    NoiseScale,
    Optimum,
    Quotient,
    Slope,
    UnderflowShare,
)
from folklore.harness.metrics.estimating.range_test_rules import RULES, divergence, suggest
from folklore.harness.planning.catalog import load_study, study_names
from folklore.harness.reading.range_test import RangeTest
from folklore.harness.spec import Arm, AtLeast, AtMost, Criterion, Judgement, Study
from folklore.harness.spec.observed import KINDS, Observed
from folklore.harness.statistics.intervals import binomial
from folklore.harness.verdicts.observe import observe
from folklore.harness.verdicts.trial_sets import HERE, TrialSet, published_sets, trial_sets
from folklore.reports import interactive
from folklore.reports.claim_figures import BY_NAME, ORDER, claim_figure, figures_of, study_figures
from folklore.reports.colours import looks
from folklore.reports.figures import TEXT, WIDTH, as_svg, draw_range_test, log_ticks, number
from folklore.reports.fit_figures import exponents
from folklore.reports.forest_figures import forest
from folklore.reports.lr_figures import lr_curves, survival
from folklore.reports.run_figures import training_losses
from tests.harness.helpers import bowl, frame, result
from tests.parts import fast_for

STUDIES = study_names()


@pytest.fixture(autouse=True)
def warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@cache
def published(study: str) -> TrialSet:
    return published_sets(load_study(study))[0]


def judgement_of(records: TrialSet, claim: str) -> Judgement:
    (found,) = [each for each in records.study.judgements if each.claim == claim]
    return found


def recorded(study: Study, optimum: float = -7, **curves: list[float]) -> TrialSet:
    trials = frame(study, lambda trial: result(bowl(trial, optimum, 2.0), **curves))  # type: ignore[arg-type]
    (found,) = trial_sets(study, trials, HERE)
    return found


def criterion(observable: Observed, name: str = "one") -> Criterion:
    return Criterion(name=name, observe=observable, claimed=AtLeast(value=0.5), refuted=AtMost(value=0.1))


def judging(study: Study, *observables: Observed) -> Study:
    criteria = tuple(criterion(each, str(index)) for index, each in enumerate(observables))
    return study.model_copy(update={"judgements": (Judgement(claim=study.judgements[0].claim, criteria=criteria),)})


def points(axes: Axes) -> set[tuple[float, float]]:
    """Where single points are drawn."""
    return {
        (float(line.get_xdata()[0]), float(line.get_ydata()[0]))  # type: ignore[index,arg-type]
        for line in axes.lines
        if len(np.atleast_1d(line.get_xdata())) == 1
    }


def spans(axes: Axes) -> list[tuple[float, float]]:
    """Ends of the horizontal pieces."""
    pairs = [(line.get_xdata(), line.get_ydata()) for line in axes.lines if len(np.atleast_1d(line.get_xdata())) == 2]
    return [(float(x[0]), float(x[1])) for x, y in pairs if y[0] == y[1]]  # type: ignore[index,arg-type]


def named(axes: Axes) -> dict[str, str]:
    """Label of every line -> its colour."""
    return {str(line.get_label()): str(line.get_color()) for line in axes.lines if not str(line.get_label()).startswith("_")}


# ---- how arms look


@pytest.mark.parametrize("name", STUDIES)
def test_arms_of_a_panel_look_different(name: str) -> None:
    study = load_study(name)
    look = looks(study)
    for panel in {arm.panel for arm in study.arms.values()}:
        own = [look[arm] for arm in study.arms if study.arms[arm].panel == panel]
        assert len({(each.colour, each.marker, each.line) for each in own}) == len(own)
        assert len({(each.marker, each.line) for each in own}) == len(own) or len(own) > 8


def test_equal_labels_and_equal_numbers_look_the_same_in_all_panels() -> None:
    warmup, decay = looks(load_study("warmup")), looks(load_study("decay"))
    assert warmup["long_20%"] == warmup["sgd_warmup_20%"]
    assert warmup["long_none"] == warmup["sgd"]
    assert decay["zero_2"] == decay["zero_80"] == decay["zero_20"]


def test_numbers_go_from_dark_to_light() -> None:
    found = looks(load_study("critical_batch"))
    colours = [found[f"mlp_{size}"].colour for size in (4, 8, 16, 32, 64, 128, 256, 512)]
    light = [np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) @ [0.2126, 0.7152, 0.0722] for colour in colours]
    assert light == sorted(light)


def test_an_arm_has_one_colour_in_all_figures_of_a_study() -> None:
    records = published("warmup")
    look = looks(records.study)
    by_label = {arm.label: look[name].colour for name, arm in records.study.arms.items()}
    drawn = [lr_curves(records), training_losses(records), survival(records, judgement_of(records, "warmup.late_nan"))]
    drawn += [lr_curves(records, judgement_of(records, claim)) for claim in ("warmup.widens", "warmup.mechanism")]
    seen = 0
    for figure in drawn:
        assert figure is not None
        for axes in figure.axes:
            for label, colour in named(axes).items():
                if label in by_label:
                    assert by_label[label] == colour
                    seen += 1
    assert seen > 20


# ---- what is drawn is what is judged


def test_the_bar_and_what_lies_on_it_are_the_judges() -> None:
    records = published("warmup")
    judgement = judgement_of(records, "warmup.widens")
    figure = lr_curves(records, judgement)
    assert figure is not None
    axes = figure.axes[0]
    quotient = judgement.criteria[0].observe
    assert isinstance(quotient, Quotient)
    for each in (quotient.top, quotient.bottom):
        assert isinstance(each, MaxTrainable)
        seen, bar = observe(each, records.table), float(each.bar(records.table, records.table.resamples[:1])[0])
        assert any(point == pytest.approx((seen.estimate, bar)) for point in points(axes))
        assert any(span == pytest.approx((seen.low, seen.high)) for span in spans(axes))
        assert any(line.get_linestyle() == "--" and np.allclose(line.get_ydata(), bar) for line in axes.lines)


def test_tuned_values_are_drawn_with_their_intervals() -> None:
    records = published("warmup")
    figure = lr_curves(records)
    assert figure is not None
    seen = observe(Optimum(arm="none"), records.table)
    assert any(x == pytest.approx(seen.estimate) for x, _ in points(figure.axes[0]))
    assert any(span == pytest.approx((seen.low, seen.high)) for span in spans(figure.axes[0]))


@pytest.mark.parametrize("claim", ["scaling.sgd_linear", "scaling.adam_sqrt", "mup.sp_shifts", "mup.invariant"])
def test_fitted_lines_have_the_slopes_of_the_criteria(claim: str) -> None:
    records = published("mup_transfer" if claim.startswith("mup") else "batch_scaling")
    judgement = judgement_of(records, claim)
    figure = exponents(records, judgement)
    assert figure is not None
    (axes,) = figure.axes
    lines = [line for line in axes.lines if len(np.atleast_1d(line.get_xdata())) > 5 and line.get_linestyle() != "None"]
    slopes = [np.polyfit(np.log(line.get_xdata()), np.log(line.get_ydata()), 1)[0] for line in lines]
    for each in (each for each in judgement.criteria_at("laptop") if not each.precondition):
        assert isinstance(each.observe, Slope)
        assert any(slope == pytest.approx(observe(each.observe, records.table).estimate, rel=1e-6) for slope in slopes)


@pytest.mark.parametrize(
    ("claim", "names", "along"),
    [
        ("mup.sp_shifts", ["standard", "muP"], "width"),
        ("mup.invariant", ["muP", "standard"], "width"),
        ("mup.depth", ["depth"], "depth"),
    ],
)
def test_fits_that_share_an_arm_are_named_by_what_they_do_not_share(claim: str, names: list[str], along: str) -> None:
    """And what two claims observe is drawn once; what an arm leaves to the study is along the axis all the same."""
    records = published("mup_transfer")
    figure = exponents(records, judgement_of(records, claim))
    assert figure is not None
    (axes,) = figure.axes
    assert [label.partition(": slope ")[0] for label in named(axes)] == names
    assert axes.get_xlabel() == along


def test_a_short_axis_of_powers_of_two_has_half_ones() -> None:
    axes = Figure().add_subplot()
    axes.set_ylim(2.0**-8.7, 2.0**-7.8)
    log_ticks(axes.yaxis, 2)
    labels = axes.yaxis.get_major_formatter()
    assert [labels(tick, None) for tick in axes.get_yticks()] == ["2⁻⁸·⁵", "2⁻⁸"]
    axes.set_ylim(2.0**-8.7, 2.0**-6.8)
    log_ticks(axes.yaxis, 2)
    assert [labels(tick, None) for tick in axes.get_yticks()] == ["2⁻⁸", "2⁻⁷"]


def test_a_forest_has_the_intervals_of_its_criteria() -> None:
    records = published("decay")
    judgement = judgement_of(records, "decay.final_positive")
    figure = forest(records, judgement)
    assert figure is not None
    (axes,) = figure.axes
    for each in judgement.criteria:
        seen = observe(each.observe, records.table)
        assert any(span == pytest.approx((100 * seen.low, 100 * seen.high)) for span in spans(axes))


def test_survival_has_exact_intervals_and_only_arms_that_diverge() -> None:
    records = published("warmup")
    figure = survival(records, judgement_of(records, "warmup.late_nan"))
    assert figure is not None
    (axes,) = figure.axes
    assert {name for name in named(axes) if name.startswith("SGD")} == {"SGD, no warmup", "SGD, 20% warmup", "SGD, 60% warmup"}
    assert not [name for name in named(axes) if name.startswith("AdamW")]
    edge = records.table.diverged("sgd_warmup_20%", "peak_lr").sum(axis=1)
    low = binomial(records.table.seeds - int(edge.max()), records.table.seeds).low
    assert any(np.isclose(np.asarray(path.vertices)[:, 1], low).any() for band in axes.collections for path in band.get_paths())


def test_where_nothing_diverged_a_line_says_so() -> None:
    records = published("warmup")
    shown = claim_figure(records, judgement_of(records, "warmup.transformer_diverges"))
    assert shown is not None
    assert shown.figure is None
    assert shown.caption.startswith("No run of these arms diverged")


# ---- every claim, every study


def extents(figure: Figure) -> list[Bbox]:
    """Where titles of panels lie, in pixels."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    texts = [(axes.get_title("left"), axes.get_children()) for axes in figure.axes]
    found = [(title, each) for title, children in texts for each in children if title and isinstance(each, Text)]
    return [each.get_window_extent(renderer) for title, each in found if each.get_text() == title]


@pytest.mark.parametrize("name", fast_for(STUDIES[::3], STUDIES))
def test_every_figure_is_readable_on_a_phone_and_can_be_asked(name: str) -> None:
    records = published(name)
    shown = [claim_figure(records, each) for each in records.study.judgements]
    for each in [*shown, *study_figures(records)]:
        if each is None or each.figure is None:
            continue
        assert each.figure.get_figwidth() == WIDTH
        assert 360 / (96 * WIDTH) * TEXT * 96 / 72 >= 9
        sizes = [
            float(text.get_fontsize()) for axes in each.figure.axes for text in (*axes.texts, axes.title, axes.xaxis.label)
        ]
        assert min(sizes) >= TEXT
        for axes in each.figure.axes:
            curves = [line for line in axes.lines if line.get_label() and not str(line.get_label()).startswith("_")]
            assert len([line for line in curves if len(np.atleast_1d(line.get_xdata())) > 2]) <= 8
            names = [text.get_text() for legend in [axes.get_legend()] if legend for text in legend.get_texts()]
            assert len(set(names)) == len(names), f"{each.kind}: a legend has one name twice"
        titles = extents(each.figure)
        assert all(title.x0 >= 0 and title.x1 <= each.figure.bbox.width for title in titles), f"{each.kind}: a title is cut"
        assert not any(a.overlaps(b) for a, b in combinations(titles, 2)), f"{each.kind}: a title covers another"
        told = interactive.specification(each.figure)
        assert told["data"]


def test_svg_is_byte_stable() -> None:
    records = published("mup_transfer")
    for judgement in records.study.judgements:
        first, second = (claim_figure(records, judgement) for _ in range(2))
        assert first is not None
        assert second is not None
        assert first.figure is not None
        assert second.figure is not None
        assert as_svg(first.figure) == as_svg(second.figure)


def test_bands_and_tints_can_be_asked_too() -> None:
    records = published("warmup")
    judgement = judgement_of(records, "warmup.improves_best")
    shown = claim_figure(records, judgement)
    assert shown is not None
    assert shown.figure is not None
    told = interactive.specification(shown.figure)
    assert {shape["type"] for shape in told["layout"]["shapes"]} == {"rect"}
    seen = observe(judgement.criteria_at("laptop")[0].observe, records.table)
    assert any(f"{abs(seen.estimate):.2%}" in note["text"] for note in told["layout"]["annotations"])
    curves = lr_curves(records)
    assert curves is not None
    assert any(trace.get("fill") == "toself" for trace in interactive.specification(curves)["data"])


def test_observables_name_figures_that_there_are() -> None:
    """And every figure but those of whole studies shows one."""
    named_ones = {kind.FIGURE for kind in KINDS.values()} - {""}
    assert named_ones <= set(ORDER)
    assert {name for name in ORDER if not BY_NAME[name].whole} <= named_ones


def test_a_gap_is_shown_as_such_if_it_is_one_of_losses() -> None:
    warmup, finder = load_study("warmup"), load_study("lr_finder")
    figures = {each.claim: figures_of(each, "laptop")[:1] for study in (warmup, finder) for each in study.judgements}
    assert figures["warmup.improves_best"] == ["forest"]
    assert figures["warmup.widens"] == ["lr"]
    assert figures["finder.head_to_head"] == ["range-tests"]


# ---- what leaves little to draw


@pytest.mark.parametrize(
    "observable",
    [
        NoiseScale(arm="none"),
        UnderflowShare(arm="none", of="weight"),
        CurveRatio(arm="none", curve="gradient_norm"),
        MeanGap(arm="half", tuned_for="none"),
        Slope(points=((1.0, Optimum(arm="none")), (2.0, Optimum(arm="half")), (3.0, Optimum(arm="none")))),
    ],
    ids=lambda each: str(each.kind),
)
def test_what_has_no_number_has_no_figure(study: Study, observable: Observed) -> None:
    """An optimum on the edge of the grid leaves no tuned run that could be drawn."""
    records = recorded(judging(study, observable), optimum=-20)
    shown = claim_figure(records, records.study.judgements[0])
    assert shown is None or shown.figure is None


def test_curves_of_arms_that_are_best_at_an_edge_are_drawn_without_an_optimum(study: Study) -> None:
    figure = lr_curves(recorded(study, optimum=-20))
    assert figure is not None
    assert not points(figure.axes[0])


def test_curves_without_a_number_are_left_out(study: Study) -> None:
    assert training_losses(recorded(study, train_loss=[np.nan])) is None
    assert training_losses(recorded(study)) is not None


def test_more_arms_than_a_panel_holds_have_several(study: Study) -> None:
    arms = {f"arm{index}": Arm(label=f"kind {chr(97 + index)}", settings=study.arms["half"].settings) for index in range(14)}
    figure = lr_curves(recorded(study.model_copy(update={"arms": {**study.arms, **arms}})))
    assert figure is not None
    assert [len(named(axes)) for axes in figure.axes] == [8, 8]


@pytest.mark.parametrize(
    ("value", "text"), [(0.0002, "2·10⁻⁴"), (1e-5, "10⁻⁵"), (0.03, "0.03"), (500, "500"), (30_000, "30k"), (2e6, "2M")]
)
def test_numbers_on_axes_are_plain(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    "losses",
    [np.zeros(60), np.full(60, np.nan), np.r_[np.full(20, np.nan), np.linspace(3, 2, 40)], np.linspace(3, 2, 60)],
    ids=["zero", "not finite", "not finite at first", "falling"],
)
def test_a_range_test_is_drawn_whatever_it_saw(losses: np.ndarray, tmp_path: Path) -> None:
    lr = np.geomspace(1e-6, 100, len(losses))
    picks = {"divergence": (divergence(lr, losses),), **{rule: (suggest(rule, lr, losses),) for rule in RULES}}
    draw_range_test(RangeTest(lr, losses[None], picks), tmp_path / "test.svg")
    assert (tmp_path / "test.svg").read_text().rstrip().endswith("</svg>")


@pytest.mark.parametrize(
    ("squares", "label"), [(False, "training loss (nats)"), (True, "training loss (half the squared error)")]
)
def test_a_range_test_names_its_loss(squares: bool, label: str, tmp_path: Path) -> None:
    draw_range_test(RangeTest(np.geomspace(1e-6, 100, 60), np.linspace(3, 2, 60)[None], {}, squares), tmp_path / "test.svg")
    assert label in (tmp_path / "test.svg").read_text()


def test_matplotlib_says_nothing_of_its_caches(tmp_path: Path) -> None:
    """In a read-only home it warns while it is imported."""
    (tmp_path / "file").write_text("")
    imported = "import folklore.reports, matplotlib; matplotlib.get_cachedir()"
    environment = {**os.environ, "MPLCONFIGDIR": str(tmp_path / "file" / "matplotlib")}
    done = subprocess.run([sys.executable, "-c", imported], env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
