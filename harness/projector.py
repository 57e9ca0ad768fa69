"""Keeps MLflow up with the ledger while packs are being trained, in a thread of its own; it is the only writer."""

import logging
import queue
import threading

from harness import table
from harness.errors import one_line
from harness.ledger import Ledger
from harness.tracking import Tracker

log = logging.getLogger(__name__)


class Sink:
    """Where one study's packs go. parent: the launch they are shown under. missed: what MLflow did not take."""

    def __init__(self, ledger: Ledger, tracker: Tracker, parent: str | None = None):
        self.ledger, self.tracker, self.parent = ledger, tracker, parent
        self.missed: list[str] = []
        self.projected = 0

    def waiting(self) -> list[str]:
        """Packs that the ledger holds and MLflow does not."""
        return self.ledger.not_projected(self.tracker.identity)

    def project(self, pack: str) -> None:
        rows = self.ledger.read(pack)
        if rows is not None:
            self.tracker.record(pack, table.frame(rows), self.parent)
            self.ledger.mark_projected(pack, self.tracker.identity)
            self.projected += 1


class Projector(threading.Thread):
    """Projects the packs it is told of, and on a failure leaves them for the next start or `folklore sync`."""

    def __init__(self) -> None:
        super().__init__(name="mlflow-projector", daemon=True)
        self.told: queue.SimpleQueue[tuple[Sink, str] | None] = queue.SimpleQueue()

    def add(self, sink: Sink, pack: str) -> None:
        self.told.put((sink, pack))

    def drain(self) -> None:
        """Wait until everything told so far is projected or given up."""
        self.told.put(None)
        self.join()

    def run(self) -> None:
        while (told := self.told.get()) is not None:
            sink, pack = told
            try:
                sink.project(pack)
            except Exception as error:  # whatever MLflow's backend raises must not stop training
                sink.missed.append(pack)
                log.warning("MLflow did not take pack %s (%s): `folklore sync` completes it later", pack, one_line(error)[:200])
