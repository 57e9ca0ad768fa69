"""A training that goes on where another trial stood, on the examples that come next in that trial's order."""

from collections.abc import Sequence

import numpy as np

from ...declare import Training
from ...errors import UserError
from ...randomness import Order
from ..learner import Learner
from ..workloads.data import Index
from .base import Procedure


class Continuation(Procedure):
    """Passes over the batches that lie before each lane's first. Its weights are there when the pack is made."""

    def __init__(self, inner: Procedure, lanes: Sequence[Training], orders: Sequence[Order], learner: Learner):
        super().__init__(inner)
        self.passed, self.goes_on = [order.passed for order in orders], any(learner.goes_on)
        started = zip(lanes, learner.started, strict=True)
        absent = (lane.starts_from for lane, is_there in started if not is_there)
        self.missing = next((name for name in absent if name is not None), None)

    def draw(self, block: int) -> Index:
        drawn: dict[int, Index] = {}

        def of(number: int) -> Index:
            return drawn.setdefault(number, drawn[number] if number in drawn else self.inner.draw(number))

        if len(of(block)) < self.steps_per_draw:  # the same examples at every step
            return of(block)
        lanes = []
        for lane, passed in enumerate(self.passed):
            blocks, steps = divmod(passed, self.steps_per_draw)
            rows = of(block + blocks)[steps:, lane]
            lanes.append(np.concatenate([rows, of(block + blocks + 1)[:steps, lane]]) if steps else rows)
        return np.stack(lanes, axis=1)

    def before(self, step: int) -> None:
        if step == 0 and self.missing is not None:
            raise UserError(
                f"starts_from = {self.missing}: a trial starts from a checkpoint of its study's run; train it by folklore run"
            )
        super().before(step)
