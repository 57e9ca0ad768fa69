"""One number of each claim of optimizers again: from the published trials by plain numpy, and from a LAMB of its own."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import fall, gap, means, published, runs, start, trials, tuned

STUDY = "optimizers"
BATCHES = (8, 64)


def vertex(table: pd.DataFrame, arm: str) -> float:
    """Best LR by a parabola through the points within two octaves, up to where a run is lost."""
    rows = table[table["arm"] == arm].groupby("lr").agg(loss=("validation_loss", "mean"), outcomes=("outcome", set))
    x, loss = np.log2(rows.index.to_numpy(dtype=float)), rows["loss"].to_numpy()
    lowest = int(loss.argmin())
    lost = np.array(["diverged" in outcomes for outcomes in rows["outcomes"]])
    ends = [index for index in range(len(x)) if lost[index] and abs(index - lowest) > 1]
    low, high = max([e for e in ends if e < lowest], default=-1), min([e for e in ends if e > lowest], default=len(x))
    near = (np.abs(x - x[lowest]) <= 2) & (np.arange(len(x)) > low) & (np.arange(len(x)) < high)
    square, line, _ = np.polyfit(x[near], loss[near], 2)
    return float(2 ** (-line / 2 / square))


# LR and decay at which an arm and the one whose decay is varied meet.
SHARED = {"adamw_64": (2.0**-5, 0.5), "lion_8": (2.0**-8, 4.0), "lion_64": (2.0**-7, 4.0)}


def crossings(table: pd.DataFrame, arm: str, factor: str) -> float:
    """Octaves within 5% of the fall about the lowest mean test loss, by straight lines; from the low end if it is open."""
    rows = runs(table, arm)
    rows = rows.assign(x=[np.log2(json.loads(point)[factor]) for point in rows["point"]])
    base = arm.removesuffix("_decay")
    if factor == "weight_decay" and base in SHARED:  # a trial that two arms share stands under the first
        lr, decay = SHARED[base]
        rows = pd.concat([rows, runs(table, base, lr).assign(x=np.log2(decay))]).drop_duplicates(["x", "seed"])
    loss = rows.groupby("x")["test_loss"].mean()
    x, y = loss.index.to_numpy(), loss.to_numpy()
    bar = y.min() + 0.05 * (start(rows.assign(arm=arm), arm) - y.min())
    fine = np.linspace(x[0], x[-1], 200_001)
    inside = np.interp(fine, x, y) <= bar
    lowest = int(np.searchsorted(fine, x[y.argmin()]))
    above = lowest + int(np.argmin(inside[lowest:]))
    below = lowest - int(np.argmin(inside[: lowest + 1][::-1])) if not inside[: lowest + 1].all() else 0
    return float(fine[above] - fine[below])


def test_lion(table: pd.DataFrame) -> None:
    for index, batch in enumerate(BATCHES):
        adamw, lion = f"adamw_{batch}", f"lion_{batch}"
        assert published("opt.lion", STUDY, 3 * index) == 0.5
        assert published("opt.lion", STUDY, 3 * index + 1) == pytest.approx(
            vertex(table, adamw) / vertex(table, lion), rel=1e-6
        )
        assert published("opt.lion", STUDY, 3 * index + 2) == pytest.approx(gap(table, lion, adamw), rel=1e-3, abs=1e-5)


def test_lions_basins(table: pd.DataFrame) -> None:
    for index, batch in enumerate(BATCHES):
        for part, (end, factor) in enumerate((("", "peak_lr"), ("_decay", "weight_decay"))):
            width = {name: crossings(table, f"{name}_{batch}{end}", factor) for name in ("lion", "adamw")}
            ratio = published("opt.lion_sensitive", STUDY, 2 * index + part)
            assert ratio == pytest.approx(width["lion"] / width["adamw"], rel=1e-3)


def test_sophia(table: pd.DataFrame) -> None:
    x = np.log2([0.7, 1.2, 2.0])
    loss = [tuned(table, arm) for arm in ("sophia_64_short", "sophia_64", "sophia_64_long")]
    slope, constant = np.polyfit(x, loss, 1)
    ratio = 2 ** ((tuned(table, "adamw_64") - constant) / slope)
    assert published("opt.sophia", STUDY, 0) == pytest.approx(ratio, rel=1e-6)
    assert published("opt.sophia", STUDY, 1) == pytest.approx(1.1 * ratio, rel=1e-6)


def test_layerwise(table: pd.DataFrame) -> None:
    """With the further seeds that these arms have."""
    table = trials(STUDY, seeds=40)
    for index, (base, layerwise, times) in enumerate((("nesterov", "lars", 16.0), ("adamw", "lamb", 4.0))):
        losses = means(table, f"{base}_large")["test_loss"]
        by_rule = np.interp(np.log2(times * vertex(table, f"{base}_small")), np.log2(losses.index), losses)
        lost = (by_rule - tuned(table, f"{layerwise}_large")) / fall(table, f"{base}_large", f"{layerwise}_large")
        assert published("opt.layerwise", STUDY, index) == pytest.approx(lost, rel=1e-3, abs=1e-5)
