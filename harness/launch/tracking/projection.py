"""The ledger's projection into MLflow: what people browse. Beside tables, origin and app the only module that imports mlflow.

One experiment a study, a parent run a launch, a child run a trial. A trial is found again by its pack's tag, so that
projecting twice does no harm. One writer: this process.
"""

import json
import logging
import math
import os
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil

from ...declare import Configuration, Study
from ...declare.configuration import data_name
from ...declare.curves import CURVES
from ...errors import UserError, masked, quoted
from ...judge.verdict import Verdict
from ...plan.store.computations import Computation
from ...plan.store.mlflow_address import SQLITE, require_reachable
from ...plan.store.trial_schema import CURVE_PREFIX
from ...train.workloads.base import PROOF, READ
from .notes import (
    JUDGED,
    LONGEST_TAG,
    SIGNS,
    VIEW,
    claims_of,
    launch_note,
    page_link,
    saved_view,
    study_note,
    trial_name,
    trial_note,
    verdicts_note,
)
from .state import KIND, MODELS, NOTE, identity

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "CRITICAL")  # its errors reach us as such, and users as a line
os.environ.setdefault("MLFLOW_ENABLE_ASYNC_LOGGING", "false")
# A server that is away must not hold up training for minutes; the ledger keeps what it misses.
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "20")

for _name in ("alembic", "mlflow", "sqlalchemy"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)

from mlflow import MlflowClient  # noqa: E402
from mlflow.entities import Metric, Param, Run, RunTag, ViewType  # noqa: E402
from sqlalchemy.exc import OperationalError, SQLAlchemyError  # noqa: E402

from .origin import SOURCE, Origin  # noqa: E402
from .tables import Point, RunTables, TrialRun, tested  # noqa: E402

log = logging.getLogger(__name__)

# Limits of MLflow's log_batch.
METRICS_A_BATCH, PARAMS_A_BATCH = 1000, 100

# curve column -> (step column, name in MLflow)
TRACKED = {curve.name: (curve.steps, curve.tracked) for curve in CURVES if curve.steps and curve.tracked}
# Without a prefix: MLflow's page opens with the curves of each prefix, and has these below them.
FINALS = {
    "test_loss": "test_loss",
    "validation_loss": "validation_loss",
    "train_loss": "train_loss",
    "initial_loss": "initial_loss",
    "test_accuracy": "test_accuracy",
    "validation_accuracy": "validation_accuracy",
    "final_training_loss": "train_loss_in_eval_mode",
    "final_training_accuracy": "train_accuracy",
    "initial_accuracy": "initial_accuracy",
    "divergence_step": "divergence_step",
    "seconds": "seconds",
    "examples_per_second": "pack_examples_per_second",
    "peak_memory_bytes": "pack_peak_memory_bytes",
}
PARENT, LAUNCHER, NAME = "mlflow.parentRunId", "folklore.launcher", "mlflow.runName"
# Shown for every launch, be they 0; others where there are any.
VERDICTS = ("supported", "partly", "refuted", "open")


class Tracker:
    """Writes one study's launches and trials. Creates the database before anybody else opens it."""

    def __init__(self, uri: str, study: Study, artifacts: Path | None = None):
        require_reachable(uri)
        self.uri, self.study = uri, study
        try:
            if uri.startswith(SQLITE):
                _make_database(Path(uri.removeprefix(SQLITE)))
            self.client = MlflowClient(tracking_uri=uri)
            experiment = self.client.get_experiment_by_name(study.name)
            location = str(artifacts / study.name) if artifacts else None
            self.experiment = experiment.experiment_id if experiment else self.client.create_experiment(study.name, location)
            self._describe(experiment.tags if experiment else {})
            self.tables = self._tables()
            self._digests: set[str] | None = None
        except Exception as error:  # MLflow lets the errors of its databases and of HTTP through
            raise UserError(
                f"MLflow at {masked(uri)}: cannot be used ({quoted(error)}); give another with --tracking"
            ) from None

    @property
    def identity(self) -> str:
        """Names this MLflow and the life of its experiment: a database made again is another one."""
        return identity(self.uri, self.study.name, self.client.get_experiment(self.experiment).creation_time)

    def launch(self, scale: str, environment: Mapping[str, str], trials: int, datasets: Mapping[str, str]) -> str:
        """Open the parent run of one launch; returns its id. datasets: name -> hash."""
        origin = Origin(self.study.name, scale, datasets, environment.get("git_commit", ""))
        tags = {f"folklore.{name}": value for name, value in environment.items()}
        tags |= {
            "folklore.kind": "launch",
            "folklore.scale": scale,
            LAUNCHER: f"{os.uname().nodename}:{os.getpid()}",
            "folklore.study_hash": self.study.hash,
            "folklore.variation": str(self.study.variation_of is not None).lower(),
            NOTE: launch_note(self.study, scale, trials),
            **origin.tags,
        }
        run_id = str(self.client.create_run(self.experiment, run_name=self._name(scale), tags=tags).info.run_id)
        params = {"scale": scale, "study_version": self.study.version, "study_hash": self.study.hash, "trials_to_train": trials}
        self.client.log_batch(run_id, params=[Param(name, str(value)) for name, value in params.items()])
        self.client.log_inputs(run_id, origin.inputs)
        try:
            self.client.log_text(run_id, self.study.canonical_json(), "study.json")
        except Exception as error:  # runs and their numbers need no place for files
            log.warning("MLflow takes no files (%s): its launches have no study.json and no page", quoted(error))
        return run_id

    def attach(self, run_id: str, pages: Mapping[str, str]) -> None:
        """Pages, by file name, as the run's artifact `report`."""
        for name, text in pages.items():
            self.client.log_text(run_id, text, f"report/{name}")

    def measure(self, run_id: str, values: Mapping[str, float], step: int) -> None:
        """A sample of what the machine does, under the names by which MLflow shows system metrics."""
        now = int(time.time() * 1000)
        self.client.log_batch(run_id, metrics=[Metric(f"system/{name}", value, now, step) for name, value in values.items()])

    def judged(self, run_id: str, verdicts: Sequence[Verdict]) -> None:
        """Write a launch's verdicts: counts in its name, which every row shows, and as metrics, by which launches can be
        sorted; in its note each claim with its verdict and estimate."""
        counts = {**dict.fromkeys(VERDICTS, 0), **Counter(verdict.verdict for verdict in verdicts)}
        now = int(time.time() * 1000)
        metrics = [Metric(f"verdicts/{name.replace(' ', '_')}", float(count), now, 0) for name, count in counts.items()]
        self.client.log_batch(run_id, metrics=metrics)
        tags = self.client.get_run(run_id).data.tags
        signs = " ".join(f"{SIGNS[name]}{count}" for name, count in counts.items() if count)
        said = verdicts_note(verdicts, counts, self.experiment, self._page(run_id))
        note = f"{tags.get(NOTE, '').partition(JUDGED)[0]}{JUDGED}{said}"
        if len(note) > LONGEST_TAG:
            note = note[:LONGEST_TAG].rpartition("\n")[0]
        named = " · ".join(filter(None, (signs, self._name(tags.get("folklore.scale", "")))))
        self.client.log_batch(run_id, tags=[RunTag(NOTE, note), RunTag(NAME, named)])

    def _page(self, run_id: str) -> str:
        return page_link(self.experiment, run_id, self.study.name)

    def _name(self, scale: str) -> str:
        return f"{self.study.name} · {scale}"

    def _describe(self, tags: Mapping[str, str]) -> None:
        """Set what MLflow shows above the experiment's runs, and the kind of the experiment."""
        shown = {NOTE: study_note(self.study, self.experiment), KIND: MODELS, VIEW: saved_view(self.study)}
        for name, value in shown.items():
            if tags.get(name) != value:
                self.client.set_experiment_tag(self.experiment, name, value)

    def finish(self, run_id: str, status: str) -> None:
        """status: FINISHED, FAILED or KILLED, in MLflow's words."""
        self.client.set_terminated(run_id, status)

    def check(self) -> None:
        """Write a run, read it back and delete it. Raises what MLflow raises, or ValueError."""
        run_id = self.client.create_run(self.experiment, run_name="doctor").info.run_id
        try:
            self.client.log_batch(run_id, metrics=[Metric("check", 1.0, 0, 0)])
            if self.client.get_run(run_id).data.metrics != {"check": 1.0}:
                raise ValueError("what MLflow gives back differs from what was written")
        finally:
            self.client.delete_run(run_id)

    def close_stale(self) -> None:
        """Close launches whose process is gone, and remove trials that they left half written."""
        running = list(self._runs("attributes.status = 'RUNNING'"))
        alive = {
            run.info.run_id
            for run in running
            if run.data.tags.get("folklore.kind") == "launch" and _is_alive(run.data.tags.get(LAUNCHER, ""))
        }
        for run in running:
            if run.data.tags.get("folklore.kind") == "launch":
                if run.info.run_id not in alive:
                    self.client.set_terminated(run.info.run_id, "KILLED")
            elif run.data.tags.get(PARENT) not in alive:
                self.client.delete_run(run.info.run_id)

    def record(self, trials: pd.DataFrame, parent: str | None) -> None:
        """Project the trials of one pack; those already there, be it by another pack, are left alone."""
        claims = {scale: claims_of(self.study, scale) for scale in set(trials["scale"])}
        self._record({trial["digest"]: partial(self._run, trial, parent, claims) for _, trial in trials.iterrows()})

    def _run(self, trial: pd.Series, parent: str | None, claims_by_arm: Mapping[str, Mapping[str, Sequence[str]]]) -> TrialRun:
        arm = trial["arm"]
        label = self.study.arms[arm].label if arm in self.study.arms else arm
        claims = claims_by_arm[trial["scale"]].get(arm, [])
        page = None if parent is None else self._page(parent)
        tags = {"folklore.claims": ", ".join(claims)[:LONGEST_TAG], NOTE: trial_note(claims, page)[:LONGEST_TAG]}
        return _run(trial, trial_name(label, json.loads(trial["point"]), trial["seed"]), tags, parent)

    def record_computation(self, computation: Computation, scale: str, parent: str | None) -> None:
        """Project the result of a computed job, a run of its own."""
        self._record({computation.digest: partial(_computed_run, computation, scale, parent)})

    def _record(self, runs: Mapping[str, Callable[[], TrialRun]]) -> None:
        """runs: digest -> what makes the run, if it is not there yet."""
        if self._digests is None:
            self._digests = self._present()
        missing = [made() for digest, made in runs.items() if digest not in self._digests]
        try:
            if not self._by_tables(lambda tables: tables.write(missing)):
                for run in missing:
                    self._write_by_client(run)
        except Exception:
            self._digests = None  # those that got there are asked for next time
            raise
        self._digests.update(runs)

    def complete(self) -> bool:
        """Give runs that an earlier Folklore wrote what their columns show: source and data. Whether there were any."""
        if self.tables is not None and not self.tables.any_without(SOURCE):
            return False
        runs = [run for run in self._runs("") if SOURCE not in run.data.tags and run.info.status != "RUNNING"]
        missing = {run.info.run_id: _known_origin(run, self.study.name) for run in runs}
        for run in runs:
            launch = missing.get(run.data.tags.get(PARENT, ""))
            if launch is not None:  # it used what its trials did
                used = {**launch.datasets, **missing[run.info.run_id].datasets}
                missing[run.data.tags[PARENT]] = replace(launch, datasets=used)
        added = {run_id: (origin.tags, origin.inputs) for run_id, origin in missing.items()}
        if not self._by_tables(lambda tables: tables.add(added)):
            for run_id, origin in missing.items():
                self.client.log_inputs(run_id, origin.inputs)
                self.client.log_batch(run_id, tags=[RunTag(name, value) for name, value in origin.tags.items()])
        return bool(missing)

    def uncounted(self) -> dict[str, str]:
        """Scale -> the last launch there, if it has no counts of verdicts and is over."""
        last: dict[str, Run] = {}
        for run in self._runs("tags.`folklore.kind` = 'launch'"):  # the last first
            last.setdefault(run.data.tags.get("folklore.scale", ""), run)
        return {
            scale: run.info.run_id
            for scale, run in last.items()
            if run.info.status != "RUNNING" and "verdicts/supported" not in run.data.metrics
        }

    def _present(self) -> set[str]:
        """The trials and computed jobs this MLflow has. What was written half is removed: this process is the only writer."""
        digests = set()
        for run in self._runs("tags.`folklore.kind` != 'launch'"):
            if run.info.status == "RUNNING":
                self.client.delete_run(run.info.run_id)
            else:
                digests.add(run.data.tags.get("folklore.digest", ""))
        return digests

    def _by_tables(self, write: Callable[[RunTables], None]) -> bool:
        """Whether there are tables, and they took it; if they did not, they are not tried again."""
        if self.tables is None:
            return False
        try:
            write(self.tables)
        except OperationalError:  # locked, full or gone: the client would fare no better
            raise
        except SQLAlchemyError as error:
            log.warning("MLflow's tables are not as they were (%s): runs are written one by one", quoted(error))
            self.tables = None
        return self.tables is not None

    def _write_by_client(self, run: TrialRun) -> None:
        run_id = self.client.create_run(self.experiment, run.start, dict(run.tags), run.name).info.run_id
        self.client.log_inputs(run_id, list(run.inputs))
        params = [Param(name, value) for name, value in run.params.items()]
        metrics = [Metric(*point) for point in run.metrics]
        for start in range(0, len(metrics), METRICS_A_BATCH):
            self.client.log_batch(run_id, metrics=metrics[start : start + METRICS_A_BATCH], params=params)
            params = []
        self.client.set_terminated(run_id, "FINISHED", end_time=run.end)

    def _tables(self) -> RunTables | None:
        """Direct access where that is tested; None where the client writes."""
        location = self.client.get_experiment(self.experiment).artifact_location
        if not tested(self.uri) or "?" in location:
            return None
        return RunTables(self.uri, self.experiment, location)

    def _runs(self, query: str) -> Iterator[Run]:
        token: str | None = None
        while True:
            page = self.client.search_runs([self.experiment], query, ViewType.ACTIVE_ONLY, 1000, page_token=token)
            yield from page
            token = page.token
            if not token:
                return


def _run(trial: pd.Series, name: str, more_tags: Mapping[str, str], parent: str | None) -> TrialRun:
    end = int(datetime.fromisoformat(trial["finished_at"]).timestamp() * 1000)
    named = ("digest", "pack", "arm", "seed", "scale", "device", "outcome", "data_hash", "program", "width_source")
    origin = _origin(trial)
    tags = {f"folklore.{name}": str(trial[name]) for name in named} | {"folklore.kind": "trial"} | origin.tags | dict(more_tags)
    # Of a user's workload or data: what was proved and what was read.
    said = json.loads(trial["environment"])
    tags |= {f"folklore.{name}": said[name][:LONGEST_TAG] for name in (PROOF, READ) if name in said}
    if parent is not None:
        tags[PARENT] = parent
    params = dict(list(_params(trial).items())[:PARAMS_A_BATCH])
    return TrialRun(
        name=name,
        start=end - int(1000 * trial["seconds"]),
        end=end,
        tags=tags,
        params={name: str(value) for name, value in params.items()},
        metrics=list(_metrics(trial, end)),
        inputs=origin.inputs,
    )


def _computed_run(computation: Computation, scale: str, parent: str | None) -> TrialRun:
    """A computed job's run: arguments as parameters, numbers as metrics; the step of a number by seed is the seed."""
    end = int(datetime.fromisoformat(computation.finished_at).timestamp() * 1000)
    origin = Origin(computation.study, scale, {}, computation.environment.get("git_commit", ""))
    tags = {"folklore.kind": "computed", "folklore.digest": computation.digest, "folklore.scale": scale} | origin.tags
    if parent is not None:
        tags[PARENT] = parent
    metrics = [
        Point(f"computed/{name}", value, end, seed or 0)
        for name in computation.numbers
        for seed, value in computation.values(name).items()
    ]
    return TrialRun(
        name=f"computed · {computation.job.call}",
        start=end - int(1000 * computation.seconds),
        end=end,
        tags=tags,
        params={
            "function": computation.job.function,
            "version": str(computation.job.version),
            "arguments": computation.job.arguments,
        },
        metrics=metrics,
    )


def _origin(trial: pd.Series) -> Origin:
    dataset = data_name(**json.loads(trial["configuration"])["workload"])
    commit = json.loads(trial["environment"]).get("git_commit", "")
    return Origin(trial["study"], trial["scale"], {dataset: trial["data_hash"]}, commit)


def _known_origin(run: Run, study: str) -> Origin:
    """The origin of a run, from its own tags and parameters."""
    tags, dataset = run.data.tags, run.data.params.get("workload.dataset")
    data = dataset and data_name(dataset, run.data.params.get("workload.tokenizer", "bytes"))
    datasets = {data: tags["folklore.data_hash"]} if data and "folklore.data_hash" in tags else {}
    return Origin(study, tags.get("folklore.scale", ""), datasets, tags.get("folklore.git_commit", ""))


def _metrics(trial: pd.Series, timestamp: int) -> Iterator[Point]:
    """Final values, then curves; what is not finite is left out, and the tag `folklore.outcome` says why."""
    for column, name in FINALS.items():
        if trial[column] is not None and math.isfinite(trial[column]):
            yield Point(name, float(trial[column]), timestamp, 0)
    yield Point("diverged", float(trial["outcome"] == "diverged"), timestamp, 0)
    for column, (steps, name) in TRACKED.items():
        if trial[CURVE_PREFIX + column] is None:  # nobody asked for it
            continue
        values, at = np.asarray(trial[CURVE_PREFIX + column], dtype=np.float64), np.asarray(trial[CURVE_PREFIX + steps])
        kept = np.isfinite(values)
        for value, step in zip(values[kept].tolist(), at[kept].astype(int).tolist(), strict=True):
            yield Point(name, value, timestamp, step)


def _params(trial: pd.Series) -> dict[str, Any]:
    """Arm, factors and seed first, then what else differs from the defaults: MLflow's page lists them in this order."""
    configuration = Configuration.model_validate_json(trial["configuration"])
    flat = _flat(json.loads(trial["configuration"]))
    factors = {name for point in json.loads(trial["point"]) for name in flat if name.partition(".")[2] == point}
    chosen = factors | _flat(configuration.model_dump(exclude_defaults=True)).keys()
    first = sorted(flat, key=lambda name: (name not in factors, name not in chosen))
    return {"arm": trial["arm"], "seed": trial["seed"], **{name: flat[name] for name in first}}


def _flat(configuration: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {f"{part}.{name}": value for part, values in configuration.items() for name, value in values.items()}


def _is_alive(launcher: str) -> bool:
    """Whether the process still runs; one on another machine is taken to."""
    host, _, pid = launcher.rpartition(":")
    if host != os.uname().nodename:
        return bool(host)
    return pid.isdigit() and psutil.pid_exists(int(pid))


def _make_database(path: Path) -> None:
    """Makes a new database, whole or not at all: one left in the middle of MLflow's migrations could never be opened again."""
    if path.exists():
        return
    draft = path.with_name(f"{path.name}.{uuid.uuid4().hex}.new")
    try:
        MlflowClient(tracking_uri=f"{SQLITE}{draft}").search_experiments(max_results=1)
        with suppress(FileExistsError):  # made by another process meanwhile
            os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)
