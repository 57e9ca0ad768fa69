"""Models whose training is known in closed form: a linear map, and a quadratic bowl under noise.

They are for planted studies, where a harness's findings can be compared with the known answer.
"""

import torch
from torch import Tensor

from .layers import Linear, Parameter, Tap, View, show


class LinearModel:
    """y = x A, without a bias: [K, B, ...] to [K, B, outputs]. A starts at zero."""

    blocks = ()

    def __init__(self, features: int, outputs: int):
        self.map = Linear("map", features, outputs, 0.0, bias=False, growing=(False, False))
        self.parameters: tuple[Parameter, ...] = self.map.parameters
        self.flops_per_example = 2.0 * features * outputs
        self.activations_per_example = features + outputs

    def __call__(self, view: View, x_KBF: Tensor, tap: Tap | None = None) -> Tensor:
        y_KBO = self.map(view, x_KBF.flatten(2))
        show(tap, "outputs", y_KBO)
        return y_KBO


class Quadratic:
    """sqrt(h) * (theta - z) for examples z [K, B, ...]: half its square is a bowl around z with curvatures h_i = i / D, i = 1
    to D. theta starts at one in every entry."""

    blocks = ()

    def __init__(self, features: int):
        self.theta = Parameter("bowl.theta", (features,), initial_mean=1.0, growing_sides=0)
        self.parameters: tuple[Parameter, ...] = (self.theta,)
        self.flops_per_example = 2.0 * features
        self.activations_per_example = 2 * features
        self.features = features

    def __call__(self, view: View, z_KBF: Tensor, tap: Tap | None = None) -> Tensor:
        z_KBF = z_KBF.flatten(2)
        away_KBF = view[self.theta.name].unsqueeze(1) - z_KBF
        scaled_KBF = self.curvatures(z_KBF).sqrt() * away_KBF
        show(tap, "outputs", scaled_KBF)
        return scaled_KBF

    def curvatures(self, like: Tensor) -> Tensor:
        """[D]"""
        return torch.arange(1, self.features + 1, dtype=like.dtype, device=like.device) / self.features
