"""MLflow's server, whose page opens for the training of models.

What an experiment is of, MLflow 3.17's page asks the browser and not the experiment; a browser that was never told shows
traces, judges and prompts for generative AI. Here it is told, once: whoever switches in the page keeps what they chose.
"""

import json

from flask import Response, request
from mlflow.server import app as pages
from mlflow.server.fastapi_app import app

PATH = "/"
# What MLflow's page keeps in the browser, as its own switches write it.
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


pages.before_request(_ask_for_the_whole_page)
pages.after_request(_with_choices)

__all__ = ["app"]
