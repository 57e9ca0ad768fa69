"""SGD with decoupled weight decay (Loshchilov and Hutter 2019, algorithm 1), in torch's form of momentum: weights shrink by
LR times decay, and decay takes no part in the momentum. As in AdamW the LR multiplies the decay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .sgd import SGD

if TYPE_CHECKING:
    from torch import Tensor


class SGDW(SGD):
    def regularize(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor) -> Tensor:
        return self.shrink(parameters_KP, gradient_KP, lr_K1)


OPTIMIZER = SGDW
