"""Ray is lost under a run: what was in flight is handed out again, once; after that the run ends with one line."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from folklore.harness.errors import RunFailedError, UnwritableError, UserError
from folklore.harness.launch import ray_process
from folklore.harness.launch.jobs import Job, Progress, Work
from folklore.harness.launch.ray_connection import HEAD_SECONDS, Resources, _Elsewhere
from folklore.harness.launch.ray_process import Again, RayProcess, Watch
from tests.chaos.faults import parts_of_ray
from tests.command_line import HANG_SECONDS
from tests.processes import wait_until_gone

# Long for a process that has nothing more to do; one that hangs stays for ever.
GONE_SECONDS = 60.0

# Speaks for Ray: settles each job it is given, and does to itself what the job's name says, so often as files in a folder say.
STAND_IN = """
import json, os, signal, sys, time
path, argv, pipe = map(json.loads, sys.argv[1:])
sys.path[:] = path
from pathlib import Path
from folklore.harness.errors import UnwritableError
from folklore.harness.launch.ray_process import ENDED, Link, Pipes
link = Link(Pipes(pipe))
folder = Path(link.receive().device)
link.tell("started")
try:
    while not link.exhausted:
        found = link.next()
        if found is None:
            continue
        pack, job = found
        with (folder / pack).open("a") as file:
            file.write("given\\n")
        times = len((folder / pack).read_text().splitlines())
        if pack == "dies" and times == 1 or pack == "dies again":
            print("last words", file=sys.stderr, flush=True)
            os._exit(7)
        if pack == "asks and dies" and times == 1:
            link.tell("next")
            os._exit(7)
        if pack == "loses its node" and times == 1:
            link.tell("lost", "the raylet ended")
            os._exit(1)
        if pack == "is full":
            link.tell("raised", UnwritableError("the store is full"))
        if pack == "interrupts":
            os.kill(os.getppid(), signal.SIGINT)
            time.sleep(600)
        if pack == "hears nothing":
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        if pack in ("is long", "hears nothing"):
            time.sleep(8)
        if pack == "is ours to fix":
            link.tell("broken", "Traceback: here")
        link.settled(pack)
        link.finished(pack)
except KeyboardInterrupt:
    pass
link.tell(ENDED)
"""


@dataclass(frozen=True)
class Nothing:
    def open(self) -> Work:
        raise AssertionError("the stand-in opens no jobs")


@dataclass
class Jobs:
    waiting: list[str]
    running: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)

    @property
    def exhausted(self) -> bool:
        return not self.waiting and not self.running

    def next(self) -> tuple[str, Job] | None:
        if not self.waiting:
            return None
        self.running.append(self.waiting.pop(0))
        return self.running[-1], Nothing()

    def settled(self, pack: str, failed: bool = False) -> None:
        self.running.remove(pack)
        self.done.append(pack)

    def halve(self, pack: str) -> bool:
        self.running.remove(pack)
        self.waiting += [f"{pack} left", f"{pack} right"]
        return True


class Silent:
    def __getattr__(self, name: str) -> object:
        return lambda *arguments: None


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(ray_process, "PROGRAM", STAND_IN)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def swept(folder: Path, jobs: Jobs, address: str | None = None) -> None:
    with RayProcess(Resources(str(folder), 1, address)) as ray:
        ray.wait()
        ray.sweep(jobs, Silent())  # type: ignore[arg-type]


LOST = "Ray lost this machine's node ({}): Ray is started again, and the run goes on from its checkpoints"


@pytest.mark.usefixtures("stand_in")
def test_what_was_in_flight_is_handed_out_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    jobs = Jobs(["first", "dies", "last"])
    swept(tmp_path, jobs)
    assert jobs.done == ["first", "dies", "last"]
    attempts = {path.name: len(path.read_text().splitlines()) for path in tmp_path.iterdir()}
    assert attempts == {"first": 1, "dies": 2, "last": 1}
    assert caplog.messages == [LOST.format("the process that holds Ray ended with code 7: last words")]


class Late(Jobs):
    """Answers after the process that asked has ended."""

    def next(self) -> tuple[str, Job] | None:
        time.sleep(1.0 if "asks and dies" in self.running else 0.0)
        return super().next()


@pytest.mark.usefixtures("stand_in")
def test_an_answer_that_nobody_reads_any_more_is_a_loss_like_another(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    jobs = Late(["first", "asks and dies", "last"])
    swept(tmp_path, jobs)
    assert sorted(jobs.done) == ["asks and dies", "first", "last"]
    assert [line.startswith("Ray lost this machine's node") for line in caplog.messages] == [True]


@pytest.mark.usefixtures("stand_in")
def test_a_second_loss_ends_the_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    jobs = Jobs(["first", "loses its node", "dies again", "last"])
    with pytest.raises(RunFailedError, match=r"lost again \(.*code 7: last words\); what is finished is kept"):
        swept(tmp_path, jobs)
    assert jobs.done == ["first", "loses its node"]
    assert caplog.messages == [LOST.format("the raylet ended")]


@pytest.mark.usefixtures("stand_in")
def test_a_cluster_is_not_started_again(tmp_path: Path) -> None:
    jobs = Jobs(["loses its node"])
    with pytest.raises(RunFailedError, match=r"the Ray cluster at head:1 is lost: the raylet ended; what is finished is kept"):
        swept(tmp_path, jobs, "head:1")
    assert jobs.done == []


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(
    ("pack", "error", "message"),
    [("is full", UnwritableError, "the store is full"), ("is ours to fix", RuntimeError, "Traceback: here")],
)
def test_what_a_sweep_raises_is_raised_here(pack: str, error: type[Exception], message: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=message):
        swept(tmp_path, Jobs([pack]))


@pytest.mark.usefixtures("stand_in")
def test_an_interrupt_ends_the_sweep_and_not_this_process(tmp_path: Path) -> None:
    jobs = Jobs(["first", "interrupts", "last"])
    swept(tmp_path, jobs)
    assert (jobs.done, jobs.waiting) == (["first"], ["last"])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("pack", ["is long", "hears nothing"])
def test_a_deadline_ends_the_sweep(pack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where workers do not stop; the clock of the day is not asked, for it can be set back."""
    monkeypatch.setattr("time.time", lambda: 0.0)
    monkeypatch.setattr(ray_process, "STOP_SECONDS", 1.0)
    jobs, stops = Jobs(["first", pack, "last"]), list[str]()
    with RayProcess(Resources(str(tmp_path), 1)) as ray:
        ray.wait()
        deadline = time.monotonic() + 1.0
        ray.sweep(jobs, Silent(), deadline=deadline, on_stop=lambda: stops.append("stop"))  # type: ignore[arg-type]
    assert (jobs.done, jobs.waiting, stops, ray.stopping) == (["first"], ["last"], ["stop"], True)


def test_a_process_that_will_never_start_is_not_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_process, "PROGRAM", "raise SystemExit('no libraries')")
    with pytest.raises(UserError, match=r"Ray does not start \(.*no libraries\): `folklore doctor` says what may be missing"):
        swept(tmp_path, Jobs([]))


RETRY = r"Ray did not start \({}; load [\d.]+ on \d+ processors\): retry {} of 3 in 0 s"


@pytest.mark.parametrize(
    "fault", ["os.kill(os.getpid(), signal.SIGKILL)", "link.tell('lost', 'the raylet ended'); os._exit(1)"]
)
@pytest.mark.parametrize("times", [1, 3, 4])
def test_ray_is_started_three_times_more(
    fault: str, times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(ray_process, "PAUSES_SECONDS", (0.0, 0.0, 0.0))
    started, faults = 'link.tell("started")', 'faults = len(list(folder.glob("fault*")))\n'
    fails = f'if faults < {times}:\n    (folder / ("fault" + str(faults))).touch()\n    {fault}\n'
    monkeypatch.setattr(ray_process, "PROGRAM", STAND_IN.replace(started, faults + fails + started))
    jobs = Jobs(["only"])
    if times == 4:
        with pytest.raises(
            UserError, match=r"Ray did not start in 4 attempts \(.*; load .*\): give the same command again when"
        ):
            swept(tmp_path, jobs)
    else:
        swept(tmp_path, jobs)
        assert jobs.done == ["only"]
    what = "the raylet ended" if "lost" in fault else "the process that holds Ray ended with code -9: without a word"
    assert len(caplog.messages) == min(times, 3)
    for number, line in enumerate(caplog.messages, start=1):
        assert re.fullmatch(RETRY.format(what, number), line)


def test_an_interrupt_ends_the_pause_before_a_retry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray is lost in mid-run and does not start again; nobody waits for the next try, nor for its start."""
    monkeypatch.setattr(ray_process, "PAUSES_SECONDS", (HANG_SECONDS,) * 3)
    started = 'link.tell("started")'
    again = 'if (folder / "loses its node").exists():\n    link.tell("lost", "the raylet ended")\n    os._exit(1)\n'
    monkeypatch.setattr(ray_process, "PROGRAM", STAND_IN.replace(started, again + started))
    jobs = Jobs(["loses its node", "last"])
    pause = RayProcess._pause

    def interrupted(ray: RayProcess, seconds: float) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        pause(ray, seconds)

    monkeypatch.setattr(RayProcess, "_pause", interrupted)
    swept(tmp_path, jobs)
    assert (jobs.done, jobs.waiting) == ([], ["last"])


# A raylet that ends as one does whose agent has not answered in its time; the second one starts.
RAYLET = """#!/bin/sh
if mkdir {mark} 2>/dev/null; then sleep 1; exit 1; fi
exec {raylet} "$@"
"""


@pytest.mark.slow
def test_a_raylet_that_ends_while_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Ray itself goes on waiting for it for half a minute."""
    from ray._private import services

    planted = tmp_path / "raylet"
    planted.write_text(RAYLET.format(mark=tmp_path / "mark", raylet=services.RAYLET_EXECUTABLE))
    planted.chmod(0o755)
    plant = f"from ray._private import services; services.RAYLET_EXECUTABLE = {str(planted)!r};"
    monkeypatch.setattr(ray_process, "PROGRAM", ray_process.PROGRAM.replace("main(pipe)", f"{plant} main(pipe)"))
    monkeypatch.setattr(ray_process, "PAUSES_SECONDS", (0.0, 0.0, 0.0))
    jobs = Files(["a"])
    jobs.folder = tmp_path
    with RayProcess(Resources("cpu", 1)) as ray:
        ray.wait()
        assert [bool(re.fullmatch(RETRY.format("the raylet ended", 1), line)) for line in caplog.messages] == [True]
        ray.sweep(jobs, Silent())  # type: ignore[arg-type]
    assert jobs.done == ["a"]


def test_the_process_that_holds_ray_ends_with_the_run(tmp_path: Path) -> None:
    """However the run ends: its end of the pipe closes."""
    started = 'link.tell("started")'
    (tmp_path / "program.py").write_text(STAND_IN.replace(started, f"{started}; time.sleep(600)"))
    code = (
        "import os; from folklore.harness.launch import ray_process\n"
        "from folklore.harness.launch.ray_connection import Resources\n"
        f"ray_process.PROGRAM = open({str(tmp_path / 'program.py')!r}).read()\n"
        f"ray = ray_process.RayProcess(Resources({str(tmp_path)!r}, 1)); ray.__enter__(); ray.wait()\n"
        "print('started', flush=True); os.kill(os.getpid(), 9)"
    )
    environment = {**os.environ, "FOLKLORE_TEST_HOLDER": str(tmp_path)}
    killed = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=HANG_SECONDS)
    assert killed.stdout == "started\n", killed.stderr
    assert wait_until_gone("FOLKLORE_TEST_HOLDER", tmp_path, (), GONE_SECONDS) == []


def test_jobs_that_were_split_or_settled_do_not_come_again() -> None:
    again = Again(Jobs(["split", "settled", "running"]))
    jobs = [again.next() for _ in range(3)]
    assert [job and job[0] for job in jobs] == ["split", "settled", "running"]
    assert again.halve("split")
    again.settled("settled")
    again.take_back(lambda pack: False)
    assert not again.exhausted
    following = [again.next() for _ in range(4)]
    assert [job and job[0] for job in following] == ["running", "split left", "split right", None]
    assert not again.finished
    for pack in ("running", "split left", "split right"):
        again.settled(pack)
    assert again.finished


def test_the_watch_tells_of_a_process_that_dies() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    alarm, heard = threading.Event(), list[str]()

    def lost(what: str) -> None:
        heard.append(what)
        alarm.set()

    with Watch(lambda: None if process.poll() is None else "it ended", lost, seconds=0.01):
        assert not alarm.wait(0.1)
        process.kill()
        assert alarm.wait(HANG_SECONDS)
    assert heard == ["it ended"]


def test_a_head_that_does_not_answer_is_lost_after_some_time() -> None:
    now = [0.0]
    with socket.create_server(("127.0.0.1", 0)) as server:
        look = _Elsewhere(f"127.0.0.1:{server.getsockname()[1]}", None, lambda: now[0])
        now[0] = 2 * HEAD_SECONDS
        assert look() is None
    now[0] += 0.5 * HEAD_SECONDS
    assert look() is None, "a short silence is borne"
    now[0] += 0.6 * HEAD_SECONDS
    assert look() == "its head has not answered for 20 s"


def test_the_raylet_that_leads_to_a_cluster_is_looked_at() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with socket.create_server(("127.0.0.1", 0)) as server:
        look = _Elsewhere(f"127.0.0.1:{server.getsockname()[1]}", psutil.Process(process.pid))
        assert look() is None
        process.kill()
        process.wait()
        assert look() == "the raylet ended"


@dataclass(frozen=True)
class Counted:
    """Two steps of a second; the last line of its file says how far it came, as a checkpoint does."""

    path: Path

    def open(self) -> "CountedWork":
        return CountedWork(self.path)


class CountedWork:
    def __init__(self, path: Path):
        self.path = path

    def advance(self, seconds: float) -> Progress:
        threading.Event().wait(0.5)
        with self.path.open("a") as file:
            file.write(f"{os.getppid()}\n")
        done = len(self.path.read_text().splitlines())
        return Progress(done=done >= 8, share=done / 8, lanes=1)

    def close(self) -> None:
        pass


class Kills(Silent):
    """Ends a part of the Ray that a process started, at the first report. (Tests share another Ray, which is no part of it.)"""

    def __init__(self, name: str, ray: RayProcess):
        self.name, self.holder, self.killed = name, ray._process.pid, 0

    def progress(self, pack: str, progress: Progress) -> None:
        for process in [] if self.killed else parts_of_ray(self.holder, self.name):
            self.killed += 1
            process.kill()


class Files(Jobs):
    folder = Path()

    def next(self) -> tuple[str, Job] | None:
        job = super().next()
        return job and (job[0], Counted(self.folder / job[0]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gcs_server", "raylet", "ray::RuntimeEnvAgent"])
def test_a_part_of_ray_is_killed(name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    jobs = Files(["a", "b", "c"])
    jobs.folder = tmp_path
    with RayProcess(Resources("cpu", 2)) as ray:
        ray.wait()
        kills = Kills(name, ray)
        ray.sweep(jobs, kills)  # type: ignore[arg-type]
    assert kills.killed == 1
    assert sorted(jobs.done) == ["a", "b", "c"]
    assert sum("Ray is started again" in line for line in caplog.messages) == 1
    raylets = {line for path in tmp_path.iterdir() for line in path.read_text().splitlines()}
    assert len(raylets) >= 2, "the rest was trained under another Ray"
