"""Browsing MLflow safely: with the printed address, or with its own accounts; nothing it stores is run or unpickled."""

import ipaddress
import os
import secrets
import shlex
import shutil
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlencode

from ...errors import UserError, masked
from ...folders import PROJECT
from ...options import Options
from ...plan.store.mlflow_address import (
    ARTIFACTS,
    ARTIFACTS_VARIABLE,
    AUTH_VARIABLE,
    FILE,
    SERVERS,
    SQLITE,
    TOKEN_VARIABLE,
    WRITE_VARIABLE,
    artifact_locations,
    bring_along,
    default_uri,
)
from ...plan.store.store import Store
from .guard import is_below

# MLflow's server can start jobs, and models can be pickles: neither is ours to offer.
CLOSED = {
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "MLFLOW_ALLOW_PICKLE_DESERIALIZATION": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
}
NAME = "folklore"
# Where the Makefile is, if this is no installed copy.
# launch/tracking/app.py, by its name in pyproject.toml.
APP = "folklore"
ACCOUNTS = "MLFLOW_AUTH_CONFIG_PATH"


def serve(options: Options, host: str, port: int, auth: bool, write: bool, say: Callable[[str], None]) -> NoReturn:
    """Become MLflow's server for the database of a store's runs. say: gets the address to open. Raises UserError if that would
    not be safe."""
    command = command_of(options, host, port, auth)
    token = os.environ.get(TOKEN_VARIABLE) or secrets.token_urlsafe(24)
    variables = {**os.environ, **CLOSED, ARTIFACTS_VARIABLE: str(artifacts_folder(options)), TOKEN_VARIABLE: token}
    variables |= {AUTH_VARIABLE: "1"} if auth else {WRITE_VARIABLE: "1"} if write else {}
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
    note = "it answers in about 10 s; who has this address sees the runs; Ctrl-C ends it"
    say(f"open {address}" if auth else f"open {address}?{urlencode({'token': token})}   ({note})")
    os.execve(command[0], command, variables)


def how_to_browse(options: Options, store: Store) -> str:
    """The command, at the place where a run was started, to see its runs in a browser."""
    if options.tracking is not None and options.tracking.startswith(SERVERS):
        return f"open {masked(options.tracking)}"
    return f"{_browsing_command(options, store)}, which prints the address to open"


def _browsing_command(options: Options, store: Store) -> str:
    if options.tracking is not None:
        place = [] if store.uri == Options.store else ["--store", masked(store.root_uri)]
        return shlex.join([*_folklore(), "mlflow", *place, "--tracking", masked(options.tracking)])
    if not store.is_local:  # its runs are tracked beside where the run is started
        return shlex.join([*_folklore(), "mlflow", "--tracking", default_uri(Path("results").absolute())])
    if (
        Path.cwd() == PROJECT.resolve()
        and (PROJECT / "Makefile").is_file()
        and Path(store.root) == PROJECT.resolve() / "results"
    ):
        return "make mlflow"
    return shlex.join([*_folklore(), "mlflow", "--store", store.root])


def _folklore() -> list[str]:
    """The start of this program's command: its name if the shell finds it, else its path."""
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
    folder = artifacts_folder(options)
    if options.tracking is None:
        bring_along(Path(uri.removeprefix(SQLITE)), folder)
    require_artifacts_below(folder, uri)
    if not entry_points(group="mlflow.app", name=APP):
        raise UserError("what guards MLflow's server is not installed: install the project again (make setup)")
    command = [sys.executable, "-m", "mlflow", "server", "--host", host, "--port", str(port), "--backend-store-uri", uri]
    return [*command, "--no-serve-artifacts", "--default-artifact-root", str(folder), "--workers", "1", "--app-name", APP]


def artifacts_folder(options: Options) -> Path:
    """Where runs' artifacts lie: what sync.py gives each experiment, and all that is served."""
    store = Store(options.store)
    return (Path(store.root) if store.is_local else Path("results").absolute()) / ARTIFACTS


def require_artifacts_below(folder: Path, uri: str) -> None:
    """Raises UserError where a database, which may be a stranger's, names artifacts elsewhere, or links lead there."""
    for path in (folder, *folder.rglob("*")):
        if path.is_symlink():
            raise UserError(f"artifacts {path}: is a link, and nothing is served through it; remove it")
    database = Path(uri.removeprefix(SQLITE))
    if not uri.startswith(SQLITE) or not database.exists():
        return  # another database is its owner's; the server itself refuses what lies elsewhere
    elsewhere = sorted(location for location in artifact_locations(database) if not is_below(location, folder))
    if elsewhere:
        raise UserError(
            f"{uri} has artifacts at {elsewhere[0]:.200}, which is not below {folder}: they could be anybody's files, and are"
            " not served; move the database away, and `folklore sync` makes it again"
        )


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
    """MLflow's basic-auth is an extra of its own, and starts with a password that everybody knows."""
    if find_spec("flask_wtf") is None:
        raise UserError("--auth: what MLflow's accounts need is not installed: pip install 'mlflow[auth]'")
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
