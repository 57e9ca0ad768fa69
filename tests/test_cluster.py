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

from folklore.harness.declare import Study, Training
from folklore.harness.launch.ray_connection import Connection, Resources, cluster_device
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from folklore.harness.train.machine.description import available_memory_bytes, local_device, worker_memory_bytes
from folklore.harness.train.machine.repository import Sources, running_sources
from tests.chaos.faults import can_mount
from tests.chaos.servers import Nodes
from tests.command_line import FOLKLORE, HANG_SECONDS, folklore, folklore_here

pytestmark = pytest.mark.slow


TEMPORARY = "tmp"


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """A head without cores and three nodes that differ: four nodes, and four cores to train on. Where it can be had the largest
    node has a temporary folder of its own."""
    alone = can_mount()
    cluster = Nodes((1, 1) if alone else (1, 1, 2), {})
    with contextlib.ExitStack() as ending:
        ending.callback(cluster.shutdown)
        if alone:
            ending.enter_context(mounted(cluster, tmp_path_factory.getbasetemp() / TEMPORARY))
        yield cluster


@contextlib.contextmanager
def mounted(nodes: Nodes, temporary: Path) -> Iterator[None]:
    """A node of two cores that sees an empty folder where others see this one."""
    temporary.mkdir()
    ray_command = Path(sys.executable).with_name("ray")
    start = f"mount -t tmpfs tmpfs {temporary} && exec {ray_command} start --address {nodes.address} --num-cpus 2 --block"
    node = subprocess.Popen(["unshare", "-m", "sh", "-c", start], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while len(nodes.cluster.global_state._live_node_ids()) < 4:
            assert node.poll() is None, "the node has ended"
            time.sleep(0.2)
        yield
    finally:
        node.terminate()
        node.wait()


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


def test_a_study_runs_on_all_nodes(
    nodes: Nodes, study: Study, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not every worker sees what a run keeps in its own temporary folder: Ray wanted checkpoints there, and no pack could
    end."""
    path = tmp_path / "toy.json"
    path.write_text(study.canonical_json())
    if can_mount():
        monkeypatch.setenv("TMPDIR", str(tmp_path_factory.getbasetemp() / TEMPORARY))
    done = folklore("run", path, "--lanes", "5", "--store", tmp_path / "store", "--address", nodes.address)
    assert "on 4 x" in done.stdout
    assert "on 4 workers" in done.stdout
    trials = Ledger(Store(str(tmp_path / "store")), study.name).trials()
    assert len(trials) == 50
    # The nodes have our code without its repository.
    environments = [json.loads(text) for text in set(trials["environment"])]
    assert {Sources(environment["git_commit"], environment["sources"]) for environment in environments} == {running_sources()}
    refused = folklore_here("run", "warmup", "--scale", "gpu", "--store", tmp_path, "--address", nodes.address, code=2)
    assert "this cluster has none" in refused.stderr


def test_a_head_that_is_lost_ends_the_run(nodes: Nodes, study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray is not ours to start again: one line, and what is finished is kept. The last test, for it ends the cluster."""
    monkeypatch.setenv("FOLKLORE_CHECKPOINT_SECONDS", "0.5")
    path = tmp_path / "toy.json"
    path.write_text(study.model_copy(update={"training": Training(steps=10**6, batch_size=4)}).canonical_json())
    options = ("--lanes", "5", "--store", str(tmp_path / "store"), "--address", nodes.address)
    with subprocess.Popen([*FOLKLORE, "run", str(path), *options], stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not list((tmp_path / "store").glob("checkpoints/*/*")):
            time.sleep(0.2)
        nodes.cluster.head_node.kill_gcs_server()
        _, said = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 1, said
    assert f"error: the Ray cluster at {nodes.address} is lost: its head has not answered" in said
    assert "Traceback" not in said
