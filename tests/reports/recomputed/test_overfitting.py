"""A number of each claim of overfitting again, from the published trials by plain pandas."""

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import curves, fall, published, runs

STUDY = "overfitting"


def curve(table: pd.DataFrame, arm: str, name: str) -> np.ndarray:
    return curves(runs(table, arm), name)


def stopped(table: pd.DataFrame, arm: str) -> float:
    validation, test = (curve(table, arm, name) for name in ("evaluation_loss", "evaluation_test_loss"))
    return float(np.mean([test[seed, validation[seed].argmin()] for seed in range(len(test))]))


def test_small_data(table: pd.DataFrame) -> None:
    sizes = (67, 270, 1079)
    turns = []
    for size in sizes:
        validation, steps = (curve(table, f"clean_{size}", name) for name in ("evaluation_loss", "evaluation_step"))
        turns.append(np.log2(steps[0][validation.argmin(axis=1)]).mean())
    assert published("fit.small_data", STUDY) == pytest.approx(np.polyfit(np.log2(sizes), turns, 1)[0], rel=1e-6)


def test_val_turns(table: pd.DataFrame) -> None:
    validation = curve(table, "text_1000", "evaluation_loss")
    initial = runs(table, "text_1000")["initial_loss"].to_numpy()
    rise = validation[:, -5:].mean(axis=1) - validation.min(axis=1)
    assert published("fit.val_turns", STUDY, 2) == (rise > 0.02 * (initial - validation.min(axis=1))).mean()


def test_train_above_val(table: pd.DataFrame) -> None:
    losses = []
    for loss, step in (("train_loss", "step"), ("evaluation_loss", "evaluation_step")):
        steps = curve(table, "dropped_all", step)[0]
        losses.append(curve(table, "dropped_all", loss)[:, (steps > 160) & (steps <= 320)].mean())
    assert published("fit.train_above_val", STUDY) == pytest.approx(losses[0] - losses[1], rel=1e-6)


def test_early_stopping(table: pd.DataFrame) -> None:
    arm = "noisy_1079"
    ended, reduction = curve(table, arm, "evaluation_test_loss")[:, -1].mean(), fall(table, arm, of=stopped)
    assert published("fit.early_stopping", STUDY, 6) == pytest.approx((ended - stopped(table, arm)) / reduction, rel=1e-6)


def test_lr_is_not_the_lever(table: pd.DataFrame) -> None:
    """Early stopping alone on noisy labels: a quarter of the LR less the usual one, each at its lowest validation loss."""
    assert runs(table, "noisy_lower_lr")["lr"].unique().tolist() == [2.0**-12]
    gap = stopped(table, "noisy_lower_lr") - stopped(table, "noisy_270")
    assert published("fit.lr_is_not_the_lever", STUDY, 8) == pytest.approx(gap, rel=1e-6)
