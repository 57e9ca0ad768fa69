"""What is looked at on probed steps. Probes read; training never depends on them."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from folklore.harness.spec import Measurement
from folklore.harness.spec.configuration import LOSS_SCALES
from folklore.harness.training.network import PackedNetwork
from folklore.harness.training.noise import half_batch_variance
from folklore.models import Tap

# More early probes than this add cost and no information to the first hundredth of a run.
MOST_EARLY_PROBES = 10
LAYER_PROBES = ("gradient_norm", "update_ratio")
# The largest magnitude that rounds to zero in FP16: half its smallest subnormal number, a tie that goes to even.
FP16_FLUSHED = 2.0**-25
UNDERFLOWS = ("underflow_activation", "underflow_logits", "underflow_weight")
LOGITS = "logits"


def probe_steps(steps: int, measurement: Measurement) -> list[int]:
    """Evenly spread steps, the last one among them, and the first hundredth of the run (from 0)."""
    spread = {round((index + 1) * steps / measurement.probes) - 1 for index in range(measurement.probes)}
    early = range(min(MOST_EARLY_PROBES, math.ceil(0.01 * steps)))
    return sorted({step for step in spread if step >= 0} | set(early))


def evaluation_steps(steps: int, measurement: Measurement) -> list[int]:
    """Evenly spread steps after which the validation sample is evaluated; the last step is one."""
    return sorted(
        {max(0, round((index + 1) * steps / measurement.evaluations) - 1) for index in range(measurement.evaluations)}
    )


class ActivationSizes:
    """A tap that notes the mean absolute value of every activation, [K] each; over all parts of a batch that comes in parts."""

    def __init__(self) -> None:
        self.sizes: dict[str, Tensor] = {}
        self.counts: Counter[str] = Counter()

    def __call__(self, name: str, x_K: Tensor) -> None:
        size_K = x_K.detach().float().abs().flatten(1).mean(dim=1)
        self.counts[name] += x_K.numel()
        known = self.sizes.get(name, size_K)
        self.sizes[name] = known + (size_K - known) * (x_K.numel() / self.counts[name])

    def stacked(self, names: Sequence[str]) -> Tensor:
        """[K, names]"""
        return torch.stack([self.sizes[name] for name in names], dim=1)


class Objective(Protocol):
    """What has a loss to descend: a network, or a procedure that does something else with a batch than a network alone."""

    def gradient(
        self, inputs: Tensor, targets: Tensor, tap: Tap | None = None, scale_K: Tensor | None = None
    ) -> tuple[Tensor, Tensor]: ...


def gradient_variance(
    network: Objective,
    inputs: Tensor,
    targets: Tensor,
    gradient_KP: Tensor,
    sizes: ActivationSizes | None = None,
    scale_K: Tensor | None = None,
) -> Tensor:
    """Trace of the covariance of the batch gradient, [K], from one half batch, whose activations `sizes` notes."""
    batch = targets.shape[1]
    half = batch // 2
    _, half_gradient_KP = network.gradient(inputs[:, :half], targets[:, :half], sizes, scale_K)
    return half_batch_variance(half_gradient_KP, gradient_KP, batch, half)


def update_statistics(network: PackedNetwork, before_KP: Tensor, gradient_KP: Tensor) -> dict[str, Tensor]:
    """Sizes around one update: global values [K], and per layer [K, layers] under the names of LAYER_PROBES.

    The update-to-weight ratio is |change| / |weights before|; a layer that is all zero before has no ratio (nan).
    """
    change_KP = network.flat_KP - before_KP
    layer_weight, layer_change = network.layer_norms(before_KP), network.layer_norms(change_KP)
    return {
        "weight_norm": before_KP.norm(dim=1),
        "update_ratio": change_KP.norm(dim=1) / before_KP.norm(dim=1),
        "layer_gradient_norm": network.layer_norms(gradient_KP),
        "layer_update_ratio": torch.where(layer_weight > 0, layer_change / layer_weight, float("nan")),
    }


def underflow_shares(
    network: PackedNetwork, inputs: Tensor, targets: Tensor, scale_K: Tensor | None = None
) -> dict[str, Tensor]:
    """Share of non-zero gradient entries that FP16 would flush to zero, [K, LOSS_SCALES], under the names of UNDERFLOWS.

    Of the gradients of the batch's mean loss, times the lane's own scale where it has one, with respect to the tapped
    activations before the logits, all together, to the logits, and to the weights.
    """
    shown: dict[str, Tensor] = {}
    losses_K = network.losses(inputs, targets, shown.__setitem__)
    scaled_K = losses_K if scale_K is None else losses_K * scale_K
    gradients = torch.autograd.grad(scaled_K.sum(), [*shown.values(), *network.views.values()])
    activations = dict(zip(shown, gradients, strict=False))
    hidden = [gradient for name, gradient in activations.items() if name != LOGITS]
    parts = hidden, [activations[LOGITS]], gradients[len(shown) :]
    return {name: _flushed(part) for name, part in zip(UNDERFLOWS, parts, strict=True)}


def _flushed(gradients: Sequence[Tensor]) -> Tensor:
    size_KN = torch.cat([gradient.flatten(1) for gradient in gradients], dim=1).abs().float()
    non_zero_K = (size_KN > 0).sum(dim=1).clamp(min=1)
    counts = [((size_KN > 0) & (size_KN <= FP16_FLUSHED / scale)).sum(dim=1) for scale in LOSS_SCALES]
    return torch.stack(counts, dim=1) / non_zero_K.unsqueeze(1)
