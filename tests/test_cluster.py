"""A study on several nodes of a real Ray cluster on this machine: found, shipped to, and trained on without a change."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import ray

from harness.errors import UserError
from harness.ledger import Ledger
from harness.machine import available_memory_bytes, local_device, worker_memory_bytes
from harness.ray_connection import Connection, Resources, cluster_device
from harness.spec import Study
from harness.store import Store
from tests.chaos.servers import Nodes
from tests.command_line import HANG_SECONDS, folklore

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    """A head without cores and three nodes that differ: four nodes, and four cores to train on."""
    found = Nodes((1, 1, 2), {})
    yield found
    found.shutdown()


def sent_folders() -> list[str]:
    """Folders on a worker's path that Ray brought there, with a package of ours in them."""
    return [folder for folder in sys.path if "py_modules_files" in folder and (Path(folder) / "harness").is_dir()]


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
    assert len(Ledger(Store(str(tmp_path / "store")), study.name).digests()) == 50
    refused = folklore("run", "warmup", "--scale", "gpu", "--store", tmp_path, "--address", nodes.address, code=2)
    assert "this cluster has none" in refused.stderr


def test_a_cluster_with_nothing_to_train_on() -> None:
    with pytest.raises(UserError, match="no Ray cluster at"):
        cluster_device("127.0.0.1:1")
