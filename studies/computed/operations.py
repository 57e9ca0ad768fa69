"""Single operations in 16 bits against FP64: what each loses where every elementary step is rounded, and where only its
result is.

Step by step, every intermediate result is held in the format. Sums are made in FP32 and rounded once, as kernels and tensor
cores make them, or (sums = "same") in the format itself, one term after the other, as a naive kernel would; whichever it
is, it is the same for all operations, products of matrices among them. The order of every sum is written out: a library's
depends on the processor, and with it which results are rounded up.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor

from ...harness.declare.computed import Worked
from ...harness.randomness import torch_generator

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


def _rounded(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """A function's value in the format of x, rounded once: 16-bit and FP32 kernels err in their last digit, by processor."""
    return function(x.double()).to(x.dtype)


def _sum(x_RW: Tensor, sums: Sums) -> Tensor:
    """Over the last axis, [R, 1], in the format of x."""
    if sums == "fp32":
        halves = x_RW if x_RW.dtype == torch.float64 else x_RW.float()
        while halves.shape[1] > 1:  # WIDTH is a power of two
            left, right = halves.chunk(2, dim=1)
            halves = left + right
        return halves.to(x_RW.dtype)
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
    """The variance of each row, by way of its mean, [R, 1]."""
    return _mean_square(x_RW - _sum(x_RW, sums) / x_RW.shape[1], sums)


def _softmax(x_RW: Tensor, sums: Sums) -> Tensor:
    powers = _rounded(torch.exp, x_RW - x_RW.amax(dim=1, keepdim=True))
    return powers / _sum(powers, sums)


def _log_sum_exp(x_RW: Tensor, sums: Sums) -> Tensor:
    """The log-sum-exp of each row, its largest entry taken off before the powers, [R, 1]."""
    largest = x_RW.amax(dim=1, keepdim=True)
    return largest + _rounded(torch.log, _sum(_rounded(torch.exp, x_RW - largest), sums))


@lru_cache(maxsize=1)
def _weight() -> Tensor:
    generator = torch_generator(0, "operations:weight")
    drawn = torch.randn(WIDTH, WIDTH, generator=generator, dtype=torch.float64)
    return drawn.div_(WIDTH**0.5)


def _matmul(x_RW: Tensor, sums: Sums) -> Tensor:
    weight, added = _weight().to(x_RW.dtype), x_RW
    if sums == "fp32" and x_RW.dtype != torch.float64:
        weight, added = weight.float(), x_RW.float()
    total = torch.zeros(len(x_RW), WIDTH, dtype=added.dtype)
    for column in range(WIDTH):
        total = total + added[:, column : column + 1] * weight[column]
    return total.to(x_RW.dtype)


def _gelu(x_RW: Tensor, sums: Sums) -> Tensor:
    product: Tensor = x_RW * (1 + _rounded(torch.erf, x_RW / 2**0.5)) / 2
    return product


OPERATIONS: dict[str, Callable[[Tensor, Sums], Tensor]] = {
    "layer_norm": _layer_norm,
    "variance": _variance,
    "softmax": _softmax,
    "log_sum_exp": _log_sum_exp,
    "matmul": _matmul,
    "gelu": _gelu,
}


def error(
    seed: int,
    operation: str,
    format: str,
    sums: Sums = "fp32",
    offset: float = OFFSET,
    spread: float = SPREAD,
) -> Worked:
    """Root mean square error against FP64 of an operation computed step by step in a 16-bit format, on the same 16-bit inputs,
    relative to the result's root mean square.

    over_unit_roundoff: over the largest relative error of rounding once to nearest (Higham 2002, section 2.1): to first order,
    n rounded steps that amplify nothing have an error of at most n. over_rounded_once: over the error of FP32, rounded once.
    """
    stepwise = relative_error(operation, format, seed, True, sums, offset, spread)
    rounded_once = relative_error(operation, format, seed, False, sums, offset, spread)
    return Worked({"over_unit_roundoff": stepwise / unit_roundoff(format), "over_rounded_once": stepwise / rounded_once})


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
    result = (compute(x_RW, sums) if stepwise else compute(x_RW.float(), sums).to(dtype)).double()
    return float((result - exact).square().mean().sqrt() / exact.square().mean().sqrt())
