"""The `folklore` command as its users start it: a process of its own."""

import subprocess
import sys
from pathlib import Path

FOLKLORE = (sys.executable, "-m", "harness")
# After so long a process hangs; none fails for being slow on a machine that others use, too.
HANG_SECONDS = 900.0


def folklore(*arguments: object, code: int | None = 0, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run it in a folder, and return what it said. Raises AssertionError with all of it where its exit code is another one.

    code: the one that is expected; None for any.
    """
    command = (*FOLKLORE, *map(str, arguments))
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_SECONDS, cwd=folder)
    said = f"folklore {' '.join(command[3:])}: exit code {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    assert code in (None, done.returncode), said
    return done
