"""Runs read at equal training loss: crossings and correlations that are known beforehand."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from pydantic import ValidationError

from folklore.harness.declare import Study
from folklore.harness.declare.trial import Trial
from folklore.harness.declare.trials import NotEstimableError
from folklore.harness.judge.observe import observe
from folklore.harness.judge.trial_arrays import TrialArrays
from folklore.harness.train.result import LaneResult
from folklore.studies.metrics.generalization import basin_sharpness, sharpness_at_loss, sharpness_correlation
from tests.harness.declare.metrics.planted import table_of, with_arms
from tests.harness.helpers import bowl, frame, result

ARMS = tuple(f"batch_{index}" for index in range(7))
EVALUATED, PROBED = [float(step) for step in range(2, 21, 2)], [1.0, 7.0, 13.0, 20.0]
LEVEL = 0.9


def fall(arm: str, seed: int) -> float:
    """Nats a step, so that runs stop at different steps."""
    return 0.1 + 0.01 * ARMS.index(arm) + 0.002 * (seed % 7)


def stop(arm: str, seed: int) -> float:
    return (2.0 - LEVEL) / fall(arm, seed)


def log_sharpness(arm: str, seed: int, step: float) -> float:
    """Linear in the step, so that what is interpolated is exact."""
    generator = np.random.default_rng([seed, ARMS.index(arm)])
    return float(generator.normal() + 0.1 * step)


def held_out(arm: str, seed: int, step: float) -> float:
    generator = np.random.default_rng([1, seed, ARMS.index(arm)])
    return float(2.0 + 0.3 * generator.normal() + 0.3 * log_sharpness(arm, seed, 0.0) - 0.02 * step)


def outcome(trial: Trial) -> LaneResult:
    if trial.arm not in ARMS:
        return result(2.0)
    arm, seed = trial.arm, trial.seed
    return result(
        held_out(arm, seed, 20.0),
        evaluation_step=EVALUATED,
        evaluation_training_loss=[2.0 - fall(arm, seed) * step for step in EVALUATED],
        evaluation_loss=[held_out(arm, seed, step) for step in EVALUATED],
        evaluation_accuracy=[1 - held_out(arm, seed, step) / 5 for step in EVALUATED],
        probe_step=PROBED,
        probe_sharpness=[math.exp(log_sharpness(arm, seed, step)) for step in PROBED],
    )


def altered(arms: tuple[str, ...], **curves: list[float]) -> Callable[[Trial], LaneResult]:
    def found(trial: Trial) -> LaneResult:
        whole = outcome(trial)
        return replace(whole, curves={**whole.curves, **curves}) if trial.arm in arms else whole

    return found


@pytest.fixture(scope="module")
def stopping(study: Study) -> Study:
    return with_arms(study, {arm: {"batch_size": 2 + ARMS.index(arm)} for arm in ARMS}, 0.01)


@pytest.fixture(scope="module")
def table(stopping: Study) -> TrialArrays:
    return table_of(stopping, outcome)


@pytest.mark.parametrize("of", ["evaluation_loss", "evaluation_accuracy"])
def test_the_correlation_is_scipys_within_each_seed(of: str, table: TrialArrays) -> None:
    correlations = []
    for seed in table.seed_numbers:
        sharp = [log_sharpness(arm, seed, stop(arm, seed)) for arm in ARMS]
        correlations.append(scipy.stats.spearmanr(sharp, [held_out(arm, seed, stop(arm, seed)) for arm in ARMS]).statistic)
    observable = sharpness_correlation(arms=ARMS, level=LEVEL, of=of)
    assert observe(observable, table).estimate == pytest.approx(np.mean(correlations))
    assert observable.estimate(table, np.eye(table.seeds)) == pytest.approx(correlations)


def test_runs_that_do_not_stop_are_left_out_and_too_few_are_no_number(stopping: Study) -> None:
    never = table_of(stopping, altered(ARMS[:1], evaluation_training_loss=[2.0] * 10))
    kept = ARMS[1:]
    correlations = [
        scipy.stats.spearmanr(
            [log_sharpness(arm, seed, stop(arm, seed)) for arm in kept], [held_out(arm, seed, stop(arm, seed)) for arm in kept]
        ).statistic
        for seed in never.seed_numbers
    ]
    assert observe(sharpness_correlation(arms=ARMS, level=LEVEL), never).estimate == pytest.approx(np.mean(correlations))
    with pytest.raises(
        NotEstimableError, match=r"0% of the runs of 'batch_0' come to a training loss of 0.9 .*, fewer than 75%"
    ):
        observe(sharpness_at_loss(arm=ARMS[0], level=LEVEL), never)
    with pytest.raises(NotEstimableError, match=r"86% of the runs of these arms come .*, fewer than 90%; longer runs"):
        observe(sharpness_correlation(arms=ARMS, level=LEVEL, least_share=0.9), never)
    with pytest.raises(NotEstimableError, match="no seed has 5 settings that differ"):
        observe(sharpness_correlation(arms=ARMS[:4], level=LEVEL), table_of(stopping, outcome))


def test_what_is_below_the_level_at_its_first_evaluation_does_not_say_when_it_came(stopping: Study) -> None:
    table = table_of(stopping, altered(ARMS[:1], evaluation_training_loss=[0.5] * 10))
    with pytest.raises(NotEstimableError, match="0% of the runs"):
        observe(sharpness_at_loss(arm=ARMS[0], level=LEVEL), table)


def test_sharpness_that_did_not_converge_is_passed_over_and_nothing_is_extrapolated(stopping: Study) -> None:
    def lost(trial: Trial) -> LaneResult:
        whole = outcome(trial)
        return replace(
            whole, curves={**whole.curves, "probe_sharpness": [*whole.curves["probe_sharpness"][:1], *[math.nan] * 3]}
        )

    one = frame(stopping, lambda trial: lost(trial) if trial.arm == ARMS[0] else outcome(trial))
    with pytest.raises(NotEstimableError, match="0% of the runs"):
        observe(sharpness_at_loss(arm=ARMS[0], level=LEVEL), TrialArrays(stopping, "laptop", one))


@pytest.mark.parametrize(
    ("column", "words"),
    [("probe_sharpness", "sharpness"), ("evaluation_training_loss", "training_examples")],
)
def test_what_was_not_measured_has_no_number(column: str, words: str, stopping: Study) -> None:
    old = frame(stopping, outcome)
    old[f"curve_{column}"] = None
    with pytest.raises(NotEstimableError, match=rf"was not measured in 'batch_0'; the study has to set measurement.{words}"):
        observe(sharpness_at_loss(arm=ARMS[0], level=LEVEL), TrialArrays(stopping, "laptop", old))


def test_an_arm_counts_once() -> None:
    with pytest.raises(ValidationError, match="one stands there twice; name each once"):
        sharpness_correlation(arms=("a", "a"), level=1.0)


def sharp_bowl(lowest: float, bump: float = 0.0) -> Callable[[Trial], LaneResult]:
    """Bowls on 2^-9 to 2^-5, whose runs deviate by 0.3 nats and end with a sharpness of one over the LR; bump: of 2^-6."""

    def outcome(trial: Trial) -> LaneResult:
        lr = trial.configuration.training.peak_lr
        loss = bowl(trial, lowest, 2.0, 0.3) + 0.3 * (-1) ** trial.seed + bump * (lr == 2.0**-6)
        return result(loss, validation_loss=loss, probe_step=PROBED, probe_sharpness=[9.0, 9.0, 9.0, 1 / lr])

    return outcome


def test_a_basin_is_about_the_best_value_and_ends_where_a_higher_loss_lies(study: Study) -> None:
    table = table_of(study, sharp_bowl(-7))
    assert observe(basin_sharpness(arm="none"), table).estimate == pytest.approx(2.0**7)
    assert observe(basin_sharpness(arm="none", at="sharpest"), table).estimate == pytest.approx(2.0**8, rel=0.05)
    divided = table_of(study, sharp_bowl(-7, bump=1.5))
    crossing = 7 - 0.3 / (0.3 + 1.5)
    assert observe(basin_sharpness(arm="none", at="flattest"), divided).estimate == pytest.approx(2.0**crossing, rel=0.05)


def test_a_basin_that_the_grid_does_not_hold_has_no_sharpness(study: Study) -> None:
    with pytest.raises(NotEstimableError, match=r"as good as the best of .* is the lowest that was tried"):
        observe(basin_sharpness(arm="none"), table_of(study, sharp_bowl(-9)))
