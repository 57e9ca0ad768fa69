"""One number of each claim of gradient_noise again: plain torch, and sums of squares over the published trials."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import published

STUDY = "gradient_noise"


def test_temperature(table: pd.DataFrame) -> None:
    """Between lines of equal LR over batch over all, of the runs whose LR x steps is the same."""
    settings = [json.loads(configuration)["training"] for configuration in table["configuration"]]
    runs = table.assign(
        batch=[training["batch_size"] for training in settings],
        steps=[training["steps"] for training in settings],
        sharpness=[
            np.log(np.atleast_1d(curve)[-1]) if curve is not None else np.nan for curve in table["curve_probe_sharpness"]
        ],
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
