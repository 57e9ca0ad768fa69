"""Number formats of products and activations, and the scaling of losses that narrow formats need.

Weights and optimizer states stay in FP32 (Micikevicius et al. 2018, section 3.1). Precision is explicit and not autocast's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from folklore.harness.spec import Training
from folklore.models import Product

# torch.amp.GradScaler's constants.
GROWTH_FACTOR, BACKOFF_FACTOR = 2.0, 0.5


@dataclass(frozen=True)
class NumberFormat:
    """What activations are held in, and how layers multiply."""

    dtype: torch.dtype = torch.float32
    product: Product = torch.bmm


class Fp8Product(torch.autograd.Function):
    """A batched product with operands rounded to FP8: E4M3 forward, E5M2 for gradients; sums in FP32.

    The recipe of Micikevicius et al. 2022 (section 3), emulated: numbers are those of FP8, speed and memory are not.
    """

    @staticmethod
    def forward(ctx: Any, x_KNI: Tensor, weight_KIO: Tensor, scaled: bool) -> Tensor:
        x_KNI, weight_KIO = (rounded(each, torch.float8_e4m3fn, scaled) for each in (x_KNI, weight_KIO))
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


FORMATS: dict[str, Callable[[], NumberFormat]] = {
    "fp32": NumberFormat,
    "tf32": NumberFormat,  # a switch of the GPU's, set by the pack
    "bf16": lambda: NumberFormat(torch.bfloat16),
    "fp16": lambda: NumberFormat(torch.float16),
    "fp8": lambda: NumberFormat(product=partial(_fp8, scaled=True)),
    "fp8_unscaled": lambda: NumberFormat(product=partial(_fp8, scaled=False)),
}


def _fp8(x_KNI: Tensor, weight_KIO: Tensor, scaled: bool) -> Tensor:
    product: Tensor = Fp8Product.apply(x_KNI, weight_KIO, scaled)  # type: ignore[no-untyped-call]
    return product


class LossScaler:
    """Multiplies each lane's loss before the backward pass and divides its gradient after it.

    Dynamic scaling follows torch.amp.GradScaler, lane by lane: an update whose gradient is not finite is skipped and
    halves the scale; so many finite updates in a row double it. `state` holds the scales [K], the finite updates since
    the last change [K], and the updates made [K], which an optimizer's bias correction counts by.
    """

    def __init__(self, lanes: Sequence[Training], device: torch.device):
        self.kind = lanes[0].loss_scaling
        self.growth_interval = lanes[0].scale_growth_interval
        scales = [lane.loss_scale if self.kind != "none" else 1.0 for lane in lanes]
        zeros = torch.zeros(len(lanes), device=device)
        self.state = {"scale": torch.tensor(scales, device=device), "finite_steps": zeros, "updates": zeros.clone()}

    @property
    def scale(self) -> Tensor | None:
        """What each lane's loss is multiplied by, [K]."""
        return None if self.kind == "none" else self.state["scale"]

    @property
    def skips(self) -> bool:
        return self.kind == "dynamic"

    def update(self, finite_K: Tensor) -> None:
        """Move scale and counts on after a step whose gradients were finite where `finite_K` says so."""
        scale, steps = self.state["scale"], self.state["finite_steps"]
        self.state["updates"] += finite_K
        steps.copy_(torch.where(finite_K, steps + 1, 0.0))
        grows = steps >= self.growth_interval
        scale.copy_(torch.where(finite_K, torch.where(grows, scale * GROWTH_FACTOR, scale), scale * BACKOFF_FACTOR))
        steps.copy_(torch.where(grows, 0.0, steps))
