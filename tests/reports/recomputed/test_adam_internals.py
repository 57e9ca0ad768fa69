"""One number of each claim of adam_internals again: by numpy, and of the published trials by pandas."""

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import best, curves, published, runs, start, tuned

STUDY = "adam_internals"


def window(table: pd.DataFrame, arm: str, lr: float, first: float, last: float = 1.0) -> float:
    """Mean training loss of an arm's seeds at an LR, over a window of the run: means of the kept bins, which are equal."""
    found = runs(table, arm, lr)
    steps = curves(found, "step")[0]
    inside = (steps > (first + 1e-9) * steps[-1]) & (steps <= (last + 1e-9) * steps[-1])
    return float(curves(found, "train_loss")[:, inside].mean())


def of_the_fall(table: pd.DataFrame, gap: float, reference: str, *read: str) -> float:
    return gap / (start(table, reference, *read) - tuned(table, reference))


def beta2_adds(table: pd.DataFrame, first: float, last: float = 1.0) -> float:
    gap = window(table, "beta2_0.999", 2.0**-5, first, last) - window(table, "beta2_0.95", 2.0**-5, first, last)
    return of_the_fall(table, gap, "beta2_0.95", "beta2_0.999")


def test_beta2(table: pd.DataFrame) -> None:
    late, early = beta2_adds(table, 0.5), beta2_adds(table, 0.1, 0.2)
    assert published("adam.beta2_spikes", STUDY, 1) == pytest.approx(late, rel=1e-6)
    assert published("adam.beta2_spikes", STUDY, 2) == pytest.approx(late - early, rel=1e-6)


def test_memory_and_batch_size(table: pd.DataFrame) -> None:
    """Parabolas of one curvature, by their normal equations: those of a batch size, centred, have no constant."""
    parts = {}
    for size in (2, 8, 32):
        x = np.log2([sequences / size for sequences in (108, 432, 1728, 6912)])
        y = np.array([tuned(table, f"batch_{size}_memory_{sequences}") for sequences in (108, 432, 1728, 6912)])
        parts[size] = x.mean(), np.polyfit(x - x.mean(), y, 2)
    curvature = np.mean([fit[0] for _, fit in parts.values()])  # the x are as far apart at every batch size
    lowest = {size: centre - fit[1] / (2 * curvature) for size, (centre, fit) in parts.items()}
    exponent = np.polyfit(np.log2(list(lowest)), list(lowest.values()), 1)[0]
    assert published("adam.beta2_tokens", STUDY) == pytest.approx(exponent, rel=1e-6)


def test_outlier(table: pd.DataFrame) -> None:
    lr = best(table, "steady")
    after = window(table, "memory", lr, 0.5, 0.6) - window(table, "steady", lr, 0.5, 0.6)
    assert published("adam.outlier", STUDY, 0) == pytest.approx(of_the_fall(table, after, "steady", "memory"), rel=1e-6)
    later = window(table, "whole", lr, 0.9) - window(table, "kick", lr, 0.9)
    assert published("adam.outlier", STUDY, 1) == pytest.approx(of_the_fall(table, later, "steady", "whole", "kick"), rel=1e-6)
