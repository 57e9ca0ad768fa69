"""What the Makefile installs for which target, and from where."""

import os
import re
import subprocess
from pathlib import Path

from tests.places import ROOT

FOR_STUDIES = ("setup", "study-warmup", "studies", "reports", "mlflow", "calibrate", "doctor")
TESTS = ("test", "test-slow", "test-nightly", "test-all")
FOR_TESTS = ("setup-dev", *TESTS, "test-lowest", "test-gpu", "check", "lint", "audit", "chaos", "bench", "notebook")
# What the extra dev brings, as it is imported.
TEST_TOOLS = {"pytest", "hypothesis", "statsmodels", "moto", "nbclient", "nbformat", "ipykernel", "playwright", "mup", "tests"}


def make(folder: Path, *arguments: str) -> list[str]:
    """The commands that make would run in an environment that is not there yet."""
    outer = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEFILES")
    outside = {name: value for name, value in os.environ.items() if name not in outer}
    command = ["make", "-n", "-C", str(ROOT), f"VENV={folder / 'venv'}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=outside)
    return done.stdout.splitlines()


def installations(commands: list[str]) -> list[str]:
    """The extra that each installation of the project adds; '' for the project itself."""
    return [found[1] or "" for line in commands if (found := re.search(r" -e '?\.(?:\[(\w+)\])?", line))]


def test_studies_are_run_without_test_tools(tmp_path: Path) -> None:
    for target in FOR_STUDIES:
        assert installations(make(tmp_path, target)) == [""], target


def test_what_needs_test_tools_brings_them_once(tmp_path: Path) -> None:
    for target in FOR_TESTS:
        assert installations(make(tmp_path, target)) == ["", "dev"], target


def test_nothing_that_studies_need_imports_test_tools() -> None:
    for package in ("harness", "models", "reports", "studies"):
        for path in (ROOT / package).rglob("*.py"):
            imported = re.findall(r"^\s*(?:import|from) (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
            assert not set(imported) & TEST_TOOLS, path


def test_an_address_brings_its_driver(tmp_path: Path) -> None:
    assert installations(make(tmp_path, "studies", "STORE=s3://bucket/folklore")) == ["", "s3"]
    given = "ARGS=--store s3://bucket/folklore --tracking postgresql://host/mlflow"
    assert installations(make(tmp_path, "study-warmup", given)) == ["", "s3", "postgresql"]


def test_all_tests_are_run_once(tmp_path: Path) -> None:
    selections = [re.findall(r'-m "(.*)"', "\n".join(make(tmp_path, name))) for name in TESTS]
    kinds = ("not slow", "slow and not nightly", "nightly", "not nightly")
    assert selections == [[f"{kind} and not gpu"] for kind in kinds]


def test_no_file_of_the_set_up_holds_an_address_of_an_index() -> None:
    for name in ("Makefile", "pyproject.toml", "constraints.txt", ".ci/run"):
        addresses = re.findall(r"(?:https?|file)://[^\s'\"`]+", (ROOT / name).read_text())
        assert [each for each in addresses if not each.startswith("http://127.0.0.1")] == [], name


def test_where_pip_finds_packages_uv_does(tmp_path: Path) -> None:
    """uv's own variables count more, and torch comes from a user's wheels as it is there."""

    def environment(**given: str) -> list[str]:
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_", "MAKE", "MFLAGS"))}
        command = ["make", "-s", "--no-print-directory", "-C", str(ROOT), "--eval", "shown: ; @env", "shown"]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=ours | given).stdout.splitlines()

    assert "UV_TORCH_BACKEND=auto" in environment()
    told = environment(PIP_FIND_LINKS="/wheels", PIP_INDEX_URL="https://near.example", UV_DEFAULT_INDEX="https://own.example")
    assert {"UV_FIND_LINKS=/wheels", "UV_DEFAULT_INDEX=https://own.example"} <= set(told)
    assert not any(line.startswith("UV_TORCH_BACKEND") for line in told)
