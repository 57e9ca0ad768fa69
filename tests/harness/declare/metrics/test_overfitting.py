"""Where runs turn, what their test loss is there and how many turn: curves that are known beforehand."""

import numpy as np
import pytest

from folklore.harness.declare import Study
from folklore.harness.declare.metrics import LossGap
from folklore.harness.declare.trial import Trial
from folklore.harness.declare.trials import NotEstimableError
from folklore.harness.judge.observe import observe
from folklore.harness.judge.trial_arrays import TrialArrays
from folklore.harness.train.result import LaneResult
from folklore.studies.metrics.overfitting import stopped_loss, turn_rate
from tests.harness.declare.metrics.planted import table_of, with_arms
from tests.harness.helpers import INITIAL_LOSS, result

STEPS = np.arange(10.0, 210.0, 10.0)
ARMS = ("turns", "falls", "unlearning")


def turn(arm: str, seed: int) -> float:
    """Step of the lowest validation loss, one of STEPS."""
    return {"turns": 50.0, "falls": 200.0}[arm] - 10.0 * (seed % 2)


def validation(arm: str, seed: int) -> np.ndarray:
    return 0.5 + np.abs(STEPS - turn(arm, seed)) / 100


def held_out(arm: str, seed: int) -> np.ndarray:
    """Lowest twenty steps later."""
    return 0.7 + 0.01 * (seed % 3) + np.abs(STEPS - turn(arm, seed) - 20) / 25


def outcome(trial: Trial) -> LaneResult:
    if trial.arm not in ARMS:
        return result(2.0)
    arm = "turns" if trial.arm == "unlearning" else trial.arm
    down = np.exp(-STEPS / 100)
    return result(
        float(held_out(arm, trial.seed)[-1]),
        evaluation_step=STEPS.tolist(),
        evaluation_loss=validation(arm, trial.seed).tolist(),
        evaluation_test_loss=held_out(arm, trial.seed).tolist(),
        evaluation_test_accuracy=(1 - held_out(arm, trial.seed) / 10).tolist(),
        evaluation_training_loss=(1 / down if trial.arm == "unlearning" else down).tolist(),
    )


@pytest.fixture(scope="module")
def table(study: Study) -> TrialArrays:
    return table_of(with_arms(study, {arm: {"batch_size": 2 + index} for index, arm in enumerate(ARMS)}, 0.01), outcome)


def seen(metric: object, table: TrialArrays) -> float:
    return observe(metric, table).estimate  # type: ignore[arg-type]


def test_a_run_is_stopped_where_its_own_validation_loss_is_lowest(table: TrialArrays) -> None:
    seeds = table.seed_numbers
    stopped = {at: seen(stopped_loss(arm="turns", at=at), table) for at in ("lowest_validation", "lowest_test", "end")}
    at_turn = [float(held_out("turns", seed)[int(turn("turns", seed) / 10) - 1]) for seed in seeds]
    assert stopped["lowest_validation"] == pytest.approx(np.mean(at_turn))
    assert stopped["lowest_test"] == pytest.approx(np.mean([held_out("turns", seed).min() for seed in seeds]))
    assert stopped["end"] == pytest.approx(np.mean([held_out("turns", seed)[-1] for seed in seeds]))
    assert stopped["end"] > INITIAL_LOSS  # an overfitted run counts as it is
    assert seen(stopped_loss(arm="turns", of="test_error"), table) == pytest.approx(stopped["lowest_validation"] / 10)


def test_a_loss_reduction_ends_where_a_run_is_stopped(table: TrialArrays) -> None:
    stop, end = stopped_loss(arm="turns"), stopped_loss(arm="turns", at="end")
    expected = (seen(end, table) - seen(stop, table)) / (INITIAL_LOSS - seen(stop, table))
    assert seen(LossGap(left=end, right=stop), table) == pytest.approx(expected)


@pytest.mark.parametrize(("arm", "by", "share"), [
    ("turns", 0.01, 1.0),
    ("turns", 0.9, 0.0),
    ("falls", 0.05, 0.0),
    ("unlearning", 0.01, 0.0),
])  # fmt: skip
def test_a_run_turns_whose_validation_loss_rises_while_training_falls(
    arm: str, by: float, share: float, table: TrialArrays
) -> None:
    assert seen(turn_rate(arm=arm, by=by), table) == share


def test_what_was_not_evaluated_is_said(study: Study, table: TrialArrays) -> None:
    without = table_of(table.study, lambda trial: result(1.0, evaluation_loss=[1.0, 0.5], evaluation_test_loss=[]))
    with pytest.raises(NotEstimableError, match=r"set measurement\.test_examples"):
        observe(stopped_loss(arm="turns"), without)
