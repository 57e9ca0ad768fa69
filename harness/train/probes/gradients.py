"""Sizes of the batch gradient, before clipping."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...declare.curves.of_probes import GRADIENT_NORM, LAYER_GRADIENT_NORM
from .base import Probe, ProbedStep

if TYPE_CHECKING:
    from torch import Tensor


class GradientNorms(Probe):
    curves = (GRADIENT_NORM, LAYER_GRADIENT_NORM)

    def before_update(self, step: ProbedStep) -> dict[str, Tensor]:
        gradient_KP = step.gradient
        return {GRADIENT_NORM.name: gradient_KP.norm(dim=1), LAYER_GRADIENT_NORM.name: step.network.layer_norms(gradient_KP)}


PROBE = GradientNorms()
