"""Two studies as one campaign at smoke scale, through Ray and MLflow to their pages: first with too little time, then to
the end. That every study trains is held by tests/studies; `warmup` alone is looked at in test_end_to_end.py.
"""

import time
from pathlib import Path

import pytest
from mlflow import MlflowClient

from folklore.harness.options import Options
from folklore.harness.plan.catalog import load_study
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from folklore.harness.use.run_studies import run_studies

pytestmark = pytest.mark.slow

# One that searches, and one of six number formats, so of as many programs, and timed runs.
STUDIES = ("overfitting", "precision")
BUDGET_SECONDS = 5.0


def campaign(store: Path, address: str, budget_seconds: float | None = None) -> int:
    options = Options(str(store), address=address, workers=2)
    deadline = None if budget_seconds is None else time.monotonic() + budget_seconds
    return run_studies([load_study(name) for name in STUDIES], "smoke", options, deadline)


def stored(store: Path) -> int:
    return sum(len(Ledger(Store(str(store)), name).digests()) for name in STUDIES)


@pytest.fixture(scope="module")
def store(ray_address: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stopped by its budget, which passes while packs are trained or before, and then run to the end."""
    folder = tmp_path_factory.mktemp("campaign")
    assert campaign(folder, ray_address, BUDGET_SECONDS) == 0
    before = stored(folder)
    assert campaign(folder, ray_address) == 0
    assert before < stored(folder), "a campaign of two studies takes longer than its budget here"
    return folder


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_from_end_to_end(name: str, store: Path) -> None:
    trials = Ledger(Store(str(store)), name).trials()
    assert len(trials) > 0
    assert trials["digest"].is_unique
    assert set(trials["scale"]) == {"smoke"}
    assert set(trials["program"]) <= {"eager", "captured"}
    assert set(trials["width_source"]) <= {"nominal", "measured", "alone"}
    assert (store / "pages" / f"{name}.html").exists()
    assert not list((store / "checkpoints" / name).glob("*")), "what the budget stopped went on and is done"


def test_mlflow_has_every_trial_once_and_no_run_is_left_open(store: Path) -> None:
    client = MlflowClient(tracking_uri=f"sqlite:///{store}/mlflow.db")
    for name in STUDIES:
        experiment = client.get_experiment_by_name(name)
        runs = list(client.search_runs([experiment.experiment_id], max_results=1000))
        digests = [run.data.tags["folklore.digest"] for run in runs if run.data.tags["folklore.kind"] == "trial"]
        assert sorted(digests) == sorted(Ledger(Store(str(store)), name).digests())
        assert "RUNNING" not in {run.info.status for run in runs}
