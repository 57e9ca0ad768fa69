"""A number of each claim of overfitting again, from the published trials by plain pandas."""

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import published, trials

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
    sizes = (67, 270, 1079)
    turns = []
    for size in sizes:
        validation, steps = (curves(table, f"clean_{size}", name) for name in ("evaluation_loss", "evaluation_step"))
        turns.append(np.log2(steps[0][validation.argmin(axis=1)]).mean())
    assert published("fit.small_data", STUDY) == pytest.approx(np.polyfit(np.log2(sizes), turns, 1)[0], rel=1e-6)


def test_val_turns(table: pd.DataFrame) -> None:
    validation = curves(table, "text_1000", "evaluation_loss")
    initial = table[table["arm"] == "text_1000"].sort_values("seed")["initial_loss"].to_numpy()
    rise = validation[:, -5:].mean(axis=1) - validation.min(axis=1)
    assert published("fit.val_turns", STUDY, 2) == (rise > 0.02 * (initial - validation.min(axis=1))).mean()


def test_train_above_val(table: pd.DataFrame) -> None:
    training, validation = (curves(table, "dropped_all", name) for name in ("train_loss", "evaluation_loss"))
    steps = curves(table, "dropped_all", "step")[0]
    within = (steps > 160) & (steps <= 320)
    evaluated = curves(table, "dropped_all", "evaluation_step")[0]
    gap = training[:, within].mean() - validation[:, (evaluated > 160) & (evaluated <= 320)].mean()
    assert published("fit.train_above_val", STUDY) == pytest.approx(gap, rel=1e-6)


def test_early_stopping(table: pd.DataFrame) -> None:
    arm = "noisy_1079"
    lost = (ended(table, arm) - stopped(table, arm)) / reduction(table, arm)
    assert published("fit.early_stopping", STUDY, 6) == pytest.approx(lost, rel=1e-6)


def test_lr_is_not_the_lever() -> None:
    """Of weight decay and a lower LR in the GPT, each at the best of twelve proposals by validation loss on two other seeds."""

    table = trials(STUDY, 600)  # those of the search begin 500 seeds on

    def judged(arm: str) -> pd.DataFrame:
        rows = table[table["arm"] == arm]
        found = rows[rows["seed"] >= 86_500].groupby("point")["validation_loss"].agg(["mean", "count"])
        assert len(found) == 12
        assert (found["count"] == 2).all()
        judged = rows[rows["seed"] < 86_500]
        assert set(judged["point"]) == {found["mean"].idxmin()}
        return judged

    lower, decay = judged("text_lower_lr"), judged("text_decay")
    ends = lower["test_loss"].mean(), decay["test_loss"].mean()
    initial = np.mean([lower["initial_loss"].mean(), decay["initial_loss"].mean()])
    assert published("fit.lr_is_not_the_lever", STUDY, 12) == pytest.approx(
        (ends[0] - ends[1]) / (initial - min(ends)), rel=1e-6
    )
