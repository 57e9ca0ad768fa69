"""A decoder-only transformer: causal attention, learned positions, separate readout; norms before what adds to the stream, or
after the sum."""

from collections.abc import Mapping
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from .layers import Adapter, Embedding, LayerNorm, Linear, Tap, View, causal_attention, show, through
from .parametrization import EMBEDDING_STD, Parametrization


class Block:
    """x + attention(norm(x)), then x + mlp(norm(x)); the MLP is four times as wide and uses GELU.

    post_norm: norm(x + attention(x)), then norm(x + mlp(x)), as Vaswani et al. 2017 have it (Xiong et al. 2020, figure 1). Then
    what is added is not scaled down with the depth at the start: the norm that follows keeps the stream from growing. Dropout
    is of what both add to the stream (Vaswani et al. 2017, section 5.4); attention's weights are left whole. adapter_rank: of
    an adapter beside every matrix; 0: none.
    """

    def __init__(
        self,
        name: str,
        width: int,
        depth: int,
        heads: int,
        scheme: Parametrization,
        post_norm: bool = False,
        adapter_rank: int = 0,
    ):
        self.name, self.heads, self.scale, self.post_norm = name, heads, scheme.attention_scale(width // heads), post_norm
        self.branch_multiplier = scheme.branch_multiplier(depth)
        hidden = scheme.hidden_std

        def added(fan_in: int) -> float:
            return hidden(fan_in) if post_norm else scheme.residual_std(fan_in, depth)

        self.norm1 = LayerNorm(f"{name}.norm1", width)
        self.qkv = Linear(f"{name}.attention.qkv", width, 3 * width, hidden(width))
        self.out = Linear(f"{name}.attention.out", width, width, added(width))
        self.norm2 = LayerNorm(f"{name}.norm2", width)
        self.up = Linear(f"{name}.mlp.up", width, 4 * width, hidden(width))
        self.down = Linear(f"{name}.mlp.down", 4 * width, width, added(4 * width))
        self.layers = (self.norm1, self.qkv, self.out, self.norm2, self.up, self.down)
        adapted = (self.qkv, self.out, self.up, self.down) if adapter_rank else ()
        self.adapters: Mapping[Linear, Adapter] = {layer: Adapter(layer, adapter_rank) for layer in adapted}

    def __call__(self, view: View, x_KNW: Tensor, positions: int) -> Tensor:
        if self.post_norm:
            x_KNW = self.norm1(view, x_KNW + self._attention(view, x_KNW, positions))
            return self.norm2(view, x_KNW + self._mlp(view, x_KNW))
        x_KNW = x_KNW + self._attention(view, self.norm1(view, x_KNW), positions)
        return x_KNW + self._mlp(view, self.norm2(view, x_KNW))

    def _attention(self, view: View, x_KNW: Tensor, positions: int) -> Tensor:
        lanes, rows, width = x_KNW.shape
        qkv = self._linear(self.qkv, view, x_KNW).view(lanes, rows // positions, positions, 3 * width)
        query, key, value = torch.chunk(qkv, 3, dim=-1)
        mixed = causal_attention(query, key, value, self.heads, self.scale)
        return self._branch(view, "attention", self._linear(self.out, view, mixed.view(lanes, rows, width)))

    def _mlp(self, view: View, x_KNW: Tensor) -> Tensor:
        hidden = F.gelu(self._linear(self.up, view, x_KNW))
        return self._branch(view, "mlp", self._linear(self.down, view, hidden))

    def _branch(self, view: View, name: str, x_KNW: Tensor) -> Tensor:
        """The part of a branch's output that is added to the stream."""
        scaled = x_KNW if self.branch_multiplier == 1.0 else x_KNW * self.branch_multiplier
        return view.dropped(f"{self.name}.{name}", scaled)

    def _linear(self, layer: Linear, view: View, x_KNI: Tensor) -> Tensor:
        adapter = self.adapters.get(layer)
        return layer(view, x_KNI) if adapter is None else layer(view, x_KNI) + adapter(view, x_KNI)


class GPT:
    """Maps tokens [K, B, T] to logits [K, B, T, V], each position seeing itself and what stands before it.

    tap, where given, is shown the stream before and after each block, and the logits. post_norm: of its blocks; the last one's
    norm is then the one before the readout. adapter_rank: of adapters in its blocks. Dropout is also of the sum of both
    embeddings. Raises ValueError where the width is not a multiple of the heads.
    """

    def __init__(
        self,
        vocabulary: int,
        context: int,
        width: int,
        depth: int,
        heads: int,
        scheme: Parametrization | None = None,
        post_norm: bool = False,
        adapter_rank: int = 0,
    ):
        scheme = scheme or Parametrization()
        if width % heads:
            raise ValueError(f"width {width} is not a multiple of heads {heads}: choose a divisor of the width")
        self.token = Embedding("embedding.token", vocabulary, width, EMBEDDING_STD)
        self.position = Embedding("embedding.position", context, width, EMBEDDING_STD)
        self.blocks = tuple(
            Block(f"blocks.{index}", width, depth, heads, scheme, post_norm, adapter_rank) for index in range(depth)
        )
        self.norm = None if post_norm else LayerNorm("final.norm", width)
        self.readout = Linear("final.readout", width, vocabulary, scheme.readout_std(width), bias=False, growing=(True, False))
        self.readout_multiplier = scheme.readout_multiplier
        adapters = (adapter for block in self.blocks for adapter in block.adapters.values())
        blocks = (layer for block in self.blocks for layer in block.layers)
        last = () if self.norm is None else (self.norm,)
        # Adapters come last, so that the rest starts as it does without them.
        layers = (self.token, self.position, *blocks, *last, self.readout, *adapters)
        self.parameters = tuple(parameter for layer in layers for parameter in layer.parameters)
        matmul = sum(p.shape[0] * p.shape[1] for p in self.parameters if p.decays and not p.name.startswith("embedding."))
        # Kaplan et al. 2020, section 2.1: two a weight and token, and attention's two products of the context.
        self.flops_per_example = context * (2.0 * matmul + 4.0 * depth * width * context)
        # Korthikanti et al. 2023, table 2, attention fused; logits, their softmax and their gradient.
        self.activations_per_example = context * (34 * depth * width + 3 * vocabulary)

    def __call__(self, view: View, tokens_KBT: Tensor, tap: Tap | None = None) -> Tensor:
        lanes, batch, positions = tokens_KBT.shape
        position_KT = torch.arange(positions, device=tokens_KBT.device).expand(lanes, positions)
        x_KBTW = self.token(view, tokens_KBT) + self.position(view, position_KT).unsqueeze(1)
        x_KNW = x_KBTW.reshape(lanes, batch * positions, -1)
        show(tap, "embedding", x_KNW)
        x_KNW = view.dropped("embedding", x_KNW)

        def step(index: int, x_KNW: Tensor) -> Tensor:
            x_KNW = self.blocks[index](view, x_KNW, positions)
            show(tap, f"blocks.{index}", x_KNW)
            return x_KNW

        x_KNW = through([partial(step, index) for index in range(len(self.blocks))], x_KNW, view.segments)
        if self.norm is not None:
            x_KNW = self.norm(view, x_KNW)
        if self.readout_multiplier != 1.0:
            x_KNW = x_KNW * self.readout_multiplier
        logits_KNV = self.readout(view, x_KNW)
        show(tap, "logits", logits_KNV)
        return logits_KNV.view(lanes, batch, positions, -1)
