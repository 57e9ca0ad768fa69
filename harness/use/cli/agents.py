"""The command that serves agents."""

from typing import Annotated

import typer

from ...errors import UserError
from .base import StoreUri, command


@command(
    "mcp",
    "folklore mcp --store /data/folklore   # a client starts it, and speaks to it by standard input and output",
    "folklore mcp --allow-code   # calls may name .py studies and workloads",
)
def mcp(
    store: StoreUri = "results",
    allow_code: Annotated[
        bool, typer.Option("--allow-code", help="let calls name Python code: a study's .py file, or a workload")
    ] = False,
) -> None:
    """Serve studies, runs and verdicts to an agent by the Model Context Protocol. Nothing listens on a port.

    The server has the rights of whoever starts it: an agent reads what you may read, and trains what `folklore run` would.
    """
    try:
        from ..agents.server import server
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise UserError(
            "mcp is not installed, and this command needs it: `make setup EXTRAS=mcp`, or pip install 'folklore-harness[mcp]'"
        ) from None
    server(store, allow_code).run("stdio")
