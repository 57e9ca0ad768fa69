"""The largest eigenvalue of P^-1/2 H P^-1/2 at the weights that a step leaves: H the Hessian of the training loss, P what Adam
divides its average gradient by at that point (Cohen et al. 2022, arXiv:2207.14484v2, section 3). Full-batch Adam is stable on a
quadratic, with P standing still, if it is below (2 + 2 beta1) / (1 - beta1) over the LR: 38 / LR at a beta1 of 0.9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...declare import Configuration
from ...declare.curves.of_probes import OF_PROBES
from ..part import Cost
from .base import ProbedStep
from .sharpness import LargestEigenvalue

if TYPE_CHECKING:
    from torch import Tensor


class PreconditionedEigenvalue(LargestEigenvalue):
    curves = OF_PROBES["preconditioned_sharpness"]
    setting, of_adam = "measurement.preconditioned_sharpness", "is by Adam's second moment"

    @classmethod
    def cost(cls, configuration: Configuration) -> Cost:
        """One search follows the other: they share their memory."""
        return Cost(copies=configuration.measurement.sharpness == "probes", passes=super().cost(configuration).passes)

    def after_update(self, step: ProbedStep, before_KP: Tensor) -> dict[str, Tensor]:
        assert step.preconditioner is not None
        return self.looked(step, step.preconditioner())


PROBE = PreconditionedEigenvalue()
