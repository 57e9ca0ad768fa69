"""One number of each claim of optimizer_generalization again, from the published trials by plain pandas."""

import json

import numpy as np
import pandas as pd
import pytest

from folklore.harness.storing import evidence
from tests.reports.recomputed.tables import at, best, published, start

STUDY = "optimizer_generalization"
pytestmark = pytest.mark.skipif(
    not (evidence.FOLDER / f"{STUDY}-laptop-cpu.parquet").exists(), reason="its trials are not published yet"
)


def of_arm(table: pd.DataFrame, arm: str) -> pd.DataFrame:
    """Runs on judged seeds of an arm whose LR was searched: there is one LR of these."""
    runs = table[table["arm"] == arm]
    assert runs["lr"].nunique() == 1
    return runs


def gap_of_fall(table: pd.DataFrame, left: str, right: str, column: str = "test_loss") -> float:
    runs = [of_arm(table, arm) for arm in (left, right)]
    start = np.mean([each["initial_loss"].mean() for each in runs])
    lowest = min(each["test_loss"].mean() for each in runs)
    return float((runs[0][column].mean() - runs[1][column].mean()) / (start - lowest))


def test_sgd_vs_adam(table: pd.DataFrame) -> None:
    errors = {name: 1 - of_arm(table, f"mlp_{name}")["test_accuracy"].mean() for name in ("sgd", "adam", "adamw")}
    assert published("gen.sgd_vs_adam", STUDY, 0) == pytest.approx(errors["adam"] - errors["sgd"], abs=1e-6)
    assert published("gen.sgd_vs_adam", STUDY, 1) == pytest.approx(errors["adam"] - errors["adamw"], abs=1e-6)


def test_adam_train_loss(table: pd.DataFrame) -> None:
    """On 50 digits: the test error, and then the training loss, at the LR of the lowest validation loss."""
    runs = {}
    for optimizer in ("adam", "sgd"):
        arm = table[table["arm"] == f"digits_50_{optimizer}"]
        runs[optimizer] = arm[np.isclose(arm["lr"], best(table, f"digits_50_{optimizer}"))]
    adam, sgd = runs["adam"], runs["sgd"]
    error = sgd["test_accuracy"].mean() - adam["test_accuracy"].mean()
    assert published("gen.adam_train_loss", STUDY, 2) == pytest.approx(error, abs=1e-6)
    reduction = start(table, "digits_50_adam", "digits_50_sgd") - min(each["test_loss"].mean() for each in runs.values())
    training = adam["final_training_loss"].mean() - sgd["final_training_loss"].mean()
    assert published("gen.adam_train_loss", STUDY, 3) == pytest.approx(training / reduction, rel=1e-4)


def test_adam_transformer(table: pd.DataFrame) -> None:
    for index, batch in enumerate((2, 8, 64)):
        gap = gap_of_fall(table, f"gpt_sgd_{batch}", f"gpt_adamw_{batch}")
        assert published("gen.adam_transformer", STUDY, index) == pytest.approx(gap, abs=1e-6)


def test_lm_large_batch(table: pd.DataFrame) -> None:
    """Test less training loss at the linear LR, against that of batch 8."""
    base = best(table, "lm_8")
    batches = {json.loads(each)["training"]["batch_size"] for each in table[table["arm"] == "lm_64"]["configuration"]}
    assert batches == {64}

    def gap(arm: str, lr: float) -> float:
        runs = table[(table["arm"] == arm) & np.isclose(table["lr"], lr)]
        return at(table, arm, lr) - float(runs["final_training_loss"].mean())

    for index, batch in enumerate((64, 256)):
        more = gap(f"lm_{batch}", base * batch / 8) - gap("lm_8", base)
        assert published("gen.lm_large_batch", STUDY, 2 * index) == pytest.approx(more, abs=1e-6)
