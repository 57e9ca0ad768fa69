"""Layers with a leading lane axis.

Shapes are spelled in the names: K lanes, B sequences, T positions, N rows (B*T), W width, V vocabulary.
A layer declares its parameters; their values live in one flat buffer [K, P] per pack, and the layer is called with
views into it. So an optimizer works on one tensor however many layers a model has, and lanes never mix.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

Product = Callable[[Tensor, Tensor], Tensor]  # [K, N, I], [K, I, O] -> [K, N, O]
Tap = Callable[[str, Tensor], None]  # is shown an activation [K, ...] under its name
Drop = Callable[[str, Tensor], Tensor]  # the name of a place, an activation there [K, B, ...] -> what dropout leaves of it


class View(dict[str, Tensor]):
    """Parameter name -> [K, *shape], and how layers multiply by their matrices: another `product` emulates a number format.

    segments: number of stretches of a model's blocks that keep only their input for the backward pass and compute the rest
    again; 0: everything is kept. drop: what dropout does, the same however often it is asked; None:
    nothing is dropped.
    """

    def __init__(self, values: Mapping[str, Tensor], product: Product = torch.bmm, segments: int = 0, drop: Drop | None = None):
        super().__init__(values)
        self.product, self.segments, self.drop = product, segments, drop

    def dropped(self, place: str, x_KB: Tensor) -> Tensor:
        """An activation [K, B, ...], or [K, B * T, ...], after dropout at a place of that name."""
        return x_KB if self.drop is None else self.drop(place, x_KB)


def through(blocks: Sequence[Callable[[Tensor], Tensor]], x: Tensor, segments: int) -> Tensor:
    """One block after the other, in this many segments of about equal length (Chen et al. 2016, arXiv:1604.06174)."""
    if not segments:
        for block in blocks:
            x = block(x)
        return x
    edges = [round(index * len(blocks) / segments) for index in range(segments + 1)]
    for start, end in itertools.pairwise(edges):
        # Dropout is a function of seed, step and place: there is no state of a generator to restore.
        x = checkpoint(through, blocks[start:end], x, 0, use_reentrant=False, preserve_rng_state=False)
    return x


def show(tap: Tap | None, name: str, x_K: Tensor) -> None:
    """Show an activation to whoever asked for it."""
    if tap is not None:
        tap(name, x_K)


@dataclass(frozen=True)
class Parameter:
    """One weight of one lane: its name, its shape, and how it starts."""

    name: str
    shape: tuple[int, ...]
    initial_std: float = 0.0  # normal around `initial_mean`; 0 starts all entries at the mean
    initial_mean: float = 0.0
    growing_sides: int = 1  # sides that grow with the width: 2 for a hidden matrix, 0 for a readout's bias
    drawn_transposed: bool = False  # its starting values are drawn in the order of the transposed matrix
    is_complex: bool = False  # its last side holds real and imaginary parts
    padding: int = 0  # entries behind its own that stay zero: complex numbers have to begin at an even one

    @property
    def size(self) -> int:
        """Entries of a lane's buffer."""
        return math.prod(self.shape) + self.padding

    @property
    def layer(self) -> str:
        return self.name.rpartition(".")[0]

    @property
    def decays(self) -> bool:
        """Weight decay acts on matrices; gains and biases are left alone, as is usual for language models."""
        return len(self.shape) - self.is_complex >= 2


class Model(Protocol):
    """A network's architecture: its weights, and its blocks, which follow each other. Costs are counted by an example:
    operations of a forward pass, and numbers that it keeps for the backward pass."""

    @property
    def parameters(self) -> Sequence[Parameter]: ...

    @property
    def blocks(self) -> Sequence[object]: ...

    @property
    def flops_per_example(self) -> float: ...

    @property
    def activations_per_example(self) -> int: ...

    def __call__(self, view: View, x: Tensor, /, tap: Tap | None = None) -> Tensor: ...


class Linear:
    """y = x A + b in every lane: [K, N, inputs] -> [K, N, outputs].

    A is [inputs, outputs], the transpose of torch.nn.Linear's weight, because then the gradient that a batched product gives
    lies as the weight does and is not copied. It starts as torch.nn's would: values are drawn as [outputs, inputs].
    """

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
        self.weight = Parameter(
            f"{name}.weight", (inputs, outputs), initial_std, growing_sides=sum(growing), drawn_transposed=True
        )
        self.bias = Parameter(f"{name}.bias", (outputs,), growing_sides=int(growing[1])) if bias else None
        self.parameters = (self.weight,) if self.bias is None else (self.weight, self.bias)

    def __call__(self, view: View, x_KNI: Tensor) -> Tensor:
        weight_KIO = view[self.weight.name]
        if self.bias is None:
            return view.product(x_KNI, weight_KIO)
        if view.product is torch.bmm:  # one call instead of two
            return torch.baddbmm(view[self.bias.name].unsqueeze(1), x_KNI, weight_KIO)
        return view.product(x_KNI, weight_KIO) + view[self.bias.name].unsqueeze(1)


class Adapter:
    """y = x A B beside a linear layer, in every lane: of low rank, and zero at first because B is (Hu et al. 2021, section 4.1;
    their factor alpha over the rank is 1)."""

    def __init__(self, beside: Linear, rank: int):
        inputs, outputs = beside.weight.shape
        name = f"adapter.{beside.weight.layer}"
        self.down = Parameter(f"{name}.down", (inputs, rank), 1 / math.sqrt(inputs))
        self.up = Parameter(f"{name}.up", (rank, outputs))
        self.parameters = (self.down, self.up)

    def __call__(self, view: View, x_KNI: Tensor) -> Tensor:
        return view.product(view.product(x_KNI, view[self.down.name]), view[self.up.name])


class Embedding:
    """A row per index in every lane: integers [K, ...] -> [K, ..., width]."""

    def __init__(self, name: str, rows: int, width: int, initial_std: float):
        self.rows = rows
        self.weight = Parameter(f"{name}.weight", (rows, width), initial_std)
        self.parameters = (self.weight,)

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
        self.parameters = (self.gain, self.bias)

    def __call__(self, view: View, x_KNW: Tensor) -> Tensor:
        gain_KW, bias_KW = view[self.gain.name], view[self.bias.name]
        if len(gain_KW) == 1:  # one call, which also sums the gradients of gain and bias
            return F.layer_norm(x_KNW, (self.width,), gain_KW[0], bias_KW[0])
        return torch.addcmul(bias_KW.unsqueeze(1), F.layer_norm(x_KNW, (self.width,)), gain_KW.unsqueeze(1))


def causal_attention(q_KBTW: Tensor, k_KBTW: Tensor, v_KBTW: Tensor, heads: int, scale: float) -> Tensor:
    """Scaled dot-product attention that sees no later position; lanes are folded into the batch: [K, B, T, W] -> same."""
    lanes, batch, positions, width = q_KBTW.shape

    def folded(x_KBTW: Tensor) -> Tensor:
        return x_KBTW.reshape(lanes * batch, positions, heads, width // heads).transpose(1, 2)

    mixed = F.scaled_dot_product_attention(folded(q_KBTW), folded(k_KBTW), folded(v_KBTW), is_causal=True, scale=scale)
    return mixed.transpose(1, 2).reshape(lanes, batch, positions, width)


class Convolution:
    """A 3x3 convolution with zeros beyond the border and no bias: [K, B, inputs, H, W] -> [K, B, outputs, H', W'].

    H and W are an image's sides; stride 2 turns a side of n into one of ceil(n / 2). It multiplies through the view's
    product, as [K, B*H'*W', 9*inputs] x [K, 9*inputs, outputs]. In FP32 on a CPU one grouped convolution, a group a lane,
    computes the same; nowhere else, because others let a diverged lane's NaN into its neighbours (BF16 on a CPU, stride 2)
    or have a switch for TF32 of their own (cuDNN).
    """

    def __init__(
        self,
        name: str,
        inputs: int,
        outputs: int,
        initial_std: float,
        stride: int = 1,
        growing: tuple[bool, bool] = (True, True),
    ):
        """growing: whether the inputs and the outputs grow with the width."""
        self.stride = stride
        self.weight = Parameter(f"{name}.weight", (outputs, inputs, 3, 3), initial_std, growing_sides=sum(growing))
        self.parameters = (self.weight,)

    def __call__(self, view: View, x_KBCHW: Tensor) -> Tensor:
        weight_KOC33 = view[self.weight.name]
        if view.product is torch.bmm and x_KBCHW.dtype == torch.float32 and x_KBCHW.device.type == "cpu":
            lanes = weight_KOC33.shape[0]
            y = F.conv2d(to_channels(x_KBCHW), weight_KOC33.flatten(0, 1), stride=self.stride, padding=1, groups=lanes)
            return from_channels(y, lanes)
        windows = F.pad(x_KBCHW, (1, 1, 1, 1)).unfold(3, 3, self.stride).unfold(4, 3, self.stride)
        lanes, batch, channels, height, width = windows.shape[:5]
        x_KNI = windows.permute(0, 1, 3, 4, 2, 5, 6).reshape(lanes, batch * height * width, 9 * channels)
        y_KNO = view.product(x_KNI, weight_KOC33.flatten(2).transpose(1, 2))
        return y_KNO.view(lanes, batch, height, width, -1).permute(0, 1, 4, 2, 3)


class GroupNorm:
    """Normalization over groups of channels and all pixels (Wu & He 2018), a gain and a bias per lane and channel.

    [K, B, C, H, W] -> same, H and W being an image's sides. The groups are as many as divide the channels, at most 8.
    """

    def __init__(self, name: str, channels: int):
        self.groups = max(groups for groups in range(1, 9) if channels % groups == 0)
        self.gain = Parameter(f"{name}.gain", (channels,), initial_mean=1.0)
        self.bias = Parameter(f"{name}.bias", (channels,))
        self.parameters = (self.gain, self.bias)

    def __call__(self, view: View, x_KBCHW: Tensor) -> Tensor:
        gain_KC, bias_KC = view[self.gain.name], view[self.bias.name]
        lanes = gain_KC.shape[0]
        normal = F.group_norm(to_channels(x_KBCHW), lanes * self.groups, gain_KC.flatten(), bias_KC.flatten())
        return from_channels(normal, lanes)


def to_channels(x_KBCHW: Tensor) -> Tensor:
    """Lanes side by side as channels: [K, B, C, H, W] -> [B, K*C, H, W], without a copy where memory has that order."""
    return x_KBCHW.transpose(0, 1).flatten(1, 2)


def from_channels(x: Tensor, lanes: int) -> Tensor:
    """[B, K*C, H, W] -> [K, B, C, H, W], without a copy."""
    batch, channels, height, width = x.shape
    return x.view(batch, lanes, channels // lanes, height, width).transpose(0, 1)
