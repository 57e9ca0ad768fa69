"""What tests of several rooms read: a store with trials in it."""

from pathlib import Path

import pytest

from folklore.harness.spec import Study
from folklore.harness.storing.ledger import Ledger
from folklore.harness.storing.store import Store
from tests.harness.helpers import bowl, planned, result, rows


@pytest.fixture
def stored(study: Study, tmp_path: Path) -> Store:
    """A store with one pack of all trials of the toy study."""
    store = Store(str(tmp_path / "store"))
    trained = rows(
        study, planned(study).trials, lambda trial: result(bowl(trial, -7, 2.1 if trial.arm == "none" else 2.0, noise=0.001))
    )
    Ledger(store, study.name).write("pack", trained)
    return store
