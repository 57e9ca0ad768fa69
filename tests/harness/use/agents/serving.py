"""The real server, as a client starts it or in this process, driven by the client of the official package."""

import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import CallToolResult, Tool

from folklore.harness.use.agents.commands import Ended, _last_line
from folklore.harness.use.agents.server import server
from tests.command_line import folklore_here

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
        """The answer of a tool; the client has checked it against the schema that the server published."""
        return self.portal.call(partial(self.call_async, tool, hear, **arguments))

    async def call_async(self, tool: str, hear: Callable[[Progress], None] | None, **arguments: Any) -> CallToolResult:
        async def progress(done: float, of: float | None, message: str | None) -> None:
            if hear is not None:
                hear((done, of, message))

        return await self.client.call_tool(tool, arguments, progress_callback=progress)

    def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self.call(tool, **arguments)
        assert not answer.is_error, answer.content
        assert answer.structured_content is not None
        return dict(answer.structured_content)

    def refused(self, tool: str, **arguments: Any) -> str:
        """The line that a tool refuses with."""
        answer = self.call(tool, **arguments)
        assert answer.is_error, answer.content
        return " ".join(getattr(part, "text", "") for part in answer.content)


@contextmanager
def agent(folder: Path, *options: str, store: Path | None = None) -> Iterator[Agent]:
    """A client of a server that is started in a folder."""
    started = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], *options], env=environment(store or folder / "store"), cwd=folder
    )
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(stdio_client(started))) as client:
        yield Agent(portal, client)


@contextmanager
def agent_here(store: Path) -> Iterator[Agent]:
    """The same in this process."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(server(str(store)))) as client:
        yield Agent(portal, client)


def commands_here(folder: Path) -> Callable[..., Awaitable[Ended]]:
    """In place of `commands.folklore`: the command runs in this process, as if in a folder, a second of imports less each."""

    async def ended(
        arguments: Sequence[str], environment: Mapping[str, str], seconds: float, hear: Callable[[str], Awaitable[None]]
    ) -> Ended:
        with chdir(folder), pytest.MonkeyPatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            said = folklore_here(*arguments, code=None)
        for line in said.stdout.splitlines(keepends=True):
            await hear(line)
        return Ended(said.returncode, _last_line(BytesIO(said.stderr.encode())))

    return ended


def spoken(*messages: dict[str, Any]) -> bytes:
    """Messages as they go over the wire."""
    return b"".join(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n" for message in messages)
