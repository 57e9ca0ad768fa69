"""One number of each claim of optimizer_generalization again, from the published trials by plain pandas."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import best, curves, final, gap, published, runs, trials

STUDY = "optimizer_generalization"


def of_arm(table: pd.DataFrame, arm: str) -> pd.DataFrame:
    """Runs on judged seeds of an arm whose LR was searched: there is one LR of these."""
    own = runs(table, arm)
    assert own["lr"].nunique() == 1
    return own


def test_sgd_vs_adam(table: pd.DataFrame) -> None:
    errors = {name: 1 - of_arm(table, f"mlp_{name}")["test_accuracy"].mean() for name in ("sgd", "adam", "adamw")}
    assert published("gen.sgd_vs_adam", STUDY, 0) == pytest.approx(errors["adam"] - errors["sgd"], abs=1e-6)
    assert published("gen.sgd_vs_adam", STUDY, 1) == pytest.approx(errors["adam"] - errors["adamw"], abs=1e-6)


def test_adam_train_loss() -> None:
    """On 50 images of MNIST: the test error where the training loss first comes to 0.1 nats."""
    table, errors = trials(STUDY, seeds=80), []
    for arm, lr in (("mnist_50_adam", 2.0**-10), ("mnist_50_sgd", 2.0**-9)):
        rows = runs(table, arm, lr)
        assert len(rows) == 80
        read = [curves(rows, name) for name in ("step", "train_loss", "evaluation_step", "evaluation_test_accuracy")]
        own = []
        for step, loss, evaluated, accuracy in zip(*read, strict=True):
            after = int(np.argmax(loss <= 0.1))
            reached = np.interp(-0.1, -loss[after - 1 : after + 1], step[after - 1 : after + 1])
            own.append(1 - np.interp(reached, evaluated, accuracy))
        errors.append(np.mean(own))
    assert published("gen.adam_train_loss", STUDY) == pytest.approx(errors[0] - errors[1], abs=1e-6)


def test_adam_transformer(table: pd.DataFrame) -> None:
    for index, batch in enumerate((2, 8, 64)):
        more = gap(table, f"gpt_sgd_{batch}", f"gpt_adamw_{batch}", of=final)
        assert published("gen.adam_transformer", STUDY, index) == pytest.approx(more, abs=1e-6)


def test_lm_large_batch(table: pd.DataFrame) -> None:
    """Test less training loss at the linear LR, against that of batch 8."""
    base = best(table, "lm_8")
    batches = {
        json.loads(configuration)["training"]["batch_size"] for configuration in table[table["arm"] == "lm_64"]["configuration"]
    }
    assert batches == {64}

    def overfit(arm: str, lr: float) -> float:
        rows = runs(table, arm, lr)
        return float((rows["test_loss"] - rows["final_training_loss"]).mean())

    for index, batch in enumerate((64, 256)):
        more = overfit(f"lm_{batch}", base * batch / 8) - overfit("lm_8", base)
        assert published("gen.lm_large_batch", STUDY, 2 * index) == pytest.approx(more, abs=1e-6)
