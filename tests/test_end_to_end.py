"""The real path at smoke scale: a study through Ray and MLflow to a page, resumed, killed and interrupted.

The first run is the command as a newcomer gives it, with a Ray of its own (and one worker, for each takes seconds to start);
what reads its results runs in this process.
"""

import json
import math
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from mlflow import MlflowClient

from folklore.harness.declare import Study
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from tests.chaos.servers import MlflowServer
from tests.command_line import FOLKLORE, HANG_SECONDS, folklore, folklore_here
from tests.processes import AGENTS, wait_until_gone


def launches(store: Path, study: str = "warmup") -> list:
    client = MlflowClient(tracking_uri=f"sqlite:///{store / 'mlflow.db'}")
    experiment = client.get_experiment_by_name(study)
    return list(client.search_runs([experiment.experiment_id], max_results=1000)) if experiment else []


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("smoke")
    done = folklore("run", "warmup", "--scale", "smoke", "--store", str(folder), "--workers", 1)
    assert "42 of 42 trials" in done.stderr
    assert f"page: {folder}/pages/warmup.html" in done.stdout
    return folder


def test_every_trial_is_in_the_ledger_and_in_mlflow(store: Path) -> None:
    trials = Ledger(Store(str(store)), "warmup").trials()
    assert len(trials) == 42
    runs = launches(store)
    children = [run for run in runs if run.data.tags["folklore.kind"] == "trial"]
    parents = [run for run in runs if run.data.tags["folklore.kind"] == "launch"]
    assert {run.data.tags["folklore.digest"] for run in children} == set(trials["digest"])
    assert len(children) == 42
    assert len(parents) == 1
    assert {run.info.status for run in runs} == {"FINISHED"}
    assert {run.data.tags["mlflow.parentRunId"] for run in children} == {parents[0].info.run_id}
    client = MlflowClient(tracking_uri=f"sqlite:///{store / 'mlflow.db'}")
    report = {artifact.path for artifact in client.list_artifacts(parents[0].info.run_id, "report")}
    assert {"report/warmup.html", "report/warmup-trials.html"} == report, "the page is attached to its launch"
    losses = {run.data.tags["folklore.digest"]: run.data.metrics.get("test_loss", math.nan) for run in children}
    outcomes = {run.data.tags["folklore.digest"]: run.data.tags["folklore.outcome"] for run in children}
    for _, trial in trials.iterrows():
        assert losses[trial["digest"]] == pytest.approx(trial["test_loss"], nan_ok=True)
        assert outcomes[trial["digest"]] == trial["outcome"]


def test_a_second_run_trains_nothing(store: Path) -> None:
    before = sorted((path.name, path.stat().st_mtime_ns) for path in (store / "ledger/warmup").iterdir())
    again = folklore_here("run", "warmup", "--scale", "smoke", "--store", str(store))
    assert "nothing to train" in again.stdout
    assert sorted((path.name, path.stat().st_mtime_ns) for path in (store / "ledger/warmup").iterdir()) == before


def test_smoke_is_never_judged(store: Path) -> None:
    verdicts = json.loads(folklore_here("verdicts", "warmup", "--json", "--store", str(store)).stdout)
    assert len(verdicts) == 3
    assert {verdict["verdict"] for verdict in verdicts} == {"out of regime"}
    assert {verdict["estimate"] for verdict in verdicts} == {None}


def test_sync_rebuilds_mlflow_from_the_ledger(store: Path) -> None:
    fresh = store / "fresh"
    fresh.mkdir()
    tracking = ("--store", str(store), "--tracking", f"sqlite:///{fresh}/mlflow.db")
    packs = len(Ledger(Store(str(store)), "warmup").packs())
    for _ in range(2):
        assert f"{packs} packs" in folklore_here("sync", "warmup", "--all", *tracking).stdout
    assert len(launches(fresh)) == 42
    assert "0 packs" in folklore_here("sync", "warmup", *tracking).stdout


@pytest.mark.slow
def test_a_study_from_a_file_through_an_mlflow_server(study: Study, ray_address: str, tmp_path: Path) -> None:
    """A study given as a file trains, is judged and gets its page; a server that is away later is one line."""
    path = tmp_path / "toy.json"
    path.write_text(study.canonical_json())
    store, server = ("--store", str(tmp_path / "store")), MlflowServer(tmp_path)
    tracked = (*store, "--tracking", server.uri)
    try:
        server.start(HANG_SECONDS)
        done = folklore_here("run", path, *tracked, "--lanes", "25", "--address", ray_address, "--workers", 2)
        assert "50 of 50 trials" in done.stderr
        assert (tmp_path / "store/pages/toy.html").exists()
        assert "warmup.improves_best" in done.stdout
    finally:
        server.stop()
    away = folklore_here("sync", str(path), *tracked, code=2)
    assert "no MLflow server" in away.stderr
    assert "2 packs" in folklore_here("sync", str(path), *store).stdout


@pytest.mark.slow
def test_a_run_stopped_half_way_goes_on_where_it_was(study: Study, tmp_path: Path) -> None:
    """One lane a pack makes 50 packs; the driver is interrupted when some are finished, started again, and killed."""
    path = tmp_path / "toy.json"
    path.write_text(study.canonical_json())
    arguments = ("run", str(path), "--scale", "laptop", "--lanes", "1", "--store", str(tmp_path))
    ledger = Ledger(Store(str(tmp_path)), study.name)
    interrupted, messages, seconds_to_stop = stopped(signal.SIGINT, arguments, ledger, tmp_path)
    assert interrupted == 130
    assert "the same command goes on" in messages
    assert seconds_to_stop < 20
    assert "RUNNING" not in {run.info.status for run in launches(tmp_path, study.name)}
    before = packs_of(tmp_path)
    assert stopped(signal.SIGKILL, arguments, ledger, tmp_path)[0] == -signal.SIGKILL
    kept = packs_of(tmp_path)
    assert before.items() <= kept.items(), "a finished pack was touched"
    assert 6 <= len(before) < len(kept) < 50
    done = folklore(*arguments)
    assert f"training {50 - len(kept)} trials" in done.stdout
    assert kept.items() <= packs_of(tmp_path).items(), "a finished pack was touched"
    assert len(ledger.trials()) == 50
    runs = launches(tmp_path, study.name)
    assert "RUNNING" not in {run.info.status for run in runs}
    digests = [run.data.tags["folklore.digest"] for run in runs if run.data.tags["folklore.kind"] == "trial"]
    assert sorted(digests) == sorted(ledger.digests())


def packs_of(store: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (store / "ledger/toy").iterdir() if path.suffix == ".parquet"}


def stopped(stop: signal.Signals, arguments: tuple[str, ...], ledger: Ledger, folder: Path) -> tuple[int, str, float]:
    """Exit code of a run that is stopped when six more packs are finished, what it said, and in how many seconds it ended."""
    marked, before = {**os.environ, "FOLKLORE_TEST_MARK": str(folder)}, len(ledger.packs())
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    driver = subprocess.Popen((*FOLKLORE, *arguments), **pipes, text=True, start_new_session=True, env=marked)
    deadline = time.monotonic() + HANG_SECONDS
    while len(ledger.packs()) < before + 6 and driver.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    stopped_at = time.monotonic()
    if stop == signal.SIGKILL:
        os.killpg(driver.pid, stop)
    else:
        driver.send_signal(stop)
    _, messages = driver.communicate(timeout=HANG_SECONDS)
    seconds = time.monotonic() - stopped_at
    # Ray's workers may finish the pack in hand after their driver is gone.
    assert not wait_until_gone("FOLKLORE_TEST_MARK", folder, AGENTS, HANG_SECONDS)
    return driver.returncode, messages, seconds
