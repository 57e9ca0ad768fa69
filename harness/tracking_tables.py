"""Finished runs into an MLflow database, a pack in one transaction.

MLflow's client writes a run with 400 metrics in some fourteen sessions of its object mapper, 50 ms of a core: where trials
are short that is more than their training. Here the same rows go into MLflow's own tables at once, so that a pack is there
as a whole or not at all. A test holds what comes out against the client's way; whatever these tables refuse (another
version of MLflow may have changed them) goes that way, too.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy
from mlflow.entities import Metric
from mlflow.store.tracking.dbmodels.models import SqlLatestMetric, SqlMetric, SqlParam, SqlRun, SqlTag

# Seconds to wait for another writer of an SQLite file.
LOCK_SECONDS = 20


@dataclass(frozen=True)
class TrialRun:
    """All that MLflow keeps of one trial. Times in milliseconds since 1970."""

    name: str
    start: int
    end: int
    tags: Mapping[str, str]
    params: Mapping[str, str]
    metrics: Sequence[Metric] = field(repr=False)


class RunTables:
    """The tables of one MLflow database, for one experiment whose artifacts lie at `artifacts`."""

    def __init__(self, uri: str, experiment: str, artifacts: str):
        options = {"timeout": LOCK_SECONDS} if uri.startswith("sqlite:") else {}
        self.engine = sqlalchemy.create_engine(uri, connect_args=options)
        self.experiment, self.artifacts = int(experiment), artifacts.rstrip("/")

    def write(self, runs: Iterable[TrialRun]) -> None:
        """Insert finished runs. Raises sqlalchemy.exc.SQLAlchemyError, and then nothing is written."""
        rows: dict[Any, list[dict[str, Any]]] = {SqlRun: [], SqlTag: [], SqlParam: [], SqlMetric: [], SqlLatestMetric: []}
        for run in runs:
            run_id = uuid.uuid4().hex
            rows[SqlRun].append(self._run(run_id, run))
            tags = {**run.tags, "mlflow.runName": run.name}
            rows[SqlTag] += [{"run_uuid": run_id, "key": key, "value": value} for key, value in tags.items()]
            rows[SqlParam] += [{"run_uuid": run_id, "key": key, "value": value} for key, value in run.params.items()]
            rows[SqlMetric] += _metric_rows(run_id, run.metrics)
            rows[SqlLatestMetric] += _metric_rows(run_id, _latest(run.metrics))
        with self.engine.begin() as connection:
            for table, values in rows.items():
                if values:
                    connection.execute(sqlalchemy.insert(table.__table__), values)

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


def _metric_rows(run_id: str, metrics: Iterable[Metric]) -> Iterator[dict[str, Any]]:
    for metric in metrics:
        values = {"key": metric.key, "value": metric.value, "timestamp": metric.timestamp, "step": metric.step}
        yield {"run_uuid": run_id, "is_nan": False, **values}


def _latest(metrics: Iterable[Metric]) -> Iterable[Metric]:
    """What MLflow shows as a metric's value: the one of the last step."""
    latest: dict[str, Metric] = {}
    for metric in metrics:
        if metric.key not in latest or (metric.step, metric.value) > (latest[metric.key].step, latest[metric.key].value):
            latest[metric.key] = metric
    return latest.values()
