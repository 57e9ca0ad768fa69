"""The measurements of a pass over half the batch: how much the gradient varies, and how large activations are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...declare.curves.of_probes import GRADIENT_VARIANCE, LAYER_ACTIVATION
from ..noise import half_batch_variance
from .base import Objective, Probe, ProbedStep

if TYPE_CHECKING:
    from torch import Tensor


class HalfBatch(Probe):
    curves = (GRADIENT_VARIANCE, LAYER_ACTIVATION)

    def before_update(self, step: ProbedStep) -> dict[str, Tensor]:
        sizes = ActivationSizes()
        variance_K = gradient_variance(step.objective, step.inputs, step.targets, step.gradient, sizes, step.scale)
        # A module that shows no activations has none to note.
        return {GRADIENT_VARIANCE.name: variance_K} | ({LAYER_ACTIVATION.name: sizes.stacked(step.taps)} if step.taps else {})


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
        import torch

        return torch.stack([self.sizes[name] for name in names], dim=1)


def gradient_variance(
    objective: Objective,
    inputs: Tensor,
    targets: Tensor,
    gradient_KP: Tensor,
    sizes: ActivationSizes | None = None,
    scale_K: Tensor | None = None,
) -> Tensor:
    """Trace of the covariance of the batch gradient, [K], from one half batch, whose activations `sizes` notes."""
    batch = targets.shape[1]
    half = batch // 2
    _, half_gradient_KP = objective.gradient(inputs[:, :half], targets[:, :half], sizes, scale_K)
    return half_batch_variance(half_gradient_KP, gradient_KP, batch, half)


PROBE = HalfBatch()
