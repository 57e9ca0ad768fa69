"""CPU-seconds of tests, user and system, of this process and of children that have ended: what a busy machine does not change.

Every run of pytest ends with them by file. `python -m tests.cpu_seconds COMMAND` counts those of a whole command with all its
descendants, workers of Ray among them: Linux only.
"""

import contextlib
import ctypes
import os
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Iterator

import psutil
import pytest

FILES_SHOWN = 25
PR_SET_CHILD_SUBREAPER = 36
LOOK_SECONDS = 0.5


def used() -> float:
    """CPU-seconds of this process and its children so far."""
    usage = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(times.ru_utime + times.ru_stime for times in usage)


class CpuSeconds:
    """A plugin of pytest. With several processes each tells the first of its tests, and that one sums them up."""

    def __init__(self) -> None:
        self.before = 0.0
        self.of_files: dict[str, float] = defaultdict(float)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Iterator[None]:
        """At the end of a test's teardown: what was used since the last such end."""
        report = yield
        report.cpu_seconds = 0.0
        if report.when == "teardown":
            now = used()
            report.cpu_seconds, self.before = now - self.before, now
        return report

    def pytest_collection_finish(self) -> None:
        self.starting, self.before = used(), used()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.of_files[report.nodeid.partition("::")[0]] += report.cpu_seconds

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        longest = sorted(self.of_files.items(), key=lambda file_seconds: -file_seconds[1])
        terminalreporter.section(f"{sum(self.of_files.values()):.0f} CPU-seconds of tests, without imports and collecting")
        for name, seconds in longest[:FILES_SHOWN]:
            terminalreporter.write_line(f"{seconds:7.1f}s {name}")


def main(command: list[str]) -> int:
    """Run a command, wait for it and all that it leaves behind, and say what they took."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    first, code, workers = os.spawnvp(os.P_NOWAIT, command[0], command), 0, dict[psutil.Process, float]()
    while True:
        workers |= workers_of_ray()
        try:
            ended, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            break
        if ended == first:
            code = os.waitstatus_to_exitcode(status)
        if not ended:
            time.sleep(LOOK_SECONDS)
    print(f"{used() + sum(workers.values()):.0f} CPU-seconds: {' '.join(command)}", file=sys.stderr)
    return code


def workers_of_ray() -> dict[psutil.Process, float]:
    """Descendants that Ray started, and their CPU-seconds: nobody waits for them, so the system adds them to nobody's."""
    workers = {}
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if (parent := process.parent()) is not None and parent.name() == "raylet":
                times = process.cpu_times()
                workers[process] = times.user + times.system
    return workers


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
