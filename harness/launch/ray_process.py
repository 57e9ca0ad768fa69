"""Ray in a process of its own, which can be lost without the run: started again once, the run goes on from its checkpoints.

Ray cannot be trusted to end what it can no longer do. Without its node Ray Tune waits for ever; without its GCS a call does not
return, and after a minute Ray ends the process it runs in, with code 1. Here that process is not the one that holds the queue,
the ledger's projection and the view. It asks for jobs and tells what becomes of them, over a pipe; a thread in it looks after
Ray's processes and ends it as soon as one is gone that Ray cannot do without.
"""

import json
import logging
import math
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial, partialmethod
from multiprocessing import Pipe
from multiprocessing.connection import Connection as Pipes
from multiprocessing.reduction import ForkingPickler
from typing import IO, Any

from ..errors import RunFailedError, UserError
from .jobs import Job, JobQueue, Listener, Work
from .ray_connection import ClusterParts, Connection, NotStartedError, OwnParts, Resources
from .run_folder import RunFolder
from .standstill import Standstill, StandstillError, end, load

log = logging.getLogger(__name__)

# Seconds between two looks at Ray's processes, and at whether this run is interrupted.
WATCH_SECONDS = 2.0
INTERRUPT_SECONDS = 0.1
# Ray's end takes a few seconds; after so long the process that holds it is killed, or sooner if nothing is waited for.
END_SECONDS, END_AT_ONCE_SECONDS = 15.0, 1.0
# Workers that are to stop finish a step and write a checkpoint; after so long Ray is ended with them.
STOP_SECONDS = 5.0
# Before Ray is started again if it did not start: a busy machine gives one of its parts too little time.
PAUSES_SECONDS = (5.0, 10.0, 20.0)
AGAIN = "Ray is started again, and the run goes on from its checkpoints"
KEPT = "what is finished is kept, and the same command goes on"
STOP, ENDED = "stop", "ended"
# Its arguments: sys.path, sys.argv (by which Ray tells its workers where to import from), and the number of the pipe's end.
PROGRAM = (
    "import json, sys; path, argv, pipe = map(json.loads, sys.argv[1:]); sys.path[:] = path; sys.argv[:] = argv;"
    " from folklore.harness.launch.ray_process import main; main(pipe)"
)


class RayLostError(Exception):
    """Ray, or the process that holds it, is gone; says what is known of it."""


class PartLostError(RayLostError):
    """A part of Ray is gone that it cannot do without."""


@dataclass(frozen=True)
class SealedJob:
    """A job as bytes: the process that holds Ray passes it on, and need not import what it is made of."""

    content: bytes

    @classmethod
    def of(cls, job: Job) -> "SealedJob":
        return cls(bytes(ForkingPickler.dumps(job)))

    def open(self) -> Work:
        job: Job = ForkingPickler.loads(self.content)
        return job.open()


class Again:
    """A queue whose jobs in flight can be handed out again."""

    def __init__(self, jobs: JobQueue):
        self.queue = jobs
        self._running: dict[str, Job] = {}
        self._waiting: deque[tuple[str, Job]] = deque()

    @property
    def exhausted(self) -> bool:
        return not self._waiting and self.queue.exhausted

    @property
    def finished(self) -> bool:
        """Whether nothing is left, in flight or to come."""
        return not self._running and self.exhausted

    def next(self) -> tuple[str, Job] | None:
        next_job = self._waiting.popleft() if self._waiting else self.queue.next()
        if next_job is not None:
            self._running[next_job[0]] = next_job[1]
        return next_job

    def settled(self, pack: str, failed: bool = False) -> None:
        self._running.pop(pack, None)
        self.queue.settled(pack, failed)

    def halve(self, pack: str) -> bool:
        halved = self.queue.halve(pack)
        if halved:
            self._running.pop(pack, None)
        return halved

    @property
    def in_flight(self) -> int:
        return len(self._running)

    def take_back(self, is_stored: Callable[[str], bool]) -> list[str]:
        """Queues jobs in flight again, but for packs that had finished unreported, which are returned."""
        stored = [pack for pack in self._running if is_stored(pack)]
        for pack in stored:
            self.settled(pack)
        self._waiting.extend(self._running.items())
        self._running.clear()
        return stored


class RayProcess:
    """Ray for one sweep: started on entering, beside whatever else is done meanwhile, and ended on leaving."""

    def __init__(self, resources: Resources):
        self.resources = resources
        # Whether packs in flight are to leave checkpoints and no other is to begin.
        self.stopping = False

    def __enter__(self) -> "RayProcess":
        self._start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        self._end(at_once=self.stopping or kind is not None)

    def wait(self) -> None:
        """Wait until Ray has started. Where a part of it ends meanwhile, Ray is started again after a pause, three times.

        Raises UserError where it cannot be reached or started.
        """
        for attempt, pause in enumerate(PAUSES_SECONDS, start=1):
            try:
                return self._wait()
            except RayLostError as error:
                if self.stopping or not self._may_start_yet(error):
                    raise UserError(f"Ray does not start ({error}): `folklore doctor` says what may be missing") from None
                of = len(PAUSES_SECONDS)
                log.warning("Ray did not start (%s; %s): retry %d of %d in %.0f s", error, load(), attempt, of, pause)
            self._end(at_once=True)
            self._pause(pause)
            self._start()
        try:
            return self._wait()
        except RayLostError as error:
            attempts = 1 + len(PAUSES_SECONDS)
            raise UserError(
                f"Ray did not start in {attempts} attempts ({error}; {load()}): give the same command again when the machine"
                " is less busy, or fewer --workers; `folklore doctor` says what may be missing"
            ) from None

    def _pause(self, seconds: float) -> None:
        """Waits; an interrupt, which a sweep hears without being raised, ends it."""
        end = time.monotonic() + seconds
        while not self.stopping and time.monotonic() < end:
            time.sleep(INTERRUPT_SECONDS)

    def _may_start_yet(self, error: RayLostError) -> bool:
        """Whether a part of Ray ended, or a signal ended the process that holds it: libraries' threads read the environment
        while others write it."""
        return isinstance(error, PartLostError) or (self._process.returncode or 0) < 0

    def _wait(self) -> None:
        try:
            while not self._pipe.poll(INTERRUPT_SECONDS):
                if self.stopping:
                    raise RayLostError("interrupted")
                self._standstill.look("Ray's start")
            self._receive()
            self._standstill.started = True
        except StandstillError as error:
            raise RayLostError(str(error)) from None

    def sweep(
        self,
        jobs: JobQueue,
        listener: Listener,
        is_stored: Callable[[str], bool] = lambda pack: False,
        deadline: float | None = None,
        on_stop: Callable[[], object] = lambda: None,
    ) -> None:
        """Run every job of the queue to its end or to its last failure. Returns early on an interrupt and at the deadline;
        finished packs are kept.

        is_stored: whether a pack is finished, though nobody heard of it: it is not handed out again. deadline: by
        time.monotonic, which nobody can set back. on_stop: called when workers are told to stop.

        Raises UnwritableError where the store takes nothing any more, and RunFailedError where Ray is lost a second time, or is
        a cluster's.
        """
        again = Again(jobs)
        serve = partial(self._serve, again, listener, math.inf if deadline is None else deadline, on_stop)
        with self._interrupts():
            try:
                return serve()
            except RayLostError as error:
                if self.stopping or again.finished:
                    return None
                if self.resources.address is not None:
                    raise RunFailedError(f"the Ray cluster at {self.resources.address} is lost: {error}; {KEPT}") from None
                log.warning("Ray lost this machine's node (%s): %s", error, AGAIN)
            try:
                self._end(at_once=True)
                # Only now that no worker is left that could still finish one.
                for pack in again.take_back(is_stored):
                    listener.finished(pack)
                self._start()
                self.wait()
                return serve()
            except (RayLostError, UserError) as error:
                if self.stopping or again.finished:
                    return None
                raise RunFailedError(f"Ray was started again and is lost again ({error}); {KEPT}") from None

    def _start(self) -> None:
        ours, theirs = Pipe()
        self._folder = RunFolder()
        self._pipe: Pipes = ours
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (closed in _end)
        arguments = [json.dumps(argument) for argument in (sys.path, sys.argv, theirs.fileno())]
        # A session of its own: Ctrl-C in a terminal is for this process alone, which passes it on.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", PROGRAM, *arguments],
            pass_fds=[theirs.fileno(), self._folder.lock],
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=self._said,
            start_new_session=True,
        )
        theirs.close()
        self._send(replace(self.resources, folder=str(self._folder.path)))
        self._standstill = Standstill(self._process.pid, log.warning, self.resources.address is not None)

    def _end(self, at_once: bool) -> None:
        """at_once: it is not waited for; closing the pipe ends it, and Ray's processes with it."""
        self._standstill.remember_family()
        if at_once:
            self._pipe.close()
        seconds = END_AT_ONCE_SECONDS if at_once else END_SECONDS
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        # Without its GCS a worker lives on for seconds, and a stopped one for ever.
        end(self._standstill.family, seconds)
        self._pipe.close()
        self._said.close()
        self._folder.close()

    def _serve(self, again: Again, listener: Listener, deadline: float, on_stop: Callable[[], object]) -> None:
        """Answers until the sweep has ended, or until it should have stopped."""
        stopped_at = math.inf

        def following() -> None:
            next_job = again.next()
            self._send((next_job and (next_job[0], SealedJob.of(next_job[1])), again.exhausted))

        answers: dict[str, Callable[..., None]] = {
            "next": following,
            "settled": again.settled,
            "halve": lambda pack: self._send(again.halve(pack)),
        }
        for event in ("progress", "finished", "halved", "retried", "failed"):
            answers[event] = getattr(listener, event)
        while True:
            now = time.monotonic()
            self.stopping = self.stopping or now >= deadline
            if self.stopping and stopped_at == math.inf:
                stopped_at = now
                on_stop()
                self._send(STOP)
            if now - stopped_at >= STOP_SECONDS:
                return
            if not self._pipe.poll(INTERRUPT_SECONDS):
                try:
                    self._standstill.look(f"{again.in_flight} packs in flight" if again.in_flight else "")
                except StandstillError as error:
                    raise RayLostError(str(error)) from None
                continue
            self._standstill.heard()
            name, arguments = self._receive()
            if name == ENDED:
                return
            answers[name](*arguments)

    def _send(self, message: object) -> None:
        """To Ray's process. One that has ended reads nothing: what it said before and the end of the pipe are received next."""
        with suppress(OSError):
            self._pipe.send(message)

    def _receive(self) -> Any:
        """The next message from Ray's process. Raises what that raises."""
        try:
            name, arguments = self._pipe.recv()
        except (EOFError, OSError):
            raise RayLostError(self._last_words()) from None
        if name == "raised":
            raise arguments[0]
        if name == "lost":
            raise PartLostError(*arguments)
        if name == "broken":
            raise RuntimeError(*arguments)
        return name, arguments

    def _last_words(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").split("\n")
        said = next((" ".join(line.split()) for line in reversed(lines) if line.strip()), "without a word")
        return f"the process that holds Ray ended with code {self._process.returncode}: {said[:300]}"

    @contextmanager
    def _interrupts(self) -> Iterator[None]:
        """The first interrupt ends the sweep, so that packs in flight leave checkpoints; the next one is as before."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.getsignal(signal.SIGINT)

        def interrupt(*_: object) -> None:
            self.stopping = True
            signal.signal(signal.SIGINT, before)

        signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


class Link:
    """The other end of the pipe, in the process that holds Ray: the queue and the listener as the sweep knows them.

    The process ends with the pipe.
    """

    def __init__(self, pipe: Pipes):
        self._pipe = pipe
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._sending = threading.Lock()
        self.exhausted = False
        threading.Thread(target=self._listen, name="link", daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                answer = self._pipe.recv()
            except (EOFError, OSError):
                os._exit(1)
            if answer == STOP:
                os.kill(os.getpid(), signal.SIGINT)
            else:
                self._answers.put(answer)

    def tell(self, name: str, *arguments: Any) -> None:
        with self._sending:
            self._pipe.send((name, arguments))

    def receive(self) -> Any:
        return self._answers.get()

    def next(self) -> tuple[str, Job] | None:
        self.tell("next")
        next_job: tuple[str, Job] | None
        next_job, self.exhausted = self.receive()
        return next_job

    def settled(self, pack: str, failed: bool = False) -> None:
        self.tell("settled", pack, failed)

    def halve(self, pack: str) -> bool:
        self.tell("halve", pack)
        return bool(self.receive())

    # The listener's events.
    progress = partialmethod(tell, "progress")
    finished = partialmethod(tell, "finished")
    halved = partialmethod(tell, "halved")
    retried = partialmethod(tell, "retried")
    failed = partialmethod(tell, "failed")


class Watch:
    """Reports a missing part and ends this process at once; from a thread of its own, for all others may wait for it.

    missing: says what is missing, or nothing.
    """

    def __init__(self, missing: Callable[[], str | None], lost: Callable[[str], object], seconds: float = WATCH_SECONDS):
        self.missing, self.lost, self.seconds = missing, lost, seconds
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._look, name="ray-watch", daemon=True)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._left.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._left.wait(self.seconds):
            if (what := self.missing()) is not None:
                self.lost(what)
                return


def main(pipe: int) -> None:
    """Runs the process that holds Ray: starts it, sweeps, ends it."""
    # Whoever ends a whole group of processes ends the run's own, too, which says what becomes of this one.
    signal.signal(signal.SIGTERM, lambda *_: None)
    link = Link(Pipes(pipe))
    resources = link.receive()

    def lost(what: str) -> None:
        link.tell("lost", what)
        os._exit(1)

    try:
        # Ray is looked after while it starts, too: it goes on waiting for a part that has ended.
        with Connection(resources) as connection, Watch(ClusterParts() if resources.address else OwnParts(), lost):
            from . import ray_tune

            connection.wait()
            link.tell("started")
            ray_tune.run(link, connection, link)
        link.tell(ENDED)
    except KeyboardInterrupt:
        link.tell(ENDED)
    except NotStartedError as error:
        lost(str(error))
    except (UserError, RunFailedError) as error:
        link.tell("raised", error)
    except Exception:  # ours to fix
        link.tell("broken", traceback.format_exc())
    os._exit(0)
