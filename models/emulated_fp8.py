"""Products of FP8, emulated: numbers are those of the format, speed and memory are not."""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from . import Product


class Fp8Product(torch.autograd.Function):
    """A batched product with operands rounded to FP8: E4M3 forward, E5M2 for gradients; sums in FP32.

    The recipe of Micikevicius et al. 2022 (section 3), emulated.
    """

    @staticmethod
    def forward(ctx: Any, x_KNI: Tensor, weight_KIO: Tensor, scaled: bool) -> Tensor:
        x_KNI, weight_KIO = (rounded(operand, torch.float8_e4m3fn, scaled) for operand in (x_KNI, weight_KIO))
        ctx.save_for_backward(x_KNI, weight_KIO)
        ctx.scaled = scaled
        return torch.bmm(x_KNI, weight_KIO)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        x_KNI, weight_KIO = ctx.saved_tensors
        gradient_KNO = rounded(gradients[0], torch.float8_e5m2, ctx.scaled)
        x_gradient = torch.bmm(gradient_KNO, weight_KIO.transpose(1, 2))
        return x_gradient, torch.bmm(x_KNI.transpose(1, 2), gradient_KNO), None


def rounded(values_K: Tensor, dtype: torch.dtype, scaled: bool) -> Tensor:
    """Values [K, ...] as an FP8 format holds them; what is too large saturates.

    scaled: each lane's tensor is first scaled so that its largest absolute value is the format's.
    """
    largest = torch.finfo(dtype).max
    scale = torch.ones((), device=values_K.device)
    if scaled:
        peak = values_K.abs().amax(dim=tuple(range(1, values_K.dim())), keepdim=True)
        scale = torch.where(peak > 0, largest / peak, 1.0)
        # A peak so small that its scale is not finite holds nothing FP32 could tell from zero.
        scale = torch.where(scale.isfinite(), scale, 1.0)
    narrow = (values_K * scale).clamp(-largest, largest).to(dtype)
    return narrow.to(values_K.dtype) / scale


def fp8_product(scaled: bool) -> Product:
    """scaled: as in `rounded`."""
    return partial(_product, scaled=scaled)


def _product(x_KNI: Tensor, weight_KIO: Tensor, scaled: bool) -> Tensor:
    product: Tensor = Fp8Product.apply(x_KNI, weight_KIO, scaled)  # type: ignore[no-untyped-call]
    return product
