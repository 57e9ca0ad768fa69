"""Dropout: activations are zero with a chance, and else divided by what is left of one (Srivastava et al. 2014, section 10).

The dropped activations depend on seed, step, place and the number of the example in the batch: lanes do not know each other,
and a batch in parts, or a pass that is computed again, drops what the whole one does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..declare import Training
from ..errors import UserError
from ..randomness import Order
from .part import EnginePart
from .workloads.architectures import those_that

if TYPE_CHECKING:
    from torch import Tensor

    from ...models import Model
    from .learner import Learner
    from .workloads.base import BaseWorkload


class Dropout(EnginePart):
    """Dropout with a chance for each lane; a chance of zero leaves an activation as it is."""

    setting, said = "training.dropout", ", {t.dropout:.3g} of the activations dropped"

    def __init__(self, lanes: Sequence[Training], orders: Sequence[Order], learner: Learner):
        import torch

        from .counted import CHANCES, Counted

        self.network, self.drawn = learner.network, Counted(orders, "dropout", learner.clock)
        device, chances = learner.clock.device, [lane.dropout for lane in lanes]
        self.bound_K1 = torch.tensor([round(chance * CHANCES) for chance in chances], device=device).unsqueeze(1)
        self.scale_K1 = torch.tensor([1 / (1 - chance) for chance in chances], device=device).unsqueeze(1)

    @classmethod
    def require_model(cls, training: Training, workload: BaseWorkload, model: Model) -> None:
        if not workload.drops:
            raise UserError(
                f"dropout = {training.dropout:g}: model '{workload.declared.model}' has no place for it, {those_that('drops')}"
                f" have; {workload.without_dropout}"
            )

    def __call__(self, place: str, x_KB: Tensor) -> Tensor:
        """x_KB [K, B, ...], examples in their order; parts of a batch are of one size."""
        flat = x_KB.flatten(1)
        bits = self.drawn.bits(place, flat.shape[1], self.network.part * flat.shape[1])
        factor = (bits >= self.bound_K1) * self.scale_K1
        return (flat * factor.to(x_KB.dtype)).view(x_KB.shape)


def dropout_of(lanes: Sequence[Training], orders: Sequence[Order], learner: Learner) -> Dropout | None:
    """The dropout of these lanes; None if no lane drops."""
    return Dropout(lanes, orders, learner) if any(lane.dropout for lane in lanes) else None
