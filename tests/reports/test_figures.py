"""Figures of what leaves little to draw: no warning of the plotting library reaches whoever runs a study."""

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from folklore.harness.judging.lr_find import RangeTest
from folklore.harness.judging.trial_sets import HERE, TrialSet, trial_sets
from folklore.harness.observables import NoiseScale, UnderflowShare
from folklore.harness.observables.estimating.range_test_rules import RULES, divergence, suggest
from folklore.harness.spec import Reported, Study
from folklore.harness.spec.observed import KINDS
from folklore.reports import study_page
from folklore.reports.figures import draw_range_test, lr_curves, training_curves
from folklore.reports.measurement_figures import noise_scales, underflow
from tests.harness.helpers import bowl, frame, result


@pytest.fixture(autouse=True)
def warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def recorded(study: Study, **curves: list[float]) -> TrialSet:
    (found,) = trial_sets(study, frame(study, lambda trial: result(bowl(trial, -7, 2.0), **curves)), HERE)
    return found


def reporting(study: Study, *observables: NoiseScale | UnderflowShare) -> Study:
    (judgement,) = study.judgements
    reported = tuple(Reported(name=str(index), observe=each) for index, each in enumerate(observables))
    return study.model_copy(update={"judgements": (judgement.model_copy(update={"reported": reported}),)})


def test_a_curve_without_a_positive_value_has_no_panel(study: Study) -> None:
    """Own modules and worlds in closed form have gradients without noise."""
    figure = training_curves(recorded(study, probe_gradient_variance=[0.0]), study_page.curves_of(study))
    assert figure is not None
    assert [axes.get_title() for axes in figure.axes] == ["training loss (nats)", "gradient norm"]
    nothing = recorded(study, train_loss=[np.nan], probe_gradient_norm=[0.0], probe_gradient_variance=[0.0])
    assert training_curves(nothing, study_page.curves_of(study)) is None


def test_a_figure_without_a_line_is_none(study: Study) -> None:
    """An optimum on the edge of the grid leaves no tuned run whose noise or underflow could be drawn."""
    seen = reporting(study, NoiseScale(arm="none"), UnderflowShare(arm="none", of="weight"))
    trials = frame(seen, lambda trial: result(bowl(trial, -20, 2.0)))
    (records,) = trial_sets(seen, trials, HERE)
    assert noise_scales(records) is None
    assert underflow(records) is None


def test_more_arms_than_markers(study: Study) -> None:
    arms = {f"arm{index}": study.arms["half"].model_copy(update={"label": f"arm {index}"}) for index in range(14)}
    crowded = study.model_copy(update={"arms": {**study.arms, **arms}})
    figure = lr_curves(recorded(crowded))
    assert figure is not None
    assert len(figure.axes[0].get_legend().get_texts()) == 16


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


def test_matplotlib_says_nothing_of_its_caches(tmp_path: Path) -> None:
    """In a read-only home it warns while it is imported."""
    (tmp_path / "file").write_text("")
    imported = "import folklore.reports, matplotlib; matplotlib.get_cachedir()"
    environment = {**os.environ, "MPLCONFIGDIR": str(tmp_path / "file" / "matplotlib")}
    done = subprocess.run([sys.executable, "-c", imported], env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_observables_name_figures_that_there_are() -> None:
    """And every figure but the search's shows one."""
    drawn = {name for name, _, _ in study_page.FIGURES}
    assert {kind.FIGURE for kind in KINDS.values()} - {""} == drawn - {"search"}
