"""One gradient that is far too large, put into Adam's moments: all of it, or only what it leaves behind, or only what it does.

It is put there before its step, so that the step itself is a plain one, whatever it runs as: for a step that makes
m <- beta1 m + (1 - beta1) g and v <- beta2 v + (1 - beta2) g^2, an outlier of s times the gradient adds (s - 1) (1 - beta1) /
beta1 g to m and (s^2 - 1) (1 - beta2) / beta2 g^2 to v beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...declare import Training
from ..part import Cost
from .base import Making, Procedure

if TYPE_CHECKING:
    from torch import Tensor

# Time constants of the first moment after which an outlier has moved the weights: 0.5% of the way is left.
TIME_CONSTANTS = 5
# Share of the run after which it comes, and what the gradient is multiplied by; it is not clipped.
FRACTION, SIZE = 0.5, 1000.0


class Outlier(Procedure):
    """Adds to the moments of the lanes that have one. gradient, second: their gradients at that step, and their second moments
    before it, [K, P]."""

    place, setting, adds = 100, "training.outlier", Cost(copies=2)
    of_adam = "is put into Adam's moments"

    def prepare(self, making: Making) -> None:
        import torch

        learner = making.learner
        self.lanes, self.network, self.moments = making.trainings, learner.network, learner.optimizer.state
        self.gradient_KP, self.second_KP = (torch.zeros_like(learner.network.flat_KP) for _ in range(2))

    @classmethod
    def words(cls, training: Training) -> str:
        left_out = {"memory": ", in Adam's second moment alone", "kick": ", forgotten once it has moved the weights"}
        said = f", a gradient {SIZE:g} times too large at step {outlier_step(training) + 1}"
        return said + left_out.get(training.outlier, "")

    def after(self, step: int, losses: Mapping[str, Tensor]) -> None:
        super().after(step, losses)
        coming = [index for index, lane in enumerate(self.lanes) if lane.outlier != "none" and step == outlier_step(lane)]
        if coming:
            with self.network.buffers_kept():  # the step itself comes yet
                index_KB = self.examples_of(step).to(self.gradient_KP.device)
                gradient_KP = self.inner.gradient(*self.inner.batch(index_KB))[1]
            for index in coming:
                self._put(index, gradient_KP[index])
        for index, lane in enumerate(self.lanes):
            if lane.outlier == "kick" and step == outlier_step(lane) + _steps_of_kick(lane):
                self._forget(index)

    def _put(self, index: int, gradient_P: Tensor) -> None:
        lane, first_P, second_P = self._lane(index)
        self.gradient_KP[index], self.second_KP[index] = gradient_P, second_P
        second_P.add_(gradient_P.square(), alpha=_of_second(lane) / lane.beta2)
        if lane.outlier != "memory" and lane.beta1 > 0:
            first_P.add_(gradient_P, alpha=_of_first(lane) / lane.beta1)

    def _forget(self, index: int) -> None:
        """Subtracts what is left of it in both moments."""
        import torch

        lane, first_P, second_P = self._lane(index)
        steps, gradient_P = _steps_of_kick(lane), self.gradient_KP[index]
        second_P.sub_(gradient_P.square(), alpha=_of_second(lane) * lane.beta2 ** (steps - 1))
        # The moment from before stays in any case, whatever a difference of large numbers comes to.
        second_P.copy_(torch.maximum(second_P, self.second_KP[index] * lane.beta2**steps))
        if lane.beta1 > 0:
            first_P.sub_(gradient_P, alpha=_of_first(lane) * lane.beta1 ** (steps - 1))

    def _lane(self, index: int) -> tuple[Training, Tensor, Tensor]:
        return self.lanes[index], self.moments["first"][index], self.moments["second"][index]

    def state(self) -> dict[str, Tensor]:
        return self.inner.state() | {"outlier.gradient": self.gradient_KP, "outlier.second": self.second_KP}


def outlier_step(lane: Training) -> int:
    """The step, from 0, whose gradient is the outlier: never the first."""
    return max(1, round(FRACTION * lane.steps))


def _of_first(lane: Training) -> float:
    """The addition of an outlier to the first moment, in gradients, when its step is made."""
    return (SIZE - 1) * (1 - lane.beta1)


def _of_second(lane: Training) -> float:
    """Its addition to the second moment, in squared gradients."""
    return (SIZE**2 - 1) * (1 - lane.beta2)


def _steps_of_kick(lane: Training) -> int:
    return round(TIME_CONSTANTS / (1 - lane.beta1))


PROCEDURE = Outlier
