"""Layers with a leading lane axis.

Shapes are spelled in the names: K lanes, B sequences, T positions, N rows (B*T), W width, V vocabulary.
A layer declares its parameters; their values live in one flat buffer [K, P] per pack, and the layer is called with
views into it. So an optimizer works on one tensor however many layers a model has, and lanes never mix.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

View = Mapping[str, Tensor]  # parameter name -> [K, *shape]
Taps = dict[str, Tensor]  # what a forward pass notes of its activations: name -> mean absolute value of each lane, [K]


def tap(taps: Taps | None, name: str, x_KN: Tensor) -> None:
    """Note the size of an activation where somebody asked for it."""
    if taps is not None:
        taps[name] = x_KN.detach().float().abs().flatten(1).mean(dim=1)


@dataclass(frozen=True)
class Parameter:
    """One weight of one lane: its name, its shape, and how it starts."""

    name: str
    shape: tuple[int, ...]
    initial_std: float = 0.0  # normal around `initial_mean`; 0 starts all entries at the mean
    initial_mean: float = 0.0
    growing_sides: int = 1  # sides that grow with the width: 2 for a hidden matrix, 0 for a readout's bias

    @property
    def layer(self) -> str:
        return self.name.rpartition(".")[0]

    @property
    def decays(self) -> bool:
        """Weight decay acts on matrices; gains and biases are left alone, as is usual for language models."""
        return len(self.shape) >= 2


class Linear:
    """y = x A^T + b in every lane: [K, N, inputs] -> [K, N, outputs]."""

    def __init__(
        self,
        name: str,
        inputs: int,
        outputs: int,
        initial_std: float,
        bias: bool = True,
        growing: tuple[bool, bool] = (True, True),
    ):
        """growing: whether the inputs and the outputs grow with the width."""
        self.weight = Parameter(f"{name}.weight", (outputs, inputs), initial_std, growing_sides=sum(growing))
        self.bias = Parameter(f"{name}.bias", (outputs,), growing_sides=int(growing[1])) if bias else None

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (self.weight,) if self.bias is None else (self.weight, self.bias)

    def __call__(self, view: View, x_KNI: Tensor) -> Tensor:
        weight_KIO = view[self.weight.name].transpose(1, 2)
        if self.bias is None:
            return torch.bmm(x_KNI, weight_KIO)
        return torch.baddbmm(view[self.bias.name].unsqueeze(1), x_KNI, weight_KIO)


class Embedding:
    """A row per index in every lane: integers [K, ...] -> [K, ..., width]."""

    def __init__(self, name: str, rows: int, width: int, initial_std: float):
        self.rows = rows
        self.weight = Parameter(f"{name}.weight", (rows, width), initial_std)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (self.weight,)

    def __call__(self, view: View, index: Tensor) -> Tensor:
        weight_KRW = view[self.weight.name]
        lanes = weight_KRW.shape[0]
        # One table of K*rows rows: the lane is an offset into it.
        offset = torch.arange(lanes, device=index.device) * self.rows
        return F.embedding(index + offset.view(-1, *[1] * (index.dim() - 1)), weight_KRW.reshape(-1, weight_KRW.shape[-1]))


class LayerNorm:
    """Normalization over the last axis with a gain and a bias per lane: [K, N, W] -> [K, N, W]."""

    def __init__(self, name: str, width: int):
        self.width = width
        self.gain = Parameter(f"{name}.gain", (width,), initial_mean=1.0)
        self.bias = Parameter(f"{name}.bias", (width,))

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (self.gain, self.bias)

    def __call__(self, view: View, x_KNW: Tensor) -> Tensor:
        normal = F.layer_norm(x_KNW, (self.width,))
        return torch.addcmul(view[self.bias.name].unsqueeze(1), normal, view[self.gain.name].unsqueeze(1))


def causal_attention(q_KBTW: Tensor, k_KBTW: Tensor, v_KBTW: Tensor, heads: int, scale: float) -> Tensor:
    """Scaled dot-product attention that sees no later position; lanes are folded into the batch: [K, B, T, W] -> same."""
    lanes, batch, positions, width = q_KBTW.shape

    def folded(x_KBTW: Tensor) -> Tensor:
        return x_KBTW.reshape(lanes * batch, positions, heads, width // heads).transpose(1, 2)

    mixed = F.scaled_dot_product_attention(folded(q_KBTW), folded(k_KBTW), folded(v_KBTW), is_causal=True, scale=scale)
    return mixed.transpose(1, 2).reshape(lanes, batch, positions, width)
