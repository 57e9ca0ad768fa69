"""Shares of variance between lines of arms, and step times that are partly overhead, against brute force."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from folklore.harness.declare import Study
from folklore.harness.declare.trial import Trial
from folklore.harness.declare.trials import NotEstimableError
from folklore.harness.judge.observe import observe
from folklore.harness.judge.trial_arrays import TrialArrays
from folklore.harness.train.result import LaneResult
from folklore.studies.metrics.gradient_noise import between_lines, overhead_batch
from tests.harness.declare.metrics.planted import table_of, with_arms
from tests.harness.helpers import frame, result

# Three lines of three arms, and one of two.
LINES = (("a0", "a1", "a2"), ("b0", "b1", "b2"), ("c0", "c1"))
ARMS = tuple(itertools.chain(*LINES))
BATCHES = {f"{name}{index}": 4 ** (index + 1) for name in "abc" for index in range(3)}


def sharpness(arm: str, seed: int) -> float:
    generator = np.random.default_rng([seed, *arm.encode()])
    return float(np.exp("abc".index(arm[0]) + 0.3 * int(arm[1]) + 0.1 * generator.standard_normal() + 0.05 * seed))


def outcome(trial: Trial) -> LaneResult:
    if trial.arm not in ARMS:
        return result(2.0)
    value = sharpness(trial.arm, trial.seed)
    trained = result(math.log(value) / 3, probe_step=[1.0, 10.0], probe_sharpness=[math.nan, value])
    return replace(trained, step_seconds=(0.02 + 0.001 * BATCHES[trial.arm]) * (1 + 0.01 * trial.seed))


@pytest.fixture(scope="module")
def lined(study: Study) -> Study:
    arms = {arm: {"warmup_fraction": 0.01 * (1 + ARMS.index(arm)), "batch_size": BATCHES[arm]} for arm in ARMS}
    return with_arms(study, arms, 0.01)


@pytest.fixture(scope="module")
def table(lined: Study) -> TrialArrays:
    return table_of(lined, outcome)


def share(values: dict[str, float]) -> float:
    """1 - sums of squares within over all, by loops."""
    centre = sum(values.values()) / len(values)
    total = sum((value - centre) ** 2 for value in values.values())
    within = 0.0
    for line in LINES:
        mean = sum(values[arm] for arm in line) / len(line)
        within += sum((values[arm] - mean) ** 2 for arm in line)
    return 1 - within / total


def test_a_seed_without_an_eigenvalue_counts_nowhere_and_an_arm_without_any_has_no_number(lined: Study) -> None:
    def lost(arm: str, seeds: tuple[int, ...]) -> TrialArrays:
        def found(trial: Trial) -> LaneResult:
            whole = outcome(trial)
            gone = trial.arm == arm and trial.seed in seeds
            return replace(whole, curves={**whole.curves, "probe_sharpness": [math.nan] * 2}) if gone else whole

        return table_of(lined, found)

    observable = between_lines(lines=LINES, of="sharpness", spread_at_least=0.01)
    numbers = lined.seed_numbers_at("laptop")
    logs = {arm: float(np.mean([math.log(sharpness(arm, seed)) for seed in numbers])) for arm in ARMS}
    logs["b1"] = float(np.mean([math.log(sharpness("b1", seed)) for seed in numbers[1:]]))
    assert observe(observable, lost("b1", numbers[:1])).estimate == pytest.approx(share(logs))
    with pytest.raises(NotEstimableError, match="no seed of an arm has a sharpness"):
        observe(observable, lost("b1", tuple(numbers)))


def test_what_was_not_measured_or_hardly_differs_has_no_number(lined: Study, table: TrialArrays) -> None:
    with pytest.raises(NotEstimableError, match=r"the arms differ by .*, less than 100: there is nothing to share out"):
        observe(between_lines(lines=LINES, of="sharpness", spread_at_least=100.0), table)
    old = frame(lined, outcome)
    old["curve_probe_sharpness"] = None
    with pytest.raises(NotEstimableError, match="sharpness was not measured in 'a0'; the study has to set"):
        observe(between_lines(lines=LINES, of="sharpness", spread_at_least=0.01), TrialArrays(lined, "laptop", old))


def test_lines_are_groups() -> None:
    with pytest.raises(ValidationError, match="lines hold a twice; an arm is on one line"):
        between_lines(lines=(("a", "b"), ("a", "c")), of="test_loss", spread_at_least=0.1)
    with pytest.raises(ValidationError, match="nothing can differ within them"):
        between_lines(lines=(("a",), ("b",)), of="test_loss", spread_at_least=0.1)


def test_overhead_by_least_squares_of_relative_errors(lined: Study) -> None:
    times = {"a0": 0.03, "a1": 0.031, "a2": 0.09}

    def found(trial: Trial) -> LaneResult:
        return replace(outcome(trial), step_seconds=times.get(trial.arm, 1.0))

    points = tuple((BATCHES[arm], arm) for arm in times)
    observation = observe(overhead_batch(points=points), table_of(lined, found))
    t, batch = np.array(list(times.values())), np.array([BATCHES[arm] for arm in times], dtype=float)
    slope, constant = np.polyfit(batch, t, 1, w=1 / t)
    assert observation.estimate == pytest.approx(constant / slope)


def test_a_line_needs_two_points_at_the_scale(lined: Study) -> None:
    """Points of another scale's arms are left out there, and are no fault of the page."""
    elsewhere = {arm: lined.arms[arm].model_copy(update={"scales": ("smoke",)}) for arm in LINES[0][1:]}
    table = table_of(lined.model_copy(update={"arms": {**lined.arms, **elsewhere}}), outcome)
    with pytest.raises(NotEstimableError, match="1 of its 3 points are trained at scale laptop, and a line needs two"):
        observe(overhead_batch(points=tuple((BATCHES[arm], arm) for arm in LINES[0])), table)


def test_times_that_were_not_measured_have_no_overhead(lined: Study) -> None:
    none = frame(lined, lambda trial: replace(outcome(trial), step_seconds=None))
    with pytest.raises(NotEstimableError, match="step seconds of 'a0' and 'a1' and 'a2' were not measured"):
        observe(overhead_batch(points=tuple((BATCHES[arm], arm) for arm in LINES[0])), TrialArrays(lined, "laptop", none))
