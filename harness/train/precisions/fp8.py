"""FP8 operands, each lane's tensor scaled so that its largest number is the format's; emulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .base import Precision

if TYPE_CHECKING:
    from ....models import Product


@dataclass(frozen=True)
class Fp8(Precision):
    """scaled: whether tensors are scaled before they are rounded."""

    scaled: bool = True

    def product(self) -> Product:
        from ....models.emulated_fp8 import fp8_product

        return fp8_product(self.scaled)


PRECISION = Fp8(
    loss=2**-4,
    gradient=2**-2,  # one number rounded the other way, which a difference in its last FP32 digit can cause
    flops_per_second={"cpu": 1.0e10, "cuda": 1.0e13},
)
