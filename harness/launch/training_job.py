"""A planned pack as work for a sweep: train it on whatever worker it lands on, and record it."""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch

from ..declare import Study
from ..declare.trial import Start
from ..errors import UnwritableError, one_line
from ..options import CHECKPOINT_SECONDS
from ..plan.lanes import Choice
from ..plan.plan import PlannedPack
from ..plan.starts import starts_of
from ..plan.store import trial_rows
from ..plan.store.comparisons import Comparisons, agree, comparisons, comparisons_file, refuse
from ..plan.store.ledger import Ledger
from ..plan.store.store import Store
from ..train.machine.description import environment
from ..train.machine.device_memory import free_device_memory, keep_host_memory, too_large_where_memory_ends
from ..train.pack import Lane, Pack
from ..train.programs import EAGER, Program, program_named
from ..train.starting import LaneState
from ..train.workloads import workload_of
from ..train.workloads.base import PROOF, READ
from .jobs import Progress

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TrainingJob:
    """Everything a worker needs; it travels pickled.

    kept: digest -> steps after which a trial leaves a checkpoint that others start from. parents: digest -> what trains a trial
    that one of these starts from, if its checkpoint is not there; that one alone, and without recording it again.
    """

    study: Study
    scale: str
    device: str
    dataset: str
    store_uri: str
    pack: PlannedPack
    choice: Choice
    checkpoint_seconds: float = CHECKPOINT_SECONDS
    workload: bytes | None = None  # what BaseWorkload.pickled gives
    kept: Mapping[str, Sequence[int]] = field(default_factory=dict)
    parents: Mapping[str, "TrainingJob"] = field(default_factory=dict)
    recorded: bool = True

    def open(self) -> "TrainingWork":
        return TrainingWork(self)


class TrainingWork:
    """A pack being trained: resumes from its checkpoint, and writes its ledger file when done."""

    def __init__(self, job: TrainingJob):
        self.job = job
        first = job.pack.trials[0].configuration
        self.workload = workload_of(first.workload)
        self.workload.receive(job.workload)
        # The environment of the sources that train: edits and commits meanwhile do not change it.
        self.environment = environment()
        self.store = Store(job.store_uri)
        self.ledger = Ledger(self.store, job.study.name)
        # Its worker may have died, or been lost, after it had written the pack down.
        self.recorded = not job.recorded or self.ledger.read(job.pack.key, ["digest"]) is not None
        self.stored = self.recorded and not self._not_kept()
        self.starts: dict[Start, LaneState] = {}
        self.before = None if self.stored else self._parent()
        if not self.stored and self.before is None:
            self._open()

    def _parent(self) -> "TrainingWork | None":
        """Work on a trial that one of these starts from, and whose checkpoint is not there; None if there is none."""
        for start in starts_of(self.job.pack.trials):
            if start not in self.starts:
                if (state := self.ledger.read_state(start)) is None:
                    log.warning(
                        "trial %s is trained again: others start from its checkpoint, which is not there for these sources",
                        start.digest,
                    )
                    return TrainingWork(replace(self.job.parents[start.digest], recorded=False))
                self.starts[start] = LaneState.from_tensors(state)
        return None

    def _not_kept(self) -> list[Start]:
        """Checkpoints that these trials are to leave, and that are not there."""
        wanted = [Start(digest, step) for digest, steps in self.job.kept.items() for step in steps]
        there = self.ledger.states() if wanted else ()
        return [start for start in wanted if start not in there]

    def _open(self) -> None:
        job, first = self.job, self.job.pack.trials[0].configuration
        self.shape_key = first.shape_key
        self.dataset = self.workload.data(job.dataset)
        planned = job.pack.trials[0].data_hash
        if self.dataset.facts.hash != planned:
            raise ValueError(
                f"dataset '{job.dataset}' has hash {self.dataset.facts.hash} here and {planned} in the plan;"
                " give every node the same files"
            )
        if proof := self.workload.proof(job.device, first.training.precision):
            self.environment = {**self.environment, PROOF: proof}
        if contents := self.dataset.facts.contents:
            self.environment = {**self.environment, READ: contents}
        if job.device == "cpu":
            # Packs run side by side, one process a core; more threads only fight each other.
            torch.set_num_threads(1)
            keep_host_memory()
        lanes = [
            Lane(trial.configuration, trial.seed, self.starts[trial.start] if trial.start else None)
            for trial in job.pack.trials
        ]
        program, note = self._program()
        free_device_memory(job.device)  # of a pack before this one that did not get as far as its end
        with self.workload.raising(), too_large_where_memory_ends():
            self.training = Pack(lanes, self.dataset, job.device, program, self.agreed)
        self.training.runner.note = self.training.runner.note or note
        state = self.ledger.read_checkpoint(job.pack.key)
        if state is not None and any(start.step <= int(state["progress"][0]) for start in self._not_kept()):
            log.warning("the checkpoint of pack %s lies after others that are not there: the pack starts over", job.pack.key)
        elif state is not None and not self.training.load(state):
            log.warning("the checkpoint of pack %s does not fit it: the pack starts over", job.pack.key)
        self.saved_at = time.monotonic()
        # Whether there is a state worth keeping: in the middle of a step that failed there is none.
        self.between_steps = True

    def _program(self) -> tuple[Program, str]:
        """The program the pack runs as, and why it is not the chosen one; '' if it is."""
        program = program_named(self.job.choice.program, torch.device(self.job.device))
        known = Comparisons() if program == EAGER else comparisons(self.store, self.shape_key)
        self.agreed, self.remembered = known.agreed, len(known.agreed)
        if program.name not in known.refused:
            return program, ""
        why, file = known.refused[program.name], comparisons_file(self.shape_key)
        log.warning("packs run eagerly: on this kind of machine %s; to try again, remove %s from the store", why, file)
        return EAGER, why

    def advance(self, seconds: float) -> Progress:
        if self.stored:
            return Progress(done=True, share=1.0, lanes=len(self.job.pack.trials))
        if self.before is not None:
            return self._advance_parent(self.before, seconds)
        self.between_steps = False
        differed = self.training.runner.differs
        with self.workload.raising(), too_large_where_memory_ends():
            self.training.advance(seconds, self._next_kept())
        self.between_steps = True
        self._keep()
        if self.training.runner.differs and not differed:
            refuse(self.store, self.shape_key, self.job.choice.program, self.training.runner.note)
        if len(self.agreed) > self.remembered:
            agree(self.store, self.shape_key, self.agreed)
            self.remembered = len(self.agreed)
        if self.training.done and not self.recorded:
            self._record()
        elif not self.training.done and time.monotonic() - self.saved_at > self.job.checkpoint_seconds:
            self._save()
        best = self.training.best()
        trials = self.job.pack.trials
        return Progress(
            done=self.training.done,
            share=self.training.step / self.training.training.steps,
            lanes=len(trials),
            best_loss=None if best is None else best[1],
            best_arm=None if best is None else trials[best[0]].arm,
            diverged=self.training.diverged_lanes(),
            gpu_memory_bytes=self.training.gpu_memory_bytes(),
        )

    def _advance_parent(self, before: "TrainingWork", seconds: float) -> Progress:
        progress = before.advance(seconds)
        if progress.done:
            before.close()
            self.before = self._parent()
            if self.before is None:
                self._open()
        return replace(progress, done=False, share=0.0)

    def _next_kept(self) -> int | None:
        """The next step after which a trial leaves a checkpoint."""
        steps = {step for steps in self.job.kept.values() for step in steps if step > self.training.step}
        return min(steps, default=None)

    def _keep(self) -> None:
        for lane, trial in enumerate(self.job.pack.trials):
            if self.training.step in self.job.kept.get(trial.digest, ()):
                state = self.training.lane_state(lane).to_tensors()
                self.ledger.write_state(Start(trial.digest, self.training.step), state)

    def _save(self) -> None:
        """Save a checkpoint. Training goes on if that fails: only time is lost, if it is killed."""
        self.saved_at = time.monotonic()
        try:
            self.ledger.write_checkpoint(self.job.pack.key, self.training.state())
        except UnwritableError as error:
            log.warning("no checkpoint of pack %s: %s", self.job.pack.key, one_line(error))

    def _record(self) -> None:
        job = self.job
        rows = trial_rows.rows(
            job.study,
            job.scale,
            job.device,
            self.dataset.facts.hash,
            job.pack.key,
            job.pack.trials,
            self.training.results(),
            self.environment,
            job.choice.source,
        )
        self.ledger.write(job.pack.key, rows)

    def close(self) -> None:
        """A pack that is ended before it is done leaves a checkpoint. Workers are reused: the next one must find the device's
        memory free."""
        if self.before is not None:
            self.before.close()
        if self.stored or self.before is not None:
            return
        if self.between_steps and self.training.step > 0 and not self.training.done:
            self._save()
        self.training.close()
        del self.training
        free_device_memory(self.job.device)
