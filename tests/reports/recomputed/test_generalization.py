"""One number of each claim of generalization again, from the published trials by plain pandas and scipy."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from tests.reports.recomputed.tables import best, gap, published, runs, trials

STUDY = "generalization"
ARMS = ("small", "large_epochs", "large_updates")
FIT, ENDS = (0.0, 0.8), (0.55, 0.75)


def at_the_end(table: pd.DataFrame) -> pd.DataFrame:
    """Sharpness, training and validation loss of each run at its last step."""
    last = {
        name: np.array([float(points[-1]) for points in table[f"curve_{curve}"]])
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

    def error(arm: str) -> float:
        rows = runs(table, arm, best(table, arm))
        assert len(rows) == 32
        return float(1 - rows["test_accuracy"].mean())

    for index, large in enumerate(("mnist_large_epochs", "mnist_large_updates")):
        assert published("gen.small_batch", STUDY, 2 * index) == pytest.approx(gap(table, large, "mnist_small"), abs=1e-6)
        more = error(large) - error("mnist_small")
        assert published("gen.small_batch", STUDY, 2 * index + 1) == pytest.approx(more, abs=1e-6)


def test_sharper(table: pd.DataFrame) -> None:
    """The mean logarithm of sharpness over the LRs about the best that are as good, between the crossings of their bar."""
    ends = at_the_end(table[table["arm"].isin(ARMS)])
    logs = []
    for arm in ("large_epochs", "small"):
        of_arm = ends[ends["arm"] == arm]
        held_out = of_arm.pivot(index="seed", columns="lr", values="validation_loss")
        sharpness = np.log(of_arm.pivot(index="seed", columns="lr", values="sharpness")).mean().to_numpy()
        x, means = np.log2(held_out.columns.to_numpy(float)), held_out.mean().to_numpy()
        bar = means.min() + held_out.iloc[:, means.argmin()].std(ddof=0)
        fine = np.linspace(x[0], x[-1], 20_001)
        basin = fine[np.interp(fine, x, means) <= bar]
        apart = np.flatnonzero(np.diff(basin) > 2 * (fine[1] - fine[0])) + 1
        (basin,) = (part for part in np.split(basin, apart) if part[0] <= x[means.argmin()] <= part[-1])
        logs.append(np.interp(basin, x, sharpness).mean())
    assert published("gen.sharper", STUDY, 1) == pytest.approx(np.exp(logs[0] - logs[1]), rel=0.03)


def test_flat_minima(table: pd.DataFrame) -> None:
    """Spearman's correlation over settings in each seed, by scipy; the mean over seeds."""
    ends = at_the_end(table[table["arm"].isin(ARMS)]).dropna(subset=["sharpness", "training_loss", "held_out"])
    for index, (low, high) in enumerate((FIT, ENDS)):
        usable = ends[(ends["training_loss"] >= low) & (ends["training_loss"] <= high)]
        groups = [group for _, group in usable.groupby("seed") if len(group) >= 5]
        correlations = [scipy.stats.spearmanr(group["sharpness"], group["held_out"]).statistic for group in groups]
        assert published("gen.flat_minima", STUDY, index) == pytest.approx(np.mean(correlations), abs=1e-5)
