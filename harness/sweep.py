"""Packs on Ray Tune: one Ray trial is one pack. The only module that imports ray; it knows nothing of training.

Ray's own experiment state is thrown away at the end: the ledger says what is done. Actors are reused from pack to pack,
because starting one costs seconds.
"""

import logging
import os
import socket
import tempfile
import threading
from dataclasses import dataclass
from typing import Any

from harness.errors import UserError, one_line
from harness.work import Job, JobQueue, Listener, Work

# Before ray is imported: no phoning home, no logger files, no change of directory, results handled as they come.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
os.environ.setdefault("RAY_CHDIR_TO_TRIAL_DIR", "0")
os.environ.setdefault("TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")

import ray
from ray import tune
from ray.tune import Callback, FailureConfig, RunConfig, TuneConfig, Tuner
from ray.tune.search import Searcher

# A pack is tried this often again after its first failure.
RETRIES = 2
# How long a worker trains between two reports.
REPORT_SECONDS = 1.0
CONNECT_SECONDS = 5.0


@dataclass(frozen=True)
class Resources:
    """What one pack takes, and where Ray runs. address None: a cluster of its own on this machine."""

    device: str
    workers: int
    address: str | None = None

    @property
    def per_pack(self) -> dict[str, float]:
        return {"cpu": 1, "gpu": 1} if self.device == "cuda" else {"cpu": 1}


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


class Connection:
    """Ray, started or reached in a thread of its own: it takes seconds, in which others can work. Leaving it shuts Ray down.

    The thread lives as long as the connection: Linux ends Ray's processes when the thread that started them ends.
    """

    def __init__(self, resources: Resources):
        self.resources = resources
        self.error: UserError | None = None
        self._settled, self._left = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._keep, name="ray-connection", daemon=True)

    def __enter__(self) -> "Connection":
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._left.set()
        self._thread.join()

    def wait(self) -> None:
        """Raises UserError where Ray cannot be reached or started."""
        self._settled.wait()
        if self.error is not None:
            raise self.error

    def _keep(self) -> None:
        try:
            _connect(self.resources)
        except UserError as error:
            self.error = error
        finally:
            self._settled.set()
        self._left.wait()
        ray.shutdown()


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


def _connect(resources: Resources) -> None:
    quiet: dict[str, Any] = {"logging_level": logging.CRITICAL, "log_to_driver": False}
    for name in ("ray.tune", "ray.train", "ray"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        if resources.address is None:
            gpus = resources.workers if resources.device == "cuda" else 0
            ray.init(address="local", num_cpus=resources.workers, num_gpus=gpus, include_dashboard=False, **quiet)
        else:
            ray.init(address=resources.address, **quiet)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise _no_cluster(resources.address, error) from None


def require_reachable(address: str | None) -> None:
    """Ray waits long for a head node that is not there; a plain connection tells at once. Raises UserError."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit():
        return
    try:
        with socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS):
            pass
    except OSError as error:
        raise _no_cluster(address, error) from None


def _no_cluster(address: str | None, error: Exception) -> UserError:
    where = f"at {address}" if address else "on this machine"
    return UserError(f"no Ray cluster {where} ({one_line(error)}); check the address, or leave --address out")


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
