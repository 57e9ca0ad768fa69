"""One number of each claim of generalization again, from the published trials by plain pandas and scipy."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from folklore.harness.storing import evidence
from tests.reports.recomputed.tables import best, published, start, trials

STUDY = "generalization"
pytestmark = pytest.mark.skipif(
    not (evidence.FOLDER / f"{STUDY}-laptop-cpu.parquet").exists(), reason="its trials are not published yet"
)
ARMS = ("small", "large_epochs", "large_updates")
ONE_LR, FIT, ENDS = 2.0**-5, (0.0, 0.8), (0.55, 0.75)


def at_the_end(table: pd.DataFrame) -> pd.DataFrame:
    """Of each run: sharpness, training and validation loss at its last step."""
    last = {
        name: np.array([float(each[-1]) for each in table[f"curve_{curve}"]])
        for name, curve in (
            ("sharpness", "probe_sharpness"),
            ("training_loss", "evaluation_training_loss"),
            ("held_out", "evaluation_loss"),
        )
    }
    return table.assign(**last)


def test_small_batch() -> None:
    """Each at its tuned LR: losses as shares of the loss reduction to the lowest tuned loss, and errors."""
    table = trials(STUDY, seeds=32)
    table = table.assign(error=1 - table["test_accuracy"])

    def ends(arm: str, column: str) -> float:
        runs = table[(table["arm"] == arm) & np.isclose(table["lr"], best(table, arm))]
        assert len(runs) == 32
        return float(runs[column].mean())

    for index, large in enumerate(("mnist_large_epochs", "mnist_large_updates")):
        arms = (large, "mnist_small")
        loss, base = (ends(arm, "test_loss") for arm in arms)
        reduction = start(table, *arms) - min(loss, base)
        assert published("gen.small_batch", STUDY, 2 * index) == pytest.approx((loss - base) / reduction, abs=1e-6)
        error = ends(large, "error") - ends("mnist_small", "error")
        assert published("gen.small_batch", STUDY, 2 * index + 1) == pytest.approx(error, abs=1e-6)


def test_sharper(table: pd.DataFrame) -> None:
    ends = at_the_end(table[table["arm"].isin(ARMS)])
    ends = ends.assign(log=np.log(ends["sharpness"]))
    one = [ends[(ends["arm"] == arm) & np.isclose(ends["lr"], ONE_LR)]["log"].mean() for arm in ("large_updates", "small")]
    assert published("gen.sharper", STUDY, 0) == pytest.approx(np.exp(one[0] - one[1]), rel=1e-5)
    best = [
        ends[(ends["arm"] == arm) & np.isclose(ends["lr"], lr)]["log"].mean()
        for arm, lr in (("large_epochs", 2.0**-1.5), ("small", ONE_LR))
    ]
    assert published("gen.sharper", STUDY, 1) == pytest.approx(np.exp(best[0] - best[1]), rel=1e-5)


def test_flat_minima(table: pd.DataFrame) -> None:
    """Spearman's correlation over settings in each seed, by scipy; the mean over seeds."""
    ends = at_the_end(table[table["arm"].isin(ARMS)]).dropna(subset=["sharpness", "training_loss", "held_out"])
    for index, (low, high) in enumerate((FIT, ENDS)):
        usable = ends[(ends["training_loss"] >= low) & (ends["training_loss"] <= high)]
        groups = [group for _, group in usable.groupby("seed") if len(group) >= 5]
        found = [scipy.stats.spearmanr(each["sharpness"], each["held_out"]).statistic for each in groups]
        assert published("gen.flat_minima", STUDY, index) == pytest.approx(np.mean(found), abs=1e-5)
