"""A study on several nodes of a real Ray cluster on this machine: found, shipped to, and trained on without a change."""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import ray

from folklore.harness.errors import UserError
from folklore.harness.machine.description import available_memory_bytes, local_device, worker_memory_bytes
from folklore.harness.machine.repository import Sources, running_sources
from folklore.harness.running.ray_connection import Connection, Resources, cluster_device
from folklore.harness.spec import Study, Training
from folklore.harness.storing.ledger import Ledger
from folklore.harness.storing.store import Store
from tests.chaos.faults import can_mount
from tests.chaos.servers import Nodes
from tests.command_line import FOLKLORE, HANG_SECONDS, folklore

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    """A head without cores and three nodes that differ: four nodes, and four cores to train on."""
    found = Nodes((1, 1, 2), {})
    yield found
    found.shutdown()


def sent_folders() -> list[str]:
    """Folders on a worker's path that Ray brought there, with a package of ours in them."""
    return [folder for folder in sys.path if "py_modules_files" in folder and (Path(folder) / "folklore" / "harness").is_dir()]


def test_devices_are_looked_at_where_they_are(nodes: Nodes) -> None:
    device = cluster_device(nodes.address)
    assert (device.kind, device.count, device.elsewhere) == ("cpu", 4, True)
    # All nodes are this machine here: least is left for a worker where two share a node.
    assert device.memory_bytes == pytest.approx(available_memory_bytes(local_device()) / 2, rel=0.2)
    assert worker_memory_bytes(device) == device.memory_bytes, "not shared out again among the workers of other nodes"


def test_nodes_run_the_code_of_whoever_starts_the_run(nodes: Nodes) -> None:
    with Connection(Resources("cpu", 1, nodes.address)) as connection:
        connection.wait()
        assert len(ray.get(ray.remote(sent_folders).options(num_cpus=1).remote(), timeout=HANG_SECONDS)) == 1


def test_a_study_runs_on_all_nodes(nodes: Nodes, study: Study, tmp_path: Path) -> None:
    path = tmp_path / "toy.json"
    path.write_text(study.canonical_json())
    done = folklore("run", path, "--lanes", "5", "--store", tmp_path / "store", "--address", nodes.address)
    assert "on 4 x" in done.stdout
    assert "on 4 workers" in done.stdout
    trials = Ledger(Store(str(tmp_path / "store")), study.name).trials()
    assert len(trials) == 50
    # The nodes have our code without its repository.
    told = [json.loads(each) for each in set(trials["environment"])]
    assert {Sources(each["git_commit"], each["sources"]) for each in told} == {running_sources()}
    refused = folklore("run", "warmup", "--scale", "gpu", "--store", tmp_path, "--address", nodes.address, code=2)
    assert "this cluster has none" in refused.stderr


@pytest.mark.skipif(not can_mount(), reason="needs root, for a temporary folder of a node's own")
def test_machines_have_temporary_folders_of_their_own(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run keeps in its own is seen by no worker: Ray wanted checkpoints there, and no pack could end."""
    path, temporary = tmp_path / "toy.json", tmp_path / "temporary"
    path.write_text(study.canonical_json())
    temporary.mkdir()
    found = Nodes((), {})
    ray_command = Path(sys.executable).with_name("ray")
    start = f"mount -t tmpfs tmpfs {temporary} && exec {ray_command} start --address {found.address} --num-cpus 1 --block"
    node = subprocess.Popen(["unshare", "-m", "sh", "-c", start], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    monkeypatch.setenv("TMPDIR", str(temporary))
    try:
        while not _has_a_core(found.address):
            assert node.poll() is None, "the node has ended"
        folklore("run", path, "--lanes", "5", "--store", tmp_path / "store", "--address", found.address)
    finally:
        node.terminate()
        node.wait()
        found.shutdown()
    assert len(Ledger(Store(str(tmp_path / "store")), study.name).trials()) == 50


@pytest.mark.slow
def test_a_head_that_is_lost_ends_the_run(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray is not ours to start again: one line, and what is finished is kept."""
    monkeypatch.setenv("FOLKLORE_CHECKPOINT_SECONDS", "0.5")
    found = Nodes((1,), {})
    try:
        path = tmp_path / "toy.json"
        path.write_text(study.model_copy(update={"training": Training(steps=10**6, batch_size=4)}).canonical_json())
        options = ("--lanes", "5", "--store", str(tmp_path / "store"), "--address", found.address)
        with subprocess.Popen([*FOLKLORE, "run", str(path), *options], stderr=subprocess.PIPE, text=True) as process:
            while process.poll() is None and not list((tmp_path / "store").glob("checkpoints/*/*")):
                time.sleep(0.2)
            found.cluster.head_node.kill_gcs_server()
            _, said = process.communicate(timeout=HANG_SECONDS)
    finally:
        found.shutdown()
    assert process.returncode == 1, said
    assert f"error: the Ray cluster at {found.address} is lost: its head has not answered" in said
    assert "Traceback" not in said


def _has_a_core(address: str) -> bool:
    with contextlib.suppress(UserError):
        return cluster_device(address).count > 0
    return False
