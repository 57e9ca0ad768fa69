"""Packs on Ray Tune: one Ray trial is one pack. It knows nothing of training.

Ray's own experiment state is thrown away at the end: the ledger says what is done. Actors are reused from pack to pack,
because starting one costs seconds.
"""

import os
import tempfile
from typing import Any

from harness.ray_connection import Connection  # isort: skip  (sets Ray's switches, which ray.tune reads when it is imported)

import ray
from ray import tune
from ray.tune import Callback, FailureConfig, RunConfig, TuneConfig, Tuner
from ray.tune.search import Searcher

from harness.errors import one_line
from harness.work import Job, JobQueue, Listener, Work

# A pack is tried this often again after its first failure.
RETRIES = 2
# How long a worker trains between two reports.
REPORT_SECONDS = 1.0


class PackTrainable(tune.Trainable):
    """Opens the job its config holds and advances it; a reused actor is given the next job by reset_config."""

    def setup(self, config: dict[str, Any]) -> None:
        self.job: Job = config["job"]
        self.work: Work | None = None

    def step(self) -> dict[str, Any]:
        # Opened here and not in setup: an actor that dies while it is created hides its error.
        if self.work is None:
            self.work = self.job.open()
        progress = self.work.advance(REPORT_SECONDS)
        return {"progress": progress, "done": progress.done or progress.stopped}

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        self.cleanup()
        self.job, self.work = new_config["job"], None
        return True

    def cleanup(self) -> None:
        if self.work is not None:
            self.work.close()

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        """Packs keep checkpoints of their own, on the store."""

    def load_checkpoint(self, checkpoint: Any) -> None:
        pass


class PackSearcher(Searcher):
    """Gives Ray the queue's packs as it has room for them: a trial each."""

    def __init__(self, queue: JobQueue):
        super().__init__()
        self.queue: JobQueue | None = queue
        self.packs: dict[str, str] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Ray pickles searchers with its experiment state, which is never restored here."""
        return {}

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:
        assert self.queue is not None
        found = self.queue.next()
        if found is None:
            return str(Searcher.FINISHED) if self.queue.exhausted else None
        self.packs[trial_id] = found[0]
        return {"pack": found[0], "job": found[1]}

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        assert self.queue is not None
        self.queue.settled(self.packs[trial_id], failed=error)

    def save(self, checkpoint_path: str) -> None:
        pass

    def restore(self, checkpoint_path: str) -> None:
        pass


class Relay(Callback):
    """Passes Ray's events on to a listener."""

    def __init__(self, listener: Listener):
        self.listener = listener

    def __getstate__(self) -> dict[str, Any]:
        """Ray pickles callbacks with its experiment state, which is never restored here."""
        return {}

    def on_trial_result(self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any) -> None:
        self.listener.progress(trial.config["pack"], result["progress"])

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        stopped = trial.last_result["progress"].stopped
        (self.listener.stopped if stopped else self.listener.finished)(trial.config["pack"])

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self.listener.failed(trial.config["pack"], cause(trial.pickled_error_file))


def run(queue: JobQueue, connection: Connection, listener: Listener, retries: int = RETRIES) -> None:
    """Run every job of the queue to its end or to its last failure. Returns early on an interrupt, with finished packs kept."""
    resources = connection.resources
    # Ray keeps one trial waiting for room where a search algorithm is used; workers that finish together need more.
    os.environ.setdefault("TUNE_MAX_PENDING_TRIALS_PG", str(resources.workers + 1))
    connection.wait()
    with tempfile.TemporaryDirectory(prefix="folklore-ray-") as scratch:
        tuner = Tuner(
            tune.with_resources(PackTrainable, resources.per_pack),
            tune_config=TuneConfig(search_alg=PackSearcher(queue), num_samples=-1, reuse_actors=True),
            run_config=RunConfig(
                name="packs",
                storage_path=scratch,
                verbose=0,
                callbacks=[Relay(listener)],
                failure_config=FailureConfig(max_failures=retries),
            ),
        )
        tuner.fit()


def cause(error_file: str | None) -> str:
    """The innermost message of the error that ended a Ray trial, in one line."""
    if error_file is None or not os.path.exists(error_file):
        return "the worker died without a message"
    with open(error_file, "rb") as file:
        error = ray.cloudpickle.load(file)
    while True:
        inner = getattr(error, "cause", None) or error.__cause__
        if not isinstance(inner, BaseException):
            break
        error = inner
    return f"{type(error).__name__}: {one_line(error)}"
