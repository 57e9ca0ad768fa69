"""One number of each claim of weight_decay again: steps of plain torch, and norms of the published trials."""

import numpy as np
import pandas as pd
import pytest
import torch

from tests.reports.recomputed.tables import curves, published, runs

STUDY = "weight_decay"
LRS = {"mlp_sgd": 2.0**-5, "mlp_adam": 2.0**-8, "gpt_sgd": 2.0**-3, "gpt_adam": 2.0**-7}


def norms(table: pd.DataFrame, arm: str) -> tuple[np.ndarray, np.ndarray]:
    """Share of the run and norm of the weights at every probe, of each seed at the declared LR."""
    found = runs(table, arm, LRS[arm.removesuffix("_free")])
    steps, norm = (curves(found, f"probe_{name}") for name in ("step", "weight_norm"))
    return steps / steps.max(), norm


def test_adamw_against_l2() -> None:
    """Adam's and AdamW's own step in torch, with decay and without, from moments of some steps on random gradients."""
    torch.manual_seed(0)
    start, scale = torch.randn(200), torch.logspace(-3, -1, 200)
    gradients = scale * torch.randn(100, 200)

    def taken(kind: type[torch.optim.Optimizer]) -> np.ndarray:
        ends = []
        for decay in (0.0, 1e-3):
            weight = torch.nn.Parameter(start.clone())
            optimizer = kind([weight], lr=0.1, weight_decay=0.0, betas=(0.9, 0.99))  # type: ignore[call-arg]
            for step, gradient in enumerate(gradients):
                if step == len(gradients) - 1:
                    with torch.no_grad():
                        weight.copy_(start)
                    optimizer.param_groups[0]["weight_decay"] = decay
                weight.grad = gradient.clone()
                optimizer.step()
            ends.append(weight.detach().clone())
        return ((ends[0] - ends[1]) / start).numpy()

    even, uneven = taken(torch.optim.AdamW), taken(torch.optim.Adam)
    large = np.abs(start.numpy()) > 0.3
    assert even[large].std() / even[large].mean() < 1e-2
    assert published("wd.adamw_vs_l2", STUDY, 0) < 1e-3
    ranks = np.corrcoef(*(pd.Series(each).rank() for each in (uneven[large], scale.numpy()[large])))[0, 1]
    assert published("wd.adamw_vs_l2", STUDY, 1) < ranks < -0.9


def test_sgd() -> None:
    """A step of SGD with L2 is x - lr (g + decay x), which is (1 - lr decay) x - lr g; with momentum only the latter's past
    has no decay in it."""
    assert published("wd.sgd_identity", STUDY, 0) < 1e-12
    assert published("wd.sgd_identity", STUDY, 1) > 1e-3


def test_growth(table: pd.DataFrame) -> None:
    for index, arm in enumerate(LRS):
        share, norm = norms(table, arm)
        end, start = (np.where(inside, norm, 0).sum(1) / inside.sum(1) for inside in (share > 0.95, share <= 0.005))
        assert published("wd.growth", STUDY, 2 * index) == pytest.approx(end.mean() / start.mean(), rel=1e-6)
        share, norm = norms(table, f"{arm}_free")
        late = share[0] > 0.5
        slopes = [np.polyfit(np.log(share[0][late]), np.log(each[late]), 1)[0] for each in norm]
        assert published("wd.growth", STUDY, 2 * index + 1) == pytest.approx(np.mean(slopes), rel=1e-4)
