"""Simulated runs: no test is wrong more often than it says."""

import math

import pandas as pd
import pytest
import scipy

from folklore.harness.elsewhere.claims import read_claim
from folklore.harness.elsewhere.comparing import Assumptions
from folklore.harness.elsewhere.judge_runs import judge_claim
from folklore.harness.randomness import numpy_generator
from folklore.reports import calibration
from tests.calibration import run_rates as calibrating
from tests.calibration.run_cases import CASES
from tests.calibration.run_worlds import Arms, runs_from
from tests.harness.elsewhere.planted import numbers


@pytest.mark.parametrize("name", ["paired by seed", "average over tasks", "against a number", "no worse"])
def test_samples_are_judged_as_the_table_of_them_is(name: str) -> None:
    case = [
        candidate
        for candidate in CASES
        if candidate.test == name and isinstance(candidate.draw, Arms) and not candidate.draw.diverging
    ][-1]
    claim = read_claim(case.claim)
    for world in range(6):
        effects = (case.short, case.beyond)[world % 2]
        table = judge_claim(case.draw(numpy_generator(0, name, world), effects), claim, Assumptions())
        direct = calibrating.judged_of(case.draw, claim, numpy_generator(0, name, world), effects)
        assert numbers(direct) == numbers(table)
        assert direct.fragile == table.fragile


def most(worlds: int, rate: float) -> int:
    """As many as happen by chance once in ten thousand times."""
    return int(scipy.stats.binom.isf(1e-4, worlds, rate))


# Test and condition -> worlds: enough that a z test in place of Student's exceeds the bound; on sizes, the test on all tasks.
KEPT = {
    ("independent runs (Welch)", "3 runs"): 300,
    ("independent runs (Welch)", "3 against 20 runs, the few 3x as noisy"): 150,
    ("paired by seed", "3 pairs, correlation 0.5"): 150,
    ("share of a's mean (Fieller)", "3 runs"): 150,
    ("no worse", "3 runs"): 200,
    ("equal", "3 runs"): 150,
    ("one run against five (spread of all arms)", "none beside"): 150,
    ("against a number", "3 runs"): 150,
    ("average over tasks", "3 tasks"): 60,
    ("on all tasks", "3 tasks"): 60,
    ("at all sizes", "3 sizes"): 25,
    ("law: hyperbola", "3 runs a size, noise 15%"): 100,
}


@pytest.mark.parametrize(("test", "condition"), KEPT)
def test_no_test_is_wrong_more_often_than_it_says(test: str, condition: str) -> None:
    case = next(candidate for candidate in CASES if (candidate.test, candidate.condition) == (test, condition))
    claim, worlds = read_claim(case.claim), KEPT[test, condition]
    rate = 0.05 if not claim.law and claim.question.one_sided else 0.025
    short = calibrating.tally(case, claim, case.short, worlds, 0)
    assert short["supported"] <= most(worlds, rate)
    assert short["firm supported"] <= short["supported"]
    assert short["intervals"] - short["covered"] <= most(worlds, 2 * rate)
    if case.meeting == case.short:
        assert short["supported"] + short["refuted"] <= most(worlds, 2 * rate)
    else:
        assert calibrating.tally(case, claim, case.meeting, worlds // 2, 0)["refuted"] <= most(worlds // 2, rate)
    assert any(calibrating.tally(case, claim, case.beyond, few, 0)["supported"] for few in (2, 20))


def test_a_law_that_holds_is_not_refuted_by_the_noise_of_few_runs() -> None:
    case = next(candidate for candidate in CASES if candidate.condition == "2 runs a size, noise 30%, law exactly true")
    counts = calibrating.tally(case, read_claim(case.claim), (0.0,), 50, 0)
    assert counts["refuted"] <= most(50, 0.025)


def test_what_rests_on_one_run_is_fragile_against_a_number_too() -> None:
    frame = pd.DataFrame({"arm": "b", "seed": "", "task": "", "value": [99.5, 98.0, 98.2, 99.0, 97.9]})
    judged = judge_claim(runs_from(frame), read_claim("loss: b < 99.5"), Assumptions())
    assert judged.verdict == "supported"
    *named, others = judged.fragile
    assert all(reading.startswith("open without the run that ended at") for reading in named)
    assert others == "and 1 more"


def test_a_run_in_the_middle_is_left_out_too() -> None:
    """Without the lowest or the highest the verdict stands; without one in the middle the spread is larger."""
    frame = pd.DataFrame({"arm": "b", "seed": "", "task": "", "value": [98.7, 98.9, 99.0, 99.5]})
    judged = judge_claim(runs_from(frame), read_claim("loss: b < 100"), Assumptions())
    assert judged.verdict == "supported"
    assert judged.fragile == ("open without the run that ended at 98.9", "open without the run that ended at 99")


def test_the_tries_of_tuned_arms_have_a_known_median() -> None:
    case = next(candidate for candidate in CASES if candidate.condition == "10 tries, uniform losses")
    counts = calibrating.tally(case, read_claim(case.claim), (0.0,), 4, 0)
    assert counts["supported"] + counts["refuted"] <= most(4, 0.05)
    assert counts["intervals"] == counts["covered"] == 4


def test_rows_are_the_same_for_a_seed() -> None:
    names = ("noise: visible difference", "noise: standard deviation")
    alone = calibrating.rows(200, 3, names)
    assert calibrating.rows(200, 3, names) == alone
    assert calibrating.rows(200, 4, names) != alone
    assert all(abs(row["power"] - row["told"]) < 0.15 for row in alone if row["test"] == names[0])
    assert alone[0]["coverage"] > 0.9
    assert {row["test"] for row in alone} == set(names)


def test_the_gate_goes_through_files() -> None:
    (fine, drift, *_) = calibrating.rows(12, 0, ["gate"])
    assert fine["false_refuted"] == 0
    assert 0 <= fine["told"] <= 0.05
    assert drift["worlds"] == 3


def test_the_published_counts_are_of_todays_tests() -> None:
    counted = {(row["test"], row["condition"]) for row in calibration.runs_elsewhere()}
    assert {(case.test, case.condition) for case in CASES} <= counted
    assert {test for test, _ in counted} == set(calibrating.tests())
    assert all(math.isfinite(row["worlds"]) for row in calibration.runs_elsewhere())
