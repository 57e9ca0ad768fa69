"""Ray, started on this machine or reached on a cluster, beside whatever else has to be done before it is needed."""

import logging
import os
import secrets
import socket
import threading
from dataclasses import dataclass
from typing import Any

from harness.errors import UserError, one_line

# Before ray is imported: no phoning home, no logger files, no change of directory, results handled as they come.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
os.environ.setdefault("RAY_CHDIR_TO_TRIAL_DIR", "0")
os.environ.setdefault("TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")

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
        if self.resources.address is None:
            _lock()
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
        import ray

        try:
            _connect(self.resources)
        except UserError as error:
            self.error = error
        finally:
            self._settled.set()
        self._left.wait()
        ray.shutdown()


def _connect(resources: Resources) -> None:
    import ray

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


def _lock() -> None:
    """Ray listens on all interfaces, and whoever reaches it may run code: only who holds this run's token is heard.

    Ray reads it once, when it is imported.
    """
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    given = {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys()
    if os.environ["RAY_AUTH_MODE"] == "token" and not given:
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


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
