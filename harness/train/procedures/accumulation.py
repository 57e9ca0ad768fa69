"""Gradient accumulation: a batch's gradient from micro-batches, one after another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...declare import Configuration
from ..part import Cost
from .base import Making, Procedure

if TYPE_CHECKING:
    from torch import Tensor

    from ....models import Tap


class Accumulation(Procedure):
    """The gradient of a batch's mean loss, summed over parts of `size` examples: a step holds the activations of one part.

    Each part's loss is weighted by its share of the examples before it is differentiated, so that in narrow formats its
    gradients are as large as those of the whole batch, and underflow as they do. What computes with a batch as a whole, such as
    batch normalization in an own module, sees the part.
    """

    place, setting, adds = 50, "training.micro_batches", Cost(copies=1)
    said = ", {t.micro_batches} micro-batches a step"

    def prepare(self, making: Making) -> None:
        self.network, self.size = making.learner.network, making.lanes[0].training.micro_batch_size

    @classmethod
    def check(cls, configuration: Configuration) -> None:
        training = configuration.training
        if training.batch_size % training.micro_batches:
            raise ValueError(f"micro_batches = {training.micro_batches}: must divide batch_size = {training.batch_size}")

    def gradient(
        self,
        inputs: Tensor,
        targets: Tensor,
        tap: Tap | None = None,
        scale_K: Tensor | None = None,
        out_KP: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        import torch

        scale_K = torch.ones(len(targets), device=targets.device) if scale_K is None else scale_K
        losses_K, sum_KP = torch.zeros_like(scale_K), None
        parts = zip(torch.split(inputs, self.size, dim=1), torch.split(targets, self.size, dim=1), strict=True)
        for number, (part, answers) in enumerate(parts):
            share = self.network.share(answers, targets, 1)
            self.network.part = number
            # The first part's gradient lies where the sum is to lie.
            out = out_KP if number == 0 else None
            part_losses_K, part_KP = self.inner.gradient(part, answers, tap, scale_K * share, out)
            losses_K += share * part_losses_K
            if isinstance(share, torch.Tensor):  # of each lane its own
                part_KP, share = part_KP.mul_(share.unsqueeze(1)), 1.0
            sum_KP = part_KP.mul_(share) if sum_KP is None else sum_KP.add_(part_KP, alpha=share)
        self.network.part = 0
        assert sum_KP is not None, "a batch has examples"
        return losses_K, sum_KP


PROCEDURE = Accumulation
