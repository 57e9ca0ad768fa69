"""One number of each of transformer_warmup's claims again, from the published trials by plain pandas."""

import pandas as pd
import pytest

from tests.reports.recomputed.tables import at, gap, published, start, trials, tuned

STUDY, LR = "transformer_warmup", 2.0**-8


def test_post_norm(table: pd.DataFrame) -> None:
    lost = at(table, "post_none", LR) - at(table, "post_10%", LR)
    share = lost / (start(table, "post_none", "post_10%", "pre_10%") - tuned(table, "pre_10%"))
    assert share == pytest.approx(published("warmup.post_norm", STUDY, criterion=1), rel=1e-6)


def test_pre_norm() -> None:
    share = gap(trials(STUDY, seeds=12), "pre_none", "pre_10%")
    assert share == pytest.approx(published("warmup.pre_norm", STUDY), rel=1e-6)


def test_clip_post_norm(table: pd.DataFrame) -> None:
    saved = (at(table, "post_none", LR) - at(table, "post_clipped", LR)) / (
        at(table, "post_none", LR) - at(table, "post_10%", LR)
    )
    assert saved == pytest.approx(published("warmup.clip_post_norm", STUDY, criterion=1), rel=1e-6)
