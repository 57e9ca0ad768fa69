"""Where MLflow is, told without importing it."""

import urllib.error
import urllib.request
from pathlib import Path

from harness.errors import UserError, masked, one_line

SQLITE = "sqlite:///"
SERVERS = ("http://", "https://")
DATABASES = ("sqlite:", "postgresql", "mysql", "mssql")
CONNECT_SECONDS = 5.0


def default_uri(store_root: Path) -> str:
    return f"{SQLITE}{store_root / 'mlflow.db'}"


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
