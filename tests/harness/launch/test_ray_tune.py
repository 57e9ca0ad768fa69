"""Jobs on Ray Tune: a crash is retried, a pack given up is reported, and the rest goes on."""

import inspect
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import ray

from folklore.harness.errors import RunFailedError, TooLargeError, UnwritableError, UserCodeError, UserError
from folklore.harness.launch import ray_tune
from folklore.harness.launch.jobs import Progress
from folklore.harness.launch.ray_connection import Connection, NotStartedError, Resources, require_reachable
from tests.command_line import HANG_SECONDS


@dataclass(frozen=True)
class ScriptedJob:
    """Fails its first `failures` openings; leaves a line in a file for every one."""

    folder: str
    name: str
    failures: int = 0
    kill: bool = False
    error: type[Exception] = RuntimeError
    seconds: float = 0.0

    def open(self) -> "ScriptedWork":
        path = Path(self.folder) / self.name
        with path.open("a") as file:
            file.write(f"opened in {os.getcwd()}\n")
        if len(path.read_text().splitlines()) <= self.failures:
            if self.kill:
                os._exit(1)
            raise self.error(f"scripted failure of {self.name}")
        return ScriptedWork(Path(self.folder) / "at work", self.seconds)


class ScriptedWork:
    """Fails where another is at work."""

    def __init__(self, alone: Path, seconds: float) -> None:
        self.steps, self.alone, self.seconds = 0, alone, seconds
        alone.mkdir()

    def advance(self, seconds: float) -> Progress:
        self.steps += 1
        time.sleep(self.seconds)
        return Progress(done=self.steps == 2, share=self.steps / 2, lanes=3, best_loss=1.0, best_arm="a")

    def close(self) -> None:
        self.alone.rmdir()


class Recorder:
    def __init__(self) -> None:
        self.shares: dict[str, list[float]] = {}
        self.done: list[str] = []
        self.errors: dict[str, str] = {}

    def progress(self, pack: str, progress: Progress) -> None:
        self.shares.setdefault(pack, []).append(progress.share)

    def finished(self, pack: str) -> None:
        self.done.append(pack)

    def retried(self, pack: str, reason: str) -> None:
        self.errors[f"retried {pack}"] = reason

    def halved(self, pack: str, reason: str) -> None:
        self.errors[f"halved {pack}"] = reason

    def failed(self, pack: str, error: str) -> None:
        self.errors[pack] = error


class Jobs:
    """A queue that knows all its jobs beforehand."""

    def __init__(self, jobs: dict[str, ScriptedJob]) -> None:
        self.left, self.running = dict(jobs), set[str]()
        self.ended: dict[str, bool] = {}

    @property
    def exhausted(self) -> bool:
        return not self.left and not self.running

    def next(self) -> tuple[str, ScriptedJob] | None:
        key = next(iter(self.left), None)
        if key is None:
            return None
        self.running.add(key)
        return key, self.left.pop(key)

    def settled(self, pack: str, failed: bool = False) -> None:
        self.running.discard(pack)
        self.ended[pack] = failed

    def halve(self, pack: str) -> bool:
        """A job of two lanes comes again as two of one, which memory holds."""
        if not pack.endswith("2"):
            return False
        self.running.discard(pack)
        self.left = {f"{pack}{half}": ScriptedJob(self.folder, f"{pack}{half}") for half in "ab"} | self.left
        return True

    folder = ""


class Rounds(Jobs):
    """Gives some jobs only when all before have ended, as a search does."""

    def next(self) -> tuple[str, ScriptedJob] | None:
        waits = self.running and next(iter(self.left), "") in ("last", "full")
        return None if waits else super().next()


def test_what_becomes_of_jobs(tmp_path: Path, ray_address: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A failure is tried again, a pack that fails again is given up, what memory does not hold is halved, what waits for others
    is asked for again, and the rest goes on, until the store takes nothing any more: that ends the run. All in one run, for a
    worker takes seconds to start; and one by one, as is asked of a cluster that has room for more."""

    def job(name: str, failures: int = 0, **how: Any) -> tuple[str, ScriptedJob]:
        return name, ScriptedJob(str(tmp_path), name, failures, **how)

    jobs = dict(
        (
            job("good", seconds=2.0),  # another worker is there by then, if it may
            job("flaky", failures=1),
            job("broken", failures=99),
            # Told by the worker it is halved at once; a worker that dies without a word may have been ended for want of memory.
            job("wide2", failures=99, error=TooLargeError),
            job("dead2", failures=99, kill=True),
            job("one", failures=99, error=TooLargeError),
            job("last"),
            job("full", failures=99, error=UnwritableError),
            *(job(f"later {index}") for index in range(20)),
        )
    )
    heard, queue, scratch = Recorder(), Rounds(jobs), tmp_path_factory.mktemp("scratch")
    queue.folder = str(tmp_path)
    with (
        Connection(Resources("cpu", 2, ray_address, at_most=1, folder=str(scratch))) as connection,
        pytest.raises(UnwritableError, match="scripted failure of full"),
    ):
        ray_tune.run(queue, connection, heard, retries=1)
    done = [name for name in heard.done if not name.startswith("later")]
    assert sorted(done) == ["dead2a", "dead2b", "flaky", "good", "last", "wide2a", "wide2b"]
    assert done[-1] == "last"
    assert queue.ended == {**dict.fromkeys(heard.done, False), "broken": True, "one": True}
    assert len(list(tmp_path.glob("later*"))) < 10, "what could not be written is not trained"
    assert heard.errors.pop("halved dead2").startswith("workers died on a pack, of want of memory or of something else (")
    assert heard.errors.pop("retried dead2").startswith("a worker was lost (ActorDiedError: ")
    assert heard.errors == {
        "broken": "RuntimeError: scripted failure of broken",
        "halved wide2": "memory did not hold a pack (scripted failure of wide2)",
        "one": "scripted failure of one",
        "retried broken": "a pack failed (RuntimeError: scripted failure of broken)",
        "retried flaky": "a pack failed (RuntimeError: scripted failure of flaky)",
    }
    times = {"good": 1, "flaky": 2, "broken": 2, "wide2": 1, "dead2": 2, "one": 1, "last": 1, "full": 1}
    opened = {name: (tmp_path / name).read_text().splitlines() for name in times}
    assert {name: len(lines) for name, lines in opened.items()} == times
    assert heard.shares["good"] == [0.5, 1.0]
    places = {line for lines in opened.values() for line in lines}
    assert places == {f"opened in {os.getcwd()}"}, "relative paths of a user's code hold in workers"


def test_a_callers_own_ray_tune_is_left_as_it_is() -> None:
    assert not ray_tune.SWITCHES.keys() & os.environ.keys()


def test_packs_are_tried_twice_again() -> None:
    assert inspect.signature(ray_tune.run).parameters["retries"].default == 2


def advanced(error: type[Exception], folder: Path) -> Progress:
    """The reports of a worker about a job that raises."""
    worker = object.__new__(ray_tune.PackTrainable)
    worker.job, worker.work = ScriptedJob(str(folder), "raises", failures=1, error=error), None
    return worker._advance()


@pytest.mark.parametrize(
    ("error", "ends_with"), [(UnwritableError, UnwritableError), (UserCodeError, RunFailedError), (TooLargeError, type(None))]
)
def test_what_ends_a_run_and_what_a_pack(error: type[Exception], ends_with: type, tmp_path: Path) -> None:
    """A worker reports both, and neither is tried again."""
    progress, heard, halt = advanced(error, tmp_path), Recorder(), ray_tune.Halt()
    assert progress.ended
    trial = SimpleNamespace(config={"pack": "raises"}, last_result={"progress": progress})
    ray_tune.Relay(Jobs({}), heard, halt).on_trial_complete(0, [], trial)
    assert type(halt.reason) is ends_with
    assert halt.stop_all() == (halt.reason is not None)
    assert heard.errors == ({} if halt.reason else {"raises": "scripted failure of raises"})


def test_another_error_is_tried_again(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="scripted failure"):
        advanced(RuntimeError, tmp_path)


def test_ray_that_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that takes too long is told by a plain Exception, and may start at another time; a path that no socket can have
    stays so. Nothing else may start a Ray then, without our settings."""
    errors = {
        Exception("The current node timed out during startup"): (NotStartedError, "timed out during startup"),
        OSError("AF_UNIX path length"): (UserError, "Ray does not start on this machine .*AF_UNIX path length"),
    }
    for raised, (expected, message) in errors.items():

        def init(raised: Exception = raised, **settings: object) -> None:
            raise raised

        monkeypatch.setattr(ray, "init", init)
        with Connection(Resources("cpu", workers=1)) as connection, pytest.raises(expected, match=message):
            connection.wait()


def test_an_address_where_no_ray_is() -> None:
    with pytest.raises(UserError, match=r"no Ray cluster at 127\.0\.0\.1:1 .*--address"):
        require_reachable("127.0.0.1:1")


STRANGER = """
import ray, sys
ray.init(address=sys.argv[1], logging_level=50, log_to_driver=False)
print("let in:", ray.get(ray.remote(lambda: 1).remote()))
"""


@pytest.mark.slow
def test_nobody_without_the_token_reaches_a_local_ray() -> None:
    def call(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", STRANGER, address]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=HANG_SECONDS)

    known = {**os.environ}
    without = {name: value for name, value in known.items() if not name.startswith("RAY_AUTH")}
    with Connection(Resources("cpu", workers=1)) as connection:
        connection.wait()
        address = ray.get_runtime_context().gcs_address
        with ThreadPoolExecutor() as at_once:  # strangers are kept waiting
            friend, *strangers = at_once.map(call, (known, without, {**known, "RAY_AUTH_TOKEN": "0" * 64}))
    assert "let in: 1" in friend.stdout
    for stranger in strangers:
        assert stranger.returncode != 0
        assert "let in" not in stranger.stdout
        assert "Unauthenticated" in stranger.stderr
