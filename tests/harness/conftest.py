"""Fixtures for tests of several rooms: a store with trials in it, and databases of MLflow's."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from folklore.harness.declare import Study
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.mlflow_address import FILE, default_uri
from folklore.harness.plan.store.store import Store
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


@pytest.fixture(scope="session")
def empty_mlflow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new database: MLflow's migrations take seconds, and a copy none."""
    from folklore.harness.launch.tracking.projection import _make_database

    path = tmp_path_factory.mktemp("mlflow") / FILE
    _make_database(path)
    return path


@pytest.fixture
def mlflow_in(empty_mlflow: Path) -> Callable[[Path], str]:
    """Puts a new database into a folder; returns its address."""

    def put(folder: Path) -> str:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(empty_mlflow, folder / FILE)
        return default_uri(folder)

    return put
