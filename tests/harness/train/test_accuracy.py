"""Accuracies and training examples in eval mode against scikit-learn, plain torch and counting; where there are none; and what
the judge reads of them."""

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from sklearn.metrics import accuracy_score, log_loss
from torch import Tensor

from folklore.harness.declare import Study, Training, Workload
from folklore.harness.declare.metrics import Curve, FinalLoss, Gap, LossAt, TunedLoss
from folklore.harness.declare.trials import NotEstimableError
from folklore.harness.judge.trial_arrays import TrialArrays
from folklore.harness.plan.cost import trial_passes
from folklore.harness.plan.store import trial_rows
from folklore.harness.train.pack import Pack
from folklore.harness.train.workloads import network as networks
from folklore.harness.train.workloads import workload_of
from folklore.harness.train.workloads.data.examples import digits
from folklore.harness.train.workloads.data.text import Text
from folklore.harness.train.workloads.network import NOT_COUNTED
from folklore.harness.train.workloads.own.finding import find
from tests.harness import helpers
from tests.harness.train import contract
from tests.harness.train.contract import GPT, trained
from tests.harness.train.single_steps import relu_mlp, weights_of

MLP = Workload(model="mlp", dataset="digits", width=16, depth=1)
MEASUREMENT = {
    "probes": 2, "evaluations": 3, "evaluation_examples": 200, "final_examples": 300, "training_examples": 400,
    "curve_points": 5,
}  # fmt: skip
lane = partial(contract.lane, measurement=MEASUREMENT, steps=60, batch_size=16, peak_lr=2.0**-4)
NOISE = 0.5


def chances(made: Pack, lane: int, features: Tensor) -> np.ndarray:
    """Probabilities of the classes, by torch alone, [N, 10]."""
    return relu_mlp(weights_of(made, lane), features).detach().double().softmax(dim=1).numpy()


def test_against_scikit_learn() -> None:
    """For the final validation and test samples, and for training examples with the labels that they are trained on."""
    noisy = MLP.model_copy(update={"label_noise": NOISE})
    made = trained(lane(noisy, 1, peak_lr=2.0**-6, steps=300), lane(noisy, 2, peak_lr=2.0**-7, steps=300))
    data = digits()
    samples = {
        "validation": (data.arrays("validation"), 300),
        "test": (data.arrays("test"), 300),
        "training": (data.training_arrays(NOISE), 400),
    }
    for number, result in enumerate(made.results()):
        for name, ((features, labels), count) in samples.items():
            index = torch.linspace(0, len(labels) - 1, count).round().long()
            probabilities = chances(made, number, features[index])
            expected = accuracy_score(labels[index], probabilities.argmax(axis=1))
            accuracy = result.final_training_accuracy if name == "training" else getattr(result, f"{name}_accuracy")
            assert accuracy == pytest.approx(expected, abs=1e-6)
            loss = result.final_training_loss if name == "training" else getattr(result, f"{name}_loss")
            assert loss == pytest.approx(log_loss(labels[index], probabilities, labels=range(10)), rel=1e-4)
        # Half of the labels are drawn at random: what is trained on them is right less often than on clean ones.
        clean = data.arrays("train")[1]
        index = torch.linspace(0, len(clean) - 1, 400).round().long()
        of_clean = accuracy_score(clean[index], chances(made, number, data.arrays("train")[0][index]).argmax(axis=1))
        assert abs(result.final_training_accuracy - of_clean) > 0.1


def test_curves_end_with_the_final_values() -> None:
    made = trained(lane(MLP, 1, measurement=MEASUREMENT | {"evaluation_examples": 300}))
    (result,) = made.results()
    curves = result.curves
    assert len(curves["evaluation_accuracy"]) == len(curves["evaluation_step"]) == 3
    assert curves["evaluation_accuracy"][-1] == result.validation_accuracy
    assert curves["evaluation_training_accuracy"][-1] == result.final_training_accuracy
    assert curves["evaluation_training_loss"][-1] == result.final_training_loss
    assert result.initial_accuracy is not None
    assert result.initial_accuracy < 0.4 < curves["evaluation_accuracy"][0] <= 1


@pytest.mark.parametrize("chunk", [7, 4096])
def test_of_tokens_that_count(text: Text, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One by one, however many are evaluated at once."""
    monkeypatch.setattr(networks, "EVALUATION_TARGETS", chunk)
    network = workload_of(GPT).network(text.facts, [1, 2], torch.device("cpu"), "fp32")
    index = torch.from_numpy(text.sample_index("test", 20, GPT.context))
    inputs, targets = text.gather(text.arrays("test"), index, GPT.context)
    targets = targets.masked_fill(targets % 3 == 0, NOT_COUNTED)
    scores = network.scores(inputs, targets)
    assert scores.accuracy is not None
    with torch.no_grad():
        logits = network.outputs(inputs.expand(2, *inputs.shape))
    for number in range(2):
        right = counted = 0
        for row, answers in zip(logits[number], targets, strict=True):
            for values, answer in zip(row.tolist(), answers.tolist(), strict=True):
                right += answer != NOT_COUNTED and max(range(len(values)), key=values.__getitem__) == answer
                counted += answer != NOT_COUNTED
        assert 0 < counted < targets.numel()
        assert float(scores.accuracy[number]) == pytest.approx(right / counted, abs=1e-6)


def test_one_forward_pass_gives_both(monkeypatch: pytest.MonkeyPatch) -> None:
    made = trained(lane(MLP))
    model, calls = made.network.model, []

    def counting(*arguments: Any) -> Tensor:
        calls.append(1)
        return model(*arguments)

    monkeypatch.setattr(made.network, "model", counting)
    inputs, targets = made._sample("test", 30)
    made.network.scores(inputs, targets)
    assert len(calls) == 1


def test_training_examples_are_not_looked_at_unasked() -> None:
    (result,) = trained(lane(MLP, measurement=MEASUREMENT | {"training_examples": 0})).results()
    assert result.final_training_loss is result.final_training_accuracy is None
    assert "evaluation_training_loss" not in result.curves


def test_a_lane_that_is_lost_has_no_accuracy() -> None:
    settings = {"optimizer": "sgd", "schedule": "constant", "warmup_fraction": 0.0}
    lost, kept = trained(lane(MLP, peak_lr=1e20, **settings), lane(MLP, peak_lr=0.1, **settings)).results()
    assert kept.test_accuracy > 0
    assert lost.outcome == "diverged"
    assert math.isnan(lost.test_accuracy or 0)


def test_there_is_none_of_numbers_and_of_own_losses() -> None:
    address = "tests.harness.train.own_workloads:perceptron"
    for workload in (Workload(model="linear", dataset="regression:12"), find(address).declared):
        (result,) = trained(lane(workload, peak_lr=2.0**-9)).results()
        assert result.test_accuracy is result.initial_accuracy is result.final_training_accuracy is None
        assert result.final_training_loss is not None
        assert math.isfinite(result.final_training_loss)
        assert not {name for name in result.curves if "accuracy" in name}


def test_a_plan_counts_training_examples() -> None:
    chosen = lane(MLP).configuration
    without = lane(MLP, measurement=MEASUREMENT | {"training_examples": 0}).configuration
    assert trial_passes(chosen) - trial_passes(without) == pytest.approx(3 * 400)


def toy(**columns: Any) -> TrialArrays:
    """Two arms of three LRs and four seeds: 'good' gets 10% wrong at its best, 'bad' 30%; one run of 'bad' diverges."""
    study = Study.model_validate(
        {
            "name": "toy",
            "title": "Toy",
            "version": 1,
            "question": "?",
            "workload": {"model": "mlp", "dataset": "digits"},
            "arms": {"good": {"label": "good", "settings": {"optimizer": "sgd"}}, "bad": {"label": "bad"}},
            "factors": {"peak_lr": [0.25, 0.5, 1.0]},
            "seeds": 4,
            "scales": {"laptop": {"description": "here"}},
        }
    )

    def outcome(trial: Any) -> Any:
        distance = abs(math.log2(trial.point["peak_lr"]) + 1)
        error = (0.1 if trial.arm == "good" else 0.3) + 0.05 * distance
        lost = trial.arm == "bad" and trial.point["peak_lr"] == 0.5 and trial.seed == study.first_seed
        result = helpers.result(10 * error, divergence_step=3 if lost else None, evaluation_step=[1.0, 2.0, 3.0, 4.0])
        accuracy = math.nan if lost else 1 - error
        return replace(
            result,
            initial_accuracy=0.1,
            validation_accuracy=accuracy,
            test_accuracy=accuracy,
            final_training_loss=error,
            final_training_accuracy=1.0,
            curves={**result.curves, "evaluation_accuracy": [accuracy] * 4},
        )

    frame = helpers.frame(study, outcome).assign(**columns)
    return TrialArrays(study, "laptop", frame)


WEIGHTS = np.ones((1, 4))


def test_observables_read_errors_and_training_losses() -> None:
    """At the LR that is tuned on the validation loss; what diverged counts with the error at initialization."""
    table = toy()
    good = TunedLoss(arm="good", of="test_error")
    assert good.estimate(table, WEIGHTS) == pytest.approx(0.1)
    bad = LossAt(arm="bad", value=0.5, of="test_error")
    assert bad.estimate(table, WEIGHTS) == pytest.approx((0.9 + 3 * 0.3) / 4)
    assert Gap(left=bad, right=good).estimate(table, WEIGHTS) == pytest.approx(0.45 - 0.1)
    assert TunedLoss(arm="good", of="final_training_loss").estimate(table, WEIGHTS) == pytest.approx(0.1)
    assert TunedLoss(arm="good", of="final_training_error").estimate(table, WEIGHTS) == pytest.approx(0.0)
    assert TunedLoss(arm="good").estimate(table, WEIGHTS) == pytest.approx(1.0)
    curve = Curve(arm="bad", of="evaluation_accuracy", value=0.5)
    object.__setattr__(table.study, "training", Training(steps=4))
    assert curve.estimate(table, WEIGHTS) == pytest.approx(1 - 0.45)


def test_older_trials_say_that_they_have_none() -> None:
    """A file without the columns is read, and what was always there is judged."""
    table = toy(test_accuracy=np.nan, final_training_loss=np.nan)
    for of in ("test_error", "final_training_loss"):
        with pytest.raises(NotEstimableError, match=f"{of.replace('_', ' ')} was not measured in 'good'; retrain with a study"):
            TunedLoss(arm="good", of=of).estimate(table, WEIGHTS)
    study = table.study
    whole = helpers.rows(study, helpers.planned(study).trials, lambda trial: helpers.result(2.0))
    later = [name for name in whole.column_names if "accuracy" in name or "training_loss" in name]
    assert len(later) == 11
    read = trial_rows.decode(trial_rows.encode(whole.drop_columns(later)))
    assert isinstance(read, pa.Table)
    frame = trial_rows.frame(read)
    assert frame["test_accuracy"].isna().all()
    assert pd.isna(frame["curve_evaluation_accuracy"]).all()
    assert TunedLoss(arm="good").column == "test_loss"
    assert FinalLoss(arm="good").figure == "lr"
    assert (frame["test_loss"] == 2.0).all()
