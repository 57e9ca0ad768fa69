"""A store on an object store and MLflow on PostgreSQL, for real: moto's S3 server and Debian's PostgreSQL, on loopback."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from mlflow import MlflowClient

from folklore.harness.declare import Study
from folklore.harness.launch.lease import Lease
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from tests.command_line import HANG_SECONDS, folklore, folklore_here
from tests.harness.helpers import planned, result, rows
from tests.postgresql import free_port, started

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """An S3 server in a process of its own, with one bucket."""
    import boto3

    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    place = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "another-unused-secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in place.items():
            patch.setenv(name, value)
        try:
            for _ in range(300):
                try:
                    boto3.client("s3").create_bucket(Bucket="folklore")
                    break
                except Exception:
                    time.sleep(0.2)
            yield "s3://folklore"
        finally:
            server.kill()
            server.wait()


@pytest.fixture
def postgresql(tmp_path: Path) -> Iterator[str]:
    with started(tmp_path) as uri:
        yield uri


def test_files_on_an_object_store(bucket: str, study: Study) -> None:
    store = Store(f"{bucket}/files")
    store.check_writable()
    assert store.names("ledger/toy", ".parquet") == []
    ledger, pack = Ledger(store, study.name), planned(study).packs[0]
    ledger.write(pack.key, rows(study, pack.trials, lambda _: result(2.0)))
    ledger.write_checkpoint("p", {"weights": torch.arange(5.0)})
    seen_elsewhere = Ledger(Store(f"{bucket}/files"), study.name)
    assert seen_elsewhere.packs() == [pack.key]
    state = seen_elsewhere.read_checkpoint("p")
    assert state is not None
    assert torch.equal(state["weights"], torch.arange(5.0))
    # A listing that was asked for before must not hide what another process writes.
    write = f"Store('{bucket}/files').write('ledger/toy/other.0.parquet', b'x')"
    code = f"from folklore.harness.plan.store.store import Store; {write}"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=HANG_SECONDS)
    assert "ledger/toy/other.0.parquet" in store.names("ledger/toy", ".parquet")
    (name,) = [file for file in store.names("ledger/toy", "") if "other" not in file]
    content = bytearray(store.read(name))
    content[len(content) // 2] ^= 1
    store.write(name, bytes(content))
    assert ledger.digests() == set(), "a damaged object is set aside"
    with Lease(store, "toy"), pytest.raises(ValueError, match="being run into this store"):
        Lease(Store(f"{bucket}/files"), "toy").__enter__()


def test_a_study_into_an_object_store_and_postgresql(
    bucket: str, postgresql: str, study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole way; started again it trains nothing, and what is printed shows no password."""
    path = tmp_path / "toy.json"
    path.write_text(study.canonical_json())
    command = ("run", path, "--lanes", "25", "--store", f"{bucket}/run", "--tracking", postgresql)
    first = folklore(*command, folder=tmp_path)
    assert "50 of 50 trials" in first.stderr
    assert "unused-secret" not in first.stdout + first.stderr
    monkeypatch.chdir(tmp_path)
    again = folklore_here(*command)
    assert "nothing to train" in again.stdout
    ledger = Ledger(Store(f"{bucket}/run"), study.name)
    client = MlflowClient(tracking_uri=postgresql)
    experiment = client.get_experiment_by_name(study.name)
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id], max_results=1000)
    digests = [run.data.tags["folklore.digest"] for run in runs if run.data.tags["folklore.kind"] == "trial"]
    assert sorted(digests) == sorted(ledger.digests())
    assert len(digests) == 50
    assert {run.info.status for run in runs} == {"FINISHED"}
    # No secret went where people look: neither into MLflow's parameters and tags nor into a page.
    written = " ".join(str(run.data.params) + str(run.data.tags) for run in runs)
    pages = [file.read_text() for file in tmp_path.rglob("*.html")]
    assert pages
    assert not any("unused-secret" in text for text in (written, *pages))
