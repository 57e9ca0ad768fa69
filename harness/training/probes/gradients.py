"""Sizes of the batch gradient, before clipping."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..curve import Curve
from .base import Probe, ProbedStep

if TYPE_CHECKING:
    from torch import Tensor

NORM = Curve(
    "probe_gradient_norm", "nats", "norm of the batch gradient, before clipping", tracked="weights/gradient_norm", place=6
)
LAYER_NORM = Curve(
    "probe_layer_gradient_norm",
    "nats",
    "gradient norm of each layer, in the order of `layers`",
    across="layers",
    heavy=True,
    place=0,
)


class GradientNorms(Probe):
    curves = (NORM, LAYER_NORM)

    def before_update(self, step: ProbedStep) -> dict[str, Tensor]:
        gradient_KP = step.gradient
        return {NORM.name: gradient_KP.norm(dim=1), LAYER_NORM.name: step.network.layer_norms(gradient_KP)}


PROBE = GradientNorms()
