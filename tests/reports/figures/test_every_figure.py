"""Figures of the published evidence draw what is judged, and can be read; what leaves little to draw breaks nothing."""

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from folklore.harness.judging.observe import observe
from folklore.harness.judging.trial_sets import TrialSet
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
from folklore.harness.metrics.estimating.range_test_rules import RULES, Suggestion, divergence, suggest
from folklore.harness.planning.catalog import load_study
from folklore.harness.reading.range_test import RangeTest
from folklore.harness.spec import Arm, Study
from folklore.harness.spec.observed import KINDS, Observed
from folklore.harness.statistics.intervals import binomial
from folklore.reports.figures import exponents, forest, losses, lr, range_test, survival
from folklore.reports.figures.choosing import BY_NAME, OF_STUDIES, ORDER, Shown, claim_figure, figures_of, study_figures
from folklore.reports.figures.range_test import draw_range_test
from folklore.reports.figures.render import as_figure, as_svg
from tests.reports.figures.helpers import check_figure, drawn, judgement_of, judging, published, recorded

OF_STUDY = [figure.name for figure in OF_STUDIES]


@pytest.fixture(autouse=True)
def warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def holds(frame: pd.DataFrame, **columns: float) -> bool:
    """Whether a row has these numbers."""
    return bool(np.logical_and.reduce([np.isclose(frame[name], value) for name, value in columns.items()]).any())


# ---- what is drawn is what is judged


def test_the_bar_and_what_lies_on_it_are_the_judges() -> None:
    records = published("warmup")
    judgement = judgement_of(records, "warmup.widens")
    frame = drawn(lr.of_claim(records, judgement)).panels[0].frame
    quotient = judgement.criteria[0].observe
    assert isinstance(quotient, Quotient)
    for each in (quotient.top, quotient.bottom):
        assert isinstance(each, MaxTrainable)
        seen, bar = observe(each, records.table), float(each.bar(records.table, records.table.resamples[:1])[0])
        assert holds(frame.query("mark == 'estimate'"), x=seen.estimate, y=bar, left=seen.low, right=seen.high)
        assert holds(frame.query("mark == 'rule'"), y=bar)


def test_tuned_values_are_drawn_with_their_intervals_under_the_curves() -> None:
    records = published("warmup")
    (curves, rows), *_ = drawn(lr.of_study(records)).rows[0]
    seen = observe(Optimum(arm="none"), records.table)
    assert holds(rows.frame, x=seen.estimate, left=seen.low, right=seen.high)
    assert curves.limits("x") == rows.limits("x")


@pytest.mark.parametrize("claim", ["scaling.sgd_linear", "scaling.adam_sqrt", "mup.sp_shifts", "mup.invariant"])
def test_fitted_lines_have_the_slopes_of_the_criteria(claim: str) -> None:
    records = published("mup_transfer" if claim.startswith("mup") else "batch_scaling")
    judgement = judgement_of(records, claim)
    (panel,) = drawn(exponents.draw(records, judgement)).panels
    lines = panel.frame.query("mark == 'line'").groupby("series")
    slopes = [np.polyfit(np.log(line["x"]), np.log(line["y"]), 1)[0] for _, line in lines]
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
    (panel,) = drawn(exponents.draw(records, judgement_of(records, claim))).panels
    assert [label.partition(": slope ")[0] for label in panel.listed] == names
    assert panel.x.label == along


def test_a_forest_has_the_intervals_of_its_criteria() -> None:
    records = published("decay")
    judgement = judgement_of(records, "decay.cosine_vs_linear")
    (panel,) = drawn(forest.draw(records, judgement)).panels
    for each in judgement.criteria:
        seen = observe(each.observe, records.table)
        estimates = panel.frame.query("mark == 'estimate'")
        assert holds(estimates, x=100 * seen.estimate, left=100 * seen.low, right=100 * seen.high)
    words = panel.frame[panel.frame["text"].isin(["claim holds", "claim fails"])].set_index("text")
    regions = panel.frame.set_index("series")
    for text, series in (("claim holds", "_claimed"), ("claim fails", "_refuted")):
        left, right = (np.clip(regions.loc[[series], end], *panel.limits("x")).iloc[0] for end in ("left", "right"))
        assert left < words.loc[text, "x"] < right, "a region's name stands within it"


def test_survival_has_exact_intervals_and_only_arms_that_diverge() -> None:
    records = published("warmup")
    (panel,) = drawn(survival.draw(records, judgement_of(records, "warmup.late_nan"))).panels
    curves = panel.frame.query("mark == 'curve'")
    longer = {"SGD, 20% warmup", "SGD, 20% warmup, around the edge", "SGD, 60% warmup"}
    assert set(curves["series"]) == {"SGD, no warmup", *longer}
    edge = records.table.diverged("sgd_warmup_20%", "peak_lr").sum(axis=1)
    assert holds(curves, low=binomial(records.table.seeds - int(edge.max()), records.table.seeds).low)


def test_where_nothing_diverged_a_line_says_so() -> None:
    records = published("warmup")
    shown = claim_figure(records, judgement_of(records, "warmup.transformer_diverges"))
    assert shown is not None
    assert shown.drawing is None
    assert shown.caption.startswith("No run of these arms diverged")


# ---- every claim, every study


def check_readable(shown: Shown | None) -> None:
    """On a phone, and it answers."""
    if shown is not None and shown.drawing is not None:
        check_figure(shown.drawing, as_figure(shown.drawing))


def figure_of(records: TrialSet, what: str) -> Shown:
    """Of a claim, or of the first that a figure of this kind shows and that leaves something to draw."""
    claims = (each for each in records.study.judgements if what in (each.claim, *figures_of(each, records.scale)[:1]))
    return next(each for each in (claim_figure(records, claim) for claim in claims) if each is not None and each.drawing)


# Together every figure of claims and of studies; of claims by name runs end short of the goal, and numbers have no unit.
SHOWING = {
    "batch_scaling": ("trajectories",),
    "critical_batch": ("batch", "noise", "crit.range"),
    "decay": (),
    "edge_of_stability": ("edge",),
    "forgetting": ("tasks",),
    "generalization": ("sharpness",),
    "gradient_flow": ("growth",),
    "gradient_noise": ("lines",),
    "lr_finder": ("range-tests",),
    "mup_transfer": ("exponents", "coordinates"),
    "overfitting": ("turns",),
    "precision": ("underflow",),
    "spikes": ("detectors",),
    "warmup": ("lr", "survival", "forest", "curves"),
    "weight_decay": ("wd.growth",),
}


@pytest.mark.parametrize("name", SHOWING)
def test_a_figure_of_every_kind_is_readable_on_a_phone_and_can_be_asked(name: str) -> None:
    records = published(name)
    for what in SHOWING[name]:
        shown = figure_of(records, what)
        assert shown.kind == what or "." in what
        check_readable(shown)
    for each in study_figures(records) if name in ("decay", "warmup") else ():
        check_readable(each)


def test_every_kind_is_among_these() -> None:
    assert {what for shown in SHOWING.values() for what in shown if "." not in what} == set(ORDER)
    assert {each.kind for name in ("decay", "warmup") for each in study_figures(published(name))} == set(OF_STUDY)


@pytest.mark.parametrize("kind", ["exponents", "coordinates"])
def test_svg_is_byte_stable(kind: str) -> None:
    first, second = (figure_of(published("mup_transfer"), kind) for _ in range(2))
    assert as_svg(drawn(first.drawing)) == as_svg(drawn(second.drawing))


def test_metrics_name_figures_that_there_are() -> None:
    """And every figure of claims shows one."""
    named = {kind.FIGURE for kind in KINDS.values()} - {""}
    assert named == set(ORDER) == set(BY_NAME)


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
    assert shown is None or shown.drawing is None


def test_curves_of_arms_that_are_best_at_an_edge_are_drawn_without_an_optimum(study: Study) -> None:
    drawing = drawn(lr.of_study(recorded(study, optimum=-20)))
    assert drawing.frame.query("mark == 'estimate'").empty
    assert not drawing.frame.query("mark == 'curve'").empty


def test_curves_without_a_number_are_left_out(study: Study) -> None:
    assert losses.draw(recorded(study, train_loss=[np.nan])) is None
    assert losses.draw(recorded(study)) is not None


def test_a_scale_that_is_not_judged_shows_its_loss_curves(study: Study) -> None:
    """Also where every arm is best at an edge of its grid: nothing is estimated there."""
    records = replace(recorded(study, optimum=-20), scale="smoke")
    (shown,) = study_figures(records)
    assert shown.caption == losses.UNJUDGED.caption
    lines = drawn(shown.drawing).frame.query("mark == 'curve'")
    assert set(lines["series"]) == {arm.label for arm in study.arms.values()}
    lost = replace(records, trials=records.trials.assign(train_loss=np.nan))
    assert losses.draw_unjudged(lost) is None


def test_more_arms_than_a_panel_holds_have_several(study: Study) -> None:
    arms = {f"arm{index}": Arm(label=f"kind {chr(97 + index)}", settings=study.arms["half"].settings) for index in range(14)}
    drawing = drawn(lr.of_study(recorded(study.model_copy(update={"arms": {**study.arms, **arms}}))))
    curves = drawing.frame.query("mark == 'curve'")
    assert curves.groupby("panel")["series"].nunique().tolist() == [8, 8]


@pytest.mark.parametrize(
    "trained",
    [np.zeros(60), np.full(60, np.nan), np.r_[np.full(20, np.nan), np.linspace(3, 2, 40)], np.linspace(3, 2, 60)],
    ids=["zero", "not finite", "not finite at first", "falling"],
)
def test_a_range_test_is_drawn_whatever_it_saw(trained: np.ndarray, tmp_path: Path) -> None:
    lrs = np.geomspace(1e-6, 100, len(trained))
    picks = {"divergence": (divergence(lrs, trained),), **{rule: (suggest(rule, lrs, trained),) for rule in RULES}}
    draw_range_test(RangeTest(lrs, trained[None], picks), tmp_path / "test.svg")
    assert (tmp_path / "test.svg").read_text().rstrip().endswith("</svg>")


@pytest.mark.parametrize(
    ("squares", "label"), [(False, "training loss (nats)"), (True, "training loss (half the squared error)")]
)
def test_a_range_test_names_its_loss(squares: bool, label: str, tmp_path: Path) -> None:
    draw_range_test(RangeTest(np.geomspace(1e-6, 100, 60), np.linspace(3, 2, 60)[None], {}, squares), tmp_path / "test.svg")
    assert label in (tmp_path / "test.svg").read_text()


def test_rules_have_rows_of_their_own_below_the_losses() -> None:
    lrs, trained = np.geomspace(1e-6, 100, 60), np.linspace(0.3, 0.01, 60)
    picks = {rule: (suggest(rule, lrs, trained),) for rule in RULES}
    curves, rows = range_test.drawing(RangeTest(lrs, trained[None], picks)).panels
    assert curves.limits("y")[0] >= 0
    assert curves.limits("x") == rows.limits("x") == (lrs[0], lrs[-1])
    assert rows.y.names is not None
    assert len(set(rows.y.names.values())) == len(RULES)
    found = {str(rule): each.lr for rule, (each,) in picks.items() if isinstance(each, Suggestion)}
    assert sorted(rows.frame["x"]) == pytest.approx(sorted(found.values()))


def test_matplotlib_says_nothing_of_its_caches(tmp_path: Path) -> None:
    """In a read-only home it warns while it is imported."""
    (tmp_path / "file").write_text("")
    imported = "import folklore.reports, matplotlib; matplotlib.get_cachedir()"
    environment = {**os.environ, "MPLCONFIGDIR": str(tmp_path / "file" / "matplotlib")}
    done = subprocess.run([sys.executable, "-c", imported], env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
