"""A multi-layer perceptron: `depth` hidden layers of one width."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from .layers import Adapter, LayerNorm, Linear, Parameter, Tap, View, show, through
from .parametrization import Parametrization

# The gains that keep the scale of activations: He et al. 2015 for ReLU, which GELU is near to; for the others those of
# torch.nn.init.calculate_gain.
ACTIVATIONS: dict[str, tuple[Callable[[Tensor], Tensor], float]] = {
    "relu": (torch.relu, math.sqrt(2.0)),
    "gelu": (torch.nn.functional.gelu, math.sqrt(2.0)),
    "tanh": (torch.tanh, 5 / 3),
    "sigmoid": (torch.sigmoid, 1.0),
}


class MLP:
    """Maps examples [K, B, ...] to logits [K, B, C]. Hidden weights start at a variance of gain^2/fan_in: of 2/fan_in for ReLU,
    as He et al. have it.

    Layer i makes s_i = W_i a_{i-1} + b_i and a_i = activation(norm(s_i)); a_{-1} are the features, and the readout reads the
    last a. norm: layer norm of the summed inputs (Ba et al. 2016, section 3), or nothing. residual: s_i is added to s_{i-1},
    from the second layer on, so that all but the first matrix write into a stream that they read through norm and activation
    (pre-activation, He et al. 2016, Identity mappings, figure 4e); at the start what each adds is divided by the root of how
    many add, so that the stream does not grow with the depth. gain: of the hidden matrices; none: the activation's own.
    adapter_rank: of an adapter beside every matrix; 0: none. Dropout is of every a (Srivastava et al. 2014, section 4). tap,
    where given, is shown every a, and the logits.
    """

    def __init__(
        self,
        features: int,
        classes: int,
        width: int,
        depth: int,
        scheme: Parametrization | None = None,
        activation: str = "relu",
        norm: bool = False,
        residual: bool = False,
        gain: float | None = None,
        adapter_rank: int = 0,
    ):
        scheme = scheme or Parametrization()
        self.activation, own_gain = ACTIVATIONS[activation]
        self.residual = residual
        factor = own_gain if gain is None else gain
        added = 1.0 / math.sqrt(max(1, depth - 1)) if residual else 1.0
        self.blocks = tuple(
            Linear(
                f"hidden.{index}",
                width if index else features,
                width,
                factor * scheme.hidden_std(width if index else features) * (added if index else 1.0),
                growing=(index > 0, True),
            )
            for index in range(depth)
        )
        self.norms = tuple(LayerNorm(f"norm.{index}", width) for index in range(depth)) if norm else ()
        self.readout = Linear("readout", width, classes, scheme.readout_std(width), growing=(True, False))
        self.readout_multiplier = scheme.readout_multiplier
        self.adapters = {layer: Adapter(layer, adapter_rank) for layer in (*self.blocks, self.readout) if adapter_rank}
        # Adapters come last, so that the rest starts as it does without them.
        layers = (*self._layers(), *self.adapters.values())
        self.parameters: tuple[Parameter, ...] = tuple(p for layer in layers for p in layer.parameters)
        self.flops_per_example = 2.0 * sum(math.prod(p.shape) for p in self.parameters if p.decays)
        self.activations_per_example = features + (3 + norm + residual) * depth * width + 3 * classes

    def _layers(self) -> tuple[Linear | LayerNorm, ...]:
        """The layers in the order of the forward pass."""
        if not self.norms:
            return (*self.blocks, self.readout)
        return (*(layer for pair in zip(self.blocks, self.norms, strict=True) for layer in pair), self.readout)

    def __call__(self, view: View, x_KBF: Tensor, tap: Tap | None = None) -> Tensor:
        x_KBF = x_KBF.flatten(2)

        def activated(index: int, s_KBW: Tensor) -> Tensor:
            s_KBW = self.norms[index](view, s_KBW) if self.norms else s_KBW
            a_KBW = self.activation(s_KBW)
            show(tap, f"hidden.{index}", a_KBW)
            return view.dropped(f"hidden.{index}", a_KBW)

        def linear(layer: Linear, a_KBF: Tensor) -> Tensor:
            adapter = self.adapters.get(layer)
            return layer(view, a_KBF) if adapter is None else layer(view, a_KBF) + adapter(view, a_KBF)

        def step(index: int, a_KBF: Tensor) -> Tensor:
            return activated(index, linear(self.blocks[index], a_KBF))

        def added(index: int, s_KBF: Tensor) -> Tensor:
            if not index:
                return linear(self.blocks[0], s_KBF)
            return s_KBF + linear(self.blocks[index], activated(index - 1, s_KBF))

        last = len(self.blocks) - 1
        steps = [partial(added if self.residual else step, index) for index in range(last + 1)]
        x_KBF = through(steps, x_KBF, view.segments)
        if self.residual:
            x_KBF = activated(last, x_KBF)
        if self.readout_multiplier != 1.0:
            x_KBF = x_KBF * self.readout_multiplier
        logits_KBC = linear(self.readout, x_KBF)
        show(tap, "logits", logits_KBC)
        return logits_KBC
