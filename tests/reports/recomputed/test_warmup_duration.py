"""Both gaps of warmup.duration again, from the published trials by plain pandas."""

import pytest

from tests.reports.recomputed.tables import published, start, trials, tuned

STUDY = "warmup_duration"


@pytest.mark.parametrize(("criterion", "length", "seeds"), [(0, "5%", 96), (1, "0.5%", 40)])
def test_duration(criterion: int, length: str, seeds: int) -> None:
    table = trials(STUDY, seeds)
    losses = tuned(table, length), tuned(table, "20%")
    gap = (losses[0] - losses[1]) / (start(table, length, "20%") - min(losses))
    assert published("warmup.duration", STUDY, criterion) == pytest.approx(gap, rel=1e-6)
