"""Effects that a study's seeds can resolve: against the exact power of the t test and against drawing."""

import math

import numpy as np
import pytest
from statsmodels.stats.power import TTestPower

from folklore.harness.declare import AtLeast, AtMost, Criterion, Study
from folklore.harness.declare.metrics import FailureRate, FinalLoss
from folklore.harness.errors import UserError
from folklore.harness.judge.outcomes import outcome, probabilities
from folklore.harness.judge.power import power_at, require_power, resolutions, seeds_for, verdict_of, whole_seeds
from folklore.harness.judge.statistics.intervals import Sampled, student
from folklore.harness.judge.statistics.power import decided_distance
from folklore.harness.judge.trial_sets import TrialSet
from tests.harness.helpers import bowl, changed, frame, result


@pytest.mark.parametrize("seeds", [5, 10, 30])
def test_the_distance_that_is_decided(seeds: int) -> None:
    """The power of a t test at that distance, by statsmodels' noncentral t: four of five, roughly."""
    effect = decided_distance(1.0, seeds)
    assert TTestPower().power(effect, seeds, 0.05) == pytest.approx(0.8, abs=0.05)


def _criterion(claimed: float, **fields: object) -> Criterion:
    return Criterion.model_validate(
        {
            "name": "x",
            "observe": FinalLoss(arm="none").model_dump(),
            "null": 0.0,
            "claimed": AtLeast(value=claimed).model_dump(),
            "refuted": AtMost(value=-1.0).model_dump(),
            **fields,
        }
    )


@pytest.mark.parametrize(
    ("claimed", "expected", "verdict"),
    [(0.2, 0.5, "supported"), (0.8, 0.5, "partly"), (0.8, -1.5, "refuted"), (3.0, 0.25, "refuted")],
)
def test_power_by_drawing(claimed: float, expected: float, verdict: str) -> None:
    """Ten normal seeds at the expected value, judged ten thousand times: how often the verdict is the expected one."""
    criterion, seeds, spread = _criterion(claimed, refuted=AtMost(value=0.5 if claimed > 1 else -1.0).model_dump()), 10, 0.6
    assert verdict_of(criterion, expected) == verdict
    draws = np.random.default_rng(4).standard_normal((10_000, seeds)) * spread + expected
    hits = 0
    for draw in draws[:3000]:
        sampled = Sampled(float(draw.mean()), np.ones(2), seeds, False)
        observation = student(sampled, float(draw.std(ddof=1) / math.sqrt(seeds)))
        decision, _ = outcome(criterion, observation, probabilities(criterion, observation))
        # Better than partly is not a failure to show that it is partly so.
        hits += decision == verdict or (verdict == "partly" and decision == "supported")
    power = power_at(criterion, expected, spread, seeds)
    assert hits / 3000 == pytest.approx(power, abs=0.025)


@pytest.mark.parametrize("seeds", [2, 3, 6, 12, 22, 61])
def test_power_grows_as_the_spread_shrinks(seeds: int) -> None:
    """Down to where seeds all but agree, which is certain power: statsmodels' is NaN for some such spreads."""
    spreads = 0.5 / np.linspace(0.25, 60, 400) * math.sqrt(seeds)
    powers = np.array([power_at(_criterion(0.0), 0.5, spread, seeds) for spread in spreads])
    assert np.diff(powers).min() > -1e-6
    assert powers[0] < 0.2
    assert powers[-1] == pytest.approx(1.0, abs=1e-3)
    assert power_at(_criterion(0.0), 0.5, 1e-9, seeds) == pytest.approx(1.0)


def test_the_power_of_a_share_of_runs() -> None:
    """Seventeen of seventeen runs are needed to show a share of at least 0.8; the binomial sum by hand."""
    criterion = Criterion(
        name="x", observe=FailureRate(arm="none", tuned_for="half"), claimed=AtLeast(value=0.8), refuted=AtMost(value=0.5)
    )
    assert power_at(criterion, 0.95, None, 17) == pytest.approx(0.95**17)
    assert power_at(criterion, 1.0, None, 16) == 0.0
    assert seeds_for(criterion, 1.0, None) == 17


def test_the_seeds_that_an_expected_value_needs() -> None:
    criterion, spread = _criterion(0.2), 0.45
    needed = seeds_for(criterion, 0.5, spread)
    assert needed is not None
    assert power_at(criterion, 0.5, spread, needed) >= 0.8 > power_at(criterion, 0.5, spread, needed - 1)
    assert seeds_for(criterion, 0.2, spread) is None, "on the edge itself no number of seeds decides"


def test_a_study_with_too_little_power_is_refused(study: Study) -> None:
    """By the spread that it declares, before anything is trained, with the seeds that would do; unless it says why not."""

    def declared(**fields: object) -> Study:
        values = {"null": 0.0, "expected": {"value": 0.01, "source": "theory", "spread": 0.02}, **fields}
        return changed(study, {f"judgements.0.criteria.0.{name}": value for name, value in values.items()})

    with pytest.raises(UserError, match=r"5 seeds show the expected \+1% of .* with 14% power, and 80% is needed: 34 seeds"):
        require_power(declared(), "laptop", None)
    require_power(declared(underpowered="a pilot"), "laptop", None)
    require_power(declared(expected={"value": 0.05, "source": "theory", "spread": 0.02}), "laptop", None)
    require_power(declared(expected={"value": 0.01, "source": "theory"}), "laptop", None)  # nothing is known of its spread
    elsewhere = {"value": 0.01, "source": "theory", "spread": 0.02, "scales": ("smoke",)}
    require_power(declared(expected=elsewhere), "laptop", None)


def test_of_a_pilot_that_was_cut_short(wide: Study) -> None:
    """Three whole seeds of five: enough for a spread, though not for a verdict."""

    def outcome(trial):
        gap = 0.1 if trial.arm == "none" else 0.0
        return result(min(4.9, bowl(trial, -7, 2.0, noise=0.002) + gap))

    trials = frame(wide, outcome)
    cut = trials[(trials["seed"] < 3) | ((trials["seed"] == 3) & (trials["arm"] == "none"))]
    pilot = TrialSet(wide, "laptop", "cpu", "here", cut)
    assert whole_seeds(pilot) == [0, 1, 2]
    (resolution,) = resolutions(wide, "laptop", 5, pilot)
    assert resolution.pilot == pytest.approx(0.05, rel=0.1)
    assert resolution.resolves is not None
    assert 0 < resolution.resolves < 0.05
    assert resolution.seeds is not None
    assert resolution.seeds <= 5
