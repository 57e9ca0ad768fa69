"""Packs on Ray Tune: one Ray trial is one pack. It knows nothing of training.

Ray's own experiment state is thrown away at the end: the ledger says what is done. Actors are reused from pack to pack,
because starting one costs seconds.
"""

import logging
import os
from dataclasses import replace
from typing import Any

from ..train.machine.load import out_of_memory_kills

from .ray_connection import Connection, switched  # isort: skip  (sets what ray.tune reads on import)

import ray
from ray import tune
from ray.tune import Callback, CheckpointConfig, FailureConfig, RunConfig, TuneConfig, Tuner
from ray.tune.search import Searcher
from ray.tune.stopper import Stopper

from ..errors import RunFailedError, TooLargeError, UnwritableError, UserCodeError, one_line
from .jobs import Job, JobQueue, Listener, Progress, Work

# A pack is tried this often again after its first failure.
RETRIES = 2
# While a run lasts, and not for the Ray Tune of whoever called it: no logger files, no change of directory, no output, no
# state that Ray writes again and again, for the ledger makes it needless.
SWITCHES = {
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
    "TUNE_GLOBAL_CHECKPOINT_S": "1e9",
    "TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S": "0",
}
# How long a worker trains between two reports: each takes time from the driver and makes the worker wait for it.
REPORT_SECONDS = 2.0


class Notes(logging.Handler):
    """Keeps what is logged in a worker, whose own output nobody reads."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())

    def taken(self) -> tuple[str, ...]:
        messages, self.messages = self.messages, []
        return tuple(messages)


class PackTrainable(tune.Trainable):
    """Opens the job its config holds and advances it; a reused actor is given the next job by reset_config."""

    def setup(self, config: dict[str, Any]) -> None:
        self.job: Job = config["job"]
        self.work: Work | None = None
        self.notes = Notes()
        logging.getLogger("folklore").addHandler(self.notes)

    def step(self) -> dict[str, Any]:
        progress = replace(self._advance(), notes=self.notes.taken())
        return {"progress": progress, "done": progress.ended}

    def _advance(self) -> Progress:
        """Errors that no retry helps against end the pack as a report and not as an error."""
        try:
            # Opened here and not in setup: an actor that dies while it is created hides its error.
            if self.work is None:
                self.work = self.job.open()
            return self.work.advance(REPORT_SECONDS)
        except TooLargeError as error:
            return Progress(done=False, share=0.0, lanes=0, too_large=one_line(error))
        except UnwritableError as error:
            return Progress(done=False, share=0.0, lanes=0, unwritable=one_line(error))
        except UserCodeError as error:
            return Progress(done=False, share=0.0, lanes=0, raised=one_line(error))

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        self.cleanup()
        self.job, self.work = new_config["job"], None
        return True

    def cleanup(self) -> None:
        if self.work is not None:
            self.work.close()


class PackSearcher(Searcher):
    """Gives Ray the queue's packs as it has room for them: a trial each. The relay hears of their ends first."""

    def __init__(self, queue: JobQueue):
        super().__init__()
        self.queue: JobQueue | None = queue

    def __getstate__(self) -> dict[str, Any]:
        """Ray pickles searchers with its experiment state, which is never restored here."""
        return {}

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:
        assert self.queue is not None
        next_job = self.queue.next()
        if next_job is None:
            return str(Searcher.FINISHED) if self.queue.exhausted else None
        return {"pack": next_job[0], "job": next_job[1]}

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        pass

    def save(self, checkpoint_path: str) -> None:
        pass

    def restore(self, checkpoint_path: str) -> None:
        pass


class Relay(Callback):
    """Passes Ray's events on to the queue and the listener."""

    def __init__(self, queue: JobQueue, listener: Listener, halt: "Halt"):
        self.queue, self.listener, self.halt = queue, listener, halt
        self.kills = out_of_memory_kills()

    def __getstate__(self) -> dict[str, Any]:
        """Ray pickles callbacks with its experiment state, which is never restored here."""
        return {}

    def on_trial_result(self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any) -> None:
        self.listener.progress(trial.config["pack"], result["progress"])

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        pack, progress = trial.config["pack"], trial.last_result["progress"]
        if progress.unwritable:
            self.halt.reason = UnwritableError(progress.unwritable)
        elif progress.raised:
            self.halt.reason = RunFailedError(progress.raised)
        elif progress.too_large:
            self._halve_or_give_up(pack, progress.too_large, of_memory=True)
        else:
            self.queue.settled(pack)
            self.listener.finished(pack)

    def on_trial_recover(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        reason = cause(trial.pickled_error_file)
        what = "a worker was lost" if reason.startswith((*DEATHS, SILENT)) else "a pack failed"
        self.listener.retried(trial.config["pack"], f"{what} ({reason.partition('. ')[0][:200]})")

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        pack, reason = trial.config["pack"], cause(trial.pickled_error_file)
        if reason.startswith((*DEATHS, SILENT)):
            kills = out_of_memory_kills()
            of_memory = reason.startswith(MEMORY) or kills > self.kills
            self.kills = kills
            self._halve_or_give_up(pack, reason, of_memory)
        else:
            self._give_up(pack, reason)

    def _halve_or_give_up(self, pack: str, reason: str, of_memory: bool) -> None:
        """A worker that dies and says nothing may have been ended for want of memory, here or on another node."""
        what = "memory did not hold a pack" if of_memory else "workers died on a pack, of want of memory or of something else"
        if self.queue.halve(pack):
            self.listener.halved(pack, f"{what} ({reason[:200]})")
        else:
            self._give_up(pack, reason)

    def _give_up(self, pack: str, reason: str) -> None:
        self.queue.settled(pack, failed=True)
        self.listener.failed(pack, reason)


class Halt(Stopper):
    """Ends everything if going on is of no use; workers leave checkpoints if they can."""

    def __init__(self) -> None:
        self.reason: Exception | None = None

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        return False

    def stop_all(self) -> bool:
        return self.reason is not None


def run(queue: JobQueue, connection: Connection, listener: Listener, retries: int = RETRIES) -> None:
    """Run every job of the queue to its end or to its last failure. Returns early on an interrupt, with finished packs kept.

    Raises UnwritableError where the store takes nothing any more, and RunFailedError where a user's code raises.
    """
    resources = connection.resources
    assert resources.folder is not None
    # Ray keeps one trial waiting for room where a search algorithm is used; workers that finish together need more.
    waiting = {"TUNE_MAX_PENDING_TRIALS_PG": str(resources.workers + 1)}
    connection.wait()
    halt = Halt()
    with switched(SWITCHES | waiting):
        tuner = Tuner(
            tune.with_resources(PackTrainable, resources.per_pack),
            tune_config=TuneConfig(
                search_alg=PackSearcher(queue), num_samples=-1, reuse_actors=True, max_concurrent_trials=resources.at_most
            ),
            run_config=RunConfig(
                name="packs",
                storage_path=resources.folder,
                verbose=0,
                callbacks=[Relay(queue, listener, halt)],
                stop=halt,
                failure_config=FailureConfig(max_failures=retries),
                # Packs keep checkpoints of their own, on the store: Ray's would have to lie where all nodes see them.
                checkpoint_config=CheckpointConfig(checkpoint_at_end=False),
            ),
        )
        tuner.fit()
    if halt.reason is not None:
        raise halt.reason


# Beginnings of the names of Ray's errors for a lost worker.
DEATHS = ("ActorDiedError", "ActorUnavailableError", "OutOfMemoryError", "WorkerCrashedError", "LocalRayletDiedError")
MEMORY = "OutOfMemoryError"
SILENT = "the worker died without a message"


def cause(error_file: str | None) -> str:
    """The innermost message of the error that ended a Ray trial, in one line."""
    if error_file is None or not os.path.exists(error_file):
        return SILENT
    with open(error_file, "rb") as file:
        error = ray.cloudpickle.load(file)
    while True:
        inner = getattr(error, "cause", None) or error.__cause__
        if not isinstance(inner, BaseException):
            break
        error = inner
    return f"{type(error).__name__}: {one_line(error)}"
