"""MLflow's private tables: every row that is written at once is the row that its client writes; elsewhere the client writes."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import sqlalchemy

from folklore.harness.declare import Study
from folklore.harness.launch.tracking import tables
from folklore.harness.launch.tracking.projection import Tracker
from folklore.harness.launch.tracking.tables import TESTED, RunTables
from folklore.harness.plan.store import trial_rows
from tests.harness.helpers import planned, result, rows
from tests.places import ROOT
from tests.postgresql import started

# Columns that differ between two databases of the same content, beside ids and the folder.
TIMES = ("creation_time", "last_update_time")


@pytest.fixture
def trials(study: Study) -> pd.DataFrame:
    """Trials of two arms and the seeds 0 to 2, with curves, holes in curves, and one that diverged."""
    outcomes = {
        0: result(2.5, step=[10.0, 20.0], train_loss=[3.0, float("nan")], lr=[0.1, 0.2]),
        1: result(float("inf"), divergence_step=7, step=[10.0, 10.0], train_loss=[4.0, 3.0]),
    }
    made = rows(study, planned(study).trials[:7], lambda trial: outcomes.get(trial.seed) or result(3.0), pack="p1")
    return trial_rows.frame(made)


def fill(uri: str, study: Study, trials: pd.DataFrame, by_tables: bool) -> None:
    """All that goes through the tables: trials in two packs, and what runs of an earlier Folklore lack."""
    tracker = Tracker(uri, study, artifacts=Path("/artifacts"))
    location = tracker.client.get_experiment(tracker.experiment).artifact_location
    tracker.tables = RunTables(uri, tracker.experiment, location) if by_tables else None
    tags = {"folklore.kind": "trial", "folklore.scale": "laptop", "folklore.data_hash": "d1", "folklore.digest": "earlier"}
    earlier = tracker.client.create_run(tracker.experiment, start_time=1, tags=tags, run_name="earlier").info.run_id
    tracker.client.log_param(earlier, "workload.dataset", "python-docs")
    tracker.client.set_terminated(earlier, end_time=2)
    assert tracker.complete()
    tracker.record(trials.iloc[:4], None)
    tracker.record(trials, "0123456789abcdef")
    assert (tracker.tables is not None) == by_tables


def content(uri: str) -> dict[str, list[dict[str, Any]]]:
    """Table -> its rows, with ids replaced by what they are ids of."""
    engine, known = sqlalchemy.create_engine(uri), sqlalchemy.MetaData()
    known.reflect(engine)
    with engine.connect() as connection:
        read = {name: connection.execute(table.select()).mappings() for name, table in known.tables.items()}
        contents = {name: [dict(row) for row in lines] for name, lines in read.items()}
    engine.dispose()
    ids = {row["run_uuid"]: f"run {row['value']}" for row in contents["tags"] if row["key"] == "folklore.digest"}
    ids |= {row["dataset_uuid"]: f"data {row['name']} {row['digest']}" for row in contents["datasets"]}
    ids |= {row["input_uuid"]: f"input {ids[row['source_id']]} of {ids[row['destination_id']]}" for row in contents["inputs"]}
    pattern = re.compile("|".join(ids))

    def readable(row: dict[str, Any]) -> dict[str, Any]:
        plain = {name: value for name, value in row.items() if name not in TIMES}
        return {
            name: pattern.sub(lambda match: ids[match[0]], value) if isinstance(value, str) else value
            for name, value in plain.items()
        }

    return {name: sorted(map(readable, lines), key=repr) for name, lines in contents.items()}


@pytest.fixture
def sqlite(tmp_path: Path, mlflow_in: Callable[[Path], str]) -> tuple[str, str]:
    return mlflow_in(tmp_path / "tables"), mlflow_in(tmp_path / "client")


@pytest.fixture
def two_of_postgresql(tmp_path: Path) -> Iterator[tuple[str, str]]:
    with started(tmp_path) as uri:
        engine = sqlalchemy.create_engine(uri, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(sqlalchemy.text("CREATE DATABASE client"))
        engine.dispose()
        yield uri, uri.rpartition("/")[0] + "/client"


@pytest.mark.parametrize("databases", ["sqlite", pytest.param("two_of_postgresql", marks=pytest.mark.slow)])
def test_every_row_is_what_the_client_writes(
    databases: str, study: Study, trials: pd.DataFrame, request: pytest.FixtureRequest
) -> None:
    """With whatever MLflow is installed: one that passes may stand in TESTED."""
    ours, clients = request.getfixturevalue(databases)
    fill(ours, study, trials, by_tables=True)
    fill(clients, study, trials, by_tables=False)
    written, expected = content(ours), content(clients)
    assert len(written["runs"]) == 1 + len(trials)
    assert len(written["inputs"]) == 1 + len(trials)
    assert written.keys() == expected.keys()
    for table, lines in expected.items():
        assert written[table] == lines, table


def test_the_version_that_is_installed_is_tested() -> None:
    pinned = re.search(r"^mlflow==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert pinned is not None
    assert pinned[1] in TESTED


@pytest.mark.parametrize(
    ("version", "uri", "written"),
    [
        (TESTED[-1], "sqlite:////store/mlflow.db", True),
        (TESTED[-1], "postgresql+psycopg://me@host/mlflow", True),
        (TESTED[-1], "mysql://me@host/mlflow", False),
        (TESTED[-1], "http://host:5000", False),
        (f"{TESTED[-1]}.dev0", "sqlite:////store/mlflow.db", False),
        ("99.0.0", "sqlite:////store/mlflow.db", False),
    ],
)
def test_only_what_was_tested_is_written(version: str, uri: str, written: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "VERSION", version)
    assert tables.tested(uri) == written


def test_an_untested_version_is_left_to_the_client(
    study: Study, tmp_path: Path, mlflow_in: Callable[[Path], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which writes the same, as the test of every row shows."""
    uri = mlflow_in(tmp_path)
    for version, by_tables in ((TESTED[-1], True), ("99.0.0", False)):
        monkeypatch.setattr(tables, "VERSION", version)
        assert (Tracker(uri, study).tables is not None) == by_tables
