"""LAMB (You et al. 2020, arXiv:1904.00962, algorithm 2): AdamW's update, decay with it, by matrix of the matrix's own size.

The paper's phi is the identity: nothing is clamped. A matrix whose norm, or whose update's, is zero has a trust ratio of 1, as
have gains and biases, which do not decay either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .adam import Adam
from .adamw import AdamW

if TYPE_CHECKING:
    from torch import Tensor


class LAMB(AdamW):
    mup_rule = None
    # Its decay is part of an update whose size it sets itself.
    settings, decay_field, words = (), "weight_decay", Adam.words

    def update(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor, step: Tensor) -> None:
        import torch

        correction1, correction2 = self.accumulate(gradient_KP, step)
        moved_KP = self.direction(correction1, correction2)
        if self.decays_any:
            moved_KP.addcmul_(self.decay_KP, parameters_KP)
        for part in filter(lambda part: part.is_matrix, self.parts):
            size_K1, update_K1 = (values_KP[:, part.slice].norm(dim=1, keepdim=True) for values_KP in (parameters_KP, moved_KP))
            moved_KP[:, part.slice] *= torch.where((size_K1 > 0) & (update_K1 > 0), size_K1 / update_K1, 1.0)
        parameters_KP.addcmul_(moved_KP, lr_K1, value=-1.0)


OPTIMIZER = LAMB
