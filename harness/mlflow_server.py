"""Browsing MLflow safely: on loopback, or with its own accounts; nothing it stores is run or unpickled."""

import ipaddress
import os
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import NoReturn

from harness.errors import UserError
from harness.options import Options
from harness.store import Store
from harness.tracking_uri import FILE, default_uri

# MLflow's server can start jobs, and models can be pickles: neither is ours to offer.
CLOSED = {
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "MLFLOW_ALLOW_PICKLE_DESERIALIZATION": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
}
# harness/mlflow_app.py, by its name in pyproject.toml.
APP = "folklore"
ACCOUNTS = "MLFLOW_AUTH_CONFIG_PATH"


def serve(options: Options, host: str, port: int, auth: bool) -> NoReturn:
    """Become MLflow's server for what a store's runs are tracked in. Raises UserError where that would not be safe."""
    command = command_of(options, host, port, auth)
    os.execve(command[0], command, {**os.environ, **CLOSED})


def command_of(options: Options, host: str, port: int, auth: bool) -> list[str]:
    if not is_loopback(host) and not auth:
        raise UserError(
            f"--host {host}: others would reach MLflow, which asks nobody who they are; keep 127.0.0.1 and tunnel to it"
            f" (ssh -L {port}:127.0.0.1:{port}), or give --auth"
        )
    if auth:
        _require_accounts()
    uri = options.tracking or _existing(Store(options.store))
    if uri.startswith(("http://", "https://")):
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
