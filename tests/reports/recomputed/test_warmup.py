"""One number of each of warmup's claims again, from the published trials by plain pandas."""

import pandas as pd
import pytest

from tests.reports.recomputed.tables import largest, published, trials

STUDY, SEEDS = "warmup", 20
ADAM = ("none", "warmup_20%", "warmup_10%", "first_gradient", "held")
SGD = ("sgd", "sgd_warmup_20%")


def gained(table: pd.DataFrame, arm: str, within: float) -> float:
    return largest(table, arm, ADAM, within) - largest(table, "none", ADAM, within)


def test_widens(table: pd.DataFrame) -> None:
    assert 2 ** gained(table, "warmup_20%", 0.05) == pytest.approx(published("warmup.widens", STUDY), rel=1e-6)


def test_first_gradient(table: pd.DataFrame) -> None:
    part, whole = (sum(gained(table, arm, bar) for bar in (0.05, 0.1)) for arm in ("first_gradient", "warmup_20%"))
    assert part / whole == pytest.approx(published("warmup.first_gradient", STUDY), rel=1e-6)


def test_mechanism(table: pd.DataFrame) -> None:
    share = gained(table, "held", 0.05) / gained(table, "warmup_20%", 0.05)
    assert share == pytest.approx(published("warmup.mechanism", STUDY), rel=1e-6)


def test_sgd_gains() -> None:
    bare, ramped = (largest(trials(STUDY), arm, SGD, 0.1) for arm in SGD)
    assert ramped - bare == pytest.approx(published("warmup.mechanism", STUDY, criterion=1), rel=1e-6)
