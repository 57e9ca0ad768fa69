"""One number of each study's page again, from the published trials by plain pandas."""

import json

import numpy as np
import pandas as pd
import pytest

from folklore.harness.judging.trial_sets import published_sets
from folklore.harness.judging.verdict_memory import published_verdicts
from folklore.harness.planning.catalog import load_study
from folklore.harness.storing import evidence
from folklore.reports.arms_table import arms_table


def trials(name: str) -> pd.DataFrame:
    """Judged seeds at laptop scale; a diverged run counts with its loss at initialization."""
    study = load_study(name)
    found = pd.read_parquet(evidence.FOLDER / f"{name}-laptop-cpu.parquet")
    found = found[found["seed"].isin(study.seed_numbers_at("laptop"))]
    lost = found["outcome"] == "diverged"
    losses = {
        loss: found[loss].where(~lost & (found[loss] < found["initial_loss"]), found["initial_loss"])
        for loss in ("test_loss", "validation_loss")
    }
    return found.assign(**losses, lr=[json.loads(point).get("peak_lr") for point in found["point"]])


def means(table: pd.DataFrame, arm: str) -> pd.DataFrame:
    return table[table["arm"] == arm].groupby("lr")[["validation_loss", "test_loss"]].mean()


def best(table: pd.DataFrame, arm: str) -> float:
    return float(means(table, arm)["validation_loss"].idxmin())


def at(table: pd.DataFrame, arm: str, lr: float) -> float:
    (loss,) = (float(row.test_loss) for row in means(table, arm).itertuples() if np.isclose(row.Index, lr))
    return loss


def tuned(table: pd.DataFrame, arm: str) -> float:
    return at(table, arm, best(table, arm))


def published(claim: str, study: str, criterion: int = 0) -> float:
    (judged,) = published_verdicts(load_study(study)) or ()
    (verdict,) = (each for each in judged.verdicts if each.claim == claim)
    estimate = verdict.findings[criterion].estimate
    assert estimate is not None
    return estimate


@pytest.mark.parametrize(
    ("study", "claim", "arm", "reference"),
    [
        ("warmup", "warmup.improves_best", "none", "warmup_5%"),
        ("precision", "prec.bf16_loss", "bf16", "fp32"),
        ("decay", "decay.cosine_vs_linear", "linear", "cosine"),
    ],
)
def test_a_difference_of_tuned_losses(study: str, claim: str, arm: str, reference: str) -> None:
    table = trials(study)
    assert tuned(table, arm) / tuned(table, reference) - 1 == pytest.approx(published(claim, study), rel=1e-9)


def test_the_regret_of_a_transferred_learning_rate() -> None:
    table = trials("mup_transfer")
    regret = at(table, "mup_128", best(table, "mup_16")) / tuned(table, "mup_128") - 1
    assert regret == pytest.approx(published("mup.regret", "mup_transfer"), rel=1e-9)


def test_the_regret_of_the_linear_rule() -> None:
    table = trials("batch_scaling")
    regret = at(table, "sgd_512", 64 * best(table, "sgd_8")) / tuned(table, "sgd_512") - 1
    assert regret == pytest.approx(published("scaling.breaks", "batch_scaling"), rel=1e-9)


@pytest.mark.parametrize(
    ("study", "arm", "label"), [("lr_finder", "gpt", "GPT, AdamW: full runs"), ("critical_batch", "mlp_8", "B 8")]
)
def test_a_row_of_the_table_of_arms(study: str, arm: str, label: str) -> None:
    (records,) = published_sets(load_study(study))
    first, *_ = arms_table(records).panels
    (row,) = (row for row in first.rows if row.label == label)
    assert row.loss == f"{tuned(trials(study), arm):.3f}"
