"""One number of each of transformer_warmup's claims again, from the published trials by plain pandas."""

import pandas as pd
import pytest

from tests.reports.recomputed.tables import at, published, start, trials, tuned

STUDY, LR = "transformer_warmup", 2.0**-8


def reduction(table: pd.DataFrame, *arms: str) -> float:
    return start(table, *arms, "pre_10%") - tuned(table, "pre_10%")


def test_post_norm(table: pd.DataFrame) -> None:
    lost = at(table, "post_none", LR) - at(table, "post_10%", LR)
    share = lost / reduction(table, "post_none", "post_10%")
    assert share == pytest.approx(published("warmup.post_norm", STUDY, criterion=1), rel=1e-6)


def test_pre_norm() -> None:
    table = trials(STUDY, seeds=12)
    lost = tuned(table, "pre_none") - tuned(table, "pre_10%")
    share = lost / reduction(table, "pre_none")
    assert share == pytest.approx(published("warmup.pre_norm", STUDY), rel=1e-6)


def test_clip_post_norm(table: pd.DataFrame) -> None:
    saved = (at(table, "post_none", LR) - at(table, "post_clipped", LR)) / (
        at(table, "post_none", LR) - at(table, "post_10%", LR)
    )
    assert saved == pytest.approx(published("warmup.clip_post_norm", STUDY, criterion=1), rel=1e-6)
