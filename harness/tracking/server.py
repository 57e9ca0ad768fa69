"""Browsing MLflow safely: on loopback, or with its own accounts; nothing it stores is run or unpickled."""

import ipaddress
import os
import shlex
import shutil
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import NoReturn

from folklore.harness.errors import UserError, masked
from folklore.harness.options import Options
from folklore.harness.storing.store import Store
from folklore.harness.tracking.uri import FILE, SERVERS, default_uri

# MLflow's server can start jobs, and models can be pickles: neither is ours to offer.
CLOSED = {
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "MLFLOW_ALLOW_PICKLE_DESERIALIZATION": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
}
ADDRESS = "http://127.0.0.1:5000"
NAME = "folklore"
# Where the Makefile is, if this is no installed copy.
PROJECT = Path(__file__).resolve().parents[2]
# tracking/app.py, by its name in pyproject.toml.
APP = "folklore"
ACCOUNTS = "MLFLOW_AUTH_CONFIG_PATH"


def serve(options: Options, host: str, port: int, auth: bool) -> NoReturn:
    """Become MLflow's server for what a store's runs are tracked in. Raises UserError where that would not be safe."""
    command = command_of(options, host, port, auth)
    os.execve(command[0], command, {**os.environ, **CLOSED})


def how_to_browse(options: Options, store: Store) -> str:
    """What to type, where a run was started, to see its runs in a browser."""
    if options.tracking is not None and options.tracking.startswith(SERVERS):
        return f"open {masked(options.tracking)}"
    return f"{_browsing_command(options, store)}, then open {ADDRESS}"


def _browsing_command(options: Options, store: Store) -> str:
    if options.tracking is not None:
        return shlex.join([*_folklore(), "mlflow", "--tracking", masked(options.tracking)])
    if not store.is_local:  # its runs are tracked beside where the run is started
        return shlex.join([*_folklore(), "mlflow", "--tracking", default_uri(Path("results").absolute())])
    if Path.cwd() == PROJECT and (PROJECT / "Makefile").is_file() and Path(store.root) == PROJECT / "results":
        return "make mlflow"
    return shlex.join([*_folklore(), "mlflow", "--store", store.root])


def _folklore() -> list[str]:
    """How this program is started: by its name where the shell finds it, else by where it lies."""
    if shutil.which(NAME):
        return [NAME]
    started = Path(sys.argv[0])
    return [str(started.absolute())] if started.name == NAME else [sys.executable, "-m", "folklore.harness"]


def command_of(options: Options, host: str, port: int, auth: bool) -> list[str]:
    if not is_loopback(host) and not auth:
        raise UserError(
            f"--host {host}: others would reach MLflow, which asks nobody who they are; keep 127.0.0.1 and tunnel to it"
            f" (ssh -L {port}:127.0.0.1:{port}), or give --auth"
        )
    if auth:
        _require_accounts()
    uri = options.tracking or _existing(Store(options.store))
    if uri.startswith(SERVERS):
        raise UserError(f"--tracking {uri}: is a server already; open it in a browser")
    command = [sys.executable, "-m", "mlflow", "server", "--host", host, "--port", str(port), "--backend-store-uri", uri]
    if auth:
        return [*command, "--app-name", "basic-auth"]
    # An installation of an earlier Folklore does not name it yet.
    return [*command, "--app-name", APP] if entry_points(group="mlflow.app", name=APP) else command


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _existing(store: Store) -> str:
    if not store.is_local or not (Path(store.root) / FILE).exists():
        raise UserError(f"no runs in {store.uri} yet: run a study first, or name their database with --tracking")
    return default_uri(Path(store.root))


def _require_accounts() -> None:
    """MLflow's basic-auth starts with a password that everybody knows."""
    path = Path(os.environ.get(ACCOUNTS, ""))
    if not path.is_file():
        raise UserError(
            f"--auth: set {ACCOUNTS} to a basic_auth.ini with an admin password of your own; MLflow's default is public"
        )
    text = path.read_text(encoding="utf-8")
    if "password1234" in text or "admin_password" not in text:
        raise UserError(f"{ACCOUNTS} {path}: sets no admin_password of your own; MLflow's default is public")
    if not os.environ.get("MLFLOW_FLASK_SERVER_SECRET_KEY"):
        raise UserError("--auth: set MLFLOW_FLASK_SERVER_SECRET_KEY to a long random text, by which MLflow signs its forms")
