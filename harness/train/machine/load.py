"""The load of this machine, by the names under which MLflow shows system metrics."""

import shutil
import subprocess
from pathlib import Path

import psutil

# A sample that takes longer is not worth waiting for.
QUERY_SECONDS = 2.0
# What `nvidia-smi` is asked for -> MLflow's name for it, and how many of its units are one of nvidia-smi's.
GPU_FIELDS = {
    "utilization.gpu": ("utilization_percentage", 1.0),
    "memory.used": ("memory_usage_megabytes", 2**20 / 1e6),
    "power.draw": ("power_usage_watts", 1.0),
}

_hangs = False


def system_load() -> dict[str, float]:
    """CPU use since the last call and memory in percent, memory in megabytes; of each GPU its use in percent, its memory in
    megabytes and its power in watts, where `nvidia-smi` tells."""
    memory = psutil.virtual_memory()
    return {
        "cpu_utilization_percentage": psutil.cpu_percent(),
        "system_memory_usage_percentage": memory.percent,
        "system_memory_usage_megabytes": memory.used / 1e6,
        **gpu_load(),
    }


def gpu_load() -> dict[str, float]:
    """The load of every GPU; empty without an `nvidia-smi` that answers. Values that a GPU does not report are left out."""
    metrics = {}
    for number, line in enumerate(_answer().splitlines()):
        for value, (name, units) in zip(line.split(","), GPU_FIELDS.values(), strict=False):
            try:
                metrics[f"gpu_{number}_{name}"] = units * float(value)
            except ValueError:  # "[N/A]", as MIG partitions say
                continue
    return metrics


def _answer() -> str:
    global _hangs
    command = shutil.which("nvidia-smi")
    if command is None or _hangs:
        return ""
    arguments = [command, f"--query-gpu={','.join(GPU_FIELDS)}", "--format=csv,noheader,nounits"]
    try:
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        answer, _ = process.communicate(timeout=QUERY_SECONDS)
    except OSError:
        return ""
    except subprocess.TimeoutExpired:
        # Not waited for: with a broken driver it may not even end when it is killed. Nor is it asked again.
        process.kill()
        _hangs = True
        return ""
    return answer if process.returncode == 0 else ""


def out_of_memory_kills() -> int:
    """Processes that the kernel of this machine has ended for want of memory since it started; 0 where it does not say."""
    try:
        lines = Path("/proc/vmstat").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
