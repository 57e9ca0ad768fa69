"""Accuracies and losses on old and new tasks, at the end and where the new one comes to a level, of curves that are known."""

import numpy as np
import pytest
from pydantic import ValidationError

from folklore.harness.declare import AtLeast, AtMost, Criterion, Judgement, Study
from folklore.harness.declare.trial import Trial
from folklore.harness.declare.trials import NotEstimableError
from folklore.harness.judge.grids import weak_grids
from folklore.harness.judge.observe import observe
from folklore.harness.judge.trial_arrays import TrialArrays
from folklore.harness.train.result import LaneResult
from folklore.studies.metrics.forgetting import task_accuracy, task_loss
from tests.harness.declare.metrics.planted import table_of, with_arms
from tests.harness.helpers import result

STEPS = np.arange(10.0, 110.0, 10.0)
DIGITS = {"model": "mlp", "dataset": "digits", "width": 8, "depth": 1, "steps": 100, "tasks": 2}
STRENGTHS = (1.0, 10.0, 100.0)


def learnt(arm: str) -> np.ndarray:
    """Accuracy on the new task: zero in the first half, and then in a straight line up to one."""
    return np.maximum(0.0, STEPS - 50) / 50 * (0.5 if arm == "slow" else 1.0)


def remembered(seed: int, strength: float) -> np.ndarray:
    """Accuracy on the old task, higher for a larger strength; nan until the new task begins."""
    accuracy = 0.8 - learnt("fast") * (0.4 - 0.001 * strength) + 0.01 * (seed % 5)
    return np.where(STEPS > 50, accuracy, np.nan)


def outcome(trial: Trial) -> LaneResult:
    if trial.arm not in ("fast", "slow", "held"):
        return result(2.0)
    strength = float(trial.point.get("consolidation", 0.0))
    trained = result(
        1.0,
        evaluation_step=STEPS.tolist(),
        evaluation_old_accuracy=remembered(trial.seed, strength).tolist(),
        evaluation_new_accuracy=learnt(trial.arm).tolist(),
        evaluation_old_loss=(2 - remembered(trial.seed, strength)).tolist(),
        evaluation_new_loss=(2 - learnt(trial.arm)).tolist(),
    )
    object.__setattr__(trained, "validation_accuracy", 0.5 + 0.1 * (strength == 10.0))
    object.__setattr__(trained, "validation_loss", trained.validation_loss - 0.1 * (strength == 10.0))
    return trained


@pytest.fixture(scope="module")
def table(study: Study) -> TrialArrays:
    made = with_arms(study, {"fast": DIGITS, "slow": {**DIGITS, "beta1": 0.5}}, 0.01)
    held = with_arms(study, {"held": {**DIGITS, "beta2": 0.9}}).arms["held"]
    held = held.model_copy(update={"factors": {"consolidation": STRENGTHS, "peak_lr": (0.01,)}})
    return table_of(made.model_copy(update={"arms": {**made.arms, "held": held}}), outcome)


def test_the_last_task_is_read_by_itself(table: TrialArrays) -> None:
    assert observe(task_accuracy(arm="slow", tasks="new"), table).estimate == pytest.approx(0.5)
    assert observe(task_loss(arm="slow", tasks="new"), table).estimate == pytest.approx(1.5)


def test_the_value_of_the_highest_validation_accuracy_is_read(table: TrialArrays) -> None:
    accuracy = observe(task_accuracy(arm="held", over="consolidation"), table).estimate
    assert accuracy == pytest.approx(np.mean([remembered(seed, 10.0)[-1] for seed in table.seed_numbers]))


def test_the_value_of_the_lowest_validation_loss_is_read(table: TrialArrays) -> None:
    loss = observe(task_loss(arm="held", over="consolidation"), table).estimate
    assert loss == pytest.approx(np.mean([2 - remembered(seed, 10.0)[-1] for seed in table.seed_numbers]))


def test_a_value_that_does_not_come_to_the_level_is_not_chosen(study: Study) -> None:
    """The strength of 10 has the best validation accuracy, and learns half of the new task."""

    def slower(trial: Trial) -> LaneResult:
        trained = outcome(trial)
        if trial.arm == "held" and trial.point["consolidation"] == 10.0:
            trained.curves["evaluation_new_accuracy"] = learnt("slow").tolist()
        return trained

    held = with_arms(study, {"held": {**DIGITS, "beta2": 0.9}}, 0.01).arms["held"]
    held = held.model_copy(update={"factors": {"consolidation": STRENGTHS, "peak_lr": (0.01,)}})
    table = table_of(study.model_copy(update={"arms": {**study.arms, "held": held}}), slower)
    at_level = observe(task_accuracy(arm="held", over="consolidation", new_accuracy=0.9), table).estimate
    expected = [0.8 - 0.9 * (0.4 - 0.001 * 1.0) + 0.01 * (seed % 5) for seed in table.seed_numbers]
    assert at_level == pytest.approx(np.mean(expected))
    at_the_end = observe(task_accuracy(arm="held", over="consolidation"), table).estimate
    assert at_the_end == pytest.approx(np.mean([remembered(seed, 10.0)[-1] for seed in table.seed_numbers]))


@pytest.mark.parametrize(("strengths", "ends"), [(STRENGTHS, 0), (STRENGTHS[1:], 1), (STRENGTHS[:2], 1)])
def test_a_strength_at_an_end_of_its_grid_is_named(study: Study, strengths: tuple[float, ...], ends: int) -> None:
    """The strength of 10 has the best validation accuracy: inside the whole grid, at an end of one that is cut."""
    made = with_arms(study, {"held": {**DIGITS, "beta2": 0.9}}, 0.01)
    held = made.arms["held"].model_copy(update={"factors": {"consolidation": strengths, "peak_lr": (0.01,)}})
    table = table_of(made.model_copy(update={"arms": {**made.arms, "held": held}}), outcome)
    criterion = Criterion(
        name="x",
        observe=task_accuracy(arm="held", over="consolidation"),
        claimed=AtLeast(value=0.5),
        refuted=AtMost(value=0.4),
    )
    lines = weak_grids(Judgement(claim="a.b", criteria=(criterion,)), table)
    assert [line.endswith("10, lies at an end of its grid") for line in lines if "end of" in line] == [True] * ends


@pytest.mark.parametrize("strength", STRENGTHS)
def test_a_value_that_is_named_is_read(table: TrialArrays, strength: float) -> None:
    for metric, offset, sign in ((task_accuracy, 0.0, 1.0), (task_loss, 2.0, -1.0)):
        estimate = observe(metric(arm="held", over="consolidation", at=strength), table).estimate
        assert estimate == pytest.approx(
            offset + sign * np.mean([remembered(seed, strength)[-1] for seed in table.seed_numbers])
        )


def test_ranks_are_whole_numbers_all_the_same(study: Study) -> None:
    ranked = with_arms(study, {"held": DIGITS}).arms["held"]
    ranked = ranked.model_copy(update={"factors": {"adapter_rank": (1, 2, 4), "peak_lr": (0.01,)}})
    table = table_of(study.model_copy(update={"arms": {**study.arms, "held": ranked}}), outcome)
    accuracy = observe(task_accuracy(arm="held", over="adapter_rank", at=2), table).estimate
    assert accuracy == pytest.approx(np.mean([remembered(seed, 0.0)[-1] for seed in table.seed_numbers]))


def test_two_values_will_do_where_one_is_named(table: TrialArrays) -> None:
    held = table.study.arms["held"].model_copy(update={"factors": {"consolidation": STRENGTHS[:2], "peak_lr": (0.01,)}})
    few = table.study.model_copy(update={"arms": {**table.study.arms, "held": held}})

    def judged(at: float | None) -> Study:
        observed = task_accuracy(arm="held", over="consolidation", at=at)
        criterion = Criterion(name="it", observe=observed, claimed=AtLeast(value=0.5), refuted=AtMost(value=0.1))
        judgement = Judgement(claim="forget.happens", criteria=(criterion,))
        return Study.model_validate({**few.model_dump(), "judgements": [judgement.model_dump()]})

    assert judged(at=10.0).arms["held"] == held
    with pytest.raises(ValidationError, match="an optimum needs at least 3 values"):
        judged(at=None)


def test_what_does_not_come_to_the_level_has_no_number(table: TrialArrays) -> None:
    with pytest.raises(NotEstimableError, match=r"0% of the runs of 'slow' come to an accuracy of 0\.7 on the last task"):
        observe(task_accuracy(arm="slow", new_accuracy=0.7), table)
    with pytest.raises(NotEstimableError, match=r"0% of the runs of 'slow' come to a loss of 1\.3 on the last task"):
        observe(task_loss(arm="slow", new_loss=1.3), table)


def test_without_tasks_it_says_so(study: Study) -> None:
    one = table_of(with_arms(study, {"one": {"batch_size": 3}}, 0.01), lambda trial: result(
        1.0, evaluation_old_accuracy=[], evaluation_new_accuracy=[]
    ))  # fmt: skip
    with pytest.raises(NotEstimableError, match=r"the study has to set workload\.tasks"):
        observe(task_accuracy(arm="one"), one)
