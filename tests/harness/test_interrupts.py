"""An interrupt waits for an import that it meets: compiled libraries may crash where they are interrupted."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """
import signal, sys, time
from harness import __main__ as entry
signal.signal(signal.SIGINT, entry._interrupt)
signal.signal(signal.SIGTERM, entry._terminate)
print("ready", flush=True)
try:
    {body}
except KeyboardInterrupt:
    print("interrupted", sorted(set(sys.modules) & {{"slow_one"}}), flush=True)
    sys.exit(entry._code())
"""
SLOW = "import time\ntime.sleep(1.0)\nDONE = True\n"


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize(("body", "loaded"), [("import slow_one; time.sleep(20)", True), ("time.sleep(20)", False)])
def test_an_import_is_finished_first(tmp_path: Path, sent: signal.Signals, code: int, body: str, loaded: bool) -> None:
    (tmp_path / "slow_one.py").write_text(SLOW)
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n" + PROGRAM.format(body=body)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    process.send_signal(sent)
    said = process.stdout.readline()
    assert process.wait(timeout=15) == code
    assert said == f"interrupted {['slow_one'] if loaded else []}\n"


def test_sigterm_is_still_ours_when_ray_has_gone() -> None:
    """Ray takes the handler away as it is shut down, be it while the main thread is busy elsewhere."""
    body = """from harness.ray_connection import Connection, Resources
    with Connection(Resources("cpu", workers=1)) as connection:
        connection.wait()
        connection._left.set()
        connection._thread.join()
    signal.raise_signal(signal.SIGTERM)"""
    found = subprocess.run([sys.executable, "-c", PROGRAM.format(body=body)], capture_output=True, text=True, timeout=120)
    assert found.returncode == 143, found.stderr
    assert found.stdout == "ready\ninterrupted []\n"


def test_what_ray_leaves_behind_is_collected_before_its_end() -> None:
    """Ray ends the process, code 1, where a reference is collected after its core worker has gone: here it always is."""
    body = """from harness.ray_connection import Connection, Resources
    import gc
    class CollectedLate:
        def __init__(self, core_worker): self.core_worker = core_worker
        def __getattr__(self, name): return getattr(self.core_worker, name)
        def shutdown_driver(self):
            self.core_worker.shutdown_driver()
            gc.collect()
    with Connection(Resources("cpu", workers=1)) as connection:
        connection.wait()
        import ray
        worker = ray._private.worker.global_worker
        gc.set_threshold(0)
        cycle = [ray.put(1)]
        cycle.append(cycle)
        del cycle
        worker.core_worker = CollectedLate(worker.core_worker)
    print(gc.isenabled(), ray.is_initialized())"""
    found = subprocess.run([sys.executable, "-c", PROGRAM.format(body=body)], capture_output=True, text=True, timeout=120)
    assert (found.returncode, found.stdout) == (0, "ready\nTrue False\n"), found.stderr
