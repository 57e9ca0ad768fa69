"""An MLflow server and a Ray cluster of several nodes on this machine, which can be struck."""

import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from tests.chaos.faults import ends_well, while_it_trains
from tests.chaos.scene import Run, Scene
from tests.command_line import FOLKLORE
from tests.postgresql import free_port


class MlflowServer:
    """On loopback; stopped and started again on the same port and database."""

    def __init__(self, folder: Path):
        self.port = free_port()
        self.folder, self.database, self.uri = folder, folder / "server.db", f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, seconds: float = 90.0) -> None:
        command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(self.port), "--workers", "1"]
        self.process = subprocess.Popen(
            [*command, "--backend-store-uri", f"sqlite:///{self.database}"],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"{self.uri}/health", timeout=2):
                    return
            except OSError:
                time.sleep(0.2)
        raise AssertionError("the MLflow server did not start")

    def stop(self) -> None:
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None


def mlflow_down(scene: Scene, run: Run, draw: random.Random, server: MlflowServer) -> str:
    """The server goes, from the start or later, and comes back or not: training goes on, `folklore sync` completes it."""
    how = draw.choice(["from the start", "from some moment on", "for a while"])
    if how != "from the start":
        while_it_trains(scene, run, draw, 3.0)
    server.stop()
    if how == "for a while":
        server.start()
    ends_well(run)
    if server.process is None:
        server.start()
    subprocess.run(
        [*FOLKLORE, "sync", str(scene.study), "--store", str(scene.store_path), "--tracking", server.uri],
        check=True,
        capture_output=True,
    )
    return how


class Nodes:
    """A Ray cluster of a head without cores and nodes of so many cores, on this machine."""

    def __init__(self, cores: Sequence[int], environment: dict[str, str]):
        from ray.cluster_utils import Cluster

        import folklore.harness.launch.ray_connection  # noqa: F401  (sets Ray's switches)

        os.environ.update(environment)  # which Ray's processes inherit
        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        self.nodes = [self.cluster.add_node(num_cpus=node_cores) for node_cores in cores]
        self.address = self.cluster.address

    def lose_one(self, draw: random.Random) -> None:
        node = draw.choice(self.nodes)
        self.nodes.remove(node)
        self.cluster.remove_node(node, allow_graceful=False)

    def shutdown(self) -> None:
        self.cluster.shutdown()


def node_lost(scene: Scene, run: Run, draw: random.Random, nodes: Nodes) -> str:
    """A node of the cluster goes with what it trains; the others go on with it."""
    while_it_trains(scene, run, draw, 4.0)
    nodes.lose_one(draw)
    ends_well(run)
    return f"{len(nodes.nodes)} nodes left"
