"""Adam with decoupled weight decay (Loshchilov and Hutter 2019, algorithm 2), as torch.optim.AdamW, which a test holds it
against."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .adam import Adam

if TYPE_CHECKING:
    from torch import Tensor


class AdamW(Adam):
    kernel = "_fused_adamw_"

    def regularize(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor) -> Tensor:
        return self.shrink(parameters_KP, gradient_KP, lr_K1)


OPTIMIZER = AdamW
