"""A database that a stranger made is read in bounded time and runs nothing, or one line says why it is not read."""

import logging
import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from folklore.harness.declare import Study
from folklore.harness.errors import UserError
from folklore.harness.launch.tracking.server import command_of
from folklore.harness.launch.tracking.state import settled
from folklore.harness.launch.tracking.sync import open_tracker
from folklore.harness.options import Options
from folklore.harness.plan.store import database
from folklore.harness.plan.store.database import opened
from folklore.harness.plan.store.mlflow_address import FILE, artifact_locations, bring_along, experiments
from folklore.harness.plan.store.store import Store

# With a limit at the end, so that the test fails, and does not hang, if the view is read.
ENDLESS = (
    "CREATE VIEW {} AS WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers LIMIT 1000)"
    " SELECT n AS experiment_id, n AS artifact_location, n AS name, 'active' AS lifecycle_stage FROM numbers"
)
TABLE = "CREATE TABLE experiments (experiment_id INTEGER, name TEXT, artifact_location TEXT, lifecycle_stage TEXT"
# A row of the schema that says table over the text of a view.
DISGUISED = "INSERT INTO sqlite_master VALUES ('table', 'experiments', 'experiments', 0, '" + ENDLESS.format(
    "experiments"
).replace("'", "''")
FOREIGN = {
    "view": (ENDLESS.format("experiments"),),
    "view of what only MLflow reads": (f"{TABLE})", ENDLESS.format("params")),
    "view in disguise": ("PRAGMA writable_schema = ON", f"{DISGUISED}')"),
    "virtual table": (f"{TABLE})", "CREATE VIRTUAL TABLE params USING rtree(id, low, high)"),
    "trigger": (
        f"{TABLE})",
        "CREATE TRIGGER more AFTER UPDATE ON experiments BEGIN INSERT INTO experiments SELECT * FROM experiments; END",
    ),
    "trigger under a name of MLflow's": (
        f"{TABLE})",
        "CREATE TRIGGER prevent_secrets_aad_mutation AFTER UPDATE ON experiments BEGIN DELETE FROM experiments; END",
    ),
    "computed column": (f"{TABLE}, more TEXT AS (hex(name)))",),
    "index of an expression": (f"{TABLE})", "CREATE INDEX more ON experiments (hex(name))"),
}


def made(path: Path, *statements: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return path


@pytest.mark.parametrize("kind", FOREIGN)
def test_more_than_tables_is_refused_in_a_line(
    kind: str, study: Study, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By all that opens a database, before MLflow is asked."""
    path = made(tmp_path / FILE, *FOREIGN[kind])
    monkeypatch.setitem(sys.modules, "folklore.harness.launch.tracking.projection", None)
    refused = (
        rf"^{path}: (has '(experiments|params|more|prevent_\w+)', and only plain tables are read|cannot be read \(malformed)"
    )
    options, store = Options(str(tmp_path)), Store(str(tmp_path))
    for ask in (
        lambda: artifact_locations(path),
        lambda: bring_along(path, tmp_path / "mlartifacts"),
        lambda: command_of(options, "127.0.0.1", 5000, auth=False),
        lambda: open_tracker(study, options, store),
        lambda: open_tracker(study, Options(str(tmp_path / "other"), f"sqlite:///{path}"), store),
    ):
        with pytest.raises(UserError, match=refused) as error:
            ask()
        assert "move it away, and `folklore sync` makes it again" in str(error.value)
    assert settled(f"sqlite:///{path}", study) is None
    with caplog.at_level(logging.WARNING):
        assert experiments(tmp_path) == {}
    assert "pages have no links to MLflow" in caplog.text


def test_a_database_of_mlflow_is_read(
    tmp_path: Path, mlflow_in: Callable[[Path], str], caplog: pytest.LogCaptureFixture
) -> None:
    """It has a trigger and a computed column of its own."""
    mlflow_in(tmp_path)
    assert experiments(tmp_path) == {"Default": "0"}
    assert artifact_locations(tmp_path / FILE) == set()
    assert not caplog.text


PLACES: dict[str, Callable[[Path], None]] = {
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "nothing": lambda path: path.symlink_to(path.with_name("nothing")),
}


@pytest.mark.parametrize("mode", ["ro", "rw"])
@pytest.mark.parametrize("place", PLACES)
def test_no_regular_file_is_opened(place: str, mode: str, tmp_path: Path) -> None:
    """A pipe would keep its reader waiting."""
    path = tmp_path / FILE
    PLACES[place](path)
    with pytest.raises(UserError, match=rf"^{path}: is no regular file"), opened(path, mode):
        pass


@pytest.mark.parametrize("suffix", ["-journal", "-wal", "-shm"])
def test_nothing_is_written_through_links_beside_a_database(suffix: str, tmp_path: Path) -> None:
    path, victim = made(tmp_path / FILE, f"{TABLE})", "PRAGMA journal_mode = WAL"), tmp_path / "victim"
    victim.write_text("mine")
    Path(f"{path}{suffix}").symlink_to(victim)
    with pytest.raises(UserError, match=rf"^{path}{suffix}: is no regular file"):
        bring_along(path, tmp_path / "mlartifacts")
    assert victim.read_text() == "mine"


def test_work_ends_at_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(tmp_path / FILE, f"{TABLE})", "CREATE TABLE runs (artifact_uri TEXT)")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany("INSERT INTO runs VALUES (?)", ((f"{number}",) for number in range(database.OPERATIONS)))
    assert len(artifact_locations(path)) == database.OPERATIONS
    monkeypatch.setattr(database, "MOST_SECONDS", -1.0)
    with pytest.raises(UserError, match=rf"^{path}: cannot be read \(takes longer than -1 s\); move it away"):
        artifact_locations(path)


def test_a_value_beyond_any_of_ours_is_not_made(tmp_path: Path) -> None:
    """One operation is not interrupted."""
    with (
        pytest.raises(UserError, match="string or blob too big"),
        opened(made(tmp_path / FILE, f"{TABLE})")) as connection,
    ):
        connection.execute("SELECT length(hex(zeroblob(500000000)))")


def test_an_interrupt_while_sqlite_works_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite swallows what a signal raises where the clock is asked."""
    path, times = made(tmp_path / FILE, f"{TABLE})"), iter([0.0, None, 1.0])

    def monotonic() -> float:
        if (now := next(times)) is None:
            raise KeyboardInterrupt
        return now

    monkeypatch.setattr(database, "OPERATIONS", 1)
    monkeypatch.setattr(database, "time", SimpleNamespace(monotonic=monotonic))
    with pytest.raises(KeyboardInterrupt):
        artifact_locations(path)


def test_a_database_in_use_is_not_called_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(tmp_path / FILE, f"{TABLE})")
    monkeypatch.setattr(database, "LOCKED_SECONDS", 0.0)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(UserError, match=rf"^{path}: is used by another process .*; end that or try again$"):
            artifact_locations(path)
