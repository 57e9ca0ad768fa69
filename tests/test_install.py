"""The packages that the Makefile installs for each target, and from where."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

FOR_STUDIES = ("setup", "study-warmup", "studies", "reports", "mlflow", "calibrate", "doctor")
TESTS = ("test", "test-slow", "test-nightly", "test-all")
FOR_TESTS = ("setup-dev", *TESTS, "test-lowest", "test-gpu", "check", "lint", "audit", "chaos", "mutants", "bench", "notebook")
# What the extra dev brings, as it is imported.
TEST_TOOLS = {"pytest", "hypothesis", "jsonschema", "moto", "nbclient", "nbformat", "ipykernel", "playwright", "mup", "tests"}


def outside(*prefixes: str) -> dict[str, str]:
    """The variables of this process without those of an outer make, or with one of these prefixes."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", *prefixes))}


def make(folder: Path, *arguments: str) -> list[str]:
    """The commands that make would run in an environment that is not there yet."""
    command = ["make", "-n", "-C", str(ROOT), f"VENV={folder / 'venv'}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=outside())
    return done.stdout.splitlines()


def installations(commands: list[str]) -> list[str]:
    """The extra that each installation of the project adds; '' for the project itself."""
    matches = (re.search(r" -e '?\.(?:\[(\w+)\])?", line) for line in commands)
    return [match[1] or "" for match in matches if match]


def test_studies_are_run_without_test_tools(tmp_path: Path) -> None:
    for target in FOR_STUDIES:
        assert installations(make(tmp_path, target)) == ["train"], target


def test_what_needs_test_tools_brings_them_once(tmp_path: Path) -> None:
    for target in FOR_TESTS:
        assert installations(make(tmp_path, target)) == ["train", "dev"], target


def test_nothing_that_studies_need_imports_test_tools() -> None:
    for package in ("harness", "models", "reports", "studies"):
        for path in (ROOT / package).rglob("*.py"):
            imported = re.findall(r"^\s*(?:import|from) (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
            assert not set(imported) & TEST_TOOLS, path


def test_an_address_brings_its_driver(tmp_path: Path) -> None:
    assert installations(make(tmp_path, "studies", "STORE=s3://bucket/folklore")) == ["train", "s3"]
    arguments = "ARGS=--store s3://bucket/folklore --tracking postgresql://host/mlflow"
    assert installations(make(tmp_path, "study-warmup", arguments)) == ["train", "s3", "postgresql"]


def test_all_tests_are_run_once(tmp_path: Path) -> None:
    selections = [re.findall(r'-m "(.*)"', "\n".join(make(tmp_path, name))) for name in TESTS]
    kinds = ("not slow", "slow and not nightly", "nightly", "not nightly")
    assert selections == [[f"{kind} and not gpu"] for kind in kinds]


def test_no_file_of_the_set_up_holds_an_address_of_an_index() -> None:
    for name in ("Makefile", "pyproject.toml", "constraints.txt", ".ci/run"):
        addresses = re.findall(r"(?:https?|file)://[^\s'\"`]+", (ROOT / name).read_text())
        assert [address for address in addresses if not address.startswith("http://127.0.0.1")] == [], name


def variables(**settings: str) -> set[str]:
    """The variables that the Makefile's commands see, NAME=VALUE each, if a user has set some."""
    command = ["make", "-s", "--no-print-directory", "-C", str(ROOT), "--eval", "shown: ; @env", "shown"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=outside("PIP_", "UV_") | settings)
    return set(done.stdout.splitlines())


def test_uv_looks_where_pip_would() -> None:
    by_pip = variables(PIP_FIND_LINKS="/wheels /more", PIP_INDEX_URL="https://near.example", PIP_TRUSTED_HOST="near.example")
    assert {"UV_FIND_LINKS=/wheels,/more", "UV_DEFAULT_INDEX=https://near.example", "UV_INSECURE_HOST=near.example"} <= by_pip
    both = variables(PIP_INDEX_URL="https://near.example", UV_DEFAULT_INDEX="https://own.example")
    assert "UV_DEFAULT_INDEX=https://own.example" in both


def test_torch_is_that_of_the_machine_unless_the_user_has_another() -> None:
    assert "UV_TORCH_BACKEND=auto" in variables()
    assert "UV_TORCH_BACKEND=cu130" in variables(UV_TORCH_BACKEND="cu130")
    for settings in ({"PIP_FIND_LINKS": "/wheels"}, {"CUDA": "1"}):
        assert not any(line.startswith("UV_TORCH_BACKEND=") for line in variables(**settings)), settings


@pytest.mark.parametrize(("version", "stays"), [("2.9.1", False), ("2.10.0", False), ("2.11.0+cpu", True), ("3.0.0", True)])
def test_a_torch_that_is_too_old_does_not_stay(version: str, stays: bool, tmp_path: Path) -> None:
    information = tmp_path / f"torch-{version}.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")
    command = ["make", "-s", "-C", str(ROOT), f"BIN={Path(sys.executable).parent}", "--eval", "asked: ; @$(HAS_TORCH)", "asked"]
    done = subprocess.run(command, capture_output=True, env=outside() | {"PYTHONPATH": str(tmp_path)})
    assert (done.returncode == 0) == stays


def test_a_uv_that_cannot_be_had_is_one_line_with_ways_out(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "python3").chmod(0o755)
    command = ["make", "-s", "-C", str(tmp_path), ".uv/bin/uv"]
    done = subprocess.run(command, capture_output=True, text=True, env=outside() | {"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert done.returncode
    first, *_ = done.stderr.splitlines()
    assert first.startswith("error: uv cannot be had: put it on PATH, ")
