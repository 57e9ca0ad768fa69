"""The numbers of batch_ramp again: sums over the published trials in pandas, and a run of plain torch."""

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import at, best, published, start

STUDY, CLAIM = "batch_ramp", "ramp.equivalent"


def fall(table: pd.DataFrame, *arms: str) -> float:
    """From the loss at initialization of the arms to the lowest loss of the run whose LR is lowered."""
    return start(table, *arms) - at(table, "decay", best(table, "decay"))


def lost(table: pd.DataFrame, arm: str, times: float = 1.0) -> float:
    """Loss of an arm above the lowered LR's, at `times` the LR that is best for the latter, as a share of the fall."""
    lr = times * best(table, "decay")
    return (at(table, arm, lr) - at(table, "decay", lr)) / fall(table, arm, "decay")


def test_losses(table: pd.DataFrame) -> None:
    assert published(CLAIM, STUDY, 0) == pytest.approx(lost(table, "constant"), abs=1e-6)
    assert published(CLAIM, STUDY, 1) == pytest.approx(lost(table, "ramp"), abs=1e-6)
    assert published(CLAIM, STUDY, 2) == pytest.approx(lost(table, "ramp", 2.0), abs=1e-6)


def test_time(table: pd.DataFrame) -> None:
    """Steps at their times, of as many examples."""
    logs = table.assign(log=np.log(table["step_seconds"])).groupby("arm")["log"].mean()
    small, middle, large = (np.exp(logs[f"solo_{times}"]) for times in (1, 4, 16))
    ramped = 2048 * small + 256 * middle + 64 * large
    assert published(CLAIM, STUDY, 3) == pytest.approx(ramped / (4096 * small), rel=1e-6)


def test_runs_of_a_seed_are_one_until_half_of_the_examples(table: pd.DataFrame) -> None:
    """And no longer: the validation losses of the first half are equal, the later ones differ."""
    curves = table[table["arm"].isin(["decay", "ramp", "constant"])].set_index(["arm", "lr", "seed"])["curve_evaluation_loss"]
    for (_, lr, seed), curve in curves.loc[["decay"]].items():
        for arm in ("ramp", "constant"):
            other = curves.loc[(arm, lr, seed)]
            assert len(other) == len(curve) == 16
            np.testing.assert_allclose(other[:8], curve[:8], rtol=1e-5)
            assert not np.allclose(other[9:], curve[9:], rtol=1e-6)
