"""Rectified Adam (Liu et al. 2020, algorithm 2) with decoupled weight decay, as in torch.optim.RAdam, which a test holds it
against."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .adamw import AdamW

if TYPE_CHECKING:
    from torch import Tensor


class RAdam(AdamW):
    excludes = {"training.bias_correction": "radam's rectification is built on it; choose adam, adamw, lamb or muon"}

    def update(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor, step: Tensor) -> None:
        import torch

        gradient_KP = self.regularize(parameters_KP, gradient_KP, lr_K1)
        correction1, correction2 = self.accumulate(gradient_KP, step)
        limit = 2 / (1 - self.beta2_64) - 1
        length = limit - 2 * (step + 1) * self.beta2_64.pow(step + 1) / (1 - self.beta2_64.pow(step + 1))
        rectifier = ((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)).clamp(min=0).sqrt()
        denominator = torch.sqrt(self.state["second"], out=self.scratch_KP).add_(self.epsilon)
        adaptive = torch.div((rectifier * correction2.sqrt()).to(self.dtype), denominator, out=self.scratch_KP)
        factor = torch.where(length > 5, adaptive, 1.0)
        parameters_KP.addcmul_(factor.mul_(self.state["first"]), lr_K1 / correction1, value=-1.0)


OPTIMIZER = RAdam
