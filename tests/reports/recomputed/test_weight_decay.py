"""One number of each claim of weight_decay again: steps of plain torch, and norms of the published trials."""

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import curves, published, runs

STUDY = "weight_decay"
LRS = {"mlp_sgd": 2.0**-5, "mlp_adam": 2.0**-8, "gpt_sgd": 2.0**-3, "gpt_adam": 2.0**-7}


def norms(table: pd.DataFrame, arm: str) -> tuple[np.ndarray, np.ndarray]:
    """Share of the run and norm of the weights at every probe, of each seed at the declared LR."""
    rows = runs(table, arm, LRS[arm.removesuffix("_free")])
    steps, norm = (curves(rows, f"probe_{name}") for name in ("step", "weight_norm"))
    return steps / steps.max(), norm


def test_growth(table: pd.DataFrame) -> None:
    for index, arm in enumerate(LRS):
        share, norm = norms(table, arm)
        end, start = (np.where(inside, norm, 0).sum(1) / inside.sum(1) for inside in (share > 0.95, share <= 0.005))
        assert published("wd.growth", STUDY, 2 * index) == pytest.approx(end.mean() / start.mean(), rel=1e-6)
        share, norm = norms(table, f"{arm}_free")
        late = share[0] > 0.5
        slopes = [np.polyfit(np.log(share[0][late]), np.log(curve[late]), 1)[0] for curve in norm]
        assert published("wd.growth", STUDY, 2 * index + 1) == pytest.approx(np.mean(slopes), rel=1e-4)
