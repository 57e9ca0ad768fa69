"""The protocol of a precision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ...declare import Training
from ...words import power_of_two

if TYPE_CHECKING:
    import torch

    from ....models import Product


# Finite steps before a dynamic loss scale doubles: torch.amp.GradScaler's default.
GROWTH_INTERVAL = 2000


@dataclass(frozen=True)
class Precision:
    """loss, gradient: relative rounding of any correct order of operations, of a lane's loss and of a layer's largest gradient
    entry (agreement.py). of_vectors: how many times that for gains and biases. flops_per_second: kind of device -> useful
    operations of one worker, nominally (plan/cost.py); a kind that does not have the format is left out. activation_bytes:
    of one number. of_any_module: whether it suits products that are not known. tensor_cores: a GPU's own switch to TF32.
    weights: how updates round weights to BF16 (weight_rounding.py); none: they stay in FP32.
    """

    loss: float
    gradient: float
    flops_per_second: Mapping[str, float]
    of_vectors: float = 1
    activations: str = "float32"
    activation_bytes: int = 4
    of_any_module: bool = False
    tensor_cores: bool = False
    weights: Literal["nearest", "stochastic"] | None = None

    @staticmethod
    def words(training: Training) -> str:
        if training.loss_scaling == "none":
            return training.precision
        scaled = f"{training.precision}, losses scaled by {power_of_two(training.loss_scale)}"
        return scaled + f", doubled after {GROWTH_INTERVAL} finite steps" * (training.loss_scaling == "dynamic")

    @property
    def dtype(self) -> torch.dtype:
        """The type of activations."""
        import torch

        dtype: torch.dtype = getattr(torch, self.activations)
        return dtype

    def product(self) -> Product:
        """How layers multiply."""
        import torch

        return torch.bmm
