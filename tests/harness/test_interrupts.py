"""An interrupt waits for an import that it meets: compiled libraries may crash where they are interrupted."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import HANG_SECONDS

PROGRAM = """
import signal, sys, time
from folklore.harness import __main__ as entry
signal.signal(signal.SIGINT, entry._interrupt)
signal.signal(signal.SIGTERM, entry._terminate)
print("ready", flush=True)
try:
    {body}
except KeyboardInterrupt:
    print("interrupted", sorted(set(sys.modules) & {{"slow_one"}}), flush=True)
    sys.exit(entry._code())
"""
# Says when it has begun, so that the signal meets it and nothing before it.
SLOW = "import time\nprint('importing', flush=True)\ntime.sleep(1.0)\nDONE = True\n"


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize(
    ("body", "met", "loaded"),
    [
        ("import slow_one; time.sleep(60)", "importing", ["slow_one"]),
        ("print('asleep', flush=True); time.sleep(60)", "asleep", []),
    ],
)
def test_an_import_is_finished_first(
    tmp_path: Path, sent: signal.Signals, code: int, body: str, met: str, loaded: list[str]
) -> None:
    (tmp_path / "slow_one.py").write_text(SLOW)
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n" + PROGRAM.format(body=body)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    assert process.stdout.readline() == f"{met}\n"
    process.send_signal(sent)
    said = process.stdout.readline()
    assert process.wait(timeout=HANG_SECONDS) == code
    assert said == f"interrupted {loaded}\n"


def test_what_ray_leaves_behind_is_collected_before_its_end_and_sigterm_is_ours_again(ray_address: str) -> None:
    """Ray ends the process, code 1, where a reference is collected after its core worker has gone: here it always is. And it
    takes SIGTERM's handler away as it is shut down, be it while the main thread is busy elsewhere."""
    body = """from folklore.harness.launch.ray_connection import Connection, Resources
    import gc, os
    class CollectedLate:
        def __init__(self, core_worker): self.core_worker = core_worker
        def __getattr__(self, name): return getattr(self.core_worker, name)
        def shutdown_driver(self):
            self.core_worker.shutdown_driver()
            gc.collect()
    with Connection(Resources("cpu", 1, os.environ["RAY_OF_TESTS"])) as connection:
        connection.wait()
        import ray
        worker = ray._private.worker.global_worker
        gc.set_threshold(0)
        cycle = [ray.put(1)]
        cycle.append(cycle)
        del cycle
        worker.core_worker = CollectedLate(worker.core_worker)
        connection._left.set()
        connection._thread.join()
    print(gc.isenabled(), ray.is_initialized(), flush=True)
    signal.raise_signal(signal.SIGTERM)"""
    command = [sys.executable, "-c", PROGRAM.format(body=body)]
    environment = {**os.environ, "RAY_OF_TESTS": ray_address}
    process = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=HANG_SECONDS)
    assert (process.returncode, process.stdout) == (143, "ready\nTrue False\ninterrupted []\n"), process.stderr
