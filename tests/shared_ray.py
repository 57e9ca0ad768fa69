"""One Ray for all tests that only need one to be there: a start of its own costs a run 10 to 20 s on two cores.

It is started by the first test that asks for it, in a process that ends with pytest, however that ends.
"""

import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil

from tests.places import ROOT

# More than the machine has: a run that waits for a free core while another one holds all of them would wait for its end.
CORES = 4
LOOK_SECONDS = 0.5


def shared_ray(folder: Path, owner: int) -> str:
    """The address of the Ray that all test processes share, started if it is not there yet.

    folder: one that all test processes have in common. owner: the process at whose end Ray ends.
    """
    with (folder / "ray.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        file = folder / "ray-address"
        if not file.exists():
            with (folder / "ray.log").open("wb") as log:
                command = [sys.executable, "-m", "tests.shared_ray", str(owner)]
                # The first test that asks for it may have gone to a folder of its own.
                process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, start_new_session=True)
            assert process.stdout is not None
            address = process.stdout.readline().decode().strip()
            assert address, f"Ray did not start: {(folder / 'ray.log').read_text()[-2000:]}"
            file.write_text(address)
        return file.read_text()


def main(owner: int) -> None:
    import folklore.harness.launch.ray_connection  # noqa: F401  (sets Ray's switches)

    from ray.cluster_utils import Cluster  # isort: skip

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": CORES, "include_dashboard": False})
    print(cluster.address, flush=True)
    try:
        while psutil.pid_exists(owner):
            time.sleep(LOOK_SECONDS)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    main(int(sys.argv[1]))
