"""The estimate of the decisive criterion of every claim of mup_transfer, worked out again from the published trials."""

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import at, best, fall, published, trials, tuned, vertex

STUDY = "mup_transfer"
BASE = {32: "base_32"}
STANDARD = BASE | {64: "sp_64", 128: "sp_128"}
MUP = BASE | {64: "mup_64", 128: "mup_128", 256: "mup_256"}
DEPTH = {1: "depth_1", 2: "base_32", 4: "depth_4", 8: "depth_8"}


@pytest.mark.parametrize(
    ("claim", "scale", "arms"),
    [
        ("mup.sp_shifts", "laptop", STANDARD),
        ("mup.sp_shifts", "workstation", {24: "off_24", 48: "off_sp_48", 96: "off_sp_96"}),
        ("mup.invariant", "laptop", MUP),
        ("mup.invariant", "workstation", {24: "off_24", 48: "off_mup_48", 96: "off_mup_96", 192: "off_mup_192"}),
        ("mup.depth", "laptop", DEPTH),
        ("mup.depth", "workstation", DEPTH | {2: "off_24"}),
    ],
)
def test_the_exponent_of_the_best_learning_rate(claim: str, scale: str, arms: dict[int, str]) -> None:
    table = trials(STUDY, scale=scale)
    slope = np.polyfit(np.log2(list(arms)), [vertex(table, arm, 1.5) for arm in arms.values()], 1)[0]
    assert slope == pytest.approx(published(claim, STUDY, scale=scale), abs=1e-6)


@pytest.mark.parametrize(
    ("scale", "wide", "narrow"), [("laptop", "mup_256", "base_32"), ("workstation", "off_mup_192", "off_24")]
)
def test_the_regret_of_a_transferred_learning_rate(scale: str, wide: str, narrow: str) -> None:
    table = trials(STUDY, scale=scale)
    lost = at(table, wide, best(table, narrow)) - tuned(table, wide)
    assert lost / fall(table, wide) == pytest.approx(published("mup.regret", STUDY, scale=scale), abs=1e-9)


def test_the_slope_of_the_logits(table: pd.DataFrame) -> None:
    widths = (32, 64, 128, 256)
    sizes = [
        np.mean([np.log([step[-1] for step in curve][1:5]) for curve in of_width["curve_probe_layer_activation"]])
        for of_width in (table[table["arm"] == f"check_{width}"] for width in widths)
    ]
    assert np.polyfit(np.log(widths), sizes, 1)[0] == pytest.approx(published("mup.coord_check", STUDY), abs=1e-6)
