"""Studies that tests of the judge share."""

import pytest

from folklore.harness.declare import Study
from tests.harness.helpers import changed


@pytest.fixture(scope="session")
def wide(study: Study) -> Study:
    """The toy study on a grid of twelve octaves, with warmups of 0 and 5 of 10 steps."""
    return changed(study, factors={"peak_lr": tuple(2.0**e for e in range(-12, 1))})
