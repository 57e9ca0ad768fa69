"""Addresses of MLflow, of its artifacts and of places within its page, without importing it."""

import sqlite3
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path
from urllib.parse import quote, urlencode

from ...errors import UserError, masked, one_line

SQLITE = "sqlite:///"
FILE = "mlflow.db"
SERVERS = ("http://", "https://")
DATABASES = ("sqlite:", "postgresql", "mysql", "mssql")
CONNECT_SECONDS = 5.0
# How `folklore mlflow` tells the server that it becomes what to ask and where artifacts lie; nobody else sees an environment.
TOKEN_VARIABLE, WRITE_VARIABLE, AUTH_VARIABLE = "FOLKLORE_MLFLOW_TOKEN", "FOLKLORE_MLFLOW_WRITE", "FOLKLORE_MLFLOW_AUTH"
ARTIFACTS_VARIABLE = "FOLKLORE_MLFLOW_ARTIFACTS"
# Below a store.
ARTIFACTS = "mlartifacts"
# What trials are sorted by: MLflow's page shows metrics without a prefix below the curves.
BEST_FIRST = "metrics.`test_loss`"


def default_uri(store_root: Path) -> str:
    return f"{SQLITE}{store_root / FILE}"


def experiments(store_root: Path) -> dict[str, str]:
    """Name -> id of the experiments in a store's own MLflow; none where it has no database yet, or one that cannot be read."""
    database = store_root / FILE
    if not database.exists():
        return {}
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            rows = connection.execute("SELECT name, experiment_id FROM experiments WHERE lifecycle_stage = 'active'").fetchall()
    except sqlite3.Error:
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
    """All that an SQLite database names. Raises sqlite3.Error."""
    found: set[str] = set()
    with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        for table, column in LOCATIONS:
            there = {name for _, name, *_ in connection.execute(f"PRAGMA table_info({table.partition(' ')[0]})")}
            if column in there:
                found |= {str(value) for (value,) in connection.execute(f"SELECT DISTINCT {column} FROM {table}") if value}
    return found


def bring_along(database: Path, folder: Path) -> None:
    """Let a database that was copied or moved with its store name the artifacts that lie beside it. Raises sqlite3.Error."""
    with closing(sqlite3.connect(database)) as connection, connection:
        places = connection.execute("SELECT artifact_location FROM experiments WHERE experiment_id != 0").fetchall()
        roots = {place.rpartition(f"/{ARTIFACTS}/")[0] for (place,) in places if place}
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
    """An address of a kind that MLflow does not know is an error at once; a server that is away is none."""
    if uri is not None and not uri.startswith((*SERVERS, *DATABASES)):
        raise UserError(
            f"--tracking {masked(uri)}: give a server (http://…) or a database (sqlite:///FILE, postgresql://…, mysql://…)"
        )


def require_reachable(uri: str) -> None:
    """An MLflow server that does not answer its health check within seconds is an error now, not in the middle."""
    if not uri.startswith(SERVERS):
        return
    try:
        with urllib.request.urlopen(uri.rstrip("/") + "/health", timeout=CONNECT_SECONDS):
            pass
    except (urllib.error.URLError, OSError, ValueError) as error:
        raise UserError(f"no MLflow server at {masked(uri)} ({one_line(error)}); start it, or leave --tracking out") from None
