"""One number of each of warmup's claims again, from the published trials by plain pandas."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import best, curves, fall, means, published, runs, start, trials, tuned

STUDY = "warmup"
SHORT = ("none", "warmup_20%", "radam", "first_gradient", "held")
LONG = ("long_none", "long_5%", "long_20%")
LONG_SEEDS, EDGE_SEEDS = 44, 96


def octaves(table: pd.DataFrame, arm: str, arms: tuple[str, ...], within: float) -> float:
    """log2 of the largest LR below a bar that lies above the best of the arms by a share of the fall."""
    lowest = min(means(table, each)["test_loss"].min() for each in arms)
    bar = lowest + within * (start(table, *arms) - lowest)
    loss = means(table, arm)["test_loss"]
    x, y = np.log2(loss.index.to_numpy()), loss.to_numpy()
    last = int(np.flatnonzero(y <= bar)[-1])
    return float(x[last] + (bar - y[last]) / (y[last + 1] - y[last]) * (x[last + 1] - x[last]))


def diverged_at_the_edge(table: pd.DataFrame, arm: str) -> pd.DataFrame:
    own = table[table["arm"] == arm]
    rate = (own["outcome"] == "diverged").groupby(own["lr"]).mean()
    edge = rate.index[rate > 0.5].min()
    return own[(own["lr"] == edge) & (own["outcome"] == "diverged")]


def cured(table: pd.DataFrame, arm: str, by: str) -> pd.Series:
    lost = diverged_at_the_edge(table, arm)
    remedy = runs(table, by, lost["lr"].iloc[0]).set_index("seed")
    return remedy.loc[lost["seed"], "outcome"] != "diverged"


def test_widens(table: pd.DataFrame) -> None:
    gained = octaves(table, "warmup_20%", SHORT, 0.05) - octaves(table, "none", SHORT, 0.05)
    assert 2**gained == pytest.approx(published("warmup.widens", STUDY), rel=1e-6)


def test_improves_best() -> None:
    table = trials(STUDY, LONG_SEEDS)
    share = (tuned(table, "long_none") - tuned(table, "long_5%")) / fall(table, *LONG)
    assert share == pytest.approx(published("warmup.improves_best", STUDY), rel=1e-6)


def test_mechanism(table: pd.DataFrame) -> None:
    none, ramped, held = (octaves(table, arm, SHORT, 0.05) for arm in ("none", "warmup_20%", "held"))
    assert (held - none) / (ramped - none) == pytest.approx(published("warmup.mechanism", STUDY), rel=1e-6)


def test_early_gradients() -> None:
    table = trials(STUDY, LONG_SEEDS)
    own = runs(table, "long_none", best(table, "long_none"))
    share = curves(own, "probe_step")[0] / json.loads(own["configuration"].iloc[0])["training"]["steps"]
    norms = curves(own, "probe_gradient_norm")
    logs = np.log(norms[:, share <= 0.01].mean(axis=1) / norms[:, share > 0.9].mean(axis=1))
    assert np.exp(logs.mean()) == pytest.approx(published("warmup.early_gradients", STUDY), rel=1e-6)


def test_late_nan() -> None:
    """The runs at the edge that another arm has, too, are stored under its name."""
    table = trials(STUDY, EDGE_SEEDS).replace({"arm": {"sgd_warmup_20%_edge": "sgd_warmup_20%"}})
    times = diverged_at_the_edge(table, "sgd_warmup_20%")["divergence_step"] / 120
    assert np.exp(np.log(times).mean()) == pytest.approx(published("warmup.late_nan", STUDY), rel=1e-6)
    saved = cured(table, "sgd_warmup_20%", "sgd_warmup_60%").mean()
    assert saved == pytest.approx(published("warmup.late_nan", STUDY, criterion=2), rel=1e-9)


def test_clip_first(table: pd.DataFrame) -> None:
    saved = cured(table, "sgd_warmup_20%", "sgd_clipped").mean()
    assert saved == pytest.approx(published("warmup.clip_first", STUDY), rel=1e-9)
