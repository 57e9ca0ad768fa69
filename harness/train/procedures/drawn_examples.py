"""A training set for each seed, drawn at random from the training split."""

from __future__ import annotations

import numpy as np

from ...declare import Configuration
from ..part import refuse
from ..workloads.data import Index
from .base import Evaluation, Making, Procedure

OF_ALL = "evaluates the same training examples in all lanes, and with training_set = drawn these differ; leave it out"


class DrawnExamples(Procedure):
    """Lanes of equal seed have the same training examples, in whatever optimizer, LR or order they are trained.

    Nothing is evaluated on training examples, for those are not the same in all lanes: a run diverges by the validation sample.
    """

    place, setting = 5, "workload.training_set"
    excludes = {
        **{f"measurement.{name}": OF_ALL for name in ("training_examples", "gradient_flow", "dead_units")},
        "measurement.sharpness": OF_ALL,
        "workload.tasks": "with training_set = drawn there is one task; leave it out",
    }

    def prepare(self, making: Making) -> None:
        own = {order.seed: making.dataset.own_index(order.seed) for order in making.orders}
        self.own_KN = np.stack([own[order.seed] for order in making.orders])

    @classmethod
    def check(cls, configuration: Configuration) -> None:
        if configuration.workload.training_set_size is None:
            refuse(configuration, cls.setting, why="says which examples training_set_size means; set that, too")

    def draw(self, block: int) -> Index:
        return self.own_KN[np.arange(len(self.own_KN))[:, None], self.inner.draw(block)]

    def evaluations(self) -> tuple[Evaluation, ...]:
        return tuple(evaluation for evaluation in self.inner.evaluations() if evaluation.split != "train")


PROCEDURE = DrawnExamples
