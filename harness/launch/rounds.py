"""Shows verdicts so far while the rest is trained, after five whole seeds, ten, twenty, and so on."""

import logging
import threading
from collections.abc import Callable, Collection

from ..declare.study import MINIMUM_JUDGED_SEEDS
from ..errors import quoted
from ..plan.plan import Plan

log = logging.getLogger(__name__)

# Seeds of a round as a multiple of the one before: to judge and draw a round takes some seconds.
GROWTH = 2


class Rounds:
    """Counts the whole seeds of a plan as its trials are done, and after each round calls back, in a thread beside training.

    done: digests of the trials that are stored already. after_round: judges what is stored and shows it.
    """

    def __init__(self, plan: Plan, done: Collection[str], after_round: Callable[[], object]):
        numbers = plan.study.seed_numbers_at(plan.scale)
        self._left = [{trial.digest for trial in plan.grid[seed]} - set(done) for seed in numbers]
        self._after_round, self._thread = after_round, threading.Thread()
        self._next = MINIMUM_JUDGED_SEEDS
        while self._next <= self.whole:
            self._next *= GROWTH

    @property
    def whole(self) -> int:
        """Number of seeds, from the first on, that are trained in all arms."""
        return next((count for count, missing in enumerate(self._left) if missing), len(self._left))

    def finished(self, digests: Collection[str]) -> None:
        """Counts finished trials. A round that ends while the one before is still being judged is left to the next."""
        for missing in self._left:
            missing.difference_update(digests)
        whole = self.whole
        if not self._next <= whole < len(self._left) or self._thread.is_alive():
            return
        while self._next <= whole:
            self._next *= GROWTH
        self._thread = threading.Thread(target=self._show, name="after-round", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Waits until the current round is shown."""
        if self._thread.is_alive():
            self._thread.join()

    def _show(self) -> None:
        try:
            self._after_round()
        except Exception as error:  # whatever pages raise: training goes on
            log.warning("what the seeds so far say could not be shown (%s)", quoted(error))
