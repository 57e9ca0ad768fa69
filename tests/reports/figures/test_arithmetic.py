"""How computed numbers are shown: the figure of their plots, which figure a claim has, and tables on its card."""

import math
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from folklore.harness.judging.trial_sets import HERE, TrialSet, trial_sets
from folklore.harness.metrics import Computed, NoiseScale
from folklore.harness.spec import AtLeast, AtMost, Criterion, Judgement, Study
from folklore.harness.spec.observed import Observed
from folklore.reports import site
from folklore.reports.figures.arithmetic import CAPTION, drawing
from folklore.reports.figures.choosing import claim_figure
from folklore.reports.figures.drawing import Panel
from tests.harness.helpers import bowl, computations, frame, result
from tests.reports.test_site import REGISTER, of

CLAIM = "warmup.improves_best"
COMPUTED = Computed(function="adam.uncorrected", number="first_step")


@pytest.fixture(autouse=True)
def warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def curve(name: str, dots: bool = False) -> dict[str, Any]:
    return {"name": name, "x": [1.0, 10.0, 100.0], "y": [2.0, 3.0, 5.0], "dots": dots}


def plot(**fields: object) -> dict[str, Any]:
    made = {
        "x_label": "steps",
        "y_label": "ratio",
        "curves": [curve("first"), curve("second", dots=True)],
        "log_x": True,
        "log_y": False,
        "levels": [[2.5, "a level"], [4.0, ""]],
        "places": [[20.0, "a place"]],
    }
    return {**made, **fields}


def recorded(study: Study, *observables: Observed, optimum: float = -7) -> tuple[TrialSet, Judgement]:
    criteria = tuple(
        Criterion(name=str(index), observe=each, claimed=AtLeast(value=0.5), refuted=AtMost(value=0.1))
        for index, each in enumerate(observables)
    )
    judgement = Judgement(claim=CLAIM, criteria=criteria)
    asked = study.model_copy(update={"judgements": (judgement,)})
    trials = frame(asked, lambda trial: result(bowl(trial, optimum, 2.0)))
    (found,) = trial_sets(asked, trials, HERE, computations=computations(asked))
    return found, judgement


def panels(*plots: dict[str, Any]) -> list[Panel]:
    found = drawing(plots)
    assert found is not None
    return found.panels


def test_a_plot_has_a_line_for_every_curve() -> None:
    (panel,) = panels(plot())
    assert panel.listed == ["first", "second"]
    for name, mark in (("first", "line"), ("second", "curve")):
        own = panel.frame.query(f"series == '{name}'")
        assert (list(own["x"]), list(own["y"]), set(own["mark"])) == ([1.0, 10.0, 100.0], [2.0, 3.0, 5.0], {mark})
    assert panel.look("first") != panel.look("second")
    assert (panel.x.label, panel.y.label) == ("steps", "ratio")


@pytest.mark.parametrize(("log_x", "log_y"), [(False, False), (True, False), (False, True), (True, True)])
def test_axes_are_logarithmic_where_asked(log_x: bool, log_y: bool) -> None:
    (panel,) = panels(plot(log_x=log_x, log_y=log_y))
    assert (panel.x.log, panel.y.log) == (10 * log_x, 10 * log_y)


def test_levels_lie_across_and_places_stand_and_both_have_names() -> None:
    (panel,) = panels(plot())
    rules = panel.frame.query("mark == 'rule'")
    assert (set(rules["y"].dropna()), set(rules["x"].dropna())) == ({2.5, 4.0}, {20.0})
    notes = panel.frame.query("mark == 'note' and text != ''")
    assert dict(zip(notes["text"], zip(notes["x"], notes["y"], strict=True), strict=True)) == {
        "a level": (-math.inf, 2.5),
        "a place": (20.0, -math.inf),
    }


def test_several_plots_stand_below_each_other() -> None:
    found = drawing([plot(), plot(curves=[curve("third")], levels=[], places=[])])
    assert found is not None
    assert [len(row) for row in found.rows] == [1, 1]
    assert found.panels[1].listed == ["third"]


def test_a_claim_whose_first_criterion_is_computed_has_its_arithmetic(study: Study) -> None:
    trained = study.judgements[0].criteria[0].observe
    found, judgement = recorded(study, COMPUTED, trained)
    shown = claim_figure(found, judgement)
    assert shown is not None
    assert (shown.kind, shown.caption) == ("arithmetic", CAPTION)
    assert shown.drawing is not None
    assert len(shown.drawing.panels[0].listed) == 3


def test_a_claim_whose_first_criterion_is_trained_has_the_figure_of_that(study: Study) -> None:
    trained = study.judgements[0].criteria[0].observe
    found, judgement = recorded(study, trained, COMPUTED)
    shown = claim_figure(found, judgement)
    assert shown is not None
    assert (shown.kind, shown.drawing is None) == ("forest", False)


def test_where_nothing_trained_can_be_drawn_the_arithmetic_is(study: Study) -> None:
    """An optimum on the edge of the grid leaves no tuned run."""
    found, judgement = recorded(study, NoiseScale(arm="none"), COMPUTED, optimum=-20)
    assert claim_figure(replace(found, computations={}), judgement) is None
    shown = claim_figure(found, judgement)
    assert shown is not None
    assert shown.kind == "arithmetic"


def test_computed_numbers_without_a_plot_have_no_figure(study: Study) -> None:
    for function, number in (("constants.number_formats", "fp16_largest"), ("optimizers.state", "lion_over_adam")):
        found, judgement = recorded(study, Computed(function=function, number=number))
        assert claim_figure(found, judgement) is None


def test_tables_and_the_figure_stand_on_the_card_escaped(study: Study, tmp_path: Path) -> None:
    """The figure only where the claim's first criterion is computed: here it is trained, and has one."""
    table = {"columns": ["what <is>", "said & done"], "rows": [["<b>first</b>", "1 < 2"], ["second", "3"]]}
    found, _ = recorded(study, study.judgements[0].criteria[0].observe, COMPUTED)
    told = {digest: replace(each, tables=[table]) for digest, each in found.computations.items()}
    site.write(tmp_path, [found.study], REGISTER, of([replace(found, computations=told)]))
    page = " ".join((tmp_path / "toy.html").read_text().split())
    assert '<th scope="col">what &lt;is&gt;</th><th scope="col">said &amp; done</th>' in page
    assert '<th scope="row">&lt;b&gt;first&lt;/b&gt;</th><td>1 &lt; 2</td>' in page
    assert page.count('class="arithmetic"') == 1
    assert "<b>first</b>" not in page
    assert CAPTION not in page


def test_the_page_of_a_computed_claim_has_its_figure(study: Study, tmp_path: Path) -> None:
    found, _ = recorded(study, COMPUTED)
    site.write(tmp_path, [found.study], REGISTER, of([found]))
    page = (tmp_path / "toy.html").read_text()
    assert CAPTION in page
    assert (tmp_path / "figures" / f"toy-laptop-cpu-{CLAIM.replace('.', '-')}.svg").exists()
