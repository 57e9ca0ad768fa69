"""Ray, started on this machine or reached on a cluster, beside whatever else has to be done before it is needed."""

import gc
import logging
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from ..errors import UserError, one_line, quoted
from ..folders import PROJECT
from ..train.machine.description import Device, available_memory_bytes, local_device
from ..train.machine.repository import SHIPPED, running_sources

# Before ray is imported: no phoning home.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")

CONNECT_SECONDS = 5.0
# While Ray is shut down it takes SIGTERM's handler away; after so long it is back.
HANDLER_SECONDS = 0.05
# A worker that is just being started when its driver is killed tries five times to reach the dead cluster, for so long each;
# five seconds by Ray's own default. Here the cluster is this machine.
LOCAL_CONNECT_SECONDS = "3"
# Until every node of a cluster has said what it is; the first time it is sent our code.
LOOK_SECONDS = 120.0
# A cluster's head that does not answer for so long is lost: Ray itself ends the process after a minute without it.
HEAD_SECONDS = 20.0
# Processes that Ray cannot do without on this machine, by its own names. Any end of one of its agents ends the raylet.
NEEDED = {"gcs_server": "the GCS ended", "raylet": "the raylet ended"}


class NotStartedError(Exception):
    """Ray did not start on this machine in the time that it gives itself: it may, at another time."""


@dataclass(frozen=True)
class Resources:
    """Resources of one pack, and of Ray. address None: a cluster of its own on this machine. at_most: packs side by side
    on a cluster, which may have room for more; None: as many as it has room for, or comes to have."""

    device: str
    workers: int
    address: str | None = None
    at_most: int | None = None
    folder: str | None = None  # a run's folder on this machine, which Ray writes into

    @property
    def per_pack(self) -> dict[str, float]:
        return {"cpu": 1, "gpu": 1} if self.device == "cuda" else {"cpu": 1}


class Connection:
    """Ray, started or reached in a thread of its own: it takes seconds, in which others can work. Leaving it shuts Ray down.

    The thread lives as long as the connection: Linux ends Ray's processes when the thread that started them ends.
    """

    def __init__(self, resources: Resources):
        self.resources = resources
        self.error: Exception | None = None
        self._settled, self._left = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._keep, name="ray-connection", daemon=True)

    def __enter__(self) -> "Connection":
        if self.resources.address is None:
            _lock()
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._left.set()
        while self._thread.is_alive():
            self._thread.join(HANDLER_SECONDS)
            _handle_termination_ourselves()
        _handle_termination_ourselves()

    def wait(self) -> None:
        """Raises UserError where Ray cannot be reached or started, and NotStartedError where it may start at another time."""
        self._settled.wait()
        _handle_termination_ourselves()
        if self.error is not None:
            raise self.error

    def _keep(self) -> None:
        try:
            _connect(self.resources)
        except (UserError, NotStartedError) as error:
            self.error = error
        finally:
            self._settled.set()
        self._left.wait()
        _shut_down()


class OwnParts:
    """Says which part of the Ray that this process starts is gone; None: none that it cannot do without.

    It looks at this process's children, for Ray does not answer while it starts, and may not answer later.
    """

    def __init__(self) -> None:
        self._names: dict[psutil.Process, str] = {}

    def __call__(self) -> str | None:
        for child in psutil.Process().children():
            with suppress(psutil.Error):
                if child not in self._names and child.name() in NEEDED:
                    self._names[child] = child.name()
        return next((NEEDED[name] for child, name in self._names.items() if _has_ended(child)), None)


def _has_ended(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.Error:
        return True


class ClusterParts:
    """Says which part of a cluster's Ray is gone, once this process is connected to it; None: none that it needs."""

    def __init__(self) -> None:
        self._look: _Elsewhere | None = None

    def __call__(self) -> str | None:
        ray = sys.modules.get("ray")
        if self._look is None and ray is not None and ray.is_initialized():
            node = ray._private.worker._global_node
            self._look = _Elsewhere(node.gcs_address, _raylet_of(node.raylet_socket_name))
        return None if self._look is None else self._look()


class _Elsewhere:
    """A cluster's head, by whether it answers, and the raylet on this machine that leads to it."""

    def __init__(self, head: str, raylet: psutil.Process | None, clock: Callable[[], float] = time.monotonic):
        self.head, self.raylet, self.clock = head, raylet, clock
        self.answered_at = clock()

    def __call__(self) -> str | None:
        if self.raylet is not None and not self.raylet.is_running():
            return NEEDED["raylet"]
        try:
            require_reachable(self.head)
            self.answered_at = self.clock()
        except UserError:
            if self.clock() - self.answered_at >= HEAD_SECONDS:
                return f"its head has not answered for {HEAD_SECONDS:.0f} s"
        return None


def _raylet_of(socket_name: str) -> psutil.Process | None:
    """The raylet that listens there; None where it cannot be seen."""
    for process in psutil.process_iter(["cmdline"]):
        if f"--raylet_socket_name={socket_name}" in (process.info["cmdline"] or ()):
            return process
    return None


def _shut_down() -> None:
    """End Ray, with nothing of Ray's left to collect.

    Ray Tune leaves references to remote objects behind in cycles. If any thread collects them in the moment in which the
    core worker is gone and Python does not know it yet, Ray ends the process with code 1 and without a word.
    """
    import ray

    collects = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        ray.shutdown()
    finally:
        if collects:
            gc.enable()


def _handle_termination_ourselves() -> None:
    """Ray puts a handler of its own before ours when it starts, which prints a stack, and none at all when it is shut down."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))


def cluster_device(address: str) -> Device:
    """The device of a cluster's nodes: its GPUs if it has any, else its cores.

    Nodes may differ: packs have as many lanes as fit the worker with least memory, for Ray may place any pack on any of them.

    Raises UserError where no Ray is, or where it has nothing to train on.
    """
    require_reachable(address)
    with Connection(Resources("cpu", 1, address)) as connection:
        connection.wait()
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        nodes = [node for node in ray.nodes() if node["Alive"]]
        gpus = sum(int(node["Resources"].get("GPU", 0)) for node in nodes)
        kind, resource = ("cuda", "GPU") if gpus else ("cpu", "CPU")
        having = [node for node in nodes if node["Resources"].get(resource, 0) >= 1]
        if not having:
            raise UserError(f"the Ray cluster at {address} has neither GPUs nor cores for workers: add nodes")
        looked = [
            ray.remote(_look)
            .options(
                num_cpus=0 if gpus else 1,
                num_gpus=1 if gpus else 0,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
            )
            .remote(1 if gpus else int(node["Resources"]["CPU"]))
            for node in having
        ]
        try:
            devices: list[tuple[str, int]] = ray.get(looked, timeout=LOOK_SECONDS)
        except Exception as error:  # whatever keeps a node from running what it is sent
            raise UserError(f"the Ray cluster at {address}: its nodes could not be inspected ({quoted(error)})") from None
    count = gpus or int(sum(node["Resources"]["CPU"] for node in having))
    name = " and ".join(sorted({name for name, _ in devices}))
    return Device(kind, name, count, min(free for _, free in devices), elsewhere=True)


def _look(workers: int) -> tuple[str, int]:
    """A node's device by name, and the memory that is free for each of this many workers on it; runs there."""
    device = local_device()
    return device.name, available_memory_bytes(device) // workers


def _connect(resources: Resources) -> None:
    import ray

    quiet: dict[str, Any] = {"logging_level": logging.CRITICAL, "log_to_driver": False}
    for name in ("ray.tune", "ray.train", "ray"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        if resources.address is None:
            gpus = resources.workers if resources.device == "cuda" else 0
            with switched({"RAY_gcs_rpc_server_connect_timeout_s": LOCAL_CONNECT_SECONDS}):
                own = {"_temp_dir": resources.folder} if resources.folder else {}
                ray.init(address="local", num_cpus=resources.workers, num_gpus=gpus, include_dashboard=False, **own, **quiet)
        else:
            with tempfile.TemporaryDirectory() as folder:
                ray.init(address=resources.address, runtime_env=_shipped(Path(folder)), **quiet)
    except Exception as error:  # Ray raises plain ones, too, such as for a node that takes too long to start
        if resources.address is None and not isinstance(error, OSError | ValueError):
            raise NotStartedError(one_line(error)) from None
        raise _no_cluster(resources.address, error) from None


@contextmanager
def switched(values: Mapping[str, str]) -> Iterator[None]:
    """Sets what is not set yet, and takes it back: whoever called may use Ray Tune, too."""
    ours = values.keys() - os.environ.keys()
    os.environ.update({name: values[name] for name in ours})
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)


def _shipped(folder: Path) -> dict[str, Any]:
    """Our code as it is here, for nodes that have the libraries and not us; Ray ships it once a change.

    It is copied into a folder first: Ray ships a folder under the name that it has, and ours are imported under another.
    """
    package = folder / "folklore"
    for name in ("harness", "models", "studies"):
        shutil.copytree(PROJECT / name, package / name, ignore=shutil.ignore_patterns("__pycache__"))
    # Without it a node's own installation would be taken in its place.
    shutil.copy(PROJECT / "__init__.py", package / "__init__.py")
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return {"py_modules": [str(package)], "env_vars": {**threads, SHIPPED: running_sources().to_json()}}


def _lock() -> None:
    """Ray listens on all interfaces, and whoever reaches it may run code: only holders of this run's token are heard.

    Ray reads it once, when it is imported.
    """
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    token_variables = {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys()
    if os.environ["RAY_AUTH_MODE"] == "token" and not token_variables:
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


def require_no_other() -> None:
    """Raises UserError if this process has a Ray that is not ours: ours would be it, or end it."""
    loaded = sys.modules.get("ray")
    if loaded is not None and loaded.is_initialized():
        raise UserError("this process has a Ray running already: call ray.shutdown() first, or use `folklore run --address`")


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
    if address is None:
        return UserError(f"Ray does not start on this machine ({one_line(error)}); `folklore doctor` says what may be missing")
    return UserError(f"no Ray cluster at {address} ({one_line(error)}); check the address, or leave --address out")
