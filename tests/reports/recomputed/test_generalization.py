"""One number of each claim of generalization again, from the published trials by plain pandas and scipy."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from folklore.harness.plan import catalog
from tests.reports.recomputed.tables import best, gap, published, runs, trials

STUDY = "generalization"
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

    def error(arm: str) -> float:
        found = runs(table, arm, best(table, arm))
        assert len(found) == 32
        return float(1 - found["test_accuracy"].mean())

    for index, large in enumerate(("mnist_large_epochs", "mnist_large_updates")):
        assert published("gen.small_batch", STUDY, 2 * index) == pytest.approx(gap(table, large, "mnist_small"), abs=1e-6)
        more = error(large) - error("mnist_small")
        assert published("gen.small_batch", STUDY, 2 * index + 1) == pytest.approx(more, abs=1e-6)


def test_small_batch_tuned_by_error() -> None:
    """What the note of gen.small_batch tells of the same runs, with LRs by validation error."""
    table = trials(STUDY, seeds=32)
    errors = 1 - table[["validation_accuracy", "test_accuracy"]]
    means = errors.groupby([table["arm"], table["lr"]]).mean()

    def tuned(arm: str) -> float:
        of_arm = means.loc[arm]
        return float(of_arm.loc[of_arm["validation_accuracy"].idxmin(), "test_accuracy"])

    points = [100 * (tuned(large) - tuned("mnist_small")) for large in ("mnist_large_epochs", "mnist_large_updates")]
    told = f"{points[0]:+.1f} points at equal epochs and {points[1]:+.1f} at equal updates".replace("-", "−")
    (judged,) = (each for each in catalog.load_study(STUDY).judgements if each.claim == "gen.small_batch")
    assert told in judged.note


def test_sharper(table: pd.DataFrame) -> None:
    """At one LR, and each at its tuned one."""
    ends = at_the_end(table[table["arm"].isin(ARMS)])
    for index, (large, lr) in enumerate((("large_updates", ONE_LR), ("large_epochs", 2.0**-1.5))):
        logs = [np.log(runs(ends, *each)["sharpness"]).mean() for each in ((large, lr), ("small", ONE_LR))]
        assert published("gen.sharper", STUDY, index) == pytest.approx(np.exp(logs[0] - logs[1]), rel=1e-5)


def test_flat_minima(table: pd.DataFrame) -> None:
    """Spearman's correlation over settings in each seed, by scipy; the mean over seeds."""
    ends = at_the_end(table[table["arm"].isin(ARMS)]).dropna(subset=["sharpness", "training_loss", "held_out"])
    for index, (low, high) in enumerate((FIT, ENDS)):
        usable = ends[(ends["training_loss"] >= low) & (ends["training_loss"] <= high)]
        groups = [group for _, group in usable.groupby("seed") if len(group) >= 5]
        found = [scipy.stats.spearmanr(each["sharpness"], each["held_out"]).statistic for each in groups]
        assert published("gen.flat_minima", STUDY, index) == pytest.approx(np.mean(found), abs=1e-5)
