"""One number of each claim of decay again, from the published trials by plain pandas."""

import math

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import best, published, reason, start, tuned

STUDY = "decay"


def share_of_fall(table: pd.DataFrame, left: str, right: str) -> float:
    losses = tuned(table, left), tuned(table, right)
    return (losses[0] - losses[1]) / (start(table, left, right) - min(losses))


def final(table: pd.DataFrame, arm: str) -> float:
    return float(table[table["arm"] == arm]["test_loss"].mean())


def curve(table: pd.DataFrame, arm: str) -> pd.Series:
    """The mean validation loss at the arm's best LR by evaluation, from 1; a loss above the start counts with it."""
    runs = table[(table["arm"] == arm) & np.isclose(table["lr"], best(table, arm))]
    losses = np.array([np.asarray(each, float) for each in runs["curve_evaluation_loss"]])
    first = runs["initial_loss"].to_numpy()[:, None]
    capped = np.where(losses < first, losses, first)
    return pd.Series(capped.mean(axis=0), index=range(1, capped.shape[1] + 1))


@pytest.mark.parametrize(
    ("claim", "criterion", "left", "right"),
    [
        ("decay.cosine_vs_linear", 0, "linear", "cosine"),
        ("decay.cosine_vs_step", 1, "late_step", "cosine"),
        ("decay.beats_constant", 4, "constant", "step"),
        ("decay.final_positive", 2, "zero_80", "tenth_80"),
        ("decay.trapezoid", 1, "trapezoid_80", "tenth_80"),
    ],
)
def test_a_gap_of_tuned_losses(table: pd.DataFrame, claim: str, criterion: int, left: str, right: str) -> None:
    assert share_of_fall(table, left, right) == pytest.approx(published(claim, STUDY, criterion), rel=1e-9)


def test_what_lowering_gains_at_the_best_learning_rate(table: pd.DataFrame) -> None:
    """Arms that are trained at one LR; the fall ends at the run that is lowered there."""
    gain = final(table, "right_stay") - final(table, "right_tenth")
    fall = start(table, "right_tenth", "right_stay") - final(table, "right_tenth")
    assert gain / fall == pytest.approx(published("decay.plateau_rule", STUDY, 4), rel=1e-9)


def test_what_raising_too_low_a_learning_rate_gains(table: pd.DataFrame) -> None:
    change = final(table, "low_ten_times") - final(table, "low_stay")
    fall = start(table, "right_tenth", "low_ten_times", "low_stay") - final(table, "right_tenth")
    assert change / fall == pytest.approx(published("decay.raise_lr", STUDY, 1), rel=1e-9)


def test_a_plateau_is_flat(table: pd.DataFrame) -> None:
    """30 evaluations: the 18th stands at 60% of the run, the 20th at two thirds."""
    seen = curve(table, "low_stay")
    fall = start(table, "right_tenth", "low_stay") - final(table, "right_tenth")
    assert (seen[18] - seen[20]) / fall == pytest.approx(published("decay.raise_lr", STUDY, 0), rel=1e-9)


def test_why_raise_lr_is_withdrawn(table: pd.DataFrame) -> None:
    """The run that stays at its LR, at two thirds of its steps and at the end."""
    seen = curve(table, "low_stay")
    assert f"from {seen[20]:.3f} nats at the switch to {seen[30]:.3f}" in reason("decay.raise_lr")


def test_what_the_first_half_makes(table: pd.DataFrame) -> None:
    """20 evaluations: the first stands at 5% of the run, the tenth at its half."""
    seen = curve(table, "cosine")
    assert (seen[1] - seen[10]) / (seen[1] - seen[20]) == pytest.approx(published("decay.first_half", STUDY), rel=1e-9)


def test_half_of_a_cosine() -> None:
    assert published("decay.half_way", STUDY) == pytest.approx((1 + math.cos(math.pi / 2)) / 2, abs=1e-9)
