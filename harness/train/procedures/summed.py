"""A loss that is a sum over its batch: the sum is descended, whatever parts it was made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import Making, Procedure

if TYPE_CHECKING:
    from torch import Tensor

    from ....models import Tap


class Summed(Procedure):
    """The network gives the mean and its gradient, which records and evaluations of batches of any size have in common."""

    place = 60

    def prepare(self, making: Making) -> None:
        self.network = making.learner.network

    @classmethod
    def around(cls, inner: Procedure, making: Making) -> Procedure:
        """This procedure around the inner one if the network sums: a user's loss is known once its module is there."""
        return cls(inner, making) if making.learner.network.sums else inner

    def gradient(
        self,
        inputs: Tensor,
        targets: Tensor,
        tap: Tap | None = None,
        scale_K: Tensor | None = None,
        out_KP: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        losses_K, gradient_KP = self.inner.gradient(inputs, targets, tap, scale_K, out_KP)
        return losses_K, gradient_KP.mul_(self.network.counted(targets).unsqueeze(1))


PROCEDURE = Summed
