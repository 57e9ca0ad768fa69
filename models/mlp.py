"""A multi-layer perceptron: `depth` hidden layers of one width."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from folklore.models.layers import Linear, Parameter, Tap, View, show, through
from folklore.models.parametrization import Parametrization

# The gains that keep the scale of what passes: He et al. 2015 for ReLU, which GELU is near to; for the others those of
# torch.nn.init.calculate_gain.
ACTIVATIONS: dict[str, tuple[Callable[[Tensor], Tensor], float]] = {
    "relu": (torch.relu, math.sqrt(2.0)),
    "gelu": (torch.nn.functional.gelu, math.sqrt(2.0)),
    "tanh": (torch.tanh, 5 / 3),
    "sigmoid": (torch.sigmoid, 1.0),
}


class MLP:
    """Maps examples [K, B, ...] to logits [K, B, C]. Hidden weights start at a variance of gain^2/fan_in: of 2/fan_in for ReLU,
    as He et al. have it. Dropout is of what hidden layers give (Srivastava et al. 2014, section 4)."""

    def __init__(
        self,
        features: int,
        classes: int,
        width: int,
        depth: int,
        scheme: Parametrization | None = None,
        activation: str = "relu",
    ):
        scheme = scheme or Parametrization()
        self.activation, gain = ACTIVATIONS[activation]
        self.blocks = tuple(
            Linear(
                f"hidden.{index}",
                width if index else features,
                width,
                gain * scheme.hidden_std(width if index else features),
                growing=(index > 0, True),
            )
            for index in range(depth)
        )
        self.readout = Linear("readout", width, classes, scheme.readout_std(width), growing=(True, False))
        self.readout_multiplier = scheme.readout_multiplier
        self.parameters: tuple[Parameter, ...] = tuple(p for layer in (*self.blocks, self.readout) for p in layer.parameters)
        self.flops_per_example = 2.0 * sum(math.prod(p.shape) for p in self.parameters if p.decays)
        self.activations_per_example = features + 3 * depth * width + 3 * classes

    def __call__(self, view: View, x_KBF: Tensor, tap: Tap | None = None) -> Tensor:
        x_KBF = x_KBF.flatten(2)

        def step(index: int, x_KBF: Tensor) -> Tensor:
            x_KBF = self.activation(self.blocks[index](view, x_KBF))
            show(tap, f"hidden.{index}", x_KBF)
            return view.dropped(f"hidden.{index}", x_KBF)

        x_KBF = through([partial(step, index) for index in range(len(self.blocks))], x_KBF, view.segments)
        if self.readout_multiplier != 1.0:
            x_KBF = x_KBF * self.readout_multiplier
        logits_KBC = self.readout(view, x_KBF)
        show(tap, "logits", logits_KBC)
        return logits_KBC
