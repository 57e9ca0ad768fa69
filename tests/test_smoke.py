"""All studies as one campaign at smoke scale, through Ray and MLflow to their pages: first with too little time, then to the
end. (warmup is looked at closely in test_end_to_end.py.)"""

import re
import subprocess
from pathlib import Path

import pytest
from mlflow import MlflowClient

from harness.catalog import study_names
from harness.ledger import Ledger
from harness.store import Store
from tests.command_line import folklore


def campaign(store: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return folklore("run", "--all", "--scale", "smoke", "--store", store, *options)


def stored(store: Path) -> dict[str, int]:
    return {name: len(Ledger(Store(str(store)), name).trials()) for name in study_names()}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stopped by its budget, which passes while Ray starts or soon after, and then run to the end."""
    folder = tmp_path_factory.mktemp("campaign")
    stopped = campaign(folder, "--budget", "25s")
    before = stored(folder)
    assert "the same command goes on" in stopped.stderr, "a campaign of all studies takes longer than that"
    whole = campaign(folder)
    assert "the same command goes on" not in whole.stderr
    assert "given up" not in whole.stderr
    after = stored(folder)
    trained = int(re.findall(r"(\d+) of (\d+) trials", whole.stderr)[-1][0])
    assert trained == sum(after.values()) - sum(before.values()), "nothing is trained twice"
    return folder


@pytest.mark.parametrize("name", study_names())
def test_a_study_from_end_to_end(name: str, store: Path) -> None:
    trials = Ledger(Store(str(store)), name).trials()
    assert len(trials) > 0
    assert set(trials["scale"]) == {"smoke"}
    assert set(trials["program"]) <= {"eager", "captured"}
    assert set(trials["width_source"]) <= {"nominal", "measured", "alone"}
    assert (store / "pages" / f"{name}.html").exists()
    assert not list((store / "checkpoints" / name).glob("*")), "what the budget stopped went on and is done"


def test_mlflow_has_every_trial_once_and_no_run_is_left_open(store: Path) -> None:
    client = MlflowClient(tracking_uri=f"sqlite:///{store}/mlflow.db")
    for name in study_names():
        experiment = client.get_experiment_by_name(name)
        runs = list(client.search_runs([experiment.experiment_id], max_results=1000))
        digests = [run.data.tags["folklore.digest"] for run in runs if run.data.tags["folklore.kind"] == "trial"]
        assert sorted(digests) == sorted(Ledger(Store(str(store)), name).trials()["digest"])
        assert "RUNNING" not in {run.info.status for run in runs}
