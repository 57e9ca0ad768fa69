"""What a study's seeds can resolve: against the exact power of the t test and against drawing."""

import math

import numpy as np
import pytest
from statsmodels.stats.power import TTestPower

from folklore.harness.judging.intervals import Sampled, student
from folklore.harness.judging.power import decided_distance, resolutions, seeds_for, whole_seeds
from folklore.harness.judging.trial_sets import TrialSet
from folklore.harness.observables import FinalLoss
from folklore.harness.spec import AtLeast, AtMost, Criterion, Study
from tests.harness.helpers import bowl, frame, result


@pytest.mark.parametrize("seeds", [5, 10, 30])
def test_the_distance_that_is_decided(seeds: int) -> None:
    """The power of a t test at that distance, by statsmodels' noncentral t: four of five, roughly."""
    effect = decided_distance(1.0, seeds)
    assert TTestPower().power(effect, seeds, 0.05) == pytest.approx(0.8, abs=0.05)


def test_by_drawing() -> None:
    seeds, spread = 8, 0.3
    distance = decided_distance(spread, seeds)
    draws = np.random.default_rng(1).standard_normal((4000, seeds)) * spread + distance
    decided = 0
    for draw in draws:
        sampled = Sampled(float(draw.mean()), np.ones(2), seeds, False)
        decided += student(sampled, float(draw.std(ddof=1) / math.sqrt(seeds))).low >= 0
    assert decided / len(draws) == pytest.approx(0.8, abs=0.05)


def _criterion(supported: float) -> Criterion:
    return Criterion(name="x", observe=FinalLoss(arm="none"), claimed=AtLeast(value=supported), refuted=AtMost(value=-1.0))


def test_the_seeds_that_a_claim_needs() -> None:
    seen = student(Sampled(0.5, np.ones(2), 5, False), 0.2)
    needed = seeds_for(seen, _criterion(0.2))
    assert needed is not None
    spread = 0.2 * math.sqrt(5)
    assert decided_distance(spread, needed) <= 0.3 < decided_distance(spread, needed - 1)
    assert seeds_for(seen, _criterion(0.6)) is None, "a pilot in neither region is decided by no number of seeds"


def test_of_a_pilot_that_was_cut_short(study: Study) -> None:
    """Three whole seeds of five: enough for a spread, though not for a verdict."""
    wide = Study.model_validate({**study.model_dump(), "factors": {"peak_lr": tuple(2.0**e for e in range(-12, 1))}})

    def outcome(trial):
        gap = 0.1 if trial.arm == "none" else 0.0
        return result(min(4.9, bowl(trial, -7, 2.0, noise=0.002) + gap))

    trials = frame(wide, outcome)
    cut = trials[(trials["seed"] < 3) | ((trials["seed"] == 3) & (trials["arm"] == "none"))]
    pilot = TrialSet(wide, "laptop", "cpu", "here", cut)
    assert whole_seeds(pilot) == [0, 1, 2]
    (found,) = resolutions(pilot, "laptop", 5)
    assert found.pilot == pytest.approx(0.05, rel=0.1)
    assert found.resolves is not None
    assert 0 < found.resolves < 0.05
    assert found.seeds is not None
    assert found.seeds <= 5
