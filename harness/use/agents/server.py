"""The server: the tools over standard input and output. Nothing listens on a port."""

import inspect
from importlib.metadata import version
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import ValidationError

from ...errors import UserError
from .arguments import findings, require_known, require_short
from .tools import Tools

INSTRUCTIONS = """\
Folklore puts claims about training neural networks to the test. Use it to find out whether advice on training holds (verdicts,
why), to test it by training (plan, run), and to tell whether differences among runs are larger than noise (noise, judge).

Order of work: list_studies, verdicts with published=true, why; only if that leaves the question open: plan, then run.
Rules that keep you from fooling yourself:
- Say what you expect, and what would refute it, before you run or judge anything.
- A verdict holds for its scale. Do not carry one from a small model to a large one.
- One seed is an anecdote: a difference between two single runs is never firm.
- Do not run again with other settings or seeds until a claim is supported. Every look counts; report all of them.
- "open" means that the data cannot tell. It is not "no effect".
- Report verdict, interval, seeds, scale and cautions together, and refutations as readily as support."""


class StrictServer(MCPServer):
    """Refuses what a tool does not take; its base class leaves unknown arguments out without a word."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        schemas = {tool.name: tool.input_schema for tool in await self.list_tools()}
        try:
            require_known("tool", [name], schemas)
            require_known("argument", arguments, schemas[name]["properties"])
            require_short(arguments)
            return await super().call_tool(name, arguments, context)
        except UserError as error:
            raise ToolError(f"Error executing tool {name:.80}: {error}") from None
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            raise ToolError(f"Error executing tool {name}: {findings(error.__cause__)}") from None


def server(store: str, allow_code: bool = False) -> MCPServer:
    """The tools, with their limits and schemas."""
    tools = Tools(store, allow_code)
    made = StrictServer("folklore", instructions=INSTRUCTIONS, version=version("folklore-harness"), log_level="WARNING")
    reading = ToolAnnotations(read_only_hint=True)
    training = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True)
    for tool in (tools.list_studies, tools.verdicts, tools.why, tools.plan, tools.run, tools.noise, tools.judge):
        annotations = training if tool == tools.run else reading
        made.add_tool(tool, description=inspect.getdoc(tool), annotations=annotations, structured_output=True)
    return made
