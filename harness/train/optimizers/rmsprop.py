"""RMSProp (Hinton 2012, lecture 6e), as torch.optim.RMSprop, which a test holds it against: no bias correction, momentum on the
divided gradient, weight decay as L2. Its `alpha` is beta2 here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import PackedOptimizer

if TYPE_CHECKING:
    from torch import Tensor


class RMSProp(PackedOptimizer):
    moments = ("second", "momentum")
    said = "alpha {t.beta2:.6g}, momentum {t.momentum:g}, epsilon {t.epsilon:g}"
    # Adam without a first moment, whose entries move alike: Adam's rule.
    mup_rule = "adaptive"

    def prepare(self) -> None:
        self.beta2, self.epsilon, self.momentum = (self.per_lane(name) for name in ("beta2", "epsilon", "momentum"))

    def update(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor, step: Tensor) -> None:
        import torch

        gradient_KP = self.with_l2(parameters_KP, gradient_KP)
        square = torch.square(gradient_KP, out=self.scratch_KP)
        second = self.state["second"].mul_(self.beta2).addcmul_(square, 1 - self.beta2)
        denominator = torch.sqrt(second, out=self.scratch_KP).add_(self.epsilon)
        buffer = self.state["momentum"].mul_(self.momentum).addcdiv_(gradient_KP, denominator)
        parameters_KP.addcmul_(buffer, lr_K1, value=-1.0)


OPTIMIZER = RMSProp
