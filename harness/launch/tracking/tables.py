"""Finished runs into an MLflow database, a pack in one transaction.

MLflow's client writes a run with 400 metrics in some fourteen sessions of its object mapper, 50 ms of a core: where trials
are short that is more than their training. Here the same rows go into MLflow's own tables at once, so that a pack is there
as a whole or not at all. These tables are MLflow's private matter: they are written only where a test has compared every row.
"""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import sqlalchemy
from mlflow.entities import DatasetInput
from mlflow.version import VERSION
from sqlalchemy.engine import Connection

# With these versions of MLflow and these databases tests/harness/launch/tracking/test_tables.py has compared every row of every
# table with what the client writes. With all others the client writes.
TESTED = ("3.10.0", "3.14.0", "3.17.0", "3.17.2")
TESTED_DATABASES = ("sqlite:", "postgresql")
# Seconds to wait for another writer of an SQLite file.
LOCK_SECONDS = 20


def tested(uri: str) -> bool:
    """Whether the tables behind this address may be written."""
    return VERSION in TESTED and uri.startswith(TESTED_DATABASES)


class Point(NamedTuple):
    """A value of a metric. MLflow's own class takes longer to make than to write, and a study has millions of them."""

    key: str
    value: float
    timestamp: int
    step: int


@dataclass(frozen=True)
class TrialRun:
    """All that MLflow keeps of one trial. Times in milliseconds since 1970."""

    name: str
    start: int
    end: int
    tags: Mapping[str, str]
    params: Mapping[str, str]
    metrics: Sequence[Point] = field(repr=False)
    inputs: Sequence[DatasetInput] = ()


# Table -> its rows, by their columns.
Rows = dict[str, list[dict[str, Any]]]
METRIC_COLUMNS = ("run_uuid", "is_nan", *Point._fields)


class RunTables:
    """The tables of one MLflow database, for one experiment whose artifacts lie at `artifacts`."""

    def __init__(self, uri: str, experiment: str, artifacts: str):
        options = {"timeout": LOCK_SECONDS} if uri.startswith("sqlite:") else {}
        self.engine = sqlalchemy.create_engine(uri, connect_args=options)
        self.experiment, self.artifacts = int(experiment), artifacts.rstrip("/")

    def write(self, runs: Iterable[TrialRun]) -> None:
        """Insert finished runs. Raises sqlalchemy.exc.SQLAlchemyError, and then nothing is written."""
        rows: Rows = defaultdict(list)
        points: dict[str, list[tuple[Any, ...]]] = {"metrics": [], "latest_metrics": []}
        inputs: dict[str, Sequence[DatasetInput]] = {}
        for run in runs:
            run_id = uuid.uuid4().hex
            rows["runs"].append(self._run(run_id, run))
            rows["tags"] += _tag_rows(run_id, {**run.tags, "mlflow.runName": run.name})
            rows["params"] += [{"run_uuid": run_id, "key": key, "value": value} for key, value in run.params.items()]
            points["metrics"] += [(run_id, False, *point) for point in run.metrics]
            points["latest_metrics"] += [(run_id, False, *point) for point in _latest(run.metrics)]
            inputs[run_id] = run.inputs
        with self.engine.begin() as connection:
            _insert(connection, rows)
            for table, values in points.items():
                _insert_points(connection, table, values)
            _insert(connection, self._input_rows(connection, inputs))

    def any_without(self, tag: str) -> bool:
        """Whether a finished run lacks a tag; to load all runs takes the client seconds."""
        query = sqlalchemy.text(
            "SELECT 1 FROM runs WHERE experiment_id = :experiment AND lifecycle_stage = 'active' AND status <> 'RUNNING'"
            " AND NOT EXISTS (SELECT 1 FROM tags WHERE tags.run_uuid = runs.run_uuid AND tags.key = :tag) LIMIT 1"
        )
        with self.engine.connect() as connection:
            return connection.execute(query, {"experiment": self.experiment, "tag": tag}).first() is not None

    def add(self, runs: Mapping[str, tuple[Mapping[str, str], Sequence[DatasetInput]]]) -> None:
        """Give runs that are there tags and datasets they do not have. Raises as `write`."""
        tags = [row for run_id, (tags, _) in runs.items() for row in _tag_rows(run_id, tags)]
        with self.engine.begin() as connection:
            _insert(connection, {"tags": tags})
            _insert(connection, self._input_rows(connection, {run_id: inputs for run_id, (_, inputs) in runs.items()}))

    def _input_rows(self, connection: Connection, inputs: Mapping[str, Sequence[DatasetInput]]) -> Rows:
        """A dataset has one row in its experiment, to which each run that used it is tied."""
        rows: Rows = defaultdict(list)
        query = sqlalchemy.text("SELECT name, digest, dataset_uuid FROM datasets WHERE experiment_id = :experiment")
        datasets = connection.execute(query, {"experiment": self.experiment})
        known = {(name, digest): dataset_id for name, digest, dataset_id in datasets}
        for run_id, used in inputs.items():
            for dataset_input in used:
                key = (dataset_input.dataset.name, dataset_input.dataset.digest)
                if key not in known:
                    known[key] = uuid.uuid4().hex
                    rows["datasets"].append(self._dataset(known[key], dataset_input))
                input_id = uuid.uuid4().hex
                tie = {"input_uuid": input_id, "source_type": "DATASET", "source_id": known[key]}
                rows["inputs"].append({**tie, "destination_type": "RUN", "destination_id": run_id})
                rows["input_tags"] += [
                    {"input_uuid": input_id, "name": tag.key, "value": tag.value} for tag in dataset_input.tags
                ]
        return rows

    def _dataset(self, dataset_id: str, used: DatasetInput) -> dict[str, Any]:
        return {
            "dataset_uuid": dataset_id,
            "experiment_id": self.experiment,
            "name": used.dataset.name,
            "digest": used.dataset.digest,
            "dataset_source_type": used.dataset.source_type,
            "dataset_source": used.dataset.source,
            "dataset_schema": used.dataset.schema,
            "dataset_profile": used.dataset.profile,
        }

    def _run(self, run_id: str, run: TrialRun) -> dict[str, Any]:
        return {
            "run_uuid": run_id,
            "name": run.name,
            "source_type": "UNKNOWN",
            "source_name": "",
            "entry_point_name": "",
            "user_id": "unknown",
            "status": "FINISHED",
            "start_time": run.start,
            "end_time": run.end,
            "source_version": "",
            "lifecycle_stage": "active",
            "artifact_uri": f"{self.artifacts}/{run_id}/artifacts",
            "experiment_id": self.experiment,
        }


def _insert(connection: Connection, rows: Rows) -> None:
    for name, values in rows.items():
        if values:
            table = sqlalchemy.table(name, *(sqlalchemy.column(column) for column in values[0]))
            connection.execute(sqlalchemy.insert(table), values)


def _tag_rows(run_id: str, tags: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"run_uuid": run_id, "key": key, "value": value} for key, value in tags.items()]


def _insert_points(connection: Connection, table: str, values: Sequence[tuple[Any, ...]]) -> None:
    """As `_insert`. SQLite's driver takes them as they are, which spares the half of the time that dictionaries take."""
    if connection.dialect.name == "sqlite" and values:
        columns, places = ", ".join(METRIC_COLUMNS), ", ".join("?" * len(METRIC_COLUMNS))
        connection.exec_driver_sql(f"INSERT INTO {table} ({columns}) VALUES ({places})", list(values))
    else:
        _insert(connection, {table: [dict(zip(METRIC_COLUMNS, point, strict=True)) for point in values]})


def _latest(points: Iterable[Point]) -> Iterable[Point]:
    """The points that MLflow shows as metrics' values: those of the last step."""
    latest: dict[str, Point] = {}
    for point in points:
        if (known := latest.get(point.key)) is None or (point.step, point.value) > (known.step, known.value):
            latest[point.key] = point
    return latest.values()
