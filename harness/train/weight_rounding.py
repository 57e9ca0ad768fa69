"""Weights in BF16: updated weights are rounded to BF16 numbers, to the nearest or at random.

To the nearest, an update below half a unit in the last place of its weight is lost (Zamirai et al. 2021, Revisiting BFloat16
Training, arXiv:2010.06192). At random, a number goes to the upper of its two neighbours with the chance that leaves its mean
as it is (stochastic rounding, their section 4). The numbers lie in FP32, as the optimizer's states do, and take its memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..randomness import Order

if TYPE_CHECKING:
    from torch import Tensor

# BF16 has the upper half of an FP32 number's bits.
LOWER_BITS = 2**16 - 1


def nearest(x: Tensor) -> Tensor:
    """Rounds to the nearest, ties to even, in FP32."""
    import torch

    return x.to(torch.bfloat16).float()


def stochastic(x: Tensor, bits: Tensor) -> Tensor:
    """Rounds at random, by whole numbers of 16 bits or more, of which the lowest 16 count; nan and infinity stay."""
    import torch

    whole = x.view(torch.int32) + (bits & LOWER_BITS).to(torch.int32)
    return (whole & ~LOWER_BITS).view(torch.float32).where(x.isfinite(), x)


class WeightRounding:
    """Rounding for the lanes of a pack. Draws depend on a lane's seed, the step and the number of the weight."""

    def __init__(self, orders: Sequence[Order], clock: Tensor, at_random: bool):
        from .counted import Counted

        self.drawn = Counted(orders, "rounding of weights", clock) if at_random else None

    def __call__(self, weights_KP: Tensor) -> Tensor:
        if self.drawn is None:
            return nearest(weights_KP)
        return stochastic(weights_KP, self.drawn.bits("weights", weights_KP.shape[1]))
