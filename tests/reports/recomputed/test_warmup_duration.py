"""One number of each of warmup_duration's claims again, from the published trials by plain pandas."""

import json

import numpy as np
import pytest

from tests.reports.recomputed.tables import best, curves, fall, gap, published, runs, trials, tuned

STUDY = "warmup_duration"


@pytest.mark.parametrize(("criterion", "left", "right"), [(0, "short_5%", "short_20%"), (1, "5%", "20%")])
def test_duration(criterion: int, left: str, right: str) -> None:
    share = gap(trials(STUDY, seeds=64), left, right)
    assert share == pytest.approx(published("warmup.duration", STUDY, criterion), rel=1e-6)


def test_improves_best() -> None:
    table = trials(STUDY, seeds=44)
    share = (tuned(table, "none") - tuned(table, "5%")) / fall(table, "none", "2%", "5%", "20%")
    assert share == pytest.approx(published("warmup.improves_best", STUDY), rel=1e-6)


def test_early_gradients() -> None:
    table = trials(STUDY)
    own = runs(table, "none_probed", best(table, "none_probed"))
    share = curves(own, "probe_step")[0] / json.loads(own["configuration"].iloc[0])["training"]["steps"]
    norms = curves(own, "probe_gradient_norm")
    logs = np.log(norms[:, share <= 0.01].mean(axis=1) / norms[:, share > 0.9].mean(axis=1))
    assert np.exp(logs.mean()) == pytest.approx(published("warmup.early_gradients", STUDY), rel=1e-6)
