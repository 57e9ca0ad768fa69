"""One number of each claim of edge_of_stability again: descent and Newton's method by numpy alone, runs by pandas and loops."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import curves, published, runs, trials

STUDY = "edge_of_stability"


def test_quadratic(table: pd.DataFrame) -> None:
    """x <- (1 - lr h) x: the fastest LR and what it leaves, at the condition number that is furthest off 2 / (λmax + λmin)."""
    assert published("eos.quadratic", STUDY, 0) == 1.0
    for index in (1, 2):
        assert published("eos.quadratic", STUDY, index) == pytest.approx(1.0, abs=1e-3)
    for index, arm in ((3, "above"), (4, "below")):
        lost = (table[table["arm"] == arm]["outcome"] == "diverged").mean()
        assert published("eos.quadratic", STUDY, index) == lost == (arm == "above")


# LR x sharpness at which gradient descent turns unstable.
LIMIT = 2.0
DESCENTS = ("gd_low", "gd_middle", "gd_high")


def windows(table: pd.DataFrame, arm: str, of_the_limit: float = 0.9) -> list[tuple[float, float, pd.Series]]:
    """Every run of an arm: the probed step at which it comes to so much of its limit, the step at which its loss is down to
    1%, and the run with its LR x sharpness over the limit."""
    spans = []
    for _, run in runs(table, arm).iterrows():
        steps, gone = run["curve_step"], np.flatnonzero(np.asarray(run["curve_train_loss"]) <= run["initial_loss"] / 100)
        end, probed = steps[gone[0]] if len(gone) else steps[-1], run["curve_probe_step"]
        height = dict(zip(probed, run["lr"] * np.asarray(run["curve_probe_sharpness"], float) / LIMIT, strict=True))
        late = {step: value for step, value in height.items() if 0.01 * probed[-1] < step <= end}
        begin = next((step for step, value in late.items() if value >= of_the_limit), np.inf)
        spans.append((begin, end, pd.concat([run, pd.Series({"late": late})])))
    return spans


def test_sharpness(table: pd.DataFrame) -> None:
    """Geometric mean over seeds of the median at the edge; four preconditions come before."""
    for index, arm in enumerate(DESCENTS, start=4):
        logs = []
        for begin, _, run in windows(table, arm):
            inside = [value for step, value in run["late"].items() if step >= begin]
            logs.append(np.log(np.median(inside) if inside else max(run["late"].values())))
        assert published("eos.sharpness", STUDY, index) == pytest.approx(np.exp(np.mean(logs)), rel=1e-4)


def test_sharpness_in_mini_batches(table: pd.DataFrame) -> None:
    """The same over all probes of the second half of a run."""
    logs = []
    rows = runs(table, "sgd_batches")
    for lr, steps, values in zip(rows["lr"], curves(rows, "probe_step"), curves(rows, "probe_sharpness"), strict=True):
        logs.append(np.log(np.nanmedian(lr * values[steps > steps[-1] / 2] / 2)))
    assert published("eos.sharpness", STUDY, 7) == pytest.approx(np.exp(np.mean(logs)), rel=1e-4)


def test_batch_sharpness() -> None:
    """The mean over probes of a run's second half, of batches of 10 at the high LR; two preconditions come before."""
    rows, logs = runs(trials(STUDY, 12), "sgd_10_high"), []
    for steps, values in zip(curves(rows, "probe_step"), curves(rows, "probe_batch_sharpness"), strict=True):
        logs.append(np.log(np.nanmean(0.5 * values[steps > steps[-1] / 2] / 2)))
    assert published("eos.batch_sharpness", STUDY, 2) == pytest.approx(np.exp(np.mean(logs)), rel=1e-4)


def test_windows_of_equal_lr_times_steps_fall(table: pd.DataFrame) -> None:
    """Means of windows of 300 steps at the low LR, both at the edge, one below the other."""
    shares = []
    for begin, end, run in windows(table, "gd_low", of_the_limit=1.0):
        losses, points = np.asarray(run["curve_train_loss"], float), round(300 / run["curve_step"][0])
        means = losses[: len(losses) // points * points].reshape(-1, points).mean(axis=1)
        falls = [b < a for at, (a, b) in enumerate(pairwise(means)) if at * 300 >= begin and (at + 2) * 300 <= end]
        shares += [np.mean(falls)] if falls else []
    assert published("eos.nonmonotone", STUDY, 3) == pytest.approx(np.mean(shares), abs=1e-4)


def test_nonmonotone(table: pd.DataFrame) -> None:
    """The mean over seeds of the share of rising steps: points of the curve are the means of equally many steps."""
    for index, arm in enumerate(DESCENTS):
        shares = []
        for begin, end, run in windows(table, arm, of_the_limit=1.0):
            steps = run["curve_step"]
            rises = zip(steps, run["curve_train_loss_rises"], strict=True)
            inside = [share for step, share in rises if step - steps[0] >= begin and step <= end]
            shares += [np.mean(inside)] if inside else []
        assert published("eos.nonmonotone", STUDY, index) == pytest.approx(np.mean(shares), abs=1e-4)
