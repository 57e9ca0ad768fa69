"""Curves read where another one comes to a level, of planted runs: one learns twice as fast and is no better for it."""

import numpy as np
import pytest

from folklore.harness.declare import Study
from folklore.harness.declare.metrics import Matched
from folklore.harness.declare.trial import Trial
from folklore.harness.declare.trials import NotEstimableError
from folklore.harness.judge.observe import observe
from folklore.harness.judge.trial_arrays import TrialArrays
from folklore.harness.train.result import LaneResult
from folklore.studies.kit import at_equal_new_accuracy, at_equal_training_loss
from tests.harness.declare.metrics.planted import table_of, with_arms
from tests.harness.helpers import result

STEPS = np.arange(10.0, 110.0, 10.0)
SPEEDS = {"fast": 2.0, "slow": 1.0}


def outcome(trial: Trial) -> LaneResult:
    """Training loss falls in a straight line, twice as fast in one arm; the validation loss is a function of it alone."""
    train_loss = 3.0 - 0.01 * SPEEDS.get(trial.arm, 1.0) * STEPS + 0.1 * (trial.seed % 3)
    return result(
        1.0,
        step=STEPS.tolist(),
        train_loss=train_loss.tolist(),
        evaluation_step=STEPS.tolist(),
        evaluation_loss=(2.0 + 0.5 * train_loss).tolist(),
        evaluation_new_accuracy=(0.005 * SPEEDS.get(trial.arm, 1.0) * STEPS).tolist(),
        evaluation_old_accuracy=(1 - 0.001 * SPEEDS.get(trial.arm, 1.0) * STEPS).tolist(),
    )


@pytest.fixture(scope="module")
def table(study: Study) -> TrialArrays:
    return table_of(with_arms(study, {"fast": {"beta1": 0.8}, "slow": {"beta1": 0.7}}, 0.01), outcome)


def test_runs_are_read_where_they_have_come_equally_far(table: TrialArrays) -> None:
    """At equal steps the fast one is ahead by half a nat; at equal training loss the two are the same."""
    at_steps = [observe(Matched(arm=arm, of="evaluation_loss", where="train_loss", level=2.5), table) for arm in SPEEDS]
    assert [observation.estimate for observation in at_steps] == pytest.approx([3.25, 3.25])
    assert observe(at_equal_training_loss("fast", "slow", 2.5), table).estimate == pytest.approx(0.0, abs=1e-9)


def test_an_accuracy_is_come_to_from_below(table: TrialArrays) -> None:
    observation = observe(Matched(arm="slow", of="evaluation_old_accuracy", where="evaluation_new_accuracy", level=0.4), table)
    assert observation.estimate == pytest.approx(1 - 0.001 * 80)
    assert observe(at_equal_new_accuracy("fast", "slow", 0.4), table).estimate == pytest.approx(0.0, abs=1e-9)


def test_a_level_that_runs_do_not_come_to_is_no_number(table: TrialArrays) -> None:
    with pytest.raises(NotEstimableError, match=r"0% of the runs of .* come to a train loss of 1.5, fewer than 90%"):
        observe(Matched(arm="slow", of="evaluation_loss", where="train_loss", level=1.5), table)
