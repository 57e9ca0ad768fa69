"""Limits of containers and jobs, from file trees as the kernel shows them."""

from pathlib import Path

import psutil
import pytest

from folklore.harness.train.machine import control_groups, description
from folklore.harness.train.machine.description import Device

GIB = 2**30


def tree(root: Path, groups: str, files: dict[str, str]) -> Path:
    for name, text in {"proc/self/cgroup": groups, **{f"sys/fs/cgroup/{name}": text for name, text in files.items()}}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_a_container_that_sees_its_own_groups_only(tmp_path: Path) -> None:
    """Version 2, as in Docker and Kubernetes: the limits lie at the top, whatever path the process is said to have."""
    files = {
        "cpu.max": "250000 100000\n",
        "memory.max": f"{8 * GIB}\n",
        "memory.current": f"{5 * GIB}\n",
        "memory.stat": f"anon 1\ninactive_file {2 * GIB}\nactive_file 7\n",
    }
    for groups in ("0::/\n", "0::/../../kubepods/pod1\n", "0::/kubepods/pod1\n"):
        root = tree(tmp_path / groups.strip().replace("/", "_"), groups, files)
        assert control_groups.cores(root) == 2.5
        assert control_groups.memory_bytes(root) == 8 * GIB
        assert control_groups.free_memory_bytes(root) == 5 * GIB


def test_the_narrowest_of_nested_groups_counts(tmp_path: Path) -> None:
    """Version 2, as in a Slurm job: a step within a job within a node's slice."""
    root = tree(
        tmp_path,
        "0::/slurm/job_1/step_0\n",
        {
            "slurm/cpu.max": "800000 100000\n",
            "slurm/job_1/cpu.max": "400000 100000\n",
            "slurm/job_1/step_0/cpu.max": "max 100000\n",
            "slurm/job_1/memory.max": f"{4 * GIB}\n",
            "slurm/job_1/memory.current": f"{1 * GIB}\n",
            "slurm/job_1/step_0/memory.max": "max\n",
            "slurm/job_1/step_0/memory.current": f"{1 * GIB}\n",
        },
    )
    assert control_groups.cores(root) == 4.0
    assert control_groups.free_memory_bytes(root) == 3 * GIB


def test_version_one(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        "4:memory:/docker/a\n2:cpu,cpuacct:/docker/a\n1:name=systemd:/\n0::/\n",
        {
            "cpu/docker/a/cpu.cfs_quota_us": "150000\n",
            "cpu/docker/a/cpu.cfs_period_us": "100000\n",
            "memory/docker/a/memory.limit_in_bytes": f"{2 * GIB}\n",
            "memory/docker/a/memory.usage_in_bytes": f"{3 * GIB}\n",
            "memory/docker/a/memory.stat": f"inactive_file 5\ntotal_inactive_file {GIB // 2}\n",
        },
    )
    assert control_groups.cores(root) == 1.5
    assert control_groups.memory_bytes(root) == 2 * GIB
    assert control_groups.free_memory_bytes(root) == 0, "used beyond its limit, and not less than nothing"


@pytest.mark.parametrize("groups", ["", "0::/\n", "2:cpu:/\n4:memory:/\n"])
def test_no_limits(groups: str, tmp_path: Path) -> None:
    files = {
        "cpu/cpu.cfs_quota_us": "-1\n",
        "cpu/cpu.cfs_period_us": "100000\n",
        "memory.max": "max\n",
        "memory.current": "9\n",
        "memory/memory.limit_in_bytes": "9223372036854771712\n",
        "memory/memory.usage_in_bytes": "9\n",
    }
    root = tree(tmp_path, groups, files)
    assert control_groups.cores(root) is None
    assert control_groups.memory_bytes(root) is None
    assert control_groups.free_memory_bytes(root) is None


def test_workers_and_memory_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of a core is still a worker; memory is shared among workers."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(64)), raising=False)
    for quota, workers in ((None, 64), (2.5, 2), (0.25, 1), (100.0, 64)):
        monkeypatch.setattr(control_groups, "cores", lambda quota=quota: quota)
        assert description.available_cores() == workers
    device = Device("cpu", "a machine", 4, GIB)
    monkeypatch.setattr(control_groups, "free_memory_bytes", lambda: 4096)
    assert (description.available_memory_bytes(device), description.worker_memory_bytes(device)) == (4096, 1024)
    monkeypatch.setattr(control_groups, "free_memory_bytes", lambda: 2**62)
    assert description.available_memory_bytes(device) <= psutil.virtual_memory().total
