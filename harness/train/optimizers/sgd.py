"""SGD with heavy-ball or Nesterov momentum, torch's form: the LR multiplies the whole buffer, and weight decay is L2.

The arithmetic follows torch.optim.SGD, and a test holds it against that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...declare import Training
from .base import PackedOptimizer

if TYPE_CHECKING:
    from torch import Tensor


class SGD(PackedOptimizer):
    moments = ("momentum",)
    mup_rule = "gradient_descent"

    def prepare(self) -> None:
        self.momentum = self.per_lane("momentum")
        self.nesterov = self.lanes[0].nesterov

    @staticmethod
    def words(training: Training) -> str:
        return f"momentum {training.momentum:g}" + ", Nesterov" * training.nesterov

    def update(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor, step: Tensor) -> None:
        direction = self.regularize(parameters_KP, gradient_KP, lr_K1)
        buffer = self.state["momentum"].mul_(self.momentum).add_(direction)
        moved = direction.addcmul(self.momentum, buffer) if self.nesterov else buffer
        parameters_KP.addcmul_(moved, lr_K1, value=-1.0)

    def regularize(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor) -> Tensor:
        return self.with_l2(parameters_KP, gradient_KP)


OPTIMIZER = SGD
