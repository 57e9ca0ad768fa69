"""The estimate of the decisive criterion of every claim of mup_transfer, worked out again from the published trials."""

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import at, best, fall, published, tuned, vertex

STUDY = "mup_transfer"
BASE = {32: "base_32"}
STANDARD = BASE | {64: "sp_64", 128: "sp_128"}
MUP = BASE | {64: "mup_64", 128: "mup_128", 256: "mup_256"}
DEPTH = {1: "depth_1", 2: "base_32", 4: "depth_4", 8: "depth_8"}


@pytest.mark.parametrize(
    ("claim", "arms"), [("mup.sp_shifts", STANDARD), ("mup.invariant", MUP), ("mup.depth", DEPTH)], ids=str
)
def test_the_exponent_of_the_best_learning_rate(table: pd.DataFrame, claim: str, arms: dict[int, str]) -> None:
    slope = np.polyfit(np.log2(list(arms)), [vertex(table, arm, 1.5) for arm in arms.values()], 1)[0]
    assert slope == pytest.approx(published(claim, STUDY), abs=1e-6)


def test_the_regret_of_a_transferred_learning_rate(table: pd.DataFrame) -> None:
    lost = at(table, "mup_256", best(table, "base_32")) - tuned(table, "mup_256")
    assert lost / fall(table, "mup_256") == pytest.approx(published("mup.regret", STUDY), abs=1e-9)


def test_the_slope_of_the_logits(table: pd.DataFrame) -> None:
    widths = (32, 64, 128, 256)
    sizes = [
        np.mean([np.log([step[-1] for step in curve][1:5]) for curve in of_width["curve_probe_layer_activation"]])
        for of_width in (table[table["arm"] == f"check_{width}"] for width in widths)
    ]
    assert np.polyfit(np.log(widths), sizes, 1)[0] == pytest.approx(published("mup.coord_check", STUDY), abs=1e-6)
