"""The same examples for every lane: their gradient, which can be near zero, for no batch's noise is in it; and which units
fire."""

import torch
from torch import Tensor

from ...models import Tap
from .workloads.network import PackedNetwork


def gradient_of(network: PackedNetwork, inputs: Tensor, targets: Tensor, tap: Tap | None = None) -> Tensor:
    """Gradient of the mean loss over examples [N, ...] at the network's weights, [K, P], in FP32 whatever a training computes
    in; a sum over parts that are passed one after another, each of which the tap is shown."""
    lanes, at_once = len(network.flat_KP), network.examples_at_once(targets)
    total_KP = torch.zeros_like(network.flat_KP)
    with network.in_fp32(), torch.enable_grad():
        for part, answers in zip(torch.split(inputs, at_once), torch.split(targets, at_once), strict=True):
            lane_inputs, lane_answers = (tensor.expand(lanes, *tensor.shape) for tensor in (part, answers))
            total_KP += network.gradient(lane_inputs, lane_answers, tap)[1] * network.share(answers, targets)
    return total_KP


class Firing:
    """A tap that notes which hidden units are above zero on some example, over all parts of a sample that comes in parts; and
    in which lanes all of them are numbers."""

    def __init__(self) -> None:
        self.layers: dict[str, Tensor] = {}
        self.finite = torch.tensor(True)

    def __call__(self, name: str, x_KBU: Tensor) -> None:
        if name.startswith("hidden."):
            fires_KU = (x_KBU.detach() > 0).any(dim=1)
            self.layers[name] = fires_KU | self.layers[name] if name in self.layers else fires_KU
            self.finite = x_KBU.detach().isfinite().flatten(1).all(dim=1) & self.finite.to(x_KBU.device)

    def units(self) -> Tensor:
        """[K, layers, units]"""
        return torch.stack(list(self.layers.values()), dim=1)
