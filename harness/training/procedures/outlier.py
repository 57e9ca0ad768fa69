"""One gradient that is far too large, put into Adam's moments: all of it, or only what it leaves behind, or only what it does.

It is put there before its step, so that the step itself is a plain one, whatever it runs as: for a step that makes
m <- beta1 m + (1 - beta1) g and v <- beta2 v + (1 - beta2) g^2, an outlier of s times the gradient adds (s - 1) (1 - beta1) /
beta1 g to m and (s^2 - 1) (1 - beta2) / beta2 g^2 to v beforehand.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from folklore.harness.spec import Training
from folklore.harness.training.learner import Learner
from folklore.harness.training.procedures.base import Procedure, Wrapper

# Time constants of the first moment after which an outlier has moved the weights: 0.7% of the way is left.
TIME_CONSTANTS = 5


def is_asked_for(training: Training) -> bool:
    return training.outlier != "none"


class Outlier(Wrapper):
    """Adds to the moments of the lanes that have one; square: of their gradients at that step, [K, P]."""

    def __init__(self, inner: Procedure, lanes: Sequence[Training], learner: Learner):
        super().__init__(inner)
        self.lanes, self.moments = lanes, learner.optimizer.state
        self.square_KP = torch.zeros_like(learner.network.flat_KP)

    def after(self, step: int, losses: Mapping[str, Tensor]) -> None:
        super().after(step, losses)
        coming = [index for index, lane in enumerate(self.lanes) if is_asked_for(lane) and step == lane.outlier_step]
        if coming:
            gradient_KP = self.inner.gradient(*self.inner.batch(self._index(step)))[1]
            for index in coming:
                self._put(index, gradient_KP[index])
        for index, lane in enumerate(self.lanes):
            if lane.outlier == "kick" and step == lane.outlier_step + _steps_of_kick(lane):
                self._forget(index, lane)

    def _index(self, step: int) -> Tensor:
        """The examples of a step, from 0, [K, B]."""
        block = self.inner.draw(step // self.steps_per_draw)
        drawn = torch.from_numpy(block[step % self.steps_per_draw % len(block)])
        return drawn.to(self.square_KP.device)

    def _put(self, index: int, gradient_P: Tensor) -> None:
        lane = self.lanes[index]
        self.square_KP[index] = gradient_P.square()
        extra = (lane.outlier_size**2 - 1) * (1 - lane.beta2) / lane.beta2
        self.moments["second"][index].add_(self.square_KP[index], alpha=extra)
        if lane.outlier != "memory" and lane.beta1 > 0:
            self.moments["first"][index].add_(gradient_P, alpha=(lane.outlier_size - 1) * (1 - lane.beta1) / lane.beta1)

    def _forget(self, index: int, lane: Training) -> None:
        left = (lane.outlier_size**2 - 1) * (1 - lane.beta2) * lane.beta2 ** (_steps_of_kick(lane) - 1)
        second_P = self.moments["second"][index]
        # What rounding leaves must not be below zero, or its root is none.
        second_P.sub_(self.square_KP[index], alpha=left).clamp_(min=0.0)

    def state(self) -> dict[str, Tensor]:
        return self.inner.state() | {"outlier.square": self.square_KP}


def _steps_of_kick(lane: Training) -> int:
    return round(TIME_CONSTANTS / (1 - lane.beta1))
