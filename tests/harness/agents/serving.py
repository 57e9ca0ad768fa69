"""The real server, as a client starts it, driven by the client of the official package."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, Tool

# As the installed script: the folder it is started in is none to import from.
COMMAND = (sys.executable, "-P", "-m", "folklore.harness", "mcp")
# Each of its processes inherits it from the server.
VARIABLE = "FOLKLORE_TEST_AGENT"
Progress = tuple[float, float | None, str | None]


def environment(store: Path) -> dict[str, str]:
    return {**os.environ, "FOLKLORE_STORE": str(store), VARIABLE: str(store)}


class Agent:
    """A client whose calls block."""

    def __init__(self, portal: BlockingPortal, client: Client):
        self.portal, self.client = portal, client

    def tools(self) -> dict[str, Tool]:
        return {tool.name: tool for tool in self.portal.call(self.client.list_tools).tools}

    def call(self, tool: str, hear: Callable[[Progress], None] | None = None, **arguments: Any) -> CallToolResult:
        """What a tool answers; the client has checked it against the schema that the server published."""
        return self.portal.call(partial(self.call_async, tool, hear, **arguments))

    async def call_async(self, tool: str, hear: Callable[[Progress], None] | None, **arguments: Any) -> CallToolResult:
        async def progress(done: float, of: float | None, message: str | None) -> None:
            if hear is not None:
                hear((done, of, message))

        return await self.client.call_tool(tool, arguments, progress_callback=progress)

    def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        found = self.call(tool, **arguments)
        assert not found.is_error, found.content
        assert found.structured_content is not None
        return dict(found.structured_content)

    def refused(self, tool: str, **arguments: Any) -> str:
        """The line that a tool refuses with."""
        found = self.call(tool, **arguments)
        assert found.is_error, found.content
        return " ".join(getattr(each, "text", "") for each in found.content)


@contextmanager
def agent(folder: Path, *options: str, store: Path | None = None) -> Iterator[Agent]:
    """A client of a server that is started in a folder."""
    started = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], *options], env=environment(store or folder / "store"), cwd=folder
    )
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(started)) as client:
        yield Agent(portal, client)


def spoken(*messages: dict[str, Any]) -> bytes:
    """Messages as they go over the wire."""
    return b"".join(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n" for message in messages)
