"""A training that goes on where another trial stood, on the examples that come next in that trial's order."""

from __future__ import annotations

import numpy as np

from ...declare import Configuration, Training
from ...declare.own_address import OWN
from ...errors import UserError
from ..part import refuse
from ..schedules.base import percent
from ..workloads.data import Index
from .base import Making, Procedure


class Continuation(Procedure):
    """Passes over the batches that lie before each lane's first. Its weights are there when the pack is made."""

    place, setting = 10, "training.starts_from"
    settings = ("training.start_fraction", "training.start_state")

    def prepare(self, making: Making) -> None:
        learner = making.learner
        self.passed, self.goes_on = [order.passed for order in making.orders], any(learner.goes_on)
        started = zip(making.trainings, learner.started, strict=True)
        absent = (lane.starts_from for lane, is_there in started if not is_there)
        self.missing = next((name for name in absent if name is not None), None)

    @classmethod
    def check(cls, configuration: Configuration) -> None:
        training = configuration.training
        if training.optimizer == OWN or training.sgd_from < 1 or training.ramp == "held":
            refuse(
                configuration,
                "training.start_state",
                why="not with an own optimizer, whose state is its own, nor with sgd_from or a held ramp, which count updates"
                " from this trial's start; choose weights",
            )

    @classmethod
    def words(cls, training: Training) -> str:
        at = "the end" if training.start_fraction == 1 else f"{percent(training.start_fraction)} of the steps"
        taken = {"weights": "the weights", "optimizer": "weights and optimizer state"}[training.start_state]
        return f", from {taken} of arm {training.starts_from} at {at}"

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


PROCEDURE = Continuation
