"""`make test-lowest`: a smoke study, `folklore judge` and the tests on the lowest versions that pyproject.toml allows.

Only torch is that of the Makefile, built for CPUs, and the tools of the tests are those of constraints.txt.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import tomllib
from itertools import chain
from pathlib import Path

from packaging.requirements import Requirement

from folklore.harness import install
from tests.audit import canonical, pins
from tests.places import ROOT

TABLE = "optimizer,seed,val_loss\n" + "".join(f"sgd,{seed},3.{seed}\nadamw,{seed},2.{seed}\n" for seed in range(5))
CLAIM = "val_loss: adamw < sgd by 1%"
# Holds the versions of constraints.txt, which this environment is to differ from.
OF_PINS = "tests/test_audit.py::test_what_is_installed_is_pinned"


def names(requirements: list[str]) -> set[str]:
    return {canonical(Requirement(line).name) for line in requirements}


def declared() -> tuple[list[str], list[str]]:
    """Requirements of users, with their extras, and those of the tests."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    tools = extras.pop("dev") + install.BESIDE["dev"]
    return [*project["dependencies"], *chain(*extras.values())], tools


def constraints() -> list[str]:
    """Users' dependencies at their floors, of which uv alone would exceed some; tools of the tests as they are pinned."""
    users, tools = declared()
    requirements = [Requirement(line) for line in users if not line.startswith("torch>")]
    floors = [f"{requirement.name}=={next(iter(requirement.specifier)).version}.*" for requirement in requirements]
    only_tools = names(tools) - names(users)
    return floors + [f"{name}=={version}" for name, version in pins().items() if name in only_tools]


def make_environment(folder: Path, torch: str) -> Path:
    """The environment's folder of programs. Raises SetupError."""
    uv = install.Uv(install.find_uv(), install.pip_settings(), dict(os.environ))
    python = install.make_environment(uv, folder, [])
    if not install.has_torch(python):
        uv.install(python, torch, *install.cpu_torch_options(uv, python, [torch]))
    files = ["-c", install.written(python, "constraints.txt", "\n".join(constraints()))]
    files += ["--override", install.written(python, "overrides.txt", install.NO_OTHER_TORCH)]
    # --upgrade: what earlier floors brought does not stay.
    uv.install(python, "--resolution", "lowest-direct", "--upgrade", *files, "-e", f"{ROOT}[dev]", *install.BESIDE["dev"])
    return python.parent


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0], epilog="Other options are pytest's.")
    parser.add_argument("--venv", type=Path, required=True, help="the environment's folder")
    parser.add_argument("--torch", required=True, help="a requirement, a wheel or a URL")
    chosen, options = parser.parse_known_args()
    try:
        programs = make_environment(chosen.venv, chosen.torch)
    except install.SetupError as error:
        install.say(f"error: {error}")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        store, table = Path(folder, "store"), Path(folder, "runs.csv")
        table.write_text(TABLE)
        commands = [
            [programs / "folklore", "run", "warmup", "--scale", "smoke", "--store", store],
            [programs / "folklore", "judge", table, "--claim", CLAIM],
            [programs / "python", "-m", "pytest", "--deselect", OF_PINS, *options],
        ]
        return next((done for command in commands if (done := subprocess.run(command, cwd=ROOT).returncode)), 0)


if __name__ == "__main__":
    sys.exit(main())
