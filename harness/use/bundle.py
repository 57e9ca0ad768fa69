"""An installation for machines without internet, gathered on one that has it: wheels, and a script that needs nothing else."""

import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from ..errors import UserError, one_line
from ..folders import PROJECT

INSTALL = """#!/bin/sh
# Installs Folklore from this folder alone, into a new environment: sh install.sh [FOLDER]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
to=${1:-folklore-env}
${PYTHON:-python3} -m venv "$to"
"$to/bin/python" -m pip install --no-index --find-links "$here" "torch==TORCH" "folklore-harness[train,EXTRAS]"
"$to/bin/folklore" doctor || true
echo "installed: $to/bin/folklore"
"""


def make_bundle(folder: Path, extras: str, project: Path | None = None) -> tuple[int, int]:
    """Files and bytes gathered. The wheels are for machines like this one: the same system, processor and Python.

    Raises UserError.
    """
    project = project or PROJECT
    if not (project / "pyproject.toml").exists():
        raise UserError("bundle: run it in a working copy of the project, whose constraints.txt says which releases to take")
    if folder.exists() and any(folder.iterdir()):
        raise UserError(f"bundle {folder}: is not empty; name a new folder")
    torch = version("torch")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--wheel-dir", str(folder)]
    with tempfile.TemporaryDirectory() as temporary:
        constraints = Path(temporary) / "constraints.txt"
        lines = (project / "constraints.txt").read_text(encoding="utf-8").splitlines(keepends=True)
        constraints.write_text("".join(line for line in lines if not line.startswith("torch==")), encoding="utf-8")
        command += ["-c", str(constraints), f"torch=={torch}", f"{project}[train,{extras}]"]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise UserError(f"bundle {folder}: pip could not gather it ({one_line(ValueError(done.stderr))[-300:]})")
    script = INSTALL.replace("TORCH", torch).replace("EXTRAS", extras)
    (folder / "install.sh").write_text(script, encoding="utf-8")
    made_for = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, torch {torch}\n"
    (folder / "MADE_FOR").write_text(made_for, encoding="utf-8")
    files = [path for path in folder.iterdir() if path.is_file()]
    return len(files), sum(path.stat().st_size for path in files)
