"""The calibration itself: planted tables are tables, truths are true, rates are as they should be, and a wrong judge shows."""

import json
from multiprocessing import get_context

import pytest
from scipy import stats

from folklore.harness.declare.metrics import Computed, Left, Unmeasured
from folklore.harness.declare.observed import KINDS
from folklore.harness.judge.observe import observe
from folklore.harness.judge.statistics.intervals import bootstrap_error
from folklore.harness.judge.trial_arrays import TrialArrays
from folklore.harness.randomness import numpy_generator
from tests.calibration import trial_rates
from tests.calibration.__main__ import among_others
from tests.calibration.conditions import PLAIN
from tests.calibration.planted_table import SCALE, PlantedTable
from tests.calibration.trial_cases import BY_NAME, CASES
from tests.calibration.trial_rates import calibrate, truths
from tests.harness.declare.metrics.planted import stored


def test_one_kind_is_counted_again_among_the_others() -> None:
    before = [{"observable": kind, "coverage": 0.5} for kind in ("gap", "optimum", "optimum", "slope", "gone")]
    again = {"observable": "optimum", "coverage": 0.9}
    kinds = ["gap", "optimum", "slope"]
    assert among_others([again], before, "observable", kinds) == [before[0], again, before[3], before[4]]
    assert among_others([again], [], "observable", kinds) == [again]


def test_every_kind_of_observation_is_calibrated() -> None:
    """But for what is computed, which reads no trials, and what has no number."""
    calibrated = {type(observable) for case in CASES for observable in case.observables}
    missing = {*KINDS.values()} - calibrated - {Computed, Left, Unmeasured}
    assert not missing, f"write a case with a planted truth for {missing} in tests/calibration/trial_cases.py"


@pytest.mark.parametrize("name", ["relative_gap", "mean_gap_absolute", "finder_pick_delagged"])
def test_a_planted_table_is_a_table(name: str) -> None:
    """The same observation to the last digit from rows of stored trials."""
    case = BY_NAME[name]
    study = case.declared(5, PLAIN)
    planted = PlantedTable(study, case.draw(study, case.effects[2], PLAIN, numpy_generator(0, "test", 0)))
    left, right = (observe(case.observables[0], table) for table in (planted, TrialArrays(study, SCALE, stored(planted))))
    assert (left.estimate, left.low, left.high) == (right.estimate, right.low, right.high)


@pytest.mark.parametrize(
    ("name", "effect", "expected"),
    [
        ("relative_gap", 2.0, pytest.approx(0.02, abs=0.002)),
        ("slope", 2.0, pytest.approx(-0.5, abs=0.01)),
        ("critical_batch_size", 1.0, pytest.approx(64.0, rel=0.02)),
        ("log2", 2.0, pytest.approx(1.0, abs=0.02)),
        ("noise_scale", 0.0, pytest.approx(20.0, rel=0.02)),
        ("fall_share", 3.0, pytest.approx(0.06 / (5.0 - 2.0), rel=0.1)),
        ("mean_gap", 0.0, pytest.approx(0.0, abs=0.001)),
        ("optimum_window", 0.0, pytest.approx(2**-6.3, rel=0.014)),
        ("finder_pick_delagged", 0.0, pytest.approx(2**-5.0, rel=0.08)),  # between two steps of the ramp: 0.12 octaves
    ],
)
def test_truths_that_are_known(name: str, effect: float, expected: object) -> None:
    """Where a formula gives the true value, the large world agrees with it."""
    assert truths(BY_NAME[name], PLAIN, effect) == [expected]


@pytest.mark.parametrize("name", ["gap", "optimum", "speed_up"])
def test_coverage_and_false_verdicts_of_a_few_worlds(name: str) -> None:
    """The short version of `make calibrate`: 120 worlds an effect; limits are binomial ones around what is asked for."""
    (row,) = calibrate(120, seed=3, only=[name], seeds=[10], conditions=["plain"], processes=1)
    worlds = row["worlds"]
    assert stats.binom.cdf(round(row["coverage"] * worlds), worlds, 0.95) > 1e-3
    assert stats.binom.sf(round(row["coverage"] * worlds) - 1, worlds, 0.98) > 1e-3
    for wrong in ("false_supported", "false_refuted", "false_partly"):
        assert stats.binom.sf(round(row[wrong] * 120) - 1, 120, 0.05) > 1e-3
    assert row["power"] > 0.5
    assert row["direction"] > row["false_partly"] + 0.2
    assert json.loads(json.dumps(row)) == row


def test_intervals_that_are_too_narrow_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half the error: the count must see it."""
    whole = bootstrap_error
    monkeypatch.setattr("folklore.harness.judge.observe.bootstrap_error", lambda sampled: whole(sampled) / 2)
    (row,) = calibrate(60, only=["gap"], seeds=[10], conditions=["plain"], processes=1)
    assert row["coverage"] < 0.85
    assert row["false_supported"] > 0.08


def test_one_world_is_the_same_however_many_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """By forks, which have their imports."""
    monkeypatch.setattr(trial_rates, "get_context", lambda method: get_context("fork"))
    one, two = (calibrate(3, seed=1, only=["memory_ratio"], seeds=[5], processes=count) for count in (1, 2))
    assert one == two
    assert len(one) == len(BY_NAME["memory_ratio"].conditions)
