"""MLflow's server behind a guard (guard.py), whose page opens for the training of models.

MLflow 3.17's page takes the kind of an experiment from the browser and not from the experiment; a browser without one shows
traces, judges and prompts for generative AI. Here the browser gets it once: whoever switches in the page keeps their choice.
"""

import json
import os
import secrets
from pathlib import Path
from typing import Any

from flask import Response, request
from mlflow.exceptions import PERMISSION_DENIED, MlflowException
from mlflow.server import app as pages
from mlflow.server.fastapi_app import app as mlflow_server
from mlflow.store.artifact import artifact_repository_registry

from ...plan.store.mlflow_address import ARTIFACTS_VARIABLE, AUTH_VARIABLE, TOKEN_VARIABLE, WRITE_VARIABLE
from .guard import Guard, is_below

PATH = "/"
# Settings that MLflow's page keeps in the browser, as its own switches write them.
CHOICES = {"mlflow.workflowType_v1": json.dumps("machine_learning"), "mlflow.assistant.fab.autoOpenedOnFirstLoad_v1": "true"}
SCRIPT = (
    f"<script>for (const [key, value] of Object.entries({json.dumps(CHOICES)}))"
    " if (localStorage.getItem(key) === null) localStorage.setItem(key, value)</script>"
)


def _ask_for_the_whole_page() -> None:
    """A browser may hold the page as another server gave it."""
    if request.path == PATH:
        for header in ("HTTP_IF_NONE_MATCH", "HTTP_IF_MODIFIED_SINCE"):
            request.environ.pop(header, None)


def _with_choices(response: Response) -> Response:
    if request.path == PATH and response.mimetype == "text/html":
        response.direct_passthrough = False
        response.set_data(response.get_data().replace(b"<head>", b"<head>" + SCRIPT.encode(), 1))
        response.headers["Cache-Control"] = "no-store"
        for header in ("ETag", "Last-Modified"):
            response.headers.pop(header, None)
    return response


def _keep_artifacts_below(folder: Path) -> None:
    """Guards the registry through which every artifact is reached, wherever a store or a client says that it lies."""
    registry = artifact_repository_registry._artifact_repository_registry
    reach = registry.get_artifact_repository

    def reached(artifact_uri: str, *arguments: Any, **options: Any) -> Any:
        if not is_below(artifact_uri, folder):
            raise MlflowException(
                f"artifacts at {artifact_uri} do not lie below {folder}, and are not served", PERMISSION_DENIED
            )
        return reach(artifact_uri, *arguments, **options)

    registry.get_artifact_repository = reached


def _guarded() -> Guard:
    if folder := os.environ.get(ARTIFACTS_VARIABLE):
        _keep_artifacts_below(Path(folder))
    if os.environ.get(AUTH_VARIABLE):
        from mlflow.server.auth import create_app

        return Guard(create_app(pages), None, write=True)
    # Without a token of the command's nobody is let in.
    return Guard(mlflow_server, os.environ.get(TOKEN_VARIABLE) or secrets.token_hex(), bool(os.environ.get(WRITE_VARIABLE)))


pages.before_request(_ask_for_the_whole_page)
pages.after_request(_with_choices)
app = _guarded()

__all__ = ["app"]
