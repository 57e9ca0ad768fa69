"""Figures of the published evidence draw what is judged, and can be read; what leaves little to draw breaks nothing."""

import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from folklore.harness.declare import Arm, Study
from folklore.harness.declare.metrics import (
    MaxTrainable,
    MeanGap,
    NoiseScale,
    Optimum,
    Quotient,
    Slope,
)
from folklore.harness.declare.metrics.detectors import RULES as RULES_OF_SPIKES
from folklore.harness.declare.metrics.estimating.range_test_rules import RULES, Suggestion, divergence, suggest
from folklore.harness.declare.observed import KINDS, Observed
from folklore.harness.judge.lr_range import RangeTest
from folklore.harness.judge.observe import observe
from folklore.harness.judge.spelling import in_prose
from folklore.harness.judge.statistics.intervals import binomial
from folklore.harness.plan.catalog import load_study
from folklore.reports.figures import detectors, losses, lr
from folklore.reports.figures import lr_range as range_test
from folklore.reports.figures.choosing import BY_NAME, OF_STUDIES, ORDER, claim_figure, figures_of, study_figures
from folklore.reports.figures.drawing import Drawing, Panel, leading
from folklore.reports.figures.lr_range import draw_range_test
from folklore.reports.figures.palette import looks
from folklore.reports.figures.render import as_figure
from folklore.studies.metrics.precision import underflow_share
from folklore.studies.metrics.warmup import curve_ratio
from tests.reports.figures.helpers import (
    check_figure,
    check_texts,
    drawn,
    figure_of,
    judgement_of,
    judging,
    published,
    recorded,
    seen_in,
)


@pytest.fixture(autouse=True)
def warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def panels_of(study: str, claim: str) -> list[Panel]:
    return drawn(figure_of(study, claim).drawing).panels


def holds(frame: pd.DataFrame, **columns: float) -> bool:
    """Whether a row has these numbers."""
    return bool(np.logical_and.reduce([np.isclose(frame[name], value) for name, value in columns.items()]).any())


# ---- what is drawn is what is judged


def test_the_bar_and_what_lies_on_it_are_the_judges() -> None:
    records = published("warmup")
    frame = seen_in(panels_of("warmup", "warmup.widens")[0])
    quotient = judgement_of(records, "warmup.widens").criteria[0].observe
    assert isinstance(quotient, Quotient)
    for metric in (quotient.top, quotient.bottom):
        assert isinstance(metric, MaxTrainable)
        estimate, bar = observe(metric, records.table), float(metric.bar(records.table, records.table.resamples[:1])[0])
        assert holds(frame.query("mark == 'estimate'"), x=estimate.estimate, y=bar, left=estimate.low, right=estimate.high)
        assert holds(frame.query("mark == 'rule'"), y=bar)


def test_tuned_values_are_drawn_with_their_intervals_under_the_curves() -> None:
    records = published("warmup")
    (curves, rows), *_ = drawn(lr.of_study(records)).stacks
    estimate = observe(Optimum(arm="none"), records.table)
    assert holds(seen_in(rows), x=estimate.estimate, left=estimate.low, right=estimate.high)
    assert curves.limits("x") == rows.limits("x")


@pytest.mark.parametrize("claim", ["scaling.sgd_linear", "scaling.adam_sqrt", "mup.sp_shifts", "mup.invariant"])
def test_fitted_lines_have_the_slopes_of_the_criteria(claim: str) -> None:
    name = "mup_transfer" if claim.startswith("mup") else "batch_scaling"
    records, (panel,) = published(name), panels_of(name, claim)
    lines = seen_in(panel).query("mark == 'line'").groupby("series")
    slopes = [np.polyfit(np.log(line["x"]), np.log(line["y"]), 1)[0] for _, line in lines]
    for criterion in (
        criterion for criterion in judgement_of(records, claim).criteria_at("laptop") if not criterion.precondition
    ):
        assert isinstance(criterion.observe, Slope)
        assert any(slope == pytest.approx(observe(criterion.observe, records.table).estimate, rel=1e-6) for slope in slopes)


@pytest.mark.parametrize(
    ("claim", "names", "along"),
    [
        ("mup.sp_shifts", ["standard", "muP"], "width"),
        ("mup.invariant", ["muP", "standard"], "width"),
        ("mup.depth", ["depth"], "depth"),
    ],
)
def test_fits_that_share_an_arm_are_named_by_what_they_do_not_share(claim: str, names: list[str], along: str) -> None:
    """A number that two claims observe is drawn once; a setting that an arm leaves to the study is still along the axis."""
    (panel,) = panels_of("mup_transfer", claim)
    assert [label.partition(": slope ")[0] for label in panel.listed if ": " in label] == names
    assert panel.x.label == along


def test_a_forest_has_the_intervals_of_its_criteria() -> None:
    records, (panel,) = published("decay"), panels_of("decay", "decay.cosine_vs_linear")
    for criterion in judgement_of(records, "decay.cosine_vs_linear").criteria:
        estimate = observe(criterion.observe, records.table, 0.9 if criterion.one_sided else 0.95)
        estimates = seen_in(panel).query("mark == 'estimate'")
        assert holds(estimates, x=100 * estimate.estimate, left=100 * estimate.low, right=100 * estimate.high)


def test_the_axis_of_a_forest_names_what_its_metrics_read() -> None:
    """Errors are not losses, of the loss reduction is a unit, and numbers without one have the name of what they are."""
    loss, error = panels_of("generalization", "gen.small_batch")
    assert loss.x.label == "difference in test loss, of the loss reduction (negative: lower)"
    assert error.x.label == "difference in test error from batch 16, points"
    ratio, exponent = panels_of("weight_decay", "wd.growth")
    assert (ratio.x.label, exponent.x.label) == ("ratio", "late exponent of the norm on the step, no decay")


def test_a_forest_shows_a_pair_of_arms_once() -> None:
    (panel,) = panels_of("optimizer_generalization", "gen.sgd_vs_adam")
    texts = [text.replace("\n", " ").removeprefix("MLP: ") for text in seen_in(panel)["text"] if "against" in text]
    pairs = [frozenset(text.split(" against ")) for text in texts]
    assert len(pairs) == len(set(pairs)) > 2


@pytest.mark.parametrize("claim", ["crit.range", "crit.hyperbola"])
def test_the_line_at_a_critical_batch_size_is_at_the_number_of_its_title(claim: str) -> None:
    for panel in panels_of("critical_batch", claim):
        frame = seen_in(panel)
        (at,) = frame.query("mark == 'rule' and series == '_critical'")["x"]
        (span,) = frame.query("mark == 'region' and series == '_critical'").itertuples()
        assert f"B_crit = {in_prose(at, span.left, span.right)}" in panel.title


def test_a_caption_says_if_not_all_have_to_hold() -> None:
    """A claim about some remedies holds over rows that are red."""
    enough = "It is enough that one of these holds: skipping the step, going back to a checkpoint,"
    assert enough in figure_of("spikes", "spike.playbook").caption
    assert "enough" not in figure_of("decay", "decay.cosine_vs_linear").caption


def test_survival_has_exact_intervals_and_only_arms_that_diverge() -> None:
    name = "warmup_divergence"
    table, (panel,) = published(name).table.of_arms(("20%", "60%")), panels_of(name, "warmup.late_nan")
    curves = seen_in(panel).query("mark == 'curve'")
    assert set(curves["series"]) == {"20% warmup", "60% warmup"}
    edge = table.diverged("20%", "peak_lr").sum(axis=1)
    assert holds(curves, low=binomial(table.seeds - int(edge.max()), table.seeds).low)


def test_where_nothing_diverged_a_line_says_so() -> None:
    records = published("warmup_duration")
    shown = claim_figure(records, judgement_of(records, "warmup.transformer_diverges"))
    assert shown is not None
    assert shown.drawing is None
    assert shown.caption.startswith("No run of these arms diverged")


def test_detectors_have_dots_at_the_published_limits_and_lines_that_rise() -> None:
    """For the loss ratio in the first panel, noise on the weights of the GPT, by a plain count."""
    panels, rule = panels_of("spikes", "spike.deviations"), RULES_OF_SPIKES["loss_ratio"]
    table = published("spikes").table.of_arms(("gpt_weights", "gpt_clean"))
    faulty, clean = (
        rule.score(np.array(table.values(arm, "peak_lr", "curve_train_loss")[0].tolist()), np.zeros((40, 300)))
        for arm in ("gpt_weights", "gpt_clean")
    )
    (dot,) = seen_in(panels[0]).query("mark == 'estimate' and series == @rule.label").itertuples()
    assert dot.x == pytest.approx(max(detectors.LEAST, 1000 * (clean[:, 128:] > 2).mean()))
    assert dot.y == (faulty[:, 150:161].max(axis=1) > 2).mean()
    assert len(panels) == 6
    for panel in panels:
        for _, line in seen_in(panel).query("mark == 'line'").groupby("series"):
            assert (np.diff(line["y"]) >= 0).all()


def test_an_arm_has_one_look_in_all_figures_of_a_study() -> None:
    records = published("warmup")
    by_label = {arm.label: looks(records.study)[name] for name, arm in records.study.arms.items()}
    panels = [*drawn(lr.of_study(records)).panels, *drawn(losses.draw(records)).panels]
    panels += [panel for claim in ("first_gradient", "widens", "mechanism") for panel in panels_of("warmup", f"warmup.{claim}")]
    pairs = [(name, look) for panel in panels for name, look in panel.looks.items() if name in by_label]
    assert len(pairs) > 20
    assert [(name, look) for name, look in pairs if look != by_label[name]] == []


# ---- every claim, every study


# Together every figure of claims; of claims by name runs end short of the goal, and numbers have no unit.
SHOWING = {
    "batch_scaling": ("curves", "fit"),
    "critical_batch": ("crit.grows", "crit.range"),
    "decay": (),
    "edge_of_stability": ("curves",),
    "forgetting": ("values",),
    "embedding_lr": ("emb.rare_tokens",),
    "generalization": ("values", "gen.small_batch"),
    "gradient_flow": ("fit",),
    "gradient_noise": ("lines",),
    "lr_finder": ("range-tests",),
    "lr_regimes": ("lr.layers_differ",),
    "mup_transfer": ("fit", "values"),
    "optimizer_generalization": ("gen.sgd_vs_adam", "gen.adam_train_loss"),
    "optimizers": ("opt.layerwise_ratio",),
    "overfitting": ("fit.val_turns",),
    "precision": ("values", "prec.grad_norms"),
    "spikes": ("spike.deviations", "spike.playbook"),
    "warmup": ("lr",),
    "warmup_divergence": ("survival",),
    "warmup_duration": ("forest", "curves"),
    "weight_decay": ("wd.growth",),
}


# Of studies, together every figure of one.
OF_WHOLE = {"edge_of_stability": ("losses",), "overfitting": ("search",), "warmup": ("lr", "losses")}


@pytest.mark.parametrize("name", SHOWING)
def test_a_figure_of_every_kind_is_readable_on_a_phone(name: str) -> None:
    for what in SHOWING[name]:
        shown = figure_of(name, what)
        assert shown.kind == what or "." in what
        check(drawn(shown.drawing))
        lines = re.findall(r"solid line|dash-dotted|dashed|dotted", shown.caption.lower())
        assert len(set(lines)) == len(lines), "a line has two meanings"
    for figure in OF_STUDIES:
        if figure.name in OF_WHOLE.get(name, ()):
            check(drawn(figure.draw(published(name))))


def check(drawing: Drawing) -> None:
    check_figure(drawing, as_figure(drawing))
    check_texts(as_figure(leading(drawing)))


def test_every_kind_is_among_these() -> None:
    first = {
        judgement.claim: figures_of(judgement, "laptop")[:1] for name in SHOWING for judgement in load_study(name).judgements
    }
    assert {kind for shown in SHOWING.values() for what in shown for kind in first.get(what, [what])} == set(ORDER)
    assert {what for shown in OF_WHOLE.values() for what in shown} == {figure.name for figure in OF_STUDIES}


def test_metrics_name_figures_that_there_are() -> None:
    """And every figure of claims shows one."""
    named = {kind.FIGURE for kind in KINDS.values()} - {""}
    assert named == set(ORDER) == set(BY_NAME)


def test_a_gap_is_shown_as_such_if_it_is_one_of_losses() -> None:
    studies = [load_study(name) for name in ("warmup", "warmup_duration", "lr_finder")]
    figures = {judgement.claim: figures_of(judgement, "laptop")[:1] for study in studies for judgement in study.judgements}
    assert figures["warmup.improves_best"] == ["forest"]
    assert figures["warmup.widens"] == ["lr"]
    assert figures["finder.head_to_head"] == ["range-tests"]


# ---- what leaves little to draw


@pytest.mark.parametrize(
    "observable",
    [
        NoiseScale(arm="none"),
        underflow_share(arm="none", of="weight"),
        curve_ratio(arm="none", curve="gradient_norm"),
        MeanGap(arm="half", tuned_for="none"),
        Slope(points=((1.0, Optimum(arm="none")), (2.0, Optimum(arm="half")), (3.0, Optimum(arm="none")))),
    ],
    ids=lambda metric: str(metric.kind),
)
def test_what_has_no_number_has_no_figure(study: Study, observable: Observed) -> None:
    """An optimum on the edge of the grid leaves no tuned run that could be drawn."""
    records = recorded(judging(study, observable), optimum=-20)
    shown = claim_figure(records, records.study.judgements[0])
    assert shown is None or shown.drawing is None


def test_curves_of_arms_that_are_best_at_an_edge_are_drawn_without_an_optimum(study: Study) -> None:
    marks = {mark.kind for panel in drawn(lr.of_study(recorded(study, optimum=-20))).panels for mark in panel.marks}
    assert "curve" in marks
    assert "estimate" not in marks


def test_curves_without_a_number_are_left_out(study: Study) -> None:
    assert losses.draw(recorded(study, train_loss=[np.nan])) is None
    assert losses.draw(recorded(study)) is not None


def test_a_scale_that_is_not_judged_shows_its_loss_curves(study: Study) -> None:
    """Also where every arm is best at an edge of its grid: nothing is estimated there."""
    records = replace(recorded(study, optimum=-20), scale="smoke")
    (shown,) = study_figures(records)
    assert shown.caption == losses.LOWEST
    (panel,) = drawn(shown.drawing).panels
    assert set(panel.listed) == {arm.label for arm in study.arms.values()}
    lost = replace(records, trials=records.trials.assign(train_loss=np.nan))
    assert losses.draw_unjudged(lost) is None


def test_more_arms_than_a_panel_holds_have_several(study: Study) -> None:
    arms = {f"arm{index}": Arm(label=f"kind {chr(97 + index)}", settings=study.arms["half"].settings) for index in range(14)}
    drawing = drawn(lr.of_study(recorded(study.model_copy(update={"arms": {**study.arms, **arms}}))))
    assert [len({mark.series for mark in panel.of("curve")}) for panel, *_ in drawing.stacks] == [8, 8]


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
    check_texts(as_figure(range_test.drawing(RangeTest(lrs, trained[None], picks))))
    assert curves.limits("x") == rows.limits("x") == (lrs[0], lrs[-1])
    assert rows.y.names is not None
    assert len(set(rows.y.names.values())) == len(RULES)
    by_rule = {str(rule): suggestion.lr for rule, (suggestion,) in picks.items() if isinstance(suggestion, Suggestion)}
    assert sorted(seen_in(rows)["x"]) == pytest.approx(sorted(by_rule.values()))


def test_matplotlib_says_nothing_of_its_caches(tmp_path: Path) -> None:
    """In a read-only home it warns while it is imported."""
    (tmp_path / "file").write_text("")
    imported = "import folklore.reports, matplotlib; matplotlib.get_cachedir()"
    environment = {**os.environ, "MPLCONFIGDIR": str(tmp_path / "file" / "matplotlib")}
    done = subprocess.run([sys.executable, "-c", imported], env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
