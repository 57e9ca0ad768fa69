"""One number of each claim of lr_finder again, from the published trials by plain pandas."""

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import best, published, trials

STUDY = "lr_finder"


def mean_of_the_past(losses: np.ndarray, beta: float) -> np.ndarray:
    return pd.Series(losses).ewm(alpha=1 - beta, adjust=True).mean().to_numpy()


def half_way_back(row: pd.Series) -> float:
    """The LR at which the raw losses are best parted by the bar half-way between the lowest smoothed loss and the first."""
    lr, loss = np.asarray(row["curve_lr"], float), np.asarray(row["curve_train_loss"], float)
    stop = int(np.argmin(np.isfinite(loss))) if not np.isfinite(loss).all() else len(loss)
    smooth = mean_of_the_past(loss[:stop], 0.9)
    lowest = int(smooth.argmin())
    bar = (smooth[0] + smooth[lowest]) / 2
    above = np.flatnonzero(smooth[lowest:] > bar)
    if not len(above):
        return float(lr[stop])
    at = lowest + int(above[0])
    places = range(int(smooth[:at].argmin()) + 1, at + 1)
    score = [sum(loss[i] > bar for i in range(p, at + 1)) - sum(loss[i] <= bar for i in range(p, at + 1)) for p in places]
    return float(np.exp(np.mean([np.log(lr[p]) for p, s in zip(places, score, strict=True) if s == max(score)])))


def steepest_decade(row: pd.Series) -> float:
    """The middle of the decade with the lowest slope by np.polyfit, up to the decade with the lowest mean loss."""
    lr, loss = np.asarray(row["curve_lr"], float), np.asarray(row["curve_train_loss"], float)
    stop = int(np.argmin(np.isfinite(loss))) if not np.isfinite(loss).all() else len(loss)
    half = round(np.log(10) / 2 / np.log(lr[1] / lr[0]))
    middles = range(half, stop - half)
    lowest = min(middles, key=lambda i: loss[i - half : i + half + 1].mean())
    windows = {i: slice(i - half, i + half + 1) for i in middles if i <= lowest}
    return float(lr[min(windows, key=lambda i: np.polyfit(np.log(lr[windows[i]]), loss[windows[i]], 1)[0])])


def picks(table: pd.DataFrame, arm: str, rule) -> pd.Series:  # type: ignore[no-untyped-def]
    rows = table[table["arm"] == arm].set_index("seed").sort_index()
    return rows.apply(rule, axis=1)


def lost(table: pd.DataFrame, arm: str, lrs: pd.Series) -> float:
    """Mean loss at each seed's own LR, straight between grid points in log LR, above the tuned one, over the fall."""
    runs = table[table["arm"] == arm]
    tuned = best(table, arm)
    at = [
        np.interp(np.log2(lr), np.log2(own["lr"]), own["test_loss"])
        for seed, lr in lrs.items()
        for own in [runs[runs["seed"] == seed].sort_values("lr")]
    ]
    lowest = runs[np.isclose(runs["lr"], tuned)]["test_loss"].mean()
    start = runs[runs["outcome"] != "diverged"].groupby("seed")["initial_loss"].mean().mean()
    return float((np.mean(at) - lowest) / (start - lowest))


def test_what_a_tenth_of_divergence_loses() -> None:
    table = trials(STUDY, seeds=20)
    found = lost(table, "mlp_sgd", picks(table, "mlp_sgd_300", half_way_back) / 10)
    assert found == pytest.approx(published("finder.margin", STUDY), rel=1e-6, abs=1e-9)


def test_what_the_steepest_point_loses() -> None:
    table = trials(STUDY, seeds=20)
    found = lost(table, "mlp_sgd", picks(table, "mlp_sgd_300", steepest_decade))
    assert found == pytest.approx(published("finder.steepest", STUDY), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("name", "criterion", "seeds"), [("mlp_sgd", 0, 20), ("gpt_adam", 5, 20)])
def test_the_difference_of_the_two(name: str, criterion: int, seeds: int) -> None:
    table = trials(STUDY, seeds=seeds)
    steepest = lost(table, name, picks(table, f"{name}_300", steepest_decade))
    tenth = lost(table, name, picks(table, f"{name}_300", half_way_back) / 10)
    assert steepest - tenth == pytest.approx(published("finder.head_to_head", STUDY, criterion), rel=1e-6, abs=1e-9)


def test_how_far_a_longer_ramp_moves_divergence(table: pd.DataFrame) -> None:
    long, short = (np.log(picks(table, f"mlp_sgd_{steps}", half_way_back)).mean() for steps in (1000, 100))
    assert np.exp(long - short) == pytest.approx(published("finder.ramp", STUDY), rel=1e-6)


def test_the_updates_of_the_median_matrix(table: pd.DataFrame) -> None:
    runs = table[table["arm"] == "gpt_adam_long"]
    runs = runs[np.isclose(runs["lr"], best(table, "gpt_adam_long"))]
    medians = [
        np.median(np.asarray(row["curve_probe_matrix_update_ratio"])[np.asarray(row["curve_probe_step"]) > 0.05 * 2000])
        for _, row in runs.iterrows()
    ]
    assert np.exp(np.log(medians).mean()) == pytest.approx(published("finder.ratio", STUDY, 4), rel=1e-6)
