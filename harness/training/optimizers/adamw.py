"""Adam with decoupled weight decay (Loshchilov and Hutter 2019, algorithm 2), as torch.optim.AdamW, which a test holds it
against."""

from __future__ import annotations

from typing import TYPE_CHECKING

from folklore.harness.training.optimizers.adam import Adam

if TYPE_CHECKING:
    from torch import Tensor


class AdamW(Adam):
    kernel = "_fused_adamw_"

    def regularize(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor) -> Tensor:
        import torch

        if self.decays_any:
            parameters_KP.addcmul_(parameters_KP, torch.mul(self.decay_KP, lr_K1, out=self.scratch_KP), value=-1.0)
        return gradient_KP

    def without_decay(self, parameters_KP: Tensor, regularized_KP: Tensor) -> Tensor:
        return regularized_KP


OPTIMIZER = AdamW
