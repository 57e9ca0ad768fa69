"""One number of each of transformer_warmup's claims again, from the published trials by plain pandas."""

import pandas as pd
import pytest

from tests.reports.recomputed.tables import at, final, gap, largest, published, trials

STUDY, LR = "transformer_warmup", 2.0**-8.5
# Runs of both are stored under the first name.
SAME = {"pre_none_edge": "pre_none", "pre_10%_edge": "pre_10%"}


def test_post_norm(table: pd.DataFrame) -> None:
    merged = table.replace({"arm": SAME})
    edges = {arm: largest(merged, arm, ("pre_10%",), 0.1) for arm in ("post_none", "post_10%", "pre_none", "pre_10%")}
    more = edges["post_10%"] - edges["post_none"] - (edges["pre_10%"] - edges["pre_none"])
    assert more == pytest.approx(published("warmup.post_norm", STUDY), rel=1e-6)
    above = edges["pre_none"] - edges["post_none"]
    assert above == pytest.approx(published("warmup.post_norm", STUDY, criterion=1), rel=1e-6)


def test_pre_norm() -> None:
    share = gap(trials(STUDY, seeds=7), "pre_none", "pre_10%")
    assert share == pytest.approx(published("warmup.pre_norm", STUDY), rel=1e-6)


def test_clip_post_norm(table: pd.DataFrame) -> None:
    failed = at(table, "post_none", LR)
    saved = (failed - final(table, "post_clipped")) / (failed - at(table, "post_10%", LR))
    assert saved == pytest.approx(published("warmup.clip_post_norm", STUDY, criterion=1), rel=1e-6)
