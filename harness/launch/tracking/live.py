"""Keeps MLflow up with the ledger while packs are being trained, in a thread of its own; it is the only writer.

Training never waits for MLflow and never ends with it: packs it does not take are tried again later, and at the next start.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psutil

from ...errors import one_line, quoted
from ...plan.store import trial_rows
from ...plan.store.ledger import Ledger
from ...train.machine.description import environment
from ...train.machine.load import system_load

if TYPE_CHECKING:
    from .projection import Tracker

log = logging.getLogger(__name__)

# How long an MLflow that failed is left alone.
PAUSE_SECONDS = 20.0
# Seconds between two samples of the machine's load.
SAMPLE_SECONDS = 10.0
# How long an interrupted run waits for MLflow, and a finished one before it says that it waits.
LEAVE_SECONDS = 2.0


@dataclass(frozen=True)
class Launch:
    """Facts of a launch for its parent run. datasets: name -> hash."""

    scale: str
    trials: int
    datasets: Mapping[str, str] = field(default_factory=dict)


class Sink:
    """The destination of one study's packs: one experiment of one MLflow, opened when it is first needed.

    launch: what the packs are shown under; None: under nothing. missing: packs MLflow does not have yet.
    """

    def __init__(self, ledger: Ledger, opened: "Callable[[], Tracker]", launch: Launch | None = None):
        self.ledger, self._opened, self._launch = ledger, opened, launch
        self.tracker: Tracker | None = None
        self.run_id: str | None = None
        self.missing: set[str] = set()
        self._there: set[str] = set()

    def open(self) -> "Tracker":
        """The tracker, with the launch's run in it; what earlier runs left counts as missing. Raises what MLflow raises."""
        if self.tracker is None:
            tracker = self._opened()
            tracker.close_stale()
            if (launch := self._launch) is not None:
                self.run_id = tracker.launch(launch.scale, environment(), launch.trials, launch.datasets)
            self.tracker = tracker
            self.missing.update(self.ledger.not_projected(tracker.identity))
        return self.tracker

    @property
    def projected(self) -> int:
        return len(self._there)

    def expect(self, pack: str) -> None:
        """A pack was recorded; it may have been found in the ledger, and projected, before this was heard."""
        if pack not in self._there:
            self.missing.add(pack)

    def project(self, pack: str) -> None:
        tracker = self.open()
        if (computation := self.ledger.computation(pack)) is not None:
            tracker.record_computation(computation, self._launch.scale if self._launch else "", self.run_id)
        elif (rows := self.ledger.read(pack)) is not None:
            tracker.record(trial_rows.frame(rows), self.run_id)
        else:  # set aside, as it is damaged: it comes again
            self.missing.discard(pack)
            return
        self.ledger.mark_projected(pack, tracker.identity)
        self._there.add(pack)
        self.missing.discard(pack)

    def measure(self, values: Mapping[str, float], step: int) -> None:
        """Note what the machine does, in the launch's run where there is one."""
        if self.tracker is not None and self.run_id is not None:
            self.tracker.measure(self.run_id, values, step)

    def finish(self, status: str) -> None:
        """End the launch: FINISHED, FAILED or KILLED, in MLflow's words."""
        if self.tracker is not None and self.run_id is not None:
            self.tracker.finish(self.run_id, status)


class Projector(threading.Thread):
    """Projects the packs that are added. After a failure MLflow is left alone for a while; what it missed is tried again with
    the first pack after that, and once more at the end."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(name="mlflow-projector", daemon=True)
        self.clock = clock
        self._told: queue.SimpleQueue[tuple[Sink, str | None] | None] = queue.SimpleQueue()
        self._sinks = list[Sink]()
        self._paused_until = 0.0
        self._sampled_at = time.monotonic()
        self._samples = 0
        self._left = False

    def serve(self, sink: Sink) -> None:
        """Open a study's launch, project what earlier runs left, and then what is added."""
        self._told.put((sink, None))

    def add(self, sink: Sink, pack: str) -> None:
        self._told.put((sink, pack))

    def drain(self) -> None:
        """Wait until everything told so far is projected or given up."""
        self._told.put(None)
        self.join(LEAVE_SECONDS)
        if self.is_alive():
            log.warning("MLflow takes in what was trained last")
        self.join()

    def stop(self) -> None:
        """End after the pack in hand; does not wait."""
        self._left = True

    def leave(self) -> None:
        """`stop`, and wait a moment, for a run that is interrupted: the rest comes with the next start."""
        self.stop()
        if self.is_alive():
            self._told.put(None)
            self.join(LEAVE_SECONDS)

    def run(self) -> None:
        psutil.cpu_percent()  # the first reading has nothing to compare with
        while (message := self._next()) is not None and not self._left:
            sink, pack = message
            if pack is None:
                self._sinks.append(sink)
            else:
                sink.expect(pack)
            if self.clock() >= self._paused_until:
                self._project_missing()
        self._project_missing()

    def _next(self) -> tuple[Sink, str | None] | None:
        """The next message; while waiting for it, samples the machine: this thread is MLflow's only writer."""
        while True:
            with suppress(queue.Empty):
                message = self._told.get(timeout=max(0.0, self._sampled_at + SAMPLE_SECONDS - time.monotonic()))
                return message
            self._sample()

    def _sample(self) -> None:
        self._sampled_at = time.monotonic()
        if self._left or self.clock() < self._paused_until:
            return
        values = system_load()
        try:
            for sink in self._sinks:
                sink.measure(values, self._samples)
            self._samples += 1
        except Exception as error:  # the next pack tells; a sample is not worth a line
            self._paused_until = self.clock() + PAUSE_SECONDS
            log.debug("MLflow does not take a sample of the machine (%s)", one_line(error))

    def _project_missing(self) -> None:
        try:
            for sink in self._sinks:
                if self._left:
                    return
                sink.open()
                for pack in sorted(sink.missing):
                    if self._left:
                        return
                    sink.project(pack)
        except Exception as error:  # whatever MLflow's backend raises must not stop training
            self._paused_until = self.clock() + PAUSE_SECONDS
            log.warning("MLflow does not take what is trained (%s): training goes on", quoted(error))
