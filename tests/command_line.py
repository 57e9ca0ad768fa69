"""The `folklore` command: as its users start it, a process of its own, or in this process, whose imports are made already."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

FOLKLORE = (sys.executable, "-m", "folklore.harness")
# A process that takes longer hangs; none fails because other work slows the machine down.
HANG_SECONDS = 900.0


@dataclass(frozen=True)
class Said:
    """What a command printed, and its exit code."""

    returncode: int
    stdout: str
    stderr: str


def folklore(*arguments: object, code: int | None = 0, folder: Path | None = None) -> Said:
    """Run the command in a process of its own, in a folder. Raises AssertionError with its output for another exit code.

    code: the expected one; None: any.
    """
    command = (*FOLKLORE, *map(str, arguments))
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_SECONDS, cwd=folder)
    return _checked(arguments, Said(done.returncode, done.stdout, done.stderr), code)


def folklore_here(*arguments: object, code: int | None = 0) -> Said:
    """Run the command in this process: seconds of imports less. Otherwise as `folklore`."""
    from typer.testing import CliRunner

    from folklore.harness.cli import app

    done = CliRunner().invoke(app, [*map(str, arguments)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return _checked(arguments, Said(done.exit_code, done.stdout, done.stderr), code)


def _checked(arguments: tuple[object, ...], said: Said, code: int | None) -> Said:
    words = " ".join(map(str, arguments))
    shown = f"folklore {words}: exit code {said.returncode}\n{said.stdout[-4000:]}\n{said.stderr[-4000:]}"
    assert code in (None, said.returncode), shown
    return said
