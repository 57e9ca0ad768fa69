"""Addresses of MLflow, of its artifacts and of places within its page, without importing it."""

import logging
import sqlite3
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import quote, urlencode

from ...errors import UserError, masked, one_line
from .database import opened

log = logging.getLogger(__name__)

SQLITE = "sqlite:///"
FILE = "mlflow.db"
SERVERS = ("http://", "https://")
DATABASES = ("sqlite:", "postgresql", "mysql", "mssql")
CONNECT_SECONDS = 5.0
# Variables by which `folklore mlflow` tells the server that it becomes what to ask and where artifacts lie; no one else sees an
# environment.
TOKEN_VARIABLE, WRITE_VARIABLE, AUTH_VARIABLE = "FOLKLORE_MLFLOW_TOKEN", "FOLKLORE_MLFLOW_WRITE", "FOLKLORE_MLFLOW_AUTH"
ARTIFACTS_VARIABLE = "FOLKLORE_MLFLOW_ARTIFACTS"
# Below a store.
ARTIFACTS = "mlartifacts"
# The order of trials: MLflow's page shows metrics without a prefix below the curves.
BEST_FIRST = "metrics.`test_loss`"


def default_uri(store_root: Path) -> str:
    return f"{SQLITE}{store_root / FILE}"


def experiments(store_root: Path) -> dict[str, str]:
    """Name -> id of the experiments in a store's own MLflow; none if it has no database yet, or, with a line, one that cannot
    be read."""
    database = store_root / FILE
    if not database.exists():
        return {}
    try:
        with opened(database) as connection:
            rows = connection.execute("SELECT name, experiment_id FROM experiments WHERE lifecycle_stage = 'active'").fetchall()
    except UserError as error:
        log.warning("%s: pages have no links to MLflow", error)
        return {}
    return {str(name): str(number) for name, number in rows}


# Where a database says that artifacts lie. MLflow's own experiment 0, which it makes wherever it is started, has none of ours.
LOCATIONS = (
    ("experiments WHERE experiment_id != 0", "artifact_location"),
    ("runs", "artifact_uri"),
    ("logged_models", "artifact_location"),
    ("model_versions", "source"),
    ("model_versions", "storage_location"),
)


def artifact_locations(database: Path) -> set[str]:
    """All places of artifacts that an SQLite database names. Raises UserError."""
    locations: set[str] = set()
    with opened(database) as connection:
        for table, column in LOCATIONS:
            if _has(connection, table.partition(" ")[0], column):
                rows = connection.execute(f"SELECT DISTINCT {column} FROM {table}")
                locations |= {str(value) for (value,) in rows if value}
    return locations


def _has(connection: sqlite3.Connection, table: str, column: str) -> bool:
    return column in {name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")}


def require_usable(uri: str) -> None:
    """Raises UserError for a database that MLflow is not to open: it would read views without end."""
    if uri.startswith(SQLITE) and (database := Path(uri.removeprefix(SQLITE))).exists():
        with opened(database, "rw"):
            pass


def bring_along(database: Path, folder: Path) -> None:
    """Makes a database that was copied or moved with its store name the artifacts beside it. Raises UserError."""
    with opened(database, "rw") as connection:
        if not _has(connection, "experiments", "artifact_location"):
            return
        places = connection.execute("SELECT artifact_location FROM experiments WHERE experiment_id != 0").fetchall()
        roots = {str(place).rpartition(f"/{ARTIFACTS}/")[0] for (place,) in places if place}
        for elsewhere in (f"{root}/{ARTIFACTS}" for root in roots - {"", str(folder.parent)}):
            for table, column in (("experiments", "artifact_location"), ("runs", "artifact_uri")):
                moved = f"UPDATE {table} SET {column} = ? || substr({column}, ?) WHERE substr({column}, 1, ?) = ?"
                length = len(elsewhere) + 1
                connection.execute(moved, (str(folder), length, length, f"{elsewhere}/"))


def runs_link(experiment: str, query: str) -> str:
    """An experiment's runs that a query matches, the best first: an address within MLflow's page."""
    asked = {"searchFilter": query, "orderByKey": BEST_FIRST, "orderByAsc": "true"}
    return f"#/experiments/{experiment}/runs?{urlencode(asked, quote_via=quote)}"


def require_known(uri: str | None) -> None:
    """Raises UserError for an address of a kind that MLflow does not know; a server that is away is no error."""
    if uri is not None and not uri.startswith((*SERVERS, *DATABASES)):
        raise UserError(
            f"--tracking {masked(uri)}: give a server (http://…) or a database (sqlite:///FILE, postgresql://…, mysql://…)"
        )


def require_reachable(uri: str) -> None:
    """Raises UserError for an MLflow server that does not answer its health check within seconds: now, not in the middle."""
    if not uri.startswith(SERVERS):
        return
    try:
        with urllib.request.urlopen(uri.rstrip("/") + "/health", timeout=CONNECT_SECONDS):
            pass
    except (urllib.error.URLError, OSError, ValueError) as error:
        raise UserError(f"no MLflow server at {masked(uri)} ({one_line(error)}); start it, or leave --tracking out") from None
