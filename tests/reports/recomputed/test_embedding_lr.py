"""One number of each part of emb.rare_tokens again: from the formula, and from the published trials' curves."""

import pandas as pd
import pytest

from tests.reports.recomputed.tables import best, curves, published, runs

STUDY, CLAIM = "embedding_lr", "emb.rare_tokens"


def last(table: pd.DataFrame, arm: str, curve: str) -> float:
    """Mean over seeds of a curve's last value, at the LR that is best for the arm."""
    return float(curves(runs(table, arm, best(table, arm)), curve)[:, -1].mean())


def test_rare_tokens(table: pd.DataFrame) -> None:
    length, common = "probe_token_length_slope", "token_loss_common"
    contrast = last(table, "plain", length) - last(table, "sgd", length)
    fast = last(table, "fast", common) / last(table, "plain", common) - 1
    for index, arm in enumerate(("epsilon", "slow", "beta2")):
        apart, gain, of_common = (published(CLAIM, STUDY, 1 + 3 * index + part) for part in range(3))
        assert apart == pytest.approx(contrast, rel=1e-4)
        rare = last(table, arm, "token_loss_rare") / last(table, "plain", "token_loss_rare") - 1
        assert gain == pytest.approx(rare, rel=1e-4, abs=1e-7)
        assert of_common == pytest.approx(fast, rel=1e-4, abs=1e-7)
