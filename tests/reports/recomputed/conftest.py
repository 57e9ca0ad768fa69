"""The table that a module of numbers worked out again is about."""

import pandas as pd
import pytest

from folklore.harness.judge.verdict_memory import published_verdicts
from folklore.harness.plan.catalog import load_study
from tests.reports.recomputed.tables import trials


@pytest.fixture(scope="module", autouse=True)
def published_at_all(request: pytest.FixtureRequest) -> None:
    name = getattr(request.module, "STUDY", None)
    if name is not None and not published_verdicts(load_study(name)):
        pytest.skip(f"no trials of this version of {name} are published yet")


@pytest.fixture(scope="module")
def table(request: pytest.FixtureRequest) -> pd.DataFrame:
    """The published trials of the module's STUDY: on its judged seeds, or on as many as the module says by SEEDS."""
    return trials(request.module.STUDY, getattr(request.module, "SEEDS", None))
