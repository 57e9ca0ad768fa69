"""Numbers on axes are few, plain and where they belong."""

import numpy as np
import pytest

from folklore.reports.figures.scales import Scale, number


def test_a_short_axis_of_powers_of_two_has_half_ones() -> None:
    assert list(Scale(log=2).places(2.0**-8.7, 2.0**-7.8).values()) == ["2⁻⁸·⁵", "2⁻⁸"]
    assert list(Scale(log=2).places(2.0**-8.7, 2.0**-6.8).values()) == ["2⁻⁸", "2⁻⁷"]


@pytest.mark.parametrize(
    ("value", "text"), [(0.0002, "2·10⁻⁴"), (1e-5, "10⁻⁵"), (0.03, "0.03"), (500, "500"), (30_000, "30k"), (2e6, "2M")]
)
def test_numbers_on_axes_are_plain(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize("scale", [Scale(), Scale(log=2), Scale(log=10), Scale(percent=True), Scale(ticks=4)])
@pytest.mark.parametrize(("low", "high"), [(0.013, 0.021), (0.3, 40.0), (2.0, 9e4)])
def test_an_axis_has_a_few_numbers_that_differ(scale: Scale, low: float, high: float) -> None:
    places = scale.places(low, high)
    assert 2 <= len(places) <= 6
    assert len(set(places.values())) == len(places)
    assert all(low <= at <= high for at in places)


def test_an_axis_holds_its_values_and_stays_above_its_least() -> None:
    low, high = Scale(least=0.0).around([0.01, 3.0, np.nan, np.inf])
    assert (low, high > 3.0) == (0.0, True)
    low, high = Scale(log=10).around([-1.0, 0.0, 0.5, 8.0])
    assert 0 < low < 0.5 < 8.0 < high
    assert Scale(low=1.0, high=2.0).around([5.0]) == (1.0, 2.0)
    assert Scale(names={1.0: "one", 5.0: "five"}).places(0.0, 2.0) == {1.0: "one"}
