"""A planted hyperbola, noise scales and gaps between forms, read back from made-up trials."""

import numpy as np
import pytest

from folklore.harness.declare import Study
from folklore.harness.declare.metrics import (
    NoiseScale,
    StepsToTarget,
)
from folklore.harness.declare.metrics.estimating.evaluation import evaluate
from folklore.harness.declare.trial import Trial
from folklore.harness.declare.trials import NotEstimableError
from folklore.harness.judge.observe import observe
from folklore.harness.judge.trial_arrays import TrialArrays
from folklore.harness.train.result import LaneResult
from folklore.studies.metrics.critical_batch import critical_batch_size
from tests.harness.declare.metrics.planted import table_of, with_arms
from tests.harness.helpers import INITIAL_LOSS, result

SIZES = (2, 4, 8, 16, 32, 64, 128, 256)
SMALLEST_STEPS, KNEE = 40.0, 64.0
EVALUATIONS = np.arange(20.0, 3001.0, 20.0)
# The target: half of the fall from INITIAL_LOSS to 1.0, reached at S steps by a line.
TARGET = (INITIAL_LOSS + 1.0) / 2
SWEEP = {"points": tuple((size, f"b_{size}") for size in SIZES), "anchor": "b_8", "share": 0.5}


@pytest.fixture(scope="module")
def sweep(study: Study) -> Study:
    return with_arms(study, {f"b_{size}": {"batch_size": size} for size in SIZES})


def steps_needed(trial: Trial) -> float:
    """The hyperbola at the best LR, 2^-7; an octave off needs a third more; seeds differ by some percent."""
    size = trial.configuration.training.batch_size
    off = abs(np.log2(trial.configuration.training.peak_lr) + 7)
    return SMALLEST_STEPS * (1 + KNEE / size) * 1.33**off * np.exp(0.03 * (trial.seed - 2))


def final_loss(trial: Trial) -> float:
    return 1.0 + 0.05 * (np.log2(trial.configuration.training.peak_lr) + 7) ** 2


def outcome(trial: Trial, last: float = EVALUATIONS[-1], factor: float = 1.0) -> LaneResult:
    steps = EVALUATIONS[last >= EVALUATIONS]
    needed = steps_needed(trial) * factor
    # A straight line through the target; the floor of 1.0 is where the anchor at its best LR ends.
    losses = np.maximum(INITIAL_LOSS - (INITIAL_LOSS - TARGET) * steps / needed, 1.0)
    probes = np.arange(1.0, 11.0)
    batch = trial.configuration.training.batch_size
    trace, signal = 50.0 * probes, 2.0  # the noise scale rises from 25 to 250
    return result(
        final_loss(trial),
        evaluation_step=list(steps),
        evaluation_loss=list(losses),
        probe_step=list(probes),
        probe_gradient_variance=list(trace / batch),
        probe_gradient_norm=list(np.sqrt(signal + trace / batch)),
    )


@pytest.fixture(scope="module")
def table(sweep: Study) -> TrialArrays:
    return table_of(sweep, outcome)


def test_steps_to_a_target(table: TrialArrays) -> None:
    steps = observe(StepsToTarget(arm="b_16", anchor="b_8", share=0.5), table)
    assert steps.estimate == pytest.approx(SMALLEST_STEPS * (1 + KNEE / 16), rel=0.02)


def test_runs_that_do_not_get_there_are_censored(sweep: Study) -> None:
    """With B = 2 stopped at 800 steps of 1320 the knee is still found, and no number of steps is given for it."""

    def stopped(trial: Trial) -> LaneResult:
        return outcome(trial, last=800.0 if trial.arm == "b_2" else EVALUATIONS[-1])

    table = table_of(sweep, stopped)
    assert observe(critical_batch_size(**SWEEP), table).estimate == pytest.approx(KNEE, rel=0.05)
    with pytest.raises(NotEstimableError, match="do not reach the target"):
        observe(StepsToTarget(arm="b_2", anchor="b_8", share=0.5), table)


def test_the_lr_is_chosen_on_the_other_seeds(sweep: Study) -> None:
    """One seed is lucky at an LR that is bad for all others. Its luck misleads the others, and is not counted itself."""

    def lucky(trial: Trial) -> LaneResult:
        if trial.arm == "b_16" and trial.seed == 0 and trial.configuration.training.peak_lr == 2.0**-8:
            return result(final_loss(trial), evaluation_step=list(EVALUATIONS), evaluation_loss=[1.0] * len(EVALUATIONS))
        return outcome(trial)

    table = table_of(sweep, lucky)
    steps = observe(StepsToTarget(arm="b_16", anchor="b_8", share=0.5), table)
    expected = SMALLEST_STEPS * (1 + KNEE / 16) * 1.33 ** (4 / 5)
    assert steps.estimate == pytest.approx(expected, rel=0.02)


def test_a_seed_alone_chooses_by_itself(table: TrialArrays) -> None:
    """As `folklore why` shows it, beside the estimate of all."""
    steps = StepsToTarget(arm="b_16", anchor="b_8", share=0.5)
    alone = evaluate(steps, table, np.eye(table.seeds))
    planted = SMALLEST_STEPS * (1 + KNEE / 16) * np.exp(0.03 * (np.arange(table.seeds) - 2))
    assert alone.tolist() == pytest.approx(planted.tolist(), rel=1e-4)


def test_noise_scales_of_parts_of_a_run(sweep: Study) -> None:
    table = table_of(sweep, outcome)
    assert observe(NoiseScale(arm="b_32"), table).estimate == pytest.approx(25.0 * 5.5, rel=1e-4)
    assert observe(NoiseScale(arm="b_32", last=0.2), table).estimate == pytest.approx(25.0 * 1.5, rel=1e-4)
    assert observe(NoiseScale(arm="b_32", first=0.9), table).estimate == pytest.approx(250.0, rel=1e-4)


def test_a_noise_scale_as_a_mean_over_steps(sweep: Study) -> None:
    """tr(Sigma) is 100 throughout, |G|^2 is 10 and then 1: scales of 10 and 100 average 55; the means' ratio is 100 / 5.5."""

    def falling(trial: Trial) -> LaneResult:
        variance = 100.0 / trial.configuration.training.batch_size
        probes = np.arange(1.0, 11.0) * trial.configuration.training.steps / 10
        signal = np.where(np.arange(10) < 5, 10.0, 1.0)
        return result(
            final_loss(trial),
            probe_step=list(probes),
            probe_gradient_variance=[variance] * 10,
            probe_gradient_norm=list(np.sqrt(signal + variance)),
        )

    table = table_of(sweep, falling)
    assert observe(NoiseScale(arm="b_32", pieces=2), table).estimate == pytest.approx(55.0, rel=1e-4)
    assert observe(NoiseScale(arm="b_32"), table).estimate == pytest.approx(100 / 5.5, rel=1e-4)
    assert observe(NoiseScale(arm="b_32", last=0.6, pieces=2), table).estimate == pytest.approx((10 + 100 / 7) / 2, rel=1e-4)
    with pytest.raises(NotEstimableError, match="no probe in a piece"):
        observe(NoiseScale(arm="b_32", pieces=40), table)


def test_a_mean_gradient_lost_in_noise(sweep: Study) -> None:
    def noisy(trial: Trial) -> LaneResult:
        return result(
            final_loss(trial),
            probe_step=[1.0, 2.0],
            probe_gradient_variance=[4.0, 4.0],
            probe_gradient_norm=[1.0, 1.5],
        )

    study = with_arms(sweep, {}, factors={"peak_lr": (2.0**-8, 2.0**-7, 2.0**-6)})
    with pytest.raises(NotEstimableError, match="lost in its noise"):
        observe(NoiseScale(arm="b_8"), table_of(study, noisy))
