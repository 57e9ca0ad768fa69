"""Both gaps of warmup.duration again, from the published trials by plain pandas."""

import pandas as pd
import pytest

from tests.reports.recomputed.tables import published, start, tuned

STUDY, LENGTHS = "warmup_duration", ("none", "0.5%", "5%", "20%")


def test_duration(table: pd.DataFrame) -> None:
    reduction = start(table, *LENGTHS) - min(tuned(table, arm) for arm in LENGTHS)
    for index, length in enumerate(("5%", "0.5%")):
        gap = (tuned(table, length) - tuned(table, "20%")) / reduction
        assert published("warmup.duration", STUDY, index) == pytest.approx(gap, rel=1e-6)
