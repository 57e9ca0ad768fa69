"""One number of each claim of lr_finder again, from the published trials by plain pandas."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import best, curves, fall, published, runs, trials, tuned

STUDY = "lr_finder"


def ramp(row: pd.Series) -> tuple[np.ndarray, np.ndarray, int]:
    """LR and loss of a range test at every step, and how many of its losses are finite."""
    lr, loss = np.asarray(row["curve_lr"], float), np.asarray(row["curve_train_loss"], float)
    return lr, loss, len(loss) if np.isfinite(loss).all() else int(np.argmin(np.isfinite(loss)))


def half_way_back(row: pd.Series) -> float:
    """The LR at which the raw losses are best parted by the bar half-way between the lowest smoothed loss and the first."""
    lr, loss, stop = ramp(row)
    smooth = pd.Series(loss[:stop]).ewm(alpha=0.1, adjust=True).mean().to_numpy()
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
    lr, loss, stop = ramp(row)
    half = round(np.log(10) / 2 / np.log(lr[1] / lr[0]))
    middles = range(half, stop - half)
    lowest = min(middles, key=lambda i: loss[i - half : i + half + 1].mean())
    windows = {i: slice(i - half, i + half + 1) for i in middles if i <= lowest}
    return float(lr[min(windows, key=lambda i: np.polyfit(np.log(lr[windows[i]]), loss[windows[i]], 1)[0])])


def picks(table: pd.DataFrame, arm: str, rule: Callable[[pd.Series], float]) -> pd.Series:
    return runs(table, arm).set_index("seed").apply(rule, axis=1)


def lost(table: pd.DataFrame, arm: str, lrs: pd.Series) -> float:
    """Mean loss at each seed's own LR, straight between grid points in log LR, above the tuned one, over the fall."""
    losses = runs(table, arm).pivot(index="seed", columns="lr", values="test_loss")
    grid = np.log2(losses.columns.to_numpy(dtype=float))
    loss = np.mean([np.interp(np.log2(lr), grid, losses.loc[seed]) for seed, lr in lrs.items()])
    return float((loss - tuned(table, arm)) / fall(table, arm))


@pytest.mark.parametrize(("name", "criterion"), [("mlp_sgd", 0), ("gpt_adam", 5)])
def test_what_the_steepest_point_and_a_tenth_of_divergence_lose(name: str, criterion: int) -> None:
    table = trials(STUDY, seeds=20)
    steepest = lost(table, name, picks(table, f"{name}_300", steepest_decade))
    tenth = lost(table, name, picks(table, f"{name}_300", half_way_back) / 10)
    assert steepest - tenth == pytest.approx(published("finder.head_to_head", STUDY, criterion), rel=1e-6, abs=1e-9)
    if name == "mlp_sgd":
        assert tenth == pytest.approx(published("finder.margin", STUDY), rel=1e-6, abs=1e-9)
        assert steepest == pytest.approx(published("finder.steepest", STUDY), rel=1e-6, abs=1e-9)


def test_how_far_a_longer_ramp_moves_divergence(table: pd.DataFrame) -> None:
    long, short = (np.log(picks(table, f"mlp_sgd_{steps}", half_way_back)).mean() for steps in (1000, 100))
    assert np.exp(long - short) == pytest.approx(published("finder.ramp", STUDY), rel=1e-6)


def test_the_updates_of_the_median_matrix(table: pd.DataFrame) -> None:
    rows = runs(table, "gpt_adam_long", best(table, "gpt_adam_long"))
    late = curves(rows, "probe_step")[0] > 0.05 * 2000
    medians = np.median(curves(rows, "probe_matrix_update_ratio")[:, late], axis=1)
    assert np.exp(np.log(medians).mean()) == pytest.approx(published("finder.ratio", STUDY, 4), rel=1e-6)
