"""The `folklore` command: as its users start it, a process of its own; several in forks of one that has made their imports; or
in this process, whose imports are made already."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

FOLKLORE = (sys.executable, "-m", "folklore.harness")
# A process that takes longer hangs; none fails because other work slows the machine down.
HANG_SECONDS = 900.0


@dataclass(frozen=True)
class Said:
    """The output of a command, and its exit code."""

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


# Each command ends as `folklore` does, by the program's own entrance.
FORKS = """
import importlib, json, os, sys, tempfile
from folklore.harness import __main__ as entry
imports, commands, shown = json.loads(sys.argv[1])
for name in imports:
    importlib.import_module(name)
for command in commands:
    files = [tempfile.TemporaryFile() for _ in range(2)]
    child = os.fork()
    if not child:
        for number, file in enumerate(files, 1):
            os.dup2(file.fileno() if shown else 1, number)
        sys.argv = ["folklore", *command]
        entry.main()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    for file in files:
        file.seek(0)
    said = [code, *(file.read().decode() for file in files)]
    print(json.dumps(said), file=sys.stderr)
"""


def folklore_forked(
    *commands: str,
    imports: Sequence[str],
    code: int | None = 0,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    stdout: int | None = None,
) -> list[Said]:
    """Run commands one after another, each in a fork of one process that has imported what they need: what only processes show
    for one process's imports. Otherwise as `folklore`.

    imports: modules. stdout: where commands write instead of being read.
    """
    instructions = json.dumps([imports, [command.split() for command in commands], stdout is None])
    done = subprocess.run(
        (sys.executable, "-c", FORKS, instructions),
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=HANG_SECONDS,
        cwd=folder,
        env={**os.environ, **(environment or {})},
    )
    assert done.returncode == 0, done.stderr
    said = [Said(*json.loads(line)) for line in done.stderr.splitlines()]
    return [_checked((command,), output, code) for command, output in zip(commands, said, strict=True)]


def folklore_here(*arguments: object, code: int | None = 0) -> Said:
    """Run the command in this process: seconds of imports less. Otherwise as `folklore`."""
    from typer.testing import CliRunner

    from folklore.harness.use.cli import app

    done = CliRunner().invoke(app, [*map(str, arguments)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return _checked(arguments, Said(done.exit_code, done.stdout, done.stderr), code)


def _checked(arguments: tuple[object, ...], said: Said, code: int | None) -> Said:
    words = " ".join(map(str, arguments))
    shown = f"folklore {words}: exit code {said.returncode}\n{said.stdout[-4000:]}\n{said.stderr[-4000:]}"
    assert code in (None, said.returncode), shown
    return said
