"""A run ends with the command that shows its runs: what is printed works."""

import shlex
from pathlib import Path

import pytest
import typer

from folklore.harness.folders import PROJECT
from folklore.harness.launch.tracking import server
from folklore.harness.launch.tracking.server import command_of, how_to_browse
from folklore.harness.options import Options
from folklore.harness.plan.store.mlflow_address import default_uri
from folklore.harness.plan.store.store import Store
from folklore.harness.use.cli import app

COMMANDS = typer.main.get_command(app).commands


def served(printed: str) -> str:
    """The database that MLflow would serve, if one typed what is printed."""
    command, rest = printed.split(", ")
    assert rest == "which prints the address to open"
    program, name, *arguments = shlex.split(command)
    assert (program, name) == ("folklore", "mlflow")
    options = COMMANDS["mlflow"].make_context("mlflow", arguments).params
    serving = command_of(Options(options["store"], options["tracking"]), options["host"], options["port"], options["auth"])
    return serving[serving.index("--backend-store-uri") + 1]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.shutil, "which", lambda name: f"/somewhere/{name}")


@pytest.mark.parametrize("folder", ["store", "a store with spaces"])
def test_a_store_elsewhere(folder: str, installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "mlflow.db").touch()
    printed = how_to_browse(Options(folder), Store(folder))
    monkeypatch.chdir("/")
    assert served(printed) == default_uri(tmp_path / folder)


def test_a_database_of_ones_own(installed: None, tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/runs.db"
    assert served(how_to_browse(Options("anything", uri), Store(str(tmp_path)))) == uri


@pytest.mark.usefixtures("memory_stores")
def test_a_store_that_is_no_folder(installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its runs are tracked beside where the run is started."""
    monkeypatch.chdir(tmp_path)
    printed = how_to_browse(Options("memory://folklore"), Store("memory://folklore"))
    assert served(printed) == default_uri(tmp_path / "results")


def test_a_server_is_there_already(tmp_path: Path) -> None:
    assert how_to_browse(Options("s", "http://me:secret@mlflow:5000"), Store(str(tmp_path))) == "open http://***@mlflow:5000"


def test_make_knows_its_own_store_alone(installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    assert how_to_browse(Options("results"), Store("results")) == "make mlflow, which prints the address to open"
    assert how_to_browse(Options(str(tmp_path)), Store(str(tmp_path))).startswith(f"folklore mlflow --store {tmp_path},")
    monkeypatch.chdir(tmp_path)
    assert how_to_browse(Options(f"{PROJECT}/results"), Store(f"{PROJECT}/results")).startswith("folklore mlflow --store")


def test_a_program_that_the_shell_does_not_find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.shutil, "which", lambda name: None)
    for started, program in (("bin/folklore", f"{tmp_path}/bin/folklore"), ("x/__main__.py", server.sys.executable)):
        monkeypatch.setattr(server.sys, "argv", [str(tmp_path / started)])
        assert shlex.split(how_to_browse(Options("s"), Store(str(tmp_path))))[0] == program
