"""Training of planned studies, one or many at once, on one Ray: what is left of each is trained, recorded and projected.

Lanes are measured first, then packs are handed out, study after study in the order given; the next study's fill the workers
that a search leaves waiting. An interrupt or a deadline stops it cleanly: packs in flight leave a checkpoint.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pandas as pd

from ..errors import UnwritableError, quoted
from ..options import Options, checkpoint_seconds
from ..plan.plan import Plan, PlannedPack, make_pack
from ..plan.prepare import Prepared
from ..plan.starts import kept_steps, starts_of
from ..train.workloads import workload_of
from .computing_job import ComputingJob, ComputingQueue
from .jobs import Job, JobQueue, Progress
from .lanes_job import lanes_job
from .pack_queue import InTurn, MeasuredFirst, PackQueue
from .progress import RunView
from .ray_process import RayProcess
from .rounds import Rounds
from .tracking.live import Launch, Projector, Sink
from .tracking.sync import open_tracker
from .training_job import TrainingJob

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LaunchOutcome:
    """Outcome of one study's part. interrupted: something is left to train, for want of time or by the user's wish.
    given_up: trials and computed jobs. run_id: the launch's run in MLflow, where it has one."""

    trained: int
    given_up: int
    interrupted: bool
    not_in_mlflow: int
    study: str = ""
    run_id: str | None = None


def train(
    prepared: Sequence[Prepared],
    options: Options,
    view: RunView,
    ray: RayProcess,
    deadline: float | None = None,
    at_the_end: Callable[[], object] = lambda: None,
    after_round: Callable[[Prepared], object] | None = None,
) -> list[LaunchOutcome]:
    """Train what is left of each study and project it into MLflow. Finished packs are kept whatever happens.

    deadline: when training stops, by time.monotonic. at_the_end: called in a thread while Ray ends. after_round: called in a
    thread with what is trained, alone, after each round of its seeds (rounds.py). Raises UnwritableError where the store takes
    nothing any more, and RunFailedError where Ray is lost for good or a user's code raises.
    """
    projector = Projector()
    parts = [StudyRun(study, options, view, projector) for study in prepared]
    if after_round is not None and len(parts) == 1:
        parts[0].show_rounds(after_round)
    try:
        for part in parts:
            projector.serve(part.sink)
        queue = _queue(parts)
        # MLflow opens while Ray is waited for.
        projector.start()
        ray.wait()
        with view:
            view.measuring = any(part.measurements() for part in parts)
            ray.sweep(queue, _Listener(parts), partial(_is_stored, parts), deadline, projector.stop)
        for part in parts:
            part.ended = True
        if not ray.stopping:
            projector.drain()
    finally:
        projector.leave()
        outcomes = [part.close() for part in parts]
    if not any(outcome.interrupted for outcome in outcomes):
        # This thread stays with Ray's end.
        threading.Thread(target=at_the_end, name="at-the-end", daemon=True).start()
    return outcomes


def _is_stored(parts: Sequence["StudyRun"], pack: str) -> bool:
    return any(part.is_stored(pack) for part in parts)


def _queue(parts: Sequence["StudyRun"]) -> JobQueue:
    measurements: dict[str, Job] = {}
    for part in parts:
        measurements = {**part.measurements(), **measurements}
    return MeasuredFirst(measurements, lambda: InTurn([queue for part in parts for queue in part.open_queues()]))


class StudyRun:
    """One study's part of a campaign: its queue, its launch in MLflow, and what became of its packs."""

    def __init__(self, prepared: Prepared, options: Options, view: RunView, projector: Projector):
        self.prepared, self.view, self.projector = prepared, view, projector
        self.ledger, self.packing = prepared.ledger, prepared.packing
        self.choices = prepared.choices()
        study, store = prepared.plan.study, self.ledger.store
        launch = Launch(prepared.plan.scale, sum(len(pack.trials) for pack in prepared.left), prepared.data_hashes)
        self.sink = Sink(self.ledger, lambda: open_tracker(study, options, store), launch)
        self.trials = {trial.digest: trial for trial in prepared.plan.trials}
        self.kept_steps = kept_steps(prepared.plan.trials)
        self.queue: PackQueue | None = None
        self.computing: ComputingQueue | None = None
        self.rounds: Rounds | None = None
        self.packs: dict[str, PlannedPack] = {}
        self.jobs: set[str] = set()
        self.finished_packs: list[str] = []
        self.failed_packs: list[str] = []
        self.ended = False

    def show_rounds(self, after_round: Callable[[Prepared], object]) -> None:
        self.rounds = Rounds(self.prepared.plan, self.ledger.digests(), partial(after_round, self.prepared))

    def measurements(self) -> dict[str, Job]:
        """Measurements of lanes for the shapes that have trials left to train."""
        shape_keys = {trial.configuration.shape_key for pack in self.prepared.left for trial in pack.trials}
        worth = self.packing.worth_measuring(self.prepared.shapes)
        return {f"lanes:{key}": lanes_job(self.packing, key, shape) for key, shape in worth.items() if key in shape_keys}

    def open_queues(self) -> "list[JobQueue]":
        """The study's computed jobs, which are short, and its packs."""
        prepared, ledger = self.prepared, self.ledger
        study, uri = prepared.plan.study, ledger.store.root_uri
        jobs = {digest: ComputingJob(study, job, uri) for digest, job in prepared.jobs_left.items()}
        self.computing = ComputingQueue(jobs, self.added_job)
        # With the numbers of lanes that are best as far as known now.
        self.choices = prepared.choices()
        plan = prepared.plan.with_search({}, {}).with_lanes({key: choice.lanes for key, choice in self.choices.items()})
        stored, done, states = ledger.trials, ledger.digests, ledger.states
        self.queue = PackQueue(plan, self.job, _next_plan, stored, done, self.added, self.removed, states, self.orphaned)
        return [self.computing, self.queue]

    def job(self, pack: PlannedPack) -> TrainingJob:
        plan, first = self.prepared.plan, pack.trials[0].configuration
        choice = self.packing.alone() if first.measurement.solo else self.choices[first.shape_key]
        dataset = self.prepared.datasets[first.workload.data]
        uri = self.ledger.store.root_uri
        return TrainingJob(
            plan.study,
            plan.scale,
            plan.device,
            dataset,
            uri,
            pack,
            choice,
            checkpoint_seconds(),
            workload_of(first.workload).pickled(),
            {trial.digest: steps for trial in pack.trials if (steps := self.kept_steps.get(trial.digest))},
            {start.digest: self.job(make_pack([self.trials[start.digest]])) for start in starts_of(pack.trials)},
        )

    def added(self, pack: PlannedPack) -> None:
        self.packs[pack.key] = pack
        self.view.add(pack.key, len(pack.trials), self.packing.pack_seconds(pack))

    def added_job(self, digest: str) -> None:
        """A computed job is shown as a pack without a trial."""
        self.jobs.add(digest)
        self.view.add(digest, 0, 1.0)

    def owns(self, key: str) -> bool:
        return key in self.packs or key in self.jobs

    def is_stored(self, key: str) -> bool:
        """Whether a pack or a computed job is finished, though its worker could not say so."""
        if key in self.jobs:
            return self.ledger.computation(key) is not None
        return key in self.packs and self.ledger.read(key, ["digest"]) is not None

    def orphaned(self, pack: PlannedPack) -> None:
        self.failed(pack.key, "what its trials start from was given up")

    def removed(self, pack: PlannedPack) -> None:
        del self.packs[pack.key]
        self.view.remove(pack.key)

    def finished(self, pack: str) -> None:
        self.finished_packs.append(pack)
        self.projector.add(self.sink, pack)
        self.view.finished(pack)
        if self.rounds is not None and pack in self.packs:
            self.rounds.finished(self._digests(pack))

    def failed(self, pack: str, error: str) -> None:
        self.failed_packs.append(pack)
        try:
            self.ledger.write_failure(pack, self._digests(pack), error)
        except UnwritableError as unwritable:  # the next run finds the pack missing, which says the same
            log.warning("that a pack was given up could not be written down (%s)", quoted(unwritable))
        self.view.failed(pack, error)

    def _digests(self, key: str) -> list[str]:
        """Digests of a pack's trials, or of a computed job."""
        return [key] if key in self.jobs else [trial.digest for trial in self.packs[key].trials]

    def close(self) -> LaunchOutcome:
        """End the launch. A server that went away must not take the verdicts with it: the next start closes the launch."""
        settled = len(self.finished_packs) + len(self.failed_packs) == len(self.packs) + len(self.jobs)
        handed_out = self.queue is not None and self.queue.exhausted and self.computing is not None and self.computing.exhausted
        complete = self.ended and handed_out and settled
        if self.rounds is not None and complete:
            self.rounds.wait()
        status = "KILLED" if not complete else "FAILED" if self.failed_packs else "FINISHED"
        try:
            self.sink.finish(status)
        except Exception as error:  # whatever MLflow's backend raises
            log.warning("MLflow did not take the end of this launch (%s): the next start closes it", quoted(error))
        return LaunchOutcome(
            trained=sum(len(self._digests(key)) for key in self.finished_packs if key in self.packs),
            given_up=sum(len(self._digests(key)) for key in self.failed_packs),
            interrupted=not complete,
            not_in_mlflow=len(self.sink.missing),
            study=self.prepared.plan.study.name,
            run_id=self.sink.run_id,
        )


def _next_plan(plan: Plan, trials: pd.DataFrame) -> Plan:
    from ..plan.proposals import next_plan  # imports Optuna, which only a search needs

    return next_plan(plan, trials)


class _Listener:
    """Passes a sweep's events to the study whose pack it is. A pack of no study measures lanes."""

    def __init__(self, parts: Sequence[StudyRun]):
        self.parts = parts
        self.told: set[str] = set()

    def progress(self, pack: str, progress: Progress) -> None:
        if (part := self._owner(pack)) is not None:
            # Losses of several studies have no common best.
            part.view.progress(pack, progress if len(self.parts) == 1 else replace(progress, best_loss=None))

    def finished(self, pack: str) -> None:
        if (part := self._owner(pack)) is not None:
            part.finished(pack)

    def halved(self, pack: str, reason: str) -> None:
        if reason not in self.told:
            self.told.add(reason)
            log.warning("%s: its trials are tried in packs of half as many lanes", reason[:300])

    def retried(self, pack: str, reason: str) -> None:
        log.warning("%s: the pack goes on from its checkpoint", reason)

    def failed(self, pack: str, error: str) -> None:
        if (part := self._owner(pack)) is not None:
            part.failed(pack, error)
        else:
            log.warning("lanes could not be measured (%s): packs have as many as the model's size suggests", error)

    def _owner(self, pack: str) -> StudyRun | None:
        return next((part for part in self.parts if part.owns(pack)), None)


def most_valuable_first(prepared: Sequence[Prepared]) -> list[Prepared]:
    """Studies sorted by claims judged for each second of training left, most first."""

    def value(ready: Prepared) -> float:
        plan = ready.plan
        judged = plan.study.scale(plan.scale).judged
        return (len(plan.study.judgements) if judged else 1) / max(ready.estimate.seconds, 1.0)

    return sorted(prepared, key=value, reverse=True)
