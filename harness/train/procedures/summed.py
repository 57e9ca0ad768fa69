"""A loss that is a sum over its batch: what is descended is the sum, whatever parts it was made of."""

from torch import Tensor

from ....models import Tap
from ..workloads.network import PackedNetwork
from .base import Procedure


class Summed(Procedure):
    """The network gives the mean and its gradient, which records and evaluations of batches of any size have in common."""

    def __init__(self, inner: Procedure, network: PackedNetwork):
        super().__init__(inner)
        self.network = network

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
