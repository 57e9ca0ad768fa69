"""Adam with decoupled weight decay (Loshchilov and Hutter 2019, algorithm 2), as torch.optim.AdamW, which a test holds it
against."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ...declare import Training
from .adam import Adam

if TYPE_CHECKING:
    from torch import Tensor


class AdamW(Adam):
    settings: ClassVar[tuple[str, ...]] = ("training.independent_decay",)
    kernel = "_fused_adamw_"
    decay_field = "decay_of_lr"

    @staticmethod
    def words(training: Training) -> str:
        return Adam.words(training) + ", weight decay apart from the LR" * training.independent_decay

    def regularize(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor) -> Tensor:
        return self.shrink(parameters_KP, gradient_KP, lr_K1)


OPTIMIZER = AdamW
