"""A number of each claim of overfitting again, from the published trials by plain pandas."""

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import published

STUDY = "overfitting"


def curves(table: pd.DataFrame, arm: str, name: str) -> np.ndarray:
    return np.array(table[table["arm"] == arm].sort_values("seed")[f"curve_{name}"].tolist())


def stopped(table: pd.DataFrame, arm: str) -> float:
    validation, test = (curves(table, arm, name) for name in ("evaluation_loss", "evaluation_test_loss"))
    return float(np.mean([test[seed, validation[seed].argmin()] for seed in range(len(test))]))


def ended(table: pd.DataFrame, arm: str) -> float:
    return float(curves(table, arm, "evaluation_test_loss")[:, -1].mean())


def reduction(table: pd.DataFrame, arm: str) -> float:
    initial = table[table["arm"] == arm]["initial_loss"].mean()
    return float(initial - min(stopped(table, arm), table[table["arm"] == arm]["test_loss"].mean()))


def test_small_data(table: pd.DataFrame) -> None:
    sizes = (67, 135, 270, 540, 1079)
    turns = []
    for size in sizes:
        validation, steps = (curves(table, f"clean_{size}", name) for name in ("evaluation_loss", "evaluation_step"))
        turns.append(np.log2(steps[0][validation.argmin(axis=1)]).mean())
    assert published("fit.small_data", STUDY) == pytest.approx(np.polyfit(np.log2(sizes), turns, 1)[0], rel=1e-6)


def test_val_turns(table: pd.DataFrame) -> None:
    validation = curves(table, "text_2000", "evaluation_loss")
    initial = table[table["arm"] == "text_2000"].sort_values("seed")["initial_loss"].to_numpy()
    rise = validation[:, -5:].mean(axis=1) - validation.min(axis=1)
    assert published("fit.val_turns", STUDY, 2) == (rise > 0.02 * (initial - validation.min(axis=1))).mean()


def test_train_above_val(table: pd.DataFrame) -> None:
    training, validation = (curves(table, "dropped_all", name) for name in ("train_loss", "evaluation_loss"))
    steps = curves(table, "dropped_all", "step")[0]
    within = (steps > 200) & (steps <= 400)
    evaluated = curves(table, "dropped_all", "evaluation_step")[0]
    gap = training[:, within].mean() - validation[:, (evaluated > 200) & (evaluated <= 400)].mean()
    assert published("fit.train_above_val", STUDY) == pytest.approx(gap, rel=1e-6)


def test_early_stopping(table: pd.DataFrame) -> None:
    arm = "noisy_1079"
    lost = (ended(table, arm) - stopped(table, arm)) / reduction(table, arm)
    assert published("fit.early_stopping", STUDY, 6) == pytest.approx(lost, rel=1e-6)


def test_lr_is_not_the_lever(table: pd.DataFrame) -> None:
    """Of dropout and a lower LR, both tuned by validation loss, with noisy labels."""

    def best(arm: str) -> float:
        means = table[table["arm"] == arm].groupby("point")[["validation_loss", "test_loss"]].mean()
        return float(means.loc[means["validation_loss"].idxmin(), "test_loss"])

    lower, dropout = best("noisy_lower_lr"), best("noisy_dropout")
    initial = np.mean([table[table["arm"] == arm]["initial_loss"].mean() for arm in ("noisy_lower_lr", "noisy_dropout")])
    gap = (lower - dropout) / (initial - min(lower, dropout))
    assert published("fit.lr_is_not_the_lever", STUDY, 6) == pytest.approx(gap, rel=1e-6)
