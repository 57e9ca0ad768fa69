"""A residual convolutional network on images: pre-activation blocks, group norm, as many channels everywhere."""

import math
from functools import partial

import torch
from torch import Tensor

from .layers import Convolution, GroupNorm, Linear, Tap, View, show, through
from .parametrization import Parametrization

# An image with a shorter side is not halved.
LEAST_SIDE_TO_HALVE = 8


class ResidualBlock:
    """x + conv(relu(norm(conv(relu(norm(x)))))), pre-activation (He et al. 2016, Identity mappings, figure 1b).

    With stride 2 the first convolution halves the sides, and the shortcut takes every second pixel of every second row
    (He et al. 2016, Deep residual learning, section 4.1, option A; the channels stay). Dropout lies between the convolutions
    (Zagoruyko and Komodakis 2016, Wide residual networks, section 2.4).
    """

    def __init__(self, name: str, width: int, depth: int, stride: int, scheme: Parametrization):
        self.name, self.stride = name, stride
        fan_in, gain = 9 * width, math.sqrt(2.0)
        self.norm1 = GroupNorm(f"{name}.norm1", width)
        self.conv1 = Convolution(f"{name}.conv1", width, width, gain * scheme.hidden_std(fan_in), stride)
        self.norm2 = GroupNorm(f"{name}.norm2", width)
        self.conv2 = Convolution(f"{name}.conv2", width, width, gain * scheme.residual_std(fan_in, depth))
        self.layers = (self.norm1, self.conv1, self.norm2, self.conv2)

    def __call__(self, view: View, x_KBCHW: Tensor) -> Tensor:
        inner = self.conv1(view, torch.relu(self.norm1(view, x_KBCHW)))
        shortcut = x_KBCHW[..., :: self.stride, :: self.stride]
        return shortcut + self.conv2(view, view.dropped(self.name, torch.relu(self.norm2(view, inner))))


class CNN:
    """Maps images [K, B, H, W] or [K, B, C, H, W] to logits [K, B, classes].

    A 3x3 stem, `depth` residual blocks, norm, ReLU, mean over the pixels, readout; `width` channels from the stem on. Block
    depth // 2 (from 0), but not the first, halves the sides where both are at least 8. Convolutions start at He et al.'s
    variance 2/fan_in, a block's second one at that divided by 2 * depth. tap, where given, is shown the stream after the
    stem and after each block, [K, B, width, H, W], and the logits.
    Raises ValueError where the features are not (H, W) or (C, H, W).
    """

    def __init__(self, features: tuple[int, ...], classes: int, width: int, depth: int, scheme: Parametrization | None = None):
        if len(features) not in (2, 3):
            raise ValueError(f"features {features} are not those of an image: give (H, W) or (C, H, W)")
        scheme = scheme or Parametrization()
        self.image = (1, *features)[-3:]
        channels, *sides = self.image
        stem_std = math.sqrt(2.0) * scheme.hidden_std(9 * channels)
        self.stem = Convolution("stem", channels, width, stem_std, growing=(False, True))
        halved = depth // 2 if min(sides) >= LEAST_SIDE_TO_HALVE else 0
        strides = [2 if 0 < index == halved else 1 for index in range(depth)]
        self.blocks = tuple(ResidualBlock(f"blocks.{i}", width, depth, stride, scheme) for i, stride in enumerate(strides))
        self.norm = GroupNorm("final.norm", width)
        self.readout = Linear("final.readout", width, classes, scheme.readout_std(width), growing=(True, False))
        self.readout_multiplier = scheme.readout_multiplier
        layers = (self.stem, *(layer for block in self.blocks for layer in block.layers), self.norm, self.readout)
        self.parameters = tuple(parameter for layer in layers for parameter in layer.parameters)
        self._count(channels, sides, strides, width, classes)

    def _count(self, channels: int, sides: list[int], strides: list[int], width: int, classes: int) -> None:
        """Products' floating-point operations, and floats that the backward pass needs where products need window copies."""
        pixels = math.prod(sides)
        products, kept = 9 * channels * width * pixels, 9 * channels * pixels
        # The gradient of the largest window copy, once as it is and once with its rows summed.
        passing = (9 + 3) * width * pixels
        for stride in strides:
            before, sides = pixels, [math.ceil(side / stride) for side in sides]
            pixels = math.prod(sides)
            products += 2 * 9 * width**2 * pixels
            # Of each convolution its nine-fold window copy; of each norm its input and what the ReLU after it gives.
            kept += 2 * width * before + (9 + 2 + 9) * width * pixels
        self.flops_per_example = 2.0 * (products + width * classes)
        self.activations_per_example = kept + passing + 2 * width * pixels + 3 * classes

    def __call__(self, view: View, x_KBF: Tensor, tap: Tap | None = None) -> Tensor:
        x_KBCHW = self.stem(view, x_KBF.reshape(*x_KBF.shape[:2], *self.image))
        show(tap, "stem", x_KBCHW)

        def step(index: int, x_KBCHW: Tensor) -> Tensor:
            x_KBCHW = self.blocks[index](view, x_KBCHW)
            show(tap, f"blocks.{index}", x_KBCHW)
            return x_KBCHW

        x_KBCHW = through([partial(step, index) for index in range(len(self.blocks))], x_KBCHW, view.segments)
        x_KBC = torch.relu(self.norm(view, x_KBCHW)).mean(dim=(3, 4))
        if self.readout_multiplier != 1.0:
            x_KBC = x_KBC * self.readout_multiplier
        logits_KBC = self.readout(view, x_KBC)
        show(tap, "logits", logits_KBC)
        return logits_KBC
