"""One number of each claim of gradient_flow again: plain numpy over the published trials, and plain torch at the start."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn

from folklore.harness.storing import evidence
from tests.reports.recomputed.tables import published, trials

STUDY = "gradient_flow"
pytestmark = pytest.mark.skipif(
    not (evidence.FOLDER / f"{STUDY}-laptop-cpu.parquet").exists(), reason="its trials are not published yet"
)


def last(table: pd.DataFrame, arm: str, curve: str, lr: float | None = None) -> np.ndarray:
    """Of each seed's run, at its last probe."""
    rows = table[(table["arm"] == arm) & (True if lr is None else np.isclose(table["lr"].astype(float), lr))]
    return np.array([each[-1] for each in rows.sort_values("seed")[f"curve_probe_{curve}"]])


def first(table: pd.DataFrame, arm: str, curve: str) -> np.ndarray:
    rows = table[table["arm"] == arm].sort_values("seed")
    return np.array([each[0] for each in rows[f"curve_probe_{curve}"]])


def geometric(values: np.ndarray) -> float:
    return float(np.exp(np.log(values).mean()))


def healthy_at_the_end(table: pd.DataFrame, arm: str) -> float:
    return geometric(last(table, arm, "flow_hidden_most") / last(table, arm, "flow_hidden_least"))


def moved(table: pd.DataFrame) -> float:
    return geometric(last(table, "sigmoid_5_sgd", "flow_first_moved") / last(table, "sigmoid_5_sgd", "flow_last_moved"))


def factor_of_a_layer(table: pd.DataFrame) -> float:
    depths = [2, 4, 8, 16, 32]
    ratios = [
        first(table, f"sigmoid_start_{d}", "flow_first") / first(table, f"sigmoid_start_{d}", "flow_last") for d in depths
    ]
    return float(np.exp(np.polyfit(depths, [np.log(each).mean() for each in ratios], 1)[0]))


def norm_left(table: pd.DataFrame) -> float:
    """Of two probes in the first 0.4% of 600 steps."""
    rows = table[table["arm"] == "twin"]
    start = np.mean([np.mean(each[:2]) for each in rows["curve_probe_flow_norm"]])
    return float(last(table, "flat_small", "flow_norm").mean() / start)


def test_healthy() -> None:
    """The GPT on all 96 seeds."""
    table = trials(STUDY, seeds=96)
    for place, arm in enumerate(("gpt", "cnn", "residual", "relu")):
        assert published("flow.healthy", STUDY, 4 * place + 2) == pytest.approx(healthy_at_the_end(table, arm), rel=1e-5)


def test_vanishing(table: pd.DataFrame) -> None:
    assert published("flow.vanishing", STUDY, 0) == pytest.approx(factor_of_a_layer(table), rel=1e-5)
    assert published("flow.vanishing", STUDY, 2) == pytest.approx(moved(table), rel=1e-5)


def test_vanishing_in_plain_torch() -> None:
    """Each layer of sigmoids takes as much of the gradient in a network of torch.nn."""
    images, labels = load_digits(return_X_y=True)
    x, y = torch.from_numpy(images / 16).float(), torch.from_numpy(labels)
    x, ratios, depths = (x - x.mean()) / x.std(), [], (4, 8, 16)
    for depth in depths:
        found = []
        for seed in range(8):
            torch.manual_seed(seed)
            layers: list[nn.Module] = []
            for _ in range(depth):
                layers += [nn.Linear(64, 64), nn.Sigmoid()]
                nn.init.normal_(layers[-2].weight, std=1 / 8)
                nn.init.zeros_(layers[-2].bias)
            readout = nn.Linear(64, 10)
            nn.init.normal_(readout.weight, std=1 / 8)
            nn.functional.cross_entropy(nn.Sequential(*layers, readout)(x), y).backward()
            found.append(float(layers[0].weight.grad.norm() / layers[-2].weight.grad.norm()))
        ratios.append(np.log(found).mean())
    assert published("flow.vanishing", STUDY, 0) == pytest.approx(np.exp(np.polyfit(depths, ratios, 1)[0]), rel=0.1)


def test_dead_relu(table: pd.DataFrame) -> None:
    for place, optimizer in enumerate(("sgd", "adam")):
        assert published("flow.dead_relu", STUDY, place) == np.nanmax(last(table, f"dead_{optimizer}", "dead_gradient")) == 0.0


def test_zero_is_not_converged(table: pd.DataFrame) -> None:
    assert published("flow.zero_is_not_converged", STUDY, 3) == pytest.approx(norm_left(table), rel=1e-5)
