"""One number of each claim of generalization again, from the published trials by plain pandas and scipy."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from folklore.harness.storing import evidence
from tests.reports.recomputed.tables import at, published, reason, tuned

STUDY = "generalization"
pytestmark = pytest.mark.skipif(
    not (evidence.FOLDER / f"{STUDY}-laptop-cpu.parquet").exists(), reason="its trials are not published yet"
)
ARMS = ("small", "large_epochs", "large_updates")
LEVEL, ONE_LR, BEST_LARGE = 0.8, 2.0**-5, 2.0**-2


def stopped(run: pd.Series) -> tuple[float, float]:
    """Logarithm of the sharpness, and the validation loss, where the training loss first comes to the level."""
    step, loss = np.array(run["curve_evaluation_step"]), np.array(run["curve_evaluation_training_loss"])
    below = np.flatnonzero(loss <= LEVEL)
    if not len(below) or below[0] == 0:
        return np.nan, np.nan
    pair = [below[0], below[0] - 1]
    at_step = np.interp(LEVEL, loss[pair], step[pair])
    sharpness = np.array(run["curve_probe_sharpness"], dtype=float)
    known = np.isfinite(sharpness)
    log = np.interp(at_step, np.array(run["curve_probe_step"])[known], np.log(sharpness[known]), left=np.nan, right=np.nan)
    return float(log), float(np.interp(at_step, step, np.array(run["curve_evaluation_loss"])))


def mean_log(table: pd.DataFrame, arm: str, lr: float) -> float:
    runs = table[(table["arm"] == arm) & np.isclose(table["lr"], lr)]
    return float(np.nanmean([stopped(run)[0] for _, run in runs.iterrows()]))


def test_small_batch(table: pd.DataFrame) -> None:
    """At one LR and equal updates; then each at its tuned LR, at equal epochs. Shares of the fall to the lowest tuned loss."""
    small, epochs, updates = (tuned(table, arm) for arm in ARMS)

    def starts(*arms: str) -> float:
        runs = table[table["arm"].isin(arms)]
        runs = runs[runs["outcome"] != "diverged"]
        by_seed = runs.groupby(["arm", "seed"])["initial_loss"].mean()
        return float(by_seed.groupby("arm").mean().mean())

    one = at(table, "large_updates", ONE_LR) - at(table, "small", ONE_LR)
    fall = starts("small", "large_updates") - min(small, updates)
    assert published("gen.small_batch", STUDY, 0) == pytest.approx(one / fall, abs=1e-6)
    fall = starts("small", "large_epochs") - min(small, epochs)
    assert published("gen.small_batch", STUDY, 1) == pytest.approx((epochs - small) / fall, abs=1e-6)


def test_sharper(table: pd.DataFrame) -> None:
    one = np.exp(mean_log(table, "large_updates", ONE_LR) - mean_log(table, "small", ONE_LR))
    assert published("gen.sharper", STUDY, 0) == pytest.approx(one, rel=1e-5)
    best = np.exp(mean_log(table, "large_epochs", BEST_LARGE) - mean_log(table, "small", ONE_LR))
    assert published("gen.sharper", STUDY, 1) == pytest.approx(best, rel=1e-5)


def test_flat_minima(table: pd.DataFrame) -> None:
    """Spearman's correlation over settings in each seed, by scipy; the mean over seeds."""
    runs = table[table["arm"].isin(ARMS)]
    read = pd.DataFrame([stopped(run) for _, run in runs.iterrows()], columns=["sharpness", "loss"], index=runs.index)
    usable = read.assign(seed=runs["seed"]).dropna()
    found = [scipy.stats.spearmanr(group["sharpness"], group["loss"]).statistic for _, group in usable.groupby("seed")]
    assert published("gen.flat_minima", STUDY) == pytest.approx(np.mean(found), abs=1e-5)


def test_why_flat_minima_is_withdrawn(table: pd.DataFrame) -> None:
    """Where the runs that come to the level are read, and what they are at their end; the interval by Student over seeds."""
    runs = table[table["arm"].isin(ARMS)]
    runs = runs[[np.isfinite(stopped(run)).all() for _, run in runs.iterrows()]]
    steps = [np.array(run["curve_evaluation_step"]) for _, run in runs.iterrows()]
    first = [np.flatnonzero(np.array(loss) <= LEVEL)[0] for loss in runs["curve_evaluation_training_loss"]]
    share = np.median([each[index] / each[-1] for each, index in zip(steps, first, strict=True)])
    assert 0.3 < share < 0.4
    assert 0.7 < (1 + np.cos(np.pi * share)) / 2 < 0.8, "the cosine's LR over its peak"
    last = [np.array(each, dtype=float) for each in runs["curve_probe_sharpness"]]
    ends = runs.assign(sharpness=[each[np.isfinite(each)][-1] for each in last])
    found = [scipy.stats.spearmanr(g["sharpness"], g["validation_loss"]).statistic for _, g in ends.groupby("seed")]
    half = scipy.stats.t.ppf(0.975, len(found) - 1) * np.std(found, ddof=1) / len(found) ** 0.5
    mean = np.mean(found)
    assert f"{mean:+.2f} ({mean - half:.2f} to {mean + half:.2f})" in reason("gen.flat_minima")
