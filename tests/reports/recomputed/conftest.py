"""The table that a module of numbers worked out again is about."""

import pandas as pd
import pytest

from folklore.harness.judging.verdict_memory import published_verdicts
from folklore.harness.planning.catalog import load_study
from tests.reports.recomputed.tables import trials


@pytest.fixture(scope="module")
def table(request: pytest.FixtureRequest) -> pd.DataFrame:
    """The published trials of the module's STUDY."""
    name = request.module.STUDY
    if not published_verdicts(load_study(name)):
        pytest.skip(f"no trials of this version of {name} are published yet")
    return trials(name)
