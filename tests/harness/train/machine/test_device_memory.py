"""Memory of the host: tensors reuse that of those before them, and between packs it goes back to the system."""

import ctypes
import subprocess
import sys

import pytest

# A tensor larger than any that glibc keeps by itself, made and dropped: pages that it was handed anew, and bytes given back.
PROGRAM = """
import resource, torch
from pathlib import Path
from folklore.harness.train.machine.device_memory import free_device_memory, keep_host_memory

def pages():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def handed(mebibytes):
    before = pages()
    torch.ones(mebibytes << 18)
    return pages() - before

def held():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

plain = min(handed(64) for _ in range(3))
keep_host_memory()
handed(64)
# Smaller: whatever small was put at the beginning of what was dropped, it fits into the rest.
kept = min(handed(60) for _ in range(3))
before = held()
free_device_memory("cpu")
print(plain, kept, before - held())
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="glibc alone is told what to keep")
def test_memory_is_kept_for_the_next_tensor_and_given_back_after_a_pack() -> None:
    answer = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    plain, kept, given_back = map(int, answer.stdout.split())
    assert plain > 10_000, "each of 64 MiB is handed out anew"
    assert kept < 100
    assert given_back > 60 << 20
