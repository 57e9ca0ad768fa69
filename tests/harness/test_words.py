"""Numbers in words."""

import pytest

from folklore.harness.words import power_of_two


@pytest.mark.parametrize(
    ("value", "text"), [(2.0**-8, "2^-8"), (2.0**-6.5, "2^-6.5"), (0.01, "0.01"), (1.0, "2^0"), (0.0, "0")]
)
def test_powers_of_two(value: float, text: str) -> None:
    assert power_of_two(value) == text
