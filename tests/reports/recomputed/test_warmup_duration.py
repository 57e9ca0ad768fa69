"""Both gaps of warmup.duration again, from the published trials by plain pandas."""

import pytest

from tests.reports.recomputed.tables import gap, published, trials

STUDY = "warmup_duration"


@pytest.mark.parametrize(("criterion", "length", "seeds"), [(0, "5%", 96), (1, "0.5%", 40)])
def test_duration(criterion: int, length: str, seeds: int) -> None:
    assert published("warmup.duration", STUDY, criterion) == pytest.approx(gap(trials(STUDY, seeds), length, "20%"), rel=1e-6)
