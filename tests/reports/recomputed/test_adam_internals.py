"""One number of each claim of adam_internals again: by numpy, and of the published trials by pandas."""

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import at, best, published

STUDY = "adam_internals"


def window(table: pd.DataFrame, arm: str, lr: float, first: float, last: float = 1.0) -> float:
    """Mean training loss of an arm's seeds at an LR, over a window of the run: means of the kept bins, which are equal."""
    rows = table[(table["arm"] == arm) & np.isclose(table["lr"], lr)]
    means = []
    for steps, losses in zip(rows["curve_step"], rows["curve_train_loss"], strict=True):
        share = np.asarray(steps, dtype=float) / float(steps[-1])
        inside = (share > first + 1e-9) & (share <= last + 1e-9)
        means.append(float(np.asarray(losses, dtype=float)[inside].mean()))
    return float(np.mean(means))


def of_the_fall(table: pd.DataFrame, gap: float, reference: str, *read: str) -> float:
    """L0 is the mean loss at initialization of the arms read and of the reference, over their seeds."""
    arms = [*dict.fromkeys((reference, *read))]
    start = np.mean([table[table["arm"] == arm].groupby("seed")["initial_loss"].mean().mean() for arm in arms])
    return gap / (float(start) - at(table, reference, best(table, reference)))


def steps_without_correction() -> np.ndarray:
    """Over steps with it, at a constant gradient: (1 - 0.9^t) / sqrt(1 - 0.999^t)."""
    t = np.arange(1, 5001)
    return (1 - 0.9**t) / np.sqrt(1 - 0.999**t)


def test_bias() -> None:
    t = np.arange(1, 5001)
    for index, beta in enumerate((0.9, 0.999)):
        assert published("adam.bias", STUDY, index) == np.argmax(1 - beta**t >= 1 - np.exp(-1)) + 1
    assert published("adam.bias", STUDY, 2) == pytest.approx(steps_without_correction()[0], rel=1e-5)


def test_epsilon() -> None:
    """At g = epsilon / 100 the step is g / (g + epsilon), which g / epsilon misses by a hundred-and-first."""
    assert published("adam.epsilon", STUDY) == pytest.approx(1 / 101, rel=1e-3)


def test_half_life() -> None:
    assert published("adam.half_life", STUDY) == pytest.approx(np.log(2) / -np.log(0.999), rel=1e-4)


def test_rmsprop() -> None:
    assert published("adam.rmsprop", STUDY) < 1e-6


def test_beta2(table: pd.DataFrame) -> None:
    gap = window(table, "beta2_0.999", 2.0**-4, 0.5) - window(table, "beta2_0.95", 2.0**-4, 0.5)
    found = of_the_fall(table, gap, "beta2_0.95", "beta2_0.999")
    assert published("adam.beta2_spikes", STUDY) == pytest.approx(found, rel=1e-6)


def test_outlier(table: pd.DataFrame) -> None:
    lr = best(table, "steady")
    after = window(table, "memory", lr, 0.5, 0.6) - window(table, "steady", lr, 0.5, 0.6)
    assert published("adam.outlier", STUDY, 0) == pytest.approx(of_the_fall(table, after, "steady", "memory"), rel=1e-6)
    later = window(table, "whole", lr, 0.9) - window(table, "kick", lr, 0.9)
    assert published("adam.outlier", STUDY, 1) == pytest.approx(of_the_fall(table, later, "steady", "whole", "kick"), rel=1e-6)
