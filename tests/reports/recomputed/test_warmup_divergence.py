"""The numbers of warmup_divergence's claims again, from the published trials by plain pandas."""

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import cured, diverged_at, largest, published, trials

STUDY, SEEDS = "warmup_divergence", 64
ENDS = {"20%": 120, "60%": 360}


def time(table: pd.DataFrame, arm: str, lr: float | None = None) -> float:
    return float(np.exp(np.log(diverged_at(table, arm, lr)["divergence_step"] / ENDS[arm]).mean()))


def test_late_nan(table: pd.DataFrame) -> None:
    assert time(table, "20%") == pytest.approx(published("warmup.late_nan", STUDY), rel=1e-6)
    ratio = time(table, "60%", 2.0**0.5) / time(table, "20%", 2.0**0.5)
    assert ratio == pytest.approx(published("warmup.late_nan", STUDY, criterion=1), rel=1e-6)


def test_the_edge_moves() -> None:
    """On the seeds that the runs below the edge have, too."""
    short, long = (largest(trials(STUDY), arm, ("20%_below",), 0.5) for arm in ENDS)
    assert 2 ** (long - short) == pytest.approx(published("warmup.late_nan", STUDY, criterion=2), rel=1e-6)


@pytest.mark.parametrize(("criterion", "by"), [(0, "clipped"), (2, "60%")])
def test_clip_first(table: pd.DataFrame, criterion: int, by: str) -> None:
    assert cured(table, "20%", by).mean() == pytest.approx(published("warmup.clip_first", STUDY, criterion), rel=1e-9)
