"""`make test-lowest`: a smoke study, `folklore judge` and the tests on the lowest versions that pyproject.toml allows.

Only torch is that of the Makefile, built for CPUs, and the tools of the tests are those of constraints.txt.
"""

import argparse
import subprocess
import sys
import tempfile
import tomllib
from itertools import chain
from pathlib import Path

from packaging.requirements import Requirement

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
    tools = [*extras.pop("dev"), "mup"]
    return [*project["dependencies"], *chain(*extras.values())], tools


def constraints() -> list[str]:
    """Users' dependencies at their floors, of which uv alone would exceed some; tools of the tests as they are pinned."""
    users, tools = declared()
    requirements = [Requirement(line) for line in users if not line.startswith("torch>")]
    floors = [f"{requirement.name}=={next(iter(requirement.specifier)).version}.*" for requirement in requirements]
    only_tools = names(tools) - names(users)
    return floors + [f"{name}=={version}" for name, version in pins().items() if name in only_tools]


def make_environment(uv: str, folder: Path, torch: str) -> Path:
    """The environment's folder of programs. Raises CalledProcessError, after uv's own words."""
    python = folder.absolute() / "bin" / "python"
    if not python.exists():
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, folder], check=True)
    install = [uv, "pip", "install", "--quiet", "--python", python]
    subprocess.run([*install, torch], check=True)
    held, overrides = folder / "constraints.txt", folder / "overrides.txt"
    held.write_text("\n".join(constraints()))
    overrides.write_text("torch ; sys_platform == 'never'\ntorchvision ; sys_platform == 'never'\n")
    # --upgrade: what earlier floors brought does not stay.
    lowest = ["--resolution", "lowest-direct", "--upgrade", "-c", held, "--override", overrides]
    subprocess.run([*install, *lowest, "-e", f"{ROOT}[dev]", "mup"], check=True)
    return python.parent


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0], epilog="Other options are pytest's.")
    parser.add_argument("--uv", required=True, help="the program")
    parser.add_argument("--venv", type=Path, required=True, help="the environment's folder")
    parser.add_argument("--torch", required=True, help="a requirement, a wheel or a URL")
    chosen, options = parser.parse_known_args()
    try:
        programs = make_environment(chosen.uv, chosen.venv, chosen.torch)
    except subprocess.CalledProcessError:
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
