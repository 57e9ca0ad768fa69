"""LARS (You, Gitman and Ginsburg 2017, arXiv:1708.03888, algorithm 1): each matrix moves by a share of its own size, whatever
the size of its gradient.

With the trust coefficient c a matrix has the local rate c |w| / (|g| + decay |w|), 1 where either norm is zero; the global LR
stands inside the momentum, as in the paper. Gains and biases have the local rate 1 and no decay, as in its experiments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import PackedOptimizer

if TYPE_CHECKING:
    from torch import Tensor


class LARS(PackedOptimizer):
    moments = ("momentum",)
    settings = ("training.trust_coefficient",)
    said = "momentum {t.momentum:g}, trust coefficient {t.trust_coefficient:g}"

    def prepare(self) -> None:
        self.momentum, self.trust = self.per_lane("momentum"), self.per_lane("trust_coefficient")
        self.decay_K1 = self.per_lane("weight_decay")

    def update(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor, step: Tensor) -> None:
        import torch

        moved_KP = torch.addcmul(gradient_KP, self.decay_KP, parameters_KP, out=self.scratch_KP)
        for part in filter(lambda part: part.is_matrix, self.parts):
            size_K1, gradient_K1 = (
                values_KP[:, part.slice].norm(dim=1, keepdim=True) for values_KP in (parameters_KP, gradient_KP)
            )
            rate_K1 = self.trust * size_K1 / (gradient_K1 + self.decay_K1 * size_K1)
            moved_KP[:, part.slice] *= torch.where((size_K1 > 0) & (gradient_K1 > 0), rate_K1, 1.0)
        buffer = self.state["momentum"].mul_(self.momentum).addcmul_(moved_KP, lr_K1)
        parameters_KP.sub_(buffer)


OPTIMIZER = LARS
