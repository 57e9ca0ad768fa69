"""Faults of a run: each waits for a moment drawn from the seed, and strikes.

A fault raises AssertionError where the run answers otherwise than it promises; what becomes of the trials is compared later.
"""

import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from folklore.harness.launch.standstill import SAID_SECONDS
from tests.chaos.scene import RUN_SECONDS, Run, Scene
from tests.processes import command_of

FINE, BAD_INPUT, INTERRUPTED, TERMINATED = 0, 2, 130, 143
# A preempted machine leaves so long between SIGTERM and the end.
TERMINATION_SECONDS = 10.0
# A node of this machine that is lost is noticed within so long.
NOTICE_SECONDS = 30.0
# How long a part of Ray stands still.
STOPPED_SECONDS = 90.0

Fault = Callable[[Scene, Run, random.Random], str]


def wait_for(run: Run, condition: Callable[[], bool], seconds: float = RUN_SECONDS) -> bool:
    """Whether it came true before the run ended."""
    deadline = time.monotonic() + seconds
    while not run.over and time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def trained(scene: Scene) -> int:
    return len(scene.lane_steps()[1])


def while_it_trains(scene: Scene, run: Run, draw: random.Random, most_seconds: float = 0.0) -> None:
    """Waits until something more is trained, and then for up to so many seconds."""
    before = trained(scene)
    wait_for(run, lambda: trained(scene) > before)
    if most_seconds:
        wait_for(run, lambda: False, draw.uniform(0.0, most_seconds))


def some_moment(scene: Scene, run: Run, draw: random.Random) -> str:
    """Waits for a moment of a phase that is drawn: while it starts, in the middle of packs, between ledger and MLflow, while
    it reports. Says which."""
    phase = draw.choice(["starting", "training", "training", "projecting", "reporting"])
    packs = len(scene.ledger.packs())
    if phase == "starting":
        wait_for(run, lambda: False, draw.uniform(0.1, 12.0))
    elif phase == "training":
        while_it_trains(scene, run, draw, 6.0)
    elif phase == "projecting":
        wait_for(run, lambda: len(scene.ledger.packs()) > packs)
    else:
        wait_for(run, lambda: scene.complete)
        wait_for(run, lambda: False, draw.uniform(0.0, 3.0))
    return phase


def driver_killed(scene: Scene, run: Run, draw: random.Random) -> str:
    phase = some_moment(scene, run, draw)
    _killed(run)
    return phase


def driver_killed_beside_a_new_worker(scene: Scene, run: Run, draw: random.Random) -> str:
    """A worker is replaced, and its successor has not found its cluster when that is gone: it must not wait for it."""
    worker_killed(scene, run, draw)
    if wait_for(run, lambda: bool(scene.starting_workers())):
        wait_for(run, lambda: False, draw.uniform(0.0, 1.0))
        assert run.over or scene.starting_workers(), "nothing is struck that this is about"
    over = run.over
    _killed(run)
    return "the run had ended" if over else "as it starts"


def _killed(run: Run) -> None:
    """A run that is over before must have ended well."""
    if run.over:
        ends_well(run)
    run.kill()


def driver_terminated(scene: Scene, run: Run, draw: random.Random) -> str:
    """SIGTERM: out within ten seconds, with a code of its own and no traceback; packs in flight leave checkpoints."""
    phase, seconds = _driver_stopped(scene, run, draw, signal.SIGTERM, TERMINATED)
    assert seconds < TERMINATION_SECONDS, f"SIGTERM while {phase}: {seconds:.1f} s to end"
    return f"{phase}, {seconds:.1f} s"


def driver_interrupted(scene: Scene, run: Run, draw: random.Random) -> str:
    phase, seconds = _driver_stopped(scene, run, draw, signal.SIGINT, INTERRUPTED)
    assert seconds < TERMINATION_SECONDS, f"Ctrl-C while {phase}: {seconds:.1f} s to end"
    return f"{phase}, {seconds:.1f} s"


def _driver_stopped(scene: Scene, run: Run, draw: random.Random, how: signal.Signals, expected: int) -> tuple[str, float]:
    """The phase in which it was stopped, and the seconds in which it ended."""
    phase = some_moment(scene, run, draw)
    code, seconds = _stopped(run, how)
    unheard = code == -how and not run.text  # Python itself was still starting
    assert unheard or code in (expected, FINE), f"{how.name} while {phase}: exit code {code}\n{run.text[-2000:]}"
    return phase, seconds


def _stopped(run: Run, how: signal.Signals) -> tuple[int, float]:
    started = time.monotonic()
    run.process.send_signal(how)
    code = run.wait(60.0)
    assert "Traceback" not in run.text, run.text[-3000:]
    return code, time.monotonic() - started


def ledger_damaged(scene: Scene, run: Run, draw: random.Random) -> str:
    """The driver is killed, and a file of the ledger loses its end or a bit; the next start sets it aside."""
    packs = draw.randint(1, 4)
    wait_for(run, lambda: len(scene.ledger.packs()) >= packs)
    _killed(run)
    files = sorted((scene.store_path / "ledger/chaos").glob("*.parquet"))
    for file in draw.sample(files, min(1, len(files))):
        _damage(file, draw)
        scene.expected.append(f"{file.name} does not match its checksum")
    return f"one of {len(files)}"


def checkpoint_damaged(scene: Scene, run: Run, draw: random.Random) -> str:
    """Checkpoints that SIGTERM left lose their end or a bit; the next start sets them aside."""
    while_it_trains(scene, run, draw)
    _stopped(run, signal.SIGTERM)
    files = sorted((scene.store_path / "checkpoints/chaos").glob("*.checkpoint"))
    for file in files:
        _damage(file, draw)
    if files:
        scene.expected.append(f"{files[0].name} does not match its checksum")
    return f"{len(files)} checkpoints"


def store_full(scene: Scene, run: Run, draw: random.Random) -> str:
    """The disk fills up: the run ends with a line; with room again the same command goes on."""
    return _unwritable(scene, run, draw, _fill)


def store_read_only(scene: Scene, run: Run, draw: random.Random) -> str:
    return _unwritable(scene, run, draw, _make_read_only)


def clock_moved_back(scene: Scene, run: Run, draw: random.Random) -> str:
    """The next run goes by a clock of yesterday."""
    _killed(run)
    scene.next_environment = {"FOLKLORE_CHAOS_CLOCK": str(-24 * 3600)}
    return "the next run is of yesterday"


def worker_killed(scene: Scene, run: Run, draw: random.Random) -> str:
    """Its pack is tried again; the run goes on."""
    while_it_trains(scene, run, draw, 2.0)
    victims = scene.workers()
    for victim in draw.sample(victims, min(1, len(victims))):
        victim.kill()
    return f"one of {len(victims)}"


def started_twice(scene: Scene, run: Run, draw: random.Random) -> str:
    """The second one is refused in a line; the first does not notice."""
    wait_for(run, lambda: (scene.store_path / "running/chaos.json").exists())
    wait_for(run, lambda: False, draw.uniform(0.5, 5.0))
    second = scene.start()
    code = second.wait()
    if run.over:
        return "the first had ended"
    assert code == BAD_INPUT, second.text
    assert "is being run into this store by" in second.text
    assert len(second.text.strip().splitlines()) == 1, second.text
    return "refused"


def mlflow_locked(scene: Scene, run: Run, draw: random.Random) -> str:
    """Somebody else holds MLflow's database for some seconds."""
    before = trained(scene)
    wait_for(run, lambda: trained(scene) > before and scene.database.exists())
    seconds = draw.uniform(1.0, 8.0)
    if scene.database.exists():
        connection = sqlite3.connect(scene.database, isolation_level=None, timeout=60.0)
        connection.execute("BEGIN EXCLUSIVE")
        wait_for(run, lambda: False, seconds)
        connection.execute("ROLLBACK")
        connection.close()
    return f"{seconds:.0f} s"


def mlflow_deleted(scene: Scene, run: Run, draw: random.Random) -> str:
    """Somebody deletes MLflow's database half-way: a line says so, and `folklore sync` makes it again."""
    before = trained(scene)
    wait_for(run, lambda: trained(scene) > before and scene.database.exists())
    wait_for(run, lambda: False, draw.uniform(0.0, 3.0))
    there = [path for path in (scene.database, *scene.database.parent.glob("mlflow.db-*")) if path.exists()]
    for path in there:
        path.unlink()
    ends_well(run)
    return f"{len(there)} files"


def raylet_stopped(scene: Scene, run: Run, draw: random.Random) -> str:
    """The raylet stops with all workers, and nobody tells: the run says what lets them go on; then they do."""
    while_it_trains(scene, run, draw)
    parts = [*parts_of_ray(run.process.pid, "raylet"), *scene.workers()]
    with _suspended(parts):
        said = not parts or wait_for(run, lambda: "lets them go on" in run.text, SAID_SECONDS + NOTICE_SECONDS * scene.patience)
    assert said or run.over, f"stopped, and nothing is said\n{run.text}"
    ends_well(run)
    return "said" if parts and said else "nothing was left to train"


def gcs_stopped(scene: Scene, run: Run, draw: random.Random) -> str:
    """For longer than Ray waits for it: workers train on, or Ray is started again; either way the run ends."""
    while_it_trains(scene, run, draw)
    parts = parts_of_ray(run.process.pid, "gcs_server")
    with _suspended(parts):
        over = wait_for(run, lambda: run.over, STOPPED_SECONDS)
    ends_well(run)
    return "nothing was left to train" if not parts else "the run ended meanwhile" if over else "let go on"


@contextmanager
def _suspended(processes: Sequence[psutil.Process]) -> Iterator[None]:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.suspend()
    try:
        yield
    finally:
        for process in processes:
            with suppress(psutil.NoSuchProcess):  # the run has ended it meanwhile
                process.resume()


def memory_used_up(scene: Scene, run: Run, draw: random.Random) -> str:
    """From some moment on memory holds two lanes, for the rest of this run: packs are halved until they fit."""
    while_it_trains(scene, run, draw)
    scene.memory.touch()
    noticed = wait_for(run, lambda: "did not hold" in run.text, 20.0)
    return "halved" if noticed else "nothing was left to train"


def gcs_killed(scene: Scene, run: Run, draw: random.Random) -> str:
    return _node_killed(scene, run, draw, "gcs_server")


def raylet_killed(scene: Scene, run: Run, draw: random.Random) -> str:
    return _node_killed(scene, run, draw, "raylet")


def agent_killed(scene: Scene, run: Run, draw: random.Random) -> str:
    """It takes the raylet with it."""
    return _node_killed(scene, run, draw, "ray::RuntimeEnvAgent")


def _node_killed(scene: Scene, run: Run, draw: random.Random, victim: str) -> str:
    """Ray on this machine cannot go on: it is started again, and the run goes on from its checkpoints to its end."""
    while_it_trains(scene, run, draw, 4.0)
    parts = parts_of_ray(run.process.pid, victim)
    for process in parts:
        process.kill()
    noticed = not parts or wait_for(run, lambda: "Ray is started again" in run.text, NOTICE_SECONDS * scene.patience)
    assert noticed or run.over, f"{victim} killed, and not noticed after {NOTICE_SECONDS * scene.patience:.0f} s\n{run.text}"
    ends_well(run)
    return "noticed" if parts and noticed else "nothing was left to train"


def parts_of_ray(run: int, name: str) -> list[psutil.Process]:
    """The processes that a process has started whose program has this name."""
    try:
        started = psutil.Process(run).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return [process for process in started if Path(command_of(process).partition(" ")[0]).name == name]


def _unwritable(scene: Scene, run: Run, draw: random.Random, strike: Callable[[Path], Callable[[], object]]) -> str:
    """The run so far is killed: its store goes to a small disk, where another one is struck."""
    _killed(run)
    with _small_disk(scene.store_path):
        run = scene.start()
        while_it_trains(scene, run, draw, 3.0)
        fix = strike(scene.store_path)
        code = run.wait()
        fix()
        assert "Traceback" not in run.text, run.text[-3000:]
        if code != FINE:
            assert code == BAD_INPUT, f"exit code {code}\n{run.text[-3000:]}"
            assert "cannot be written" in run.text, run.text
    return f"exit code {code}"


def _fill(store: Path) -> Callable[[], object]:
    filler = store / "filler"
    with filler.open("wb") as file:
        try:
            while True:
                file.write(b"\0" * 65536)
                file.flush()
        except OSError:
            pass
    return filler.unlink


def _make_read_only(store: Path) -> Callable[[], object]:
    for _ in range(200):  # refused while a file is open for writing
        if subprocess.run(["mount", "-o", "remount,ro", str(store)], capture_output=True).returncode == 0:
            break
        time.sleep(0.02)
    return lambda: subprocess.run(["mount", "-o", "remount,rw", str(store)], check=True)


@contextmanager
def _small_disk(store: Path) -> Iterator[None]:
    """The store on a small disk of its own for the time being; what is written there stays."""
    aside = store.with_name("aside")
    if store.exists():
        store.rename(aside)
    store.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(store)], check=True)
    try:
        if aside.exists():
            shutil.copytree(aside, store, dirs_exist_ok=True)
            shutil.rmtree(aside)
        yield
    finally:
        shutil.copytree(store, aside, dirs_exist_ok=True)
        subprocess.run(["umount", "-l", str(store)], check=True)
        store.rmdir()
        aside.rename(store)


def _damage(file: Path, draw: random.Random) -> None:
    content = bytearray(file.read_bytes())
    if draw.random() < 0.5:
        content = content[: draw.randrange(len(content))]
    else:
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    file.write_bytes(content)


def ends_well(run: Run) -> None:
    assert run.wait() == FINE, f"exit code {run.process.returncode}\n{run.text[-3000:]}"
    assert not re.search("Traceback", run.text), run.text[-3000:]


def can_mount() -> bool:
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0


# Struck while a run goes on; it must not end by it.
PASSING = (worker_killed, started_twice, mlflow_locked, memory_used_up, mlflow_deleted, raylet_stopped, gcs_stopped)
# What ends a run.
ENDING = (
    *(driver_killed, driver_killed_beside_a_new_worker, driver_terminated, driver_interrupted),
    *(ledger_damaged, checkpoint_damaged, clock_moved_back),
)
# Ray is lost on this machine: a run goes on after the first time, so this is the last that is done to it.
LOSING_RAY = (gcs_killed, raylet_killed, agent_killed)
WITH_MOUNTS = (store_full, store_read_only)
