"""Keeps MLflow up with the ledger while packs are being trained, in a thread of its own; it is the only writer."""

import logging
import queue
import threading

from harness import table
from harness.errors import one_line
from harness.ledger import Ledger
from harness.tracking import Tracker

log = logging.getLogger(__name__)


class Projector(threading.Thread):
    """Projects the packs it is told of, and on a failure leaves them for the next start or `folklore sync`."""

    def __init__(self, ledger: Ledger, tracker: Tracker):
        super().__init__(name="mlflow-projector", daemon=True)
        self.ledger, self.tracker = ledger, tracker
        self.parent: str | None = None
        self.waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.missed: list[str] = []
        self.projected = 0

    def start_with(self, parent: str) -> None:
        """Start, under a launch, with whatever earlier runs left to project."""
        self.parent = parent
        for pack in self.ledger.not_projected(self.tracker.identity):
            self.add(pack)
        self.start()

    def add(self, pack: str) -> None:
        self.waiting.put(pack)

    def drain(self) -> None:
        """Wait until everything told so far is projected or given up."""
        self.waiting.put(None)
        self.join()

    def run(self) -> None:
        while (pack := self.waiting.get()) is not None:
            try:
                self.project(pack)
            except Exception as error:  # whatever MLflow's backend raises must not stop training
                self.missed.append(pack)
                log.warning("MLflow did not take pack %s (%s): `folklore sync` completes it later", pack, one_line(error)[:200])

    def project(self, pack: str) -> None:
        rows = self.ledger.read(pack)
        if rows is not None:
            self.tracker.record(pack, table.frame(rows), self.parent)
            self.ledger.mark_projected(pack, self.tracker.identity)
            self.projected += 1
