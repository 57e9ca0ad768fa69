"""Single operations in 16 bits against FP64: what each loses where every elementary step is rounded, and where only its
result is.

Step by step, every intermediate result is held in the format. Sums are made in FP32 and rounded once, as kernels and tensor
cores make them, or (sums = "same") in the format itself, one term after the other, as a naive kernel would; whichever it
is, it is the same for all operations, products of matrices among them.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor

from folklore.harness.randomness import torch_generator

ROWS, WIDTH = 64, 512
FORMATS = {"bf16": torch.bfloat16, "fp16": torch.float16}
# Activations of a residual stream: a common offset, and a spread of several units.
OFFSET, SPREAD = 2.0, 4.0
EPSILON = 1e-5


def unit_roundoff(number_format: str) -> float:
    """The largest relative error of rounding once to nearest: half the distance from one to the next number."""
    return torch.finfo(FORMATS[number_format]).eps / 2


def inputs(seed: int, offset: float = OFFSET, spread: float = SPREAD) -> Tensor:
    """FP64 activations [ROWS, WIDTH]."""
    generator = torch_generator(seed, "operations")
    return offset + spread * torch.randn(ROWS, WIDTH, generator=generator, dtype=torch.float64)


Sums = Literal["fp32", "same"]


def _sum(x_RW: Tensor, sums: Sums) -> Tensor:
    """Over the last axis, [R, 1], in the format of x."""
    if sums == "fp32":
        wide = x_RW if x_RW.dtype == torch.float64 else x_RW.float()
        return wide.sum(dim=1, keepdim=True).to(x_RW.dtype)
    total = torch.zeros_like(x_RW[:, :1])
    for column in range(x_RW.shape[1]):
        total = total + x_RW[:, column : column + 1]
    return total


def _layer_norm(x_RW: Tensor, sums: Sums) -> Tensor:
    centred = x_RW - _sum(x_RW, sums) / x_RW.shape[1]
    return centred / (_mean_square(centred, sums) + EPSILON).sqrt()


def _mean_square(centred_RW: Tensor, sums: Sums) -> Tensor:
    return _sum(centred_RW * centred_RW, sums) / centred_RW.shape[1]


def _variance(x_RW: Tensor, sums: Sums) -> Tensor:
    """Of each row, by way of its mean, [R, 1]."""
    return _mean_square(x_RW - _sum(x_RW, sums) / x_RW.shape[1], sums)


def _softmax(x_RW: Tensor, sums: Sums) -> Tensor:
    powers = (x_RW - x_RW.amax(dim=1, keepdim=True)).exp()
    return powers / _sum(powers, sums)


def _log_sum_exp(x_RW: Tensor, sums: Sums) -> Tensor:
    """Of each row, its largest entry taken off before the powers, [R, 1]."""
    largest = x_RW.amax(dim=1, keepdim=True)
    return largest + _sum((x_RW - largest).exp(), sums).log()


@lru_cache(maxsize=1)
def _weight() -> Tensor:
    generator = torch_generator(0, "operations:weight")
    drawn = torch.randn(WIDTH, WIDTH, generator=generator, dtype=torch.float64)
    return drawn.div_(WIDTH**0.5)


def _matmul(x_RW: Tensor, sums: Sums) -> Tensor:
    weight = _weight().to(x_RW.dtype)
    if sums == "fp32":
        wide = x_RW.dtype if x_RW.dtype == torch.float64 else torch.float32
        return torch.mm(x_RW.to(wide), weight.to(wide)).to(x_RW.dtype)
    total = torch.zeros(len(x_RW), WIDTH, dtype=x_RW.dtype)
    for column in range(WIDTH):
        total = total + x_RW[:, column : column + 1] * weight[column]
    return total


def _gelu(x_RW: Tensor, sums: Sums) -> Tensor:
    product: Tensor = x_RW * (1 + torch.erf(x_RW / 2**0.5)) / 2
    return product


OPERATIONS: dict[str, Callable[[Tensor, Sums], Tensor]] = {
    "layer_norm": _layer_norm,
    "variance": _variance,
    "softmax": _softmax,
    "log_sum_exp": _log_sum_exp,
    "matmul": _matmul,
    "gelu": _gelu,
}


@lru_cache(maxsize=1024)
def relative_error(
    operation: str,
    number_format: str,
    seed: int,
    stepwise: bool,
    sums: Sums = "fp32",
    offset: float = OFFSET,
    spread: float = SPREAD,
) -> float:
    """Root mean square error against FP64 on the same 16-bit inputs, relative to the result's root mean square.

    stepwise: compute in the format; else in FP32, rounding the result once.
    """
    compute, dtype = OPERATIONS[operation], FORMATS[number_format]
    x_RW = inputs(seed, offset, spread).to(dtype)
    exact = compute(x_RW.double(), "fp32")  # which for FP64 means sums in FP64, at once
    seen = (compute(x_RW, sums) if stepwise else compute(x_RW.float(), sums).to(dtype)).double()
    return float((seen - exact).square().mean().sqrt() / exact.square().mean().sqrt())
