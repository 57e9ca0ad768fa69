"""Where exact numbers come from, as it is remembered beside verdicts: each plot once, short enough for a page, and plain."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from folklore.harness.judging.arithmetic import MOST_POINTS, _thinned, arithmetic
from folklore.harness.judging.trial_sets import HERE, trial_sets
from folklore.harness.judging.verdict_memory import Judged
from folklore.harness.observables import Exact, Quotient
from folklore.harness.observables.numerics import ExactCheck
from folklore.harness.spec import AtLeast, AtMost, Criterion, Judgement, Reported, Study
from folklore.harness.spec.observed import Observed
from tests.harness.helpers import bowl, frame, result

CLAIM = "warmup.improves_best"
UNCORRECTED, EPSILON = ("adam_uncorrected_first_step", "adam_uncorrected_largest_step"), "adam_tiny_step"


def criterion(observable: Observed) -> Criterion:
    return Criterion(name=str(observable), observe=observable, claimed=AtLeast(value=3.0), refuted=AtMost(value=1.0))


def judging(*checks: ExactCheck, reported: tuple[ExactCheck, ...] = ()) -> Judgement:
    beside = tuple(Reported(name=each, observe=Exact(check=each)) for each in reported)
    return Judgement(claim=CLAIM, criteria=tuple(criterion(Exact(check=each)) for each in checks), reported=beside)


def test_without_exact_checks_there_is_nothing(study: Study) -> None:
    assert arithmetic(study.judgements[0], "laptop") == {}
    assert arithmetic(judging("fp16_largest"), "laptop") == {}, "nothing shows this one"


def test_checks_that_share_a_plot_show_it_once() -> None:
    found = arithmetic(judging(*UNCORRECTED), "laptop")
    assert [plot["x_label"] for plot in found["plots"]] == ["training step"]
    assert found["tables"] == []
    both = arithmetic(judging(UNCORRECTED[0], EPSILON, UNCORRECTED[1]), "laptop")
    assert [plot["x_label"] for plot in both["plots"]] == ["training step", "root of the second moment"]


def test_what_is_reported_and_what_is_inside_others_is_shown_too() -> None:
    assert len(arithmetic(judging("fp16_largest", reported=UNCORRECTED), "laptop")["plots"]) == 1
    quotient = Quotient(top=Exact(check=UNCORRECTED[0]), bottom=Exact(check=EPSILON))
    assert len(arithmetic(Judgement(claim=CLAIM, criteria=(criterion(quotient),)), "laptop")["plots"]) == 2


def test_a_table_without_a_plot() -> None:
    found = arithmetic(judging("adam_rmsprop_distance"), "laptop")
    assert found["plots"] == []
    (table,) = found["tables"]
    assert {len(row) for row in table["rows"]} == {len(table["columns"])}


def test_long_curves_are_thinned_and_keep_both_ends() -> None:
    (plot,) = arithmetic(judging(*UNCORRECTED), "laptop")["plots"]
    for curve in plot["curves"]:
        assert len(curve["x"]) == len(curve["y"]) <= MOST_POINTS
        assert (curve["x"][0], curve["x"][-1]) == (1.0, 3000.0)
        assert (np.diff(curve["x"]) > 0).all()
    ratio = plot["curves"][0]
    by_hand = [(1 - 0.9**step) / np.sqrt(1 - 0.999**step) for step in ratio["x"]]
    assert ratio["y"] == pytest.approx(by_hand, rel=1e-4), "an x keeps its own y"


@pytest.mark.parametrize("log_x", [False, True])
def test_points_are_kept_evenly_on_the_axis(log_x: bool) -> None:
    x = np.geomspace(1e-8, 1.0, 5001) if log_x else np.linspace(0.0, 7.0, 5001)
    kept = np.array(_thinned({"name": "a", "x": x, "y": 2 * x}, log_x)["x"])
    gaps = np.diff(np.log(kept) if log_x else kept)
    assert (kept[0], kept[-1]) == (x[0], x[-1])
    assert MOST_POINTS * 0.9 < len(kept) <= MOST_POINTS
    assert gaps.max() < 1.2 * gaps.min()


def test_short_curves_keep_every_point() -> None:
    x = np.array([0.0, 1.0, 4.0])
    assert _thinned({"name": "a", "x": x, "y": x}, log_x=True) == {"name": "a", "x": [0.0, 1.0, 4.0], "y": [0.0, 1.0, 4.0]}


def test_it_is_plain_values() -> None:
    found = arithmetic(judging(*UNCORRECTED, reported=("adam_rmsprop_distance",)), "laptop")
    told = json.dumps(found, allow_nan=False)
    assert json.dumps(json.loads(told)) == told


def test_it_is_remembered_beside_verdicts(study: Study) -> None:
    """Through JSON, as the published verdicts and a store have it."""
    asked = study.model_copy(update={"judgements": (judging(*UNCORRECTED, reported=("adam_rmsprop_distance",)),)})
    (records,) = trial_sets(asked, frame(asked, lambda trial: result(bowl(trial, -7, 2.0))), HERE)
    judged = Judged.of(records)
    assert judged.arithmetic[CLAIM] == arithmetic(asked.judgements[0], "laptop")
    assert Judged.from_dict(asdict(judged)) == judged
    told = json.dumps(asdict(judged))
    assert json.dumps(asdict(Judged.from_dict(json.loads(told)))) == told


def test_a_claim_without_exact_numbers_is_not_in_it(study: Study) -> None:
    (records,) = trial_sets(study, frame(study, lambda trial: result(bowl(trial, -7, 2.0))), HERE)
    assert Judged.of(records).arithmetic == {}


def test_what_is_not_judged_is_not_worked_out(study: Study) -> None:
    asked = study.model_copy(update={"judgements": (judging(*UNCORRECTED),)})
    trials = frame(asked, lambda trial: result(bowl(trial, -7, 2.0)), scale="smoke")
    (records,) = trial_sets(asked, trials, HERE)
    assert records.scale == "smoke"
    assert Judged.of(records).arithmetic == {}
