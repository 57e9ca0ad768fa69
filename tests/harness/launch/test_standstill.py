"""A sweep that stands still: what is said, when it counts as lost, and that processes that do not end are ended."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

from folklore.harness.launch import standstill
from folklore.harness.launch.standstill import Standstill, StandstillError, end

CHILD = "import time, subprocess, sys; subprocess.Popen([sys.executable, '-c', {!r}]); time.sleep(1000)"
IDLE, BUSY = "import time; time.sleep(1000)", "while True: pass"


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def family(request: pytest.FixtureRequest) -> Iterator[psutil.Popen]:
    """A process with one child, which is idle or busy, as Ray's with a worker."""
    parent = psutil.Popen([sys.executable, "-c", CHILD.format(getattr(request, "param", IDLE))])
    while not parent.children():
        time.sleep(0.05)
    yield parent
    end([parent, *parent.children(recursive=True)] if parent.is_running() else [], 0.1)


def watched(parent: psutil.Popen, elsewhere: bool = False) -> tuple[Standstill, list[str], Clock]:
    said: list[str] = []
    clock = Clock()
    return Standstill(parent.pid, said.append, elsewhere, clock), said, clock


def passes(watch: Standstill, clock: Clock, seconds: float, awaited: str = "2 packs in flight") -> None:
    """Looked at again and again, as a sweep does."""
    until = clock.now + seconds
    while clock.now < until:
        clock.now += standstill.LOOK_SECONDS
        watch.look(awaited)


def test_a_line_when_nothing_moves_and_no_wait_without_end(family: psutil.Popen) -> None:
    watch, said, clock = watched(family)
    passes(watch, clock, 25)
    assert said == []
    passes(watch, clock, 100)
    (line,) = said
    assert re.fullmatch(
        r"no report of 2 packs in flight for 30 s: Ray's processes are idle \(load [\d.]+ on \d+ processors\); Ctrl-C ends the"
        r" run, and the same command goes on",
        line,
    )
    with pytest.raises(StandstillError, match="nothing has moved for 300 s"):
        passes(watch, clock, 1000)


def test_a_report_begins_anew(family: psutil.Popen) -> None:
    watch, said, clock = watched(family)
    while clock.now < standstill.LOST_SECONDS + 20:
        passes(watch, clock, 20)
        watch.heard()
    assert said == []


def test_nothing_in_flight_is_no_standstill(family: psutil.Popen) -> None:
    watch, said, clock = watched(family)
    passes(watch, clock, standstill.LOST_SECONDS + 20, awaited="")
    assert said == []


def test_a_stopped_process_is_named_with_what_lets_it_go_on(family: psutil.Popen) -> None:
    (child,) = family.children()
    child.send_signal(signal.SIGSTOP)
    watch, said, clock = watched(family)
    passes(watch, clock, 40)
    assert f"(process {child.pid}); `kill -CONT {child.pid}` lets them go on" in said[0]


def test_a_long_step_is_no_standstill(family: psutil.Popen, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its worker uses the processor, though it does not report."""
    watch, said, clock = watched(family)
    (child,) = family.children()
    monkeypatch.setattr(standstill, "_cpu_seconds", lambda family: [(child, clock.now / 2)])
    passes(watch, clock, standstill.LOST_SECONDS + 20)
    assert len(said) == 1
    assert "for 120 s: Ray's processes are busy" in said[0]


@pytest.mark.parametrize("family", [BUSY], indirect=True)
def test_a_busy_process_is_seen_to_work(family: psutil.Popen) -> None:
    watch, _, _ = watched(family)
    watch.remember_family()
    (child,) = family.children()
    before = dict(standstill._cpu_seconds(watch.family))[child]
    deadline = time.monotonic() + 60
    while (now := dict(standstill._cpu_seconds(watch.family))[child]) <= before + standstill.WORK_SECONDS:
        assert time.monotonic() < deadline, f"{now - before} CPU-seconds in a minute"
        time.sleep(0.05)


def test_what_a_cluster_does_elsewhere_is_not_seen_and_waited_for_longer(
    family: psutil.Popen, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert standstill.LOST_ELSEWHERE_SECONDS > standstill.LOST_SECONDS
    monkeypatch.setattr(standstill, "LOST_ELSEWHERE_SECONDS", standstill.LOST_SECONDS + 50)
    watch, said, clock = watched(family, elsewhere=True)
    passes(watch, clock, standstill.LOST_ELSEWHERE_SECONDS - 10)
    with pytest.raises(StandstillError):
        passes(watch, clock, 20)
    assert len(said) == 1


def test_a_stopped_worker_whose_parent_is_gone_is_ended(family: psutil.Popen) -> None:
    watch, _, _ = watched(family)
    watch.remember_family()
    (child,) = family.children()
    child.send_signal(signal.SIGSTOP)
    family.kill()
    family.wait()
    assert child.is_running()
    end(watch.family, 0.5)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


def test_memory_ends_processes_in_the_kernels_count() -> None:
    from folklore.harness.train.machine.load import out_of_memory_kills

    assert out_of_memory_kills() >= 0
    said = subprocess.run(["grep", "oom_kill", "/proc/vmstat"], capture_output=True, text=True).stdout
    assert not said or out_of_memory_kills() == int(said.split()[1])
    assert os.path.exists("/proc/vmstat")
