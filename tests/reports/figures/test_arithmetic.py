"""How computed numbers are shown: the figure of their plots, which figure a claim has, and tables on its card."""

import math
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from folklore.harness.declare import Study
from folklore.harness.declare.metrics import Computed, NoiseScale, RelativeGap, TunedLoss
from folklore.harness.declare.observed import Observed
from folklore.harness.judge.trial_sets import TrialSet
from folklore.reports import site
from folklore.reports.figures.arithmetic import CAPTION, drawing
from folklore.reports.figures.choosing import Shown, claim_figure
from folklore.reports.figures.drawing import Panel
from tests.reports.figures.helpers import drawn, judging, recorded, seen_in
from tests.reports.test_site import REGISTER, of

pytestmark = pytest.mark.usefixtures("few_calibrated")
TRAINED = RelativeGap(left=TunedLoss(arm="none"), right=TunedLoss(arm="half"))
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


@pytest.fixture(scope="module")
def records(study: Study) -> TrialSet:
    """Trials for a claim whose first criterion is trained, and whose second is computed."""
    return recorded(judging(study, TRAINED, COMPUTED))


def judged(records: TrialSet, *observables: Observed) -> TrialSet:
    """The same trials and computations, for a claim of other criteria."""
    return replace(records, study=judging(records.study, *observables))


def figure(records: TrialSet) -> Shown | None:
    return claim_figure(records, records.study.judgements[0])


def panels(*plots: dict[str, Any]) -> list[Panel]:
    return drawn(drawing(plots)).panels


def test_a_plot_has_a_line_for_every_curve() -> None:
    (panel,) = panels(plot())
    assert panel.listed == ["first", "second"]
    for name, mark in (("first", "line"), ("second", "curve")):
        own = seen_in(panel).query(f"series == '{name}'")
        assert (list(own["x"]), list(own["y"]), set(own["mark"])) == ([1.0, 10.0, 100.0], [2.0, 3.0, 5.0], {mark})
    assert panel.look("first") != panel.look("second")
    assert (panel.x.label, panel.y.label) == ("steps", "ratio")


@pytest.mark.parametrize(("log_x", "log_y"), [(False, False), (True, False), (False, True), (True, True)])
def test_axes_are_logarithmic_where_asked(log_x: bool, log_y: bool) -> None:
    (panel,) = panels(plot(log_x=log_x, log_y=log_y))
    assert (panel.x.log, panel.y.log) == (10 * log_x, 10 * log_y)


def test_levels_lie_across_and_places_stand_and_both_have_names() -> None:
    (panel,) = panels(plot())
    rules = seen_in(panel).query("mark == 'rule'")
    assert (set(rules["y"].dropna()), set(rules["x"].dropna())) == ({2.5, 4.0}, {20.0})
    notes = seen_in(panel).query("mark == 'note' and text != ''")
    assert dict(zip(notes["text"], zip(notes["x"], notes["y"], strict=True), strict=True)) == {
        "a level": (-math.inf, 2.5),
        "a place": (20.0, -math.inf),
    }


def test_several_plots_stand_below_each_other() -> None:
    figure = drawn(drawing([plot(), plot(curves=[curve("third")], levels=[], places=[])]))
    assert (len(figure.stacks), figure.columns) == (2, 1)
    assert figure.panels[1].listed == ["third"]


def test_the_first_criterion_says_whether_a_claim_has_its_arithmetic(records: TrialSet) -> None:
    computed, trained = figure(judged(records, COMPUTED, TRAINED)), figure(records)
    assert computed is not None
    assert (computed.kind, computed.caption) == ("arithmetic", CAPTION)
    assert len(drawn(computed.drawing).panels[0].listed) == 3
    assert trained is not None
    assert (trained.kind, trained.drawing is None) == ("forest", False)


def test_where_nothing_trained_can_be_drawn_the_arithmetic_is(study: Study, records: TrialSet) -> None:
    """An optimum on the edge of the grid leaves no tuned run."""
    untuned = recorded(judging(study, NoiseScale(arm="none")), optimum=-20)
    assert figure(untuned) is None
    shown = figure(judged(replace(untuned, computations=records.computations), NoiseScale(arm="none"), COMPUTED))
    assert shown is not None
    assert shown.kind == "arithmetic"


def test_computed_numbers_without_a_plot_have_no_figure(study: Study) -> None:
    assert figure(recorded(judging(study, Computed(function="constants.number_formats", number="fp16_largest")))) is None


def test_tables_and_figures_of_computed_numbers_stand_on_cards_escaped(records: TrialSet, tmp_path: Path) -> None:
    """The figure only where the claim's first criterion is computed, and not where it is trained, which has one."""
    table = {"columns": ["what <is>", "said & done"], "rows": [["<b>first</b>", "1 < 2"], ["second", "3"]]}
    with_tables = {name: replace(computation, tables=[table]) for name, computation in records.computations.items()}

    def written(shown: TrialSet) -> str:
        site.write(tmp_path, [shown.study], REGISTER, of([shown]))
        return " ".join((tmp_path / "toy.html").read_text().split())

    page = written(replace(records, computations=with_tables))
    assert '<th scope="col">what &lt;is&gt;</th><th scope="col">said &amp; done</th>' in page
    assert '<th scope="row">&lt;b&gt;first&lt;/b&gt;</th><td>1 &lt; 2</td>' in page
    assert page.count('class="arithmetic"') == 1
    assert "<b>first</b>" not in page
    assert CAPTION not in page
    assert CAPTION in written(judged(records, COMPUTED))
    (claim,) = (judgement.claim for judgement in records.study.judgements)
    assert (tmp_path / "figures" / f"toy-laptop-cpu-{claim.replace('.', '-')}.svg").exists()
