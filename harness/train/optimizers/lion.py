"""Lion (Chen et al. 2023, arXiv:2302.06675, algorithm 2): every entry moves by the LR, in the sign of an average of momentum
and gradient; decoupled weight decay.

torch's sign of nan is 0: an entry whose gradient was no number stays where it is, with a momentum that is none, and the loss
of that step says that the lane diverged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import PackedOptimizer

if TYPE_CHECKING:
    from torch import Tensor

# Relative error of the average whose sign is taken: roundings of FP32, and some to spare.
ROUNDING = 2**-21


class Lion(PackedOptimizer):
    moments = ("momentum",)
    said = "betas {t.beta1:.6g} and {t.beta2:.6g}"

    def prepare(self) -> None:
        self.beta1, self.beta2 = self.per_lane("beta1"), self.per_lane("beta2")

    def update(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor, step: Tensor) -> None:
        import torch

        momentum = self.state["momentum"]
        gradient_KP = self.shrink(parameters_KP, gradient_KP, lr_K1)
        direction = torch.lerp(momentum, gradient_KP, 1 - self.beta1, out=self.scratch_KP).sign_()
        parameters_KP.addcmul_(direction, lr_K1, value=-1.0)
        momentum.lerp_(gradient_KP, 1 - self.beta2)

    def jumps(self, gradient_KP: Tensor) -> Tensor:
        """True where the average whose sign is taken is near zero."""
        momentum_KP = self.state["momentum"]
        averaged_KP = momentum_KP.lerp(gradient_KP, 1 - self.beta1)
        return averaged_KP.abs() <= ROUNDING * (momentum_KP.abs() + gradient_KP.abs())


OPTIMIZER = Lion
