"""A criterion as a strip of its two regions and the observed interval."""

import re

import pytest

from folklore.harness.judging.verdicts import Finding
from folklore.harness.observables import CurveMedian, Gap, TunedLoss
from folklore.harness.spec import AtLeast, AtMost, Criterion, Observable
from folklore.reports.strip import strip


@pytest.mark.parametrize(
    ("observable", "middle"),
    [
        (CurveMedian(arm="a", curve="update_ratio"), 1e-3),
        (Gap(left=TunedLoss(arm="a"), right=TunedLoss(arm="b")), 5.05e-3),
    ],
)
@pytest.mark.parametrize("unit", ["", "x"])
def test_the_axis_is_that_of_what_is_observed(observable: Observable, middle: float, unit: str) -> None:
    """Half-way between 1e-4 and 1e-2 lies their geometric mean for a scale, and the arithmetic one for a difference."""
    regions = {"supported": AtLeast(value=1e-2), "refuted": AtMost(value=1e-4)}
    criterion = Criterion(name="one", observe=observable, unit=unit, **regions)
    finding = Finding("one", unit, "open", middle, 1e-4, 1e-2, 5, 1.0, 1.0, "")
    drawn = strip(criterion, finding)
    (centre,) = re.findall(r'<circle cx="([\d.]+)"', drawn)
    ends = [float(x) for x in re.findall(r'<line x1="([\d.]+)" x2="\1"', drawn)]
    assert float(centre) == pytest.approx(sum(ends) / 2, abs=0.2)
