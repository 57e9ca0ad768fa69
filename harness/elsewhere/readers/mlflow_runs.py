"""Runs of an MLflow experiment: mlflow:EXPERIMENT, http://HOST:PORT#EXPERIMENT, FILE.db#EXPERIMENT, a folder mlruns."""

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UserError, quoted, unknown
from ...input_files import TooMuchError
from ...plan.store.mlflow_address import DATABASES, SERVERS, SQLITE, default_uri, require_reachable
from ..table import MOST_ROWS, Problem, Role, Table
from .columns import beside, frame_of
from .databases import OF_MLFLOW, tables_of
from .restarts import Restarts, part_name, placed_after, problems_of, restarts_of, rows_of
from .source import Source, problem, readable

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

# A scheme of ours before an experiment's name, or before an address that is not known as MLflow's by itself.
NAMED, BEFORE = "mlflow:", "mlflow+"
# Databases store the largest float in place of infinity.
LARGEST_FLOAT = 1.7976931348623157e308
# The prefix of MLflow's measurements of the machine.
OF_MACHINE = "system/"
EXPERIMENT_FILE = "meta.yaml"
# No telemetry, folders as they were written before databases, and no minutes of trying a server again.
# A busy server may take longer than 20 seconds, our limit elsewhere, for a page of 25,000 values.
SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ALLOW_FILE_STORE": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "120",
}
# Requests at once.
REQUESTS = 8
# Experiments, or runs, of one answer: no server gives more than 50,000.
PAGE = 1000
CRASHED = "left out; if they stopped because they diverged, the verdict is too good for their arm"
# Metric -> (timestamp, step, value).
History = dict[str, list[tuple[int, int, float]]]
# The prefix of tags that `folklore judge --write-back` wrote.
OF_VERDICTS = "folklore.judged"
PARENT = "mlflow.parentRunId"
OF_CHILDREN = "left out: they sum up the runs below them"
STEPLESS = "which is none: each counts one step after the last one before it"


@dataclass(frozen=True)
class _Log:
    """The log of a run. rows: part and step -> metrics. has_several: whether a metric has several values at a step;
    has_stepless: whether a value has a negative one."""

    restarts: Restarts
    rows: dict[tuple[int, int], dict[str, Any]]
    has_several: bool
    has_stepless: bool

    @classmethod
    def of(cls, history: History, is_long: bool) -> "_Log":
        """is_long: whether any run has curves; else the steps say nothing. At one time, values without a step come last."""
        points = [(time, step < 0, step, name, value) for name, log in history.items() for time, step, value in log]
        points.sort(key=lambda point: point[:3])
        steps, names = [step if is_long else 0 for _, _, step, *_ in points], [name for *_, name, _ in points]
        values = [math.copysign(math.inf, value) if abs(value) == LARGEST_FLOAT else value for *_, value in points]
        restarts = restarts_of(placed_after(steps, names), values, names)
        return cls(restarts, *rows_of(restarts, values, names), any(step < 0 for step in steps))


def recognizes(source: Source) -> bool:
    """Addresses; databases by their tables; folders in which folders have a file of MLflow's."""
    if source.path is None:
        return source.address.startswith((NAMED, BEFORE, *SERVERS, *DATABASES)) and not source.address.startswith(SQLITE)
    if source.is_folder:
        return any(file.count("/") == 1 and file.endswith(f"/{EXPERIMENT_FILE}") for file in source.files)
    return tables_of(source.path) >= OF_MLFLOW


def read(source: Source) -> Table:
    """A row for each finished run, or for each of its steps if any metric was logged more than once: run_id, run_name, step,
    params, tags that users set, metrics. Raises UserError."""
    from unittest.mock import patch  # a quarter of a second, and few tables are MLflow's

    uri = _uri(source)
    if uri.startswith(SQLITE) and not tables_of(Path(uri.removeprefix(SQLITE))) >= OF_MLFLOW:  # MLflow would make one
        raise source.error(f"no database of MLflow is at {uri}", "name one that is there, or set MLFLOW_TRACKING_URI")
    try:
        require_reachable(uri)
    except UserError:
        raise source.error("no MLflow server answers there", "start it, or fix its address") from None
    try:
        with patch.dict(os.environ, SETTINGS):
            return _read(source, uri)
    except (UserError, ModuleNotFoundError):
        raise
    except Exception as error:  # MLflow lets the errors of its databases and of HTTP through
        raise source.error(f"MLflow cannot read it ({quoted(error)})", "fix that, or export the runs as CSV") from None


def set_tags(source: Source, tags: Mapping[str, Mapping[str, str]]) -> None:
    """run_id -> tag -> value. Tags of earlier verdicts go. Lets MLflow's errors through."""
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=_uri(source))
    for run, own in tags.items():
        for name in client.get_run(run).data.tags:
            if name.startswith(OF_VERDICTS) and name not in own:
                client.delete_tag(run, name)
        for name, value in own.items():
            client.set_tag(run, name, value)


def _read(source: Source, uri: str) -> Table:
    from mlflow.entities import RunStatus, ViewType
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    experiment = _experiment(client, source)
    every = list(_runs(client, experiment, ViewType.ACTIVE_ONLY))
    summaries = _summaries(every)
    finished = [run for run in every if run.info.status == RunStatus.to_string(RunStatus.FINISHED) and run not in summaries]
    done = [run for run in finished if run.data.metrics]
    if not done:
        raise source.error("no finished run with a metric is in the experiment", "name another as ADDRESS#EXPERIMENT")
    with readable(source.place):
        histories = _histories(client, done)
        is_long = any(len(points) > 1 for history in histories for points in history.values())
        logs = {run: _Log.of(history, is_long) for run, history in zip(done, histories, strict=True)}
        frame = frame_of([row for run, log in logs.items() for row in _rows(run, log, is_long)])
    deleted = sum(1 for _ in _runs(client, experiment, ViewType.DELETED_ONLY))
    problems = (
        *_unfinished([run for run in every if run not in done and run not in summaries], every),
        *problem("deleted runs", deleted, "left out"),
        *problem("parent runs that hold a metric of their children", len(summaries), OF_CHILDREN, map(_name, summaries)),
        *_of_logs({run.info.run_id: log for run, log in logs.items()}),
    )
    roles: dict[Role, str] = {"run": "run_id", **({"step": "step"} if is_long else {})}
    return Table(frame, source.shown, "MLflow runs", roles, problems)


def _unfinished(runs: list["Run"], every: list["Run"]) -> tuple[Problem, ...]:
    """A parent without a metric is none: it holds its children together."""
    parents = {run.data.tags.get(PARENT) for run in every}
    states = [run.info.status for run in runs if run.data.metrics or run.info.run_id not in parents]
    counts = Counter("without a metric" if state == "FINISHED" else state.lower() for state in states)
    return problem("runs that did not finish", len(states), CRASHED, [f"{count} {state}" for state, count in counts.items()])


def _of_logs(logs: Mapping[str, _Log]) -> tuple[Problem, ...]:
    stepless = [name for name, log in logs.items() if log.has_stepless]
    return (
        *problem("runs with values at a step below 0", len(stepless), STEPLESS, stepless),
        *problems_of(
            {name: log.restarts for name, log in logs.items()}, [name for name, log in logs.items() if log.has_several]
        ),
    )


def _uri(source: Source) -> str:
    if source.path is not None:
        return f"{SQLITE}{source.path.absolute()}" if not source.is_folder else source.path.absolute().as_uri()
    if source.address.startswith(NAMED):
        own = default_uri(Path(os.environ.get("FOLKLORE_STORE", "results")).absolute())
        return os.environ.get("MLFLOW_TRACKING_URI") or os.environ.get("FOLKLORE_TRACKING") or own
    return source.address.removeprefix(BEFORE)


def _experiment(client: "MlflowClient", source: Source) -> str:
    """Its id, by its name or its id; the only one with runs if none is named. Raises UserError."""
    name = source.part or source.address.removeprefix(NAMED) * source.address.startswith(NAMED)
    if name and (named := client.get_experiment_by_name(name)):
        return str(named.experiment_id)
    ids = {experiment.name: experiment.experiment_id for experiment in client.search_experiments(max_results=PAGE)}
    if name in ids.values():
        return name
    if name:
        raise unknown(f"experiment in {source.shown}", name, ids)
    full = [experiment for experiment in ids if client.search_runs([ids[experiment]], max_results=1)]
    if len(full) != 1:
        raise source.error(f"has {len(full)} experiments with runs ({', '.join(full[:8])})", "name one as ADDRESS#EXPERIMENT")
    return str(ids[full[0]])


def _runs(client: "MlflowClient", experiment: str, view: int) -> Iterator["Run"]:
    """Page by page: without its token, the second page would be missing without a word."""
    token: str | None = None
    while True:
        page = client.search_runs([experiment], run_view_type=view, max_results=PAGE, page_token=token)
        yield from page
        if not (token := page.token):
            return


def _histories(client: "MlflowClient", runs: list["Run"]) -> list[History]:
    """Metric -> its points as they were logged, for each run. Raises TooMuchError."""
    total = 0

    def history(run: "Run") -> History:
        nonlocal total
        names = [name for name in run.data.metrics if not name.startswith(OF_MACHINE)]
        points = {
            name: [(point.timestamp, point.step, point.value) for point in client.get_metric_history(run.info.run_id, name)]
            for name in names
        }
        total += sum(map(len, points.values()))
        if total > MOST_ROWS:
            raise TooMuchError(f"holds more than {MOST_ROWS:,} values, the most that are read")
        return points

    with ThreadPoolExecutor(REQUESTS) as pool:
        return list(pool.map(history, runs))


def _summaries(runs: list["Run"]) -> list["Run"]:
    """Runs that hold a metric of runs below them, such as the best of a sweep."""
    above = {run.info.run_id: run.data.tags.get(PARENT) for run in runs}
    below: dict[str, set[str]] = {}
    for run in runs:
        parent, passed = above[run.info.run_id], {run.info.run_id}
        while parent is not None and parent not in passed:
            passed.add(parent)
            below.setdefault(parent, set()).update(name for name in run.data.metrics if not name.startswith(OF_MACHINE))
            parent = above.get(parent)
    return [run for run in runs if below.get(run.info.run_id, set()) & run.data.metrics.keys()]


def _name(run: "Run") -> str:
    return str(run.info.run_name)


def _rows(run: "Run", log: _Log, is_long: bool) -> Iterator[dict[str, Any]]:
    tags = {name: value for name, value in run.data.tags.items() if not name.startswith(("mlflow.", OF_VERDICTS))}
    taken = {"run_id", "run_name", "step", *(name for values in log.rows.values() for name in values)}
    around = {**beside(tags, {*taken, *run.data.params}, "tags."), **beside(run.data.params, taken, "params.")}
    for (part, step), values in log.rows.items():
        own = {"run_id": part_name(run.info.run_id, part), "run_name": _name(run)}
        yield {**own, **around, **({"step": step} if is_long else {}), **values}
