"""Debian's PostgreSQL for tests, on loopback; where it is not installed they are skipped."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.command_line import HANG_SECONDS

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def started(place: Path) -> Iterator[str]:
    """The address of a database in a cluster of its own, owned by nobody's account but the test's."""
    if not PROGRAMS:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    folder, port = place / "pg", free_port()
    folder.mkdir()
    as_user: list[str] = []
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        shutil.chown(folder, "postgres")
        for parent in folder.parents:
            if parent.stat().st_mode & 0o005 != 0o005 and parent != Path("/"):
                parent.chmod(parent.stat().st_mode | 0o055)
        as_user = ["runuser", "-u", "postgres", "--"]
    programs = PROGRAMS[-1]

    def pg(*command: str) -> None:
        subprocess.run([*as_user, *command], check=True, capture_output=True, timeout=HANG_SECONDS, cwd="/")

    pg(str(programs / "initdb"), "-D", str(folder / "data"), "-A", "trust", "-U", "folklore", "--no-sync")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
    pg(str(programs / "pg_ctl"), "-D", str(folder / "data"), "-l", str(folder / "log"), "-o", options, "-w", "start")
    try:
        pg(str(programs / "createdb"), "-h", "127.0.0.1", "-p", str(port), "-U", "folklore", "mlflow")
        yield f"postgresql://folklore:unused-secret@127.0.0.1:{port}/mlflow"
    finally:
        pg(str(programs / "pg_ctl"), "-D", str(folder / "data"), "-m", "immediate", "-t", "600", "stop")
