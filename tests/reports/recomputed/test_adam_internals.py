"""One number of each claim of adam_internals again: by numpy, and of the published trials by pandas."""

import pandas as pd
import pytest

from tests.reports.recomputed.tables import best, curves, estimates, published, runs, start, trials, tuned

STUDY = "adam_internals"


def window(table: pd.DataFrame, arm: str, lr: float, first: float, last: float = 1.0) -> float:
    """Mean training loss of an arm's seeds at an LR, over a window of the run: means of the kept bins, which are equal."""
    rows = runs(table, arm, lr)
    steps = curves(rows, "step")[0]
    inside = (steps > (first + 1e-9) * steps[-1]) & (steps <= (last + 1e-9) * steps[-1])
    return float(curves(rows, "train_loss")[:, inside].mean())


def of_the_fall(table: pd.DataFrame, gap: float, reference: str, *read: str) -> float:
    return gap / (start(table, reference, *read) - tuned(table, reference))


def beta2_adds(table: pd.DataFrame, first: float, last: float = 1.0) -> float:
    gap = window(table, "beta2_0.999", 2.0**-5, first, last) - window(table, "beta2_0.95", 2.0**-5, first, last)
    return of_the_fall(table, gap, "beta2_0.95", "beta2_0.999")


def test_beta2(table: pd.DataFrame) -> None:
    late, early = beta2_adds(table, 0.5), beta2_adds(table, 0.1, 0.2)
    assert published("adam.beta2_spikes", STUDY, 1) == pytest.approx(late, rel=1e-6)
    assert published("adam.beta2_spikes", STUDY, 2) == pytest.approx(late - early, rel=1e-6)


def test_memory_and_batch_size() -> None:
    """No exponent: the best LR of one arm is the highest that was tried, on the seeds that these arms have."""
    assert best(trials(STUDY, 10), "batch_8_memory_432") == 2.0**-6
    assert estimates(STUDY)["adam.beta2_tokens"] == [None]


def test_outlier() -> None:
    table = trials(STUDY, 8)
    lr = best(table, "steady")
    after = window(table, "memory", lr, 0.5, 0.6) - window(table, "steady", lr, 0.5, 0.6)
    assert published("adam.outlier", STUDY, 0) == pytest.approx(of_the_fall(table, after, "steady", "memory"), rel=1e-6)
    later = window(table, "whole", lr, 0.9) - window(table, "kick", lr, 0.9)
    assert published("adam.outlier", STUDY, 1) == pytest.approx(of_the_fall(table, later, "steady", "whole", "kick"), rel=1e-6)
