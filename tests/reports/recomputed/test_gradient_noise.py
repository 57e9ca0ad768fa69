"""One number of each claim of gradient_noise again: plain torch, and sums of squares over the published trials."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from tests.reports.recomputed.tables import published

STUDY = "gradient_noise"


def test_variance() -> None:
    """Of a softmax regression in numpy, on digits drawn with replacement."""
    images, labels = load_digits(return_X_y=True)
    x, y, rng = images / 16, np.eye(10)[labels], np.random.default_rng(0)
    sizes = 2 ** np.arange(1, 7)
    spreads = []
    for size in sizes:
        drawn = rng.integers(0, len(x), size=(2000, size))
        gradients = np.einsum("gbf,gbc->gfc", x[drawn], 0.1 - y[drawn]).reshape(2000, -1) / size
        spreads.append(gradients.var(axis=0).sum())
    slope = np.polyfit(np.log(sizes), np.log(spreads), 1)[0]
    assert slope == pytest.approx(-1, abs=0.03)
    for index in range(2):
        assert published("noise.variance", STUDY, index) == pytest.approx(slope, abs=0.1)


def test_step_cost() -> None:
    """Products are proportional to the batch; the update of the small MLP is the line's constant."""
    assert published("noise.step_cost", STUDY, 0) == pytest.approx(0.0, abs=1e-9)
    assert published("noise.step_cost", STUDY, 1) == pytest.approx(0.0, abs=0.02)


def test_memory() -> None:
    """Of 6.7 billion parameters: weights and Adam's state of two numbers a weight, and 18 GB of activations a sequence. The
    update holds gradients and as much again as the weights, and no activations."""
    parameters, sequence = 6.7e9, 18e9
    one, eight, many = (12 * parameters + batch * sequence for batch in (1, 8, 32))
    assert published("noise.memory", STUDY, 0) == pytest.approx(0.0, abs=1e-3)
    assert published("noise.memory", STUDY, 1) == pytest.approx(20 * parameters / one - 1, rel=0.1)
    assert published("noise.memory", STUDY, 2) == pytest.approx(many / eight, rel=0.1)


def test_temperature(table: pd.DataFrame) -> None:
    """Between lines of equal LR over batch over all, of the runs whose LR x steps is the same."""
    settings = [json.loads(each)["training"] for each in table["configuration"]]
    runs = table.assign(
        batch=[each["batch_size"] for each in settings],
        steps=[each["steps"] for each in settings],
        sharpness=[np.log(np.atleast_1d(each)[-1]) if each is not None else np.nan for each in table["curve_probe_sharpness"]],
    )
    runs = runs[~runs["arm"].str.contains("mlp|gpt|epochs|half")]
    runs = runs.assign(tau=runs["lr"] / runs["batch"])
    middle = runs[(runs["batch"] == 16)]["tau"].unique()
    for index, column in enumerate(("sharpness", "test_loss")):
        cells = runs[runs["tau"].isin(middle)].groupby(["tau", "batch"])[column].mean().unstack("batch")
        assert cells.shape == (3, 3)
        y = cells.to_numpy()
        within = ((y - y.mean(axis=1, keepdims=True)) ** 2).sum()
        share = 1 - within / ((y - y.mean()) ** 2).sum()
        assert published("noise.temperature", STUDY, index) == pytest.approx(share, abs=1e-6)
