"""What is looked at on probed steps. Probes read; training never depends on them."""

import math

import torch
from torch import Tensor

from harness.spec import Measurement
from harness.training.network import PackedNetwork
from models import Taps

# More early probes than this add cost and no information to the first hundredth of a run.
MOST_EARLY_PROBES = 10
LAYER_PROBES = ("gradient_norm", "update_ratio")


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


def gradient_variance(
    network: PackedNetwork, inputs: Tensor, targets: Tensor, gradient_KP: Tensor, taps: Taps | None = None
) -> Tensor:
    """Trace of the covariance of the batch gradient, [K], from one half batch, whose activations fill `taps`.

    With g the mean of B independent example gradients of covariance S and h the mean of b of them,
    E|h - g|^2 = tr S (1/b - 1/B); the batch gradient's variance is tr S / B. The two-batch estimator of McCandlish et
    al. 2018, appendix A.1, with the small batch inside the large one.
    """
    batch = targets.shape[1]
    half = batch // 2
    _, half_gradient_KP = network.gradient(inputs[:, :half], targets[:, :half], taps)
    return (half_gradient_KP - gradient_KP).square().sum(1) / (batch / half - 1)


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
