"""Description of this machine: devices, memory, versions. Recorded with every trial and shown on every page."""

import ctypes
import math
import os
import platform
import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from . import control_groups
from .repository import engine_sources, running_sources

PACKAGES = ("torch", "ray", "optuna", "mlflow", "pandas", "seaborn", "numpy", "pydantic", "pyarrow")


@dataclass(frozen=True)
class Device:
    """Where packs are trained. kind is 'cpu' or 'cuda'; count is workers on a CPU (one a core), GPUs otherwise.

    memory_bytes: of the machine or of one GPU; on a cluster (elsewhere) what is free for a worker where it is least.
    """

    kind: str
    name: str
    count: int
    memory_bytes: int
    elsewhere: bool = False

    @property
    def is_assumed(self) -> bool:
        """Whether a plan only assumes this device."""
        return "assumed" in self.name


@lru_cache(maxsize=1)
def local_device() -> Device:
    """The GPUs of this machine if torch sees any, else its cores."""
    if _may_have_gpu():
        import torch

        if torch.cuda.is_available():
            properties = torch.cuda.get_device_properties(0)
            return Device("cuda", properties.name, torch.cuda.device_count(), properties.total_memory)
    total = psutil.virtual_memory().total
    return Device("cpu", cpu_name(), available_cores(), min(total, control_groups.memory_bytes() or total))


def _may_have_gpu() -> bool:
    """False only if torch would surely see no GPU: it takes seconds to import, and most machines need not ask it.

    A build of torch for CPUs sees none; one for CUDA needs the driver's library; one for ROCm is asked.
    """
    try:
        build = version("torch").partition("+")[2]
    except PackageNotFoundError:
        return False
    if build == "cpu" or sys.platform == "darwin":
        return False
    if build.startswith("rocm"):
        return True
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True


def available_cores() -> int:
    """Cores this process may use, which in a container or a job can be fewer than the machine has; at least one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, math.floor(control_groups.cores() or cores)))


def available_memory_bytes(device: Device) -> int:
    """Memory that may be used now on this machine: of the host, or of one GPU."""
    if device.kind == "cuda":
        import torch

        return int(torch.cuda.mem_get_info(0)[0])
    free = psutil.virtual_memory().available
    allowance = control_groups.free_memory_bytes()
    return int(free if allowance is None else min(free, allowance))


def worker_memory_bytes(device: Device) -> int:
    """Memory that a pack may use: of the GPU it has to itself, or its worker's share of the host's."""
    if device.elsewhere or device.is_assumed:
        return device.memory_bytes
    return available_memory_bytes(device) // (1 if device.kind == "cuda" else device.count)


def cpu_name() -> str:
    path = Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that the numbers pass through."""
    by_package = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            by_package[package] = version(package)
        except PackageNotFoundError:
            by_package[package] = "not installed"
    return by_package


@lru_cache(maxsize=1)
def environment() -> dict[str, str]:
    """One flat description of machine and software."""
    device, sources = local_device(), running_sources()
    return {
        "device": device.name,
        "devices": str(device.count),
        "memory_gib": f"{device.memory_bytes / 2**30:.0f}",
        "cpu": cpu_name(),
        "cores": str(available_cores()),
        "system": f"{platform.system()} {platform.machine()}",
        "git_commit": sources.commit,
        "sources": sources.state,
        "engine_sources": engine_sources(),
        **versions(),
    }
