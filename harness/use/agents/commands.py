"""The `folklore` command as a process of its own: its output is none of the server's, whose standard output is the protocol."""

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import IO

import anyio
from mcp.server.mcpserver.exceptions import ToolError

from ...errors import one_line, printable

# -P: what lies in the folder that a client starts the server in is not imported in place of libraries.
FOLKLORE = (sys.executable, "-P", "-m", "folklore.harness")
# An interrupted run ends within ten seconds; on a busy machine a little later.
GRACE_SECONDS = 30.0
# Bytes of a line of standard output; of the end of standard error, whose last line is reported.
LONGEST_LINE, TAIL_BYTES = 64 << 20, 1 << 16


@dataclass(frozen=True)
class Ended:
    """The exit code of a command, and the last line of its standard error: what it says if it failed."""

    code: int
    error: str


async def folklore(
    arguments: Sequence[str], environment: Mapping[str, str], seconds: float, hear: Callable[[str], Awaitable[None]]
) -> Ended:
    """How `folklore` ended with these arguments. hear: gets each line of its output at once.

    If the call is cancelled or takes longer than `seconds`, the command is interrupted, and keeps what is finished. Raises
    ToolError.
    """
    with tempfile.TemporaryFile() as errors:
        try:
            async with asyncio.timeout(seconds), _process(arguments, environment, errors) as process:
                assert process.stdout is not None
                async for line in process.stdout:
                    await hear(line.decode())
                code = await process.wait()
        except TimeoutError:
            raise ToolError(
                f"{arguments[0]} took longer than {seconds:.0f} s and was stopped; what is finished is kept"
            ) from None
        return Ended(code, _last_line(errors) or f"{arguments[0]} ended with exit code {code}")


@asynccontextmanager
async def _process(
    arguments: Sequence[str], environment: Mapping[str, str], errors: IO[bytes]
) -> AsyncIterator[asyncio.subprocess.Process]:
    """The command while it runs. In a session of its own: a client that ends the server's group leaves it time to end."""
    try:
        process = await asyncio.create_subprocess_exec(
            *(*FOLKLORE, *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            env={**os.environ, **environment},
            limit=LONGEST_LINE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:  # too long, or with a character that no argument may have
        raise ToolError(f"{arguments[0]} cannot be started: {one_line(error)}") from None
    try:
        yield process
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Interrupt what is not done yet; kill it, and whatever it started, if it does not end."""
    for stop in (partial(process.send_signal, signal.SIGINT), partial(os.killpg, process.pid, signal.SIGKILL)):
        with suppress(ProcessLookupError), anyio.move_on_after(GRACE_SECONDS):
            if process.returncode is None:
                stop()
            await process.communicate()
            return


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(max(0, errors.seek(0, os.SEEK_END) - TAIL_BYTES))
    lines = [line for line in errors.read().decode(errors="replace").splitlines() if line.strip()]
    return printable(lines[-1].strip().removeprefix("error: ")) if lines else ""
