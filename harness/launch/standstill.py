"""Detects a stalled sweep. Packs report every few seconds; a worker, raylet or GCS that is stopped reports nothing, and Ray
waits for it for ever."""

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

import psutil

# Seconds without a report until that is said (later if workers are busy, as with a step that is compiled), and seconds
# without any work either until Ray counts as lost. The work of a cluster's workers cannot be seen from here.
SAID_SECONDS, BUSY_SECONDS = 30.0, 120.0
LOST_SECONDS, LOST_ELSEWHERE_SECONDS = 300.0, 1800.0
# Seconds between two looks at processes, and the CPU-seconds in between that count as work.
LOOK_SECONDS, WORK_SECONDS = 5.0, 0.25
# Ray's own processes, whose steady activity is no work. A worker is called idle while it imports what its first pack needs.
RAYS = ("raylet", "gcs_server", "dashboard", "log_monitor", "runtime_env")


class StandstillError(Exception):
    """Nothing has moved for so long that nothing will."""


class Standstill:
    """Watches one sweep, beside a process that holds Ray. elsewhere: its workers are on other machines, too."""

    def __init__(
        self, process: int, say: Callable[[str], None], elsewhere: bool = False, clock: Callable[[], float] = time.monotonic
    ):
        self.process, self.say, self.elsewhere, self.clock = process, say, elsewhere, clock
        # Until Ray has started, the work of the process that holds it counts; later it works without an end.
        self.started = False
        self.family: set[psutil.Process] = set()
        self._looked_at = -LOOK_SECONDS
        self._seconds: dict[psutil.Process, float] = {}
        self.heard()

    def heard(self) -> None:
        """Notes that what is awaited has reported."""
        self._heard_at = self._worked_at = self.clock()
        self._said = False

    def look(self, awaited: str) -> None:
        """Says once that what is awaited does not report; '': nothing is. Raises StandstillError if it will not come."""
        now = self.clock()
        if now - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = now
        self.remember_family()
        if not awaited:
            self.heard()
            return
        busy = self._worked()
        if busy:
            self._worked_at = now
        silent, idle = now - self._heard_at, now - self._worked_at
        if not self._said and silent >= (BUSY_SECONDS if busy else SAID_SECONDS):
            self._said = True
            self.say(f"no report of {awaited} for {silent:.0f} s: {self._state(busy)}")
        if idle >= (LOST_ELSEWHERE_SECONDS if self.elsewhere else LOST_SECONDS):
            raise StandstillError(f"nothing has moved for {idle:.0f} s")

    def remember_family(self) -> None:
        """Remembers all processes that Ray has started: if one of them ends, its children belong to nobody."""
        with suppress(psutil.Error):
            self.family |= set(psutil.Process(self.process).children(recursive=True))
        self.family = {process for process in self.family if process.is_running()}

    def _worked(self) -> bool:
        holder = set() if self.started else {psutil.Process(self.process)}
        before, self._seconds = self._seconds, dict(_cpu_seconds(self.family | holder))
        return any(seconds - before.get(process, seconds) > WORK_SECONDS for process, seconds in self._seconds.items())

    def _state(self, busy: bool) -> str:
        if stopped := [process for process in self.family if _status(process) == psutil.STATUS_STOPPED]:
            named = ", ".join(f"{process.name()} (process {process.pid})" for process in stopped[:4])
            numbers = " ".join(str(process.pid) for process in stopped)
            return f"stopped are {named}; `kill -CONT {numbers}` lets them go on, Ctrl-C ends the run"
        if busy:
            return f"Ray's processes are busy, as with imports or a long step ({load()}); Ctrl-C ends the run"
        return f"Ray's processes are idle ({load()}); Ctrl-C ends the run, and the same command goes on"


def load() -> str:
    """The load of this machine, for a message."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"


def end(processes: Iterable[psutil.Process], seconds: float) -> None:
    """Waits until processes are gone, and then kills those that are not."""
    _, alive = psutil.wait_procs(list(processes), timeout=seconds)
    for process in alive:
        with suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(alive, timeout=seconds)


def _cpu_seconds(processes: Iterable[psutil.Process]) -> Iterable[tuple[psutil.Process, float]]:
    for process in processes:
        try:
            if not process.name().startswith(RAYS):
                times = process.cpu_times()
                yield process, times.user + times.system
        except psutil.Error:
            continue


def _status(process: psutil.Process) -> str:
    try:
        return str(process.status())
    except psutil.Error:
        return ""
