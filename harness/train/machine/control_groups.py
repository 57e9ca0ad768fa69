"""Cores and memory that the control groups of a container, a Slurm job or a systemd unit leave this process.

The kernel's own figures, which psutil and os pass on, are those of the whole machine. Both versions of control groups, see
docs.kernel.org/admin-guide: cgroup-v2 (cpu.max, memory.max) and cgroup-v1 (cpu.cfs_quota_us, memory.limit_in_bytes).
"""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path("/")
# Version 1 has no word for it, but the largest number of pages.
UNLIMITED = 2**60


def cores(root: Path = ROOT) -> float | None:
    """Cores' worth of time that may be used, or None where no quota is set."""
    quotas = [_quota(folder) for folder in _groups("cpu", root)]
    return min((quota for quota in quotas if quota is not None), default=None)


def memory_bytes(root: Path = ROOT) -> int | None:
    """The least limit on memory, or None where there is none."""
    return min((limit for limit, _ in _memory(root)), default=None)


def free_memory_bytes(root: Path = ROOT) -> int | None:
    """Memory that the limits leave free; pages of files that the kernel would give up count as free. None without a limit."""
    return min((max(0, limit - used) for limit, used in _memory(root)), default=None)


def _quota(folder: Path) -> float | None:
    words = _words(folder / "cpu.max") or [*_words(folder / "cpu.cfs_quota_us"), *_words(folder / "cpu.cfs_period_us")]
    if len(words) != 2 or words[0] in ("max", "-1"):
        return None
    return float(words[0]) / float(words[1])


def _memory(root: Path) -> Iterator[tuple[int, int]]:
    """Limit and use, in bytes, of each group that has a limit."""
    for folder in _groups("memory", root):
        limit = _words(folder / "memory.max") or _words(folder / "memory.limit_in_bytes")
        used = _words(folder / "memory.current") or _words(folder / "memory.usage_in_bytes")
        if limit and used and limit[0] != "max" and int(limit[0]) < UNLIMITED:
            words = _words(folder / "memory.stat")
            kept = dict(zip(words[::2], words[1::2], strict=False))
            files = kept.get("total_inactive_file", kept.get("inactive_file", "0"))
            yield int(limit[0]), int(used[0]) - int(files)


def _groups(controller: str, root: Path) -> Iterator[Path]:
    """The folders of the groups this process is in, from its own up to the topmost one that can be seen."""
    mounted = root / "sys/fs/cgroup"
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, names, path = line.split(":", 2)
        if names and controller not in names.split(","):
            continue
        top = mounted / controller if names else mounted
        inside = PurePosixPath(path.lstrip("/"))
        # A container that sees only its own groups names them by a path that is not there, or that leads outside.
        for part in () if ".." in inside.parts else (inside, *inside.parents):
            if part.parts:
                yield top / part
        yield top


def _words(path: Path) -> list[str]:
    return _text(path).split()


def _text(path: Path) -> str:
    """The text of a file; '' if it is absent or not readable."""
    try:
        return path.read_text()
    except OSError:
        return ""
