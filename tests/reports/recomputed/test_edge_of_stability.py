"""One number of each claim of edge_of_stability again: descent and Newton's method by numpy alone, runs by pandas."""

import numpy as np
import pytest

from folklore.harness.data import load
from tests.reports.recomputed.tables import published, trials

STUDY = "edge_of_stability"


def test_quadratic() -> None:
    """x <- (1 - lr h) x: the fastest LR and what it leaves, at the condition number that is furthest off 2 / (λmax + λmin)."""
    assert published("eos.quadratic", STUDY, 0) == 1.0
    for index in (1, 2):
        assert published("eos.quadratic", STUDY, index) == pytest.approx(1.0, abs=1e-3)
    table = trials(STUDY)
    for index, arm in ((3, "above"), (4, "below")):
        lost = (table[table["arm"] == arm]["outcome"] == "diverged").mean()
        assert published("eos.quadratic", STUDY, index) == lost == (arm == "above")


def test_newton() -> None:
    """The same regression by iteratively reweighted least squares, which is Newton's method."""
    inputs, labels = load("digits").splits["train"]  # type: ignore[attr-defined]
    x, y = inputs.reshape(len(labels), -1)[labels < 2].astype(float), labels[labels < 2].astype(float)
    w, path = np.zeros(x.shape[1]), []
    for _ in range(25):
        p = 1 / (1 + np.exp(-x @ w))
        s = p * (1 - p)
        z = s * (x @ w) + y - p
        w = np.linalg.solve((x.T * s) @ x / len(y) + 1e-2 * np.eye(x.shape[1]), x.T @ z / len(y))
        path.append(w)
    errors = np.array([np.linalg.norm(each - path[-1]) for each in path])
    before, now, after = errors[errors > 1e-12][-3:]
    assert published("eos.newton", STUDY, 0) == pytest.approx(np.log(after / now) / np.log(now / before), abs=0.02)
    assert published("eos.newton", STUDY, 1) == pytest.approx(1.0, abs=0.01)
