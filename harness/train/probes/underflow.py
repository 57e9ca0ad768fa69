"""Shares of non-zero gradient entries that FP16 would flush to zero, at every loss scale of LOSS_SCALES.

Of the network's own loss on the whole batch, whatever else a procedure descends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...declare import Configuration
from ...declare.configuration import LOSS_SCALES
from ...declare.curves.of_probes import OF_PROBES
from ..part import Cost
from ..precisions import precision_named
from .base import Probe, ProbedStep

if TYPE_CHECKING:
    from torch import Tensor

    from ..workloads.network import PackedNetwork

# The largest magnitude that rounds to zero in FP16: half its smallest subnormal number, a tie that goes to even.
FP16_FLUSHED = 2.0**-25
LOGITS = "logits"


class Underflow(Probe):
    curves = OF_PROBES["underflow"]
    setting = "measurement.underflow"
    unseen = "needs activations, which an own workload does not show; choose another study"

    @classmethod
    def cost(cls, configuration: Configuration) -> Cost:
        """It looks at a whole batch, whatever parts it comes in."""
        training = configuration.training
        further = training.largest_batch_size - training.micro_batch_size
        return Cost(activation_bytes=precision_named(training.precision).activation_bytes * further)

    def before_update(self, step: ProbedStep) -> dict[str, Tensor]:
        shares = underflow_shares(step.network, step.inputs, step.targets, step.scale)
        return dict(zip((curve.name for curve in self.curves), shares, strict=True))


def underflow_shares(
    network: PackedNetwork, inputs: Tensor, targets: Tensor, scale_K: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Shares of hidden activations, of the logits and of the weights, [K, LOSS_SCALES] each.

    Of the gradients of the batch's mean loss, times the lane's own scale where it has one, with respect to the tapped
    activations before the logits, all together, to the logits, and to the weights.
    """
    import torch

    shown: dict[str, Tensor] = {}
    losses_K = network.losses(inputs, targets, shown.__setitem__)
    scaled_K = losses_K if scale_K is None else losses_K * scale_K
    gradients = torch.autograd.grad(scaled_K.sum(), [*shown.values(), *network.views.values()])
    activations = dict(zip(shown, gradients, strict=False))
    hidden = [gradient for name, gradient in activations.items() if name != LOGITS]
    return _flushed(hidden), _flushed([activations[LOGITS]]), _flushed(gradients[len(shown) :])


def _flushed(gradients: Sequence[Tensor]) -> Tensor:
    import torch

    size_KN = torch.cat([gradient.flatten(1) for gradient in gradients], dim=1).abs().float()
    non_zero_K = (size_KN > 0).sum(dim=1).clamp(min=1)
    counts = [((size_KN > 0) & (size_KN <= FP16_FLUSHED / scale)).sum(dim=1) for scale in LOSS_SCALES]
    return torch.stack(counts, dim=1) / non_zero_K.unsqueeze(1)


PROBE = Underflow()
