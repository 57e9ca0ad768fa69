"""One number of each claim of gradient_flow again: plain numpy over the published trials, and plain torch at the start."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn

from tests.reports.recomputed.tables import curves, published, runs, trials

STUDY = "gradient_flow"


def probed(table: pd.DataFrame, arm: str, curve: str, place: int = -1) -> np.ndarray:
    """A probed curve of each seed's run, at its last probe or at another."""
    return np.asarray(curves(runs(table, arm), f"probe_{curve}")[:, place])


def ratio(table: pd.DataFrame, arm: str, top: str, bottom: str, place: int = -1) -> float:
    """Ratio of two curves at the last probe, or at another: the geometric mean over seeds."""
    logs = [np.log(probed(table, arm, f"flow_{curve}", place)) for curve in (top, bottom)]
    return float(np.exp((logs[0] - logs[1]).mean()))


def test_healthy() -> None:
    """The GPT on all 96 seeds."""
    table = trials(STUDY, seeds=96)
    for place, arm in enumerate(("gpt", "cnn", "residual", "relu")):
        expected = ratio(table, arm, "hidden_most", "hidden_least")
        assert published("flow.healthy", STUDY, 4 * place + 2) == pytest.approx(expected, rel=1e-5)


def test_vanishing(table: pd.DataFrame) -> None:
    depths = [2, 4, 8, 16, 32]
    logs = [np.log(ratio(table, f"sigmoid_start_{depth}", "first", "last", 0)) for depth in depths]
    assert published("flow.vanishing", STUDY, 0) == pytest.approx(np.exp(np.polyfit(depths, logs, 1)[0]), rel=1e-5)
    moved = ratio(table, "sigmoid_5_sgd", "first_moved", "last_moved")
    assert published("flow.vanishing", STUDY, 2) == pytest.approx(moved, rel=1e-5)


def test_vanishing_in_plain_torch() -> None:
    """Each layer of sigmoids takes as much of the gradient in a network of torch.nn."""
    images, labels = load_digits(return_X_y=True)
    x, y = torch.from_numpy(images / 16).float(), torch.from_numpy(labels)
    x, ratios, depths = (x - x.mean()) / x.std(), [], (4, 8, 16)
    for depth in depths:
        shares = []
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
            shares.append(float(layers[0].weight.grad.norm() / layers[-2].weight.grad.norm()))
        ratios.append(np.log(shares).mean())
    assert published("flow.vanishing", STUDY, 0) == pytest.approx(np.exp(np.polyfit(depths, ratios, 1)[0]), rel=0.1)


def test_dead_relu(table: pd.DataFrame) -> None:
    for place, optimizer in enumerate(("sgd", "adam")):
        highest = np.nanmax(probed(table, f"dead_{optimizer}", "dead_gradient"))
        assert published("flow.dead_relu", STUDY, place) == highest == 0.0


def test_zero_is_not_converged(table: pd.DataFrame) -> None:
    """Two probes lie in the first 0.4% of 600 steps."""
    start = curves(runs(table, "twin"), "probe_flow_norm")[:, :2].mean()
    remaining = probed(table, "flat_small", "flow_norm").mean() / start
    assert published("flow.zero_is_not_converged", STUDY, 3) == pytest.approx(remaining, rel=1e-5)
