"""The largest eigenvalue of the Hessian of the training loss, of fixed training examples with the labels that are trained on.

At the weights that a step leaves. What did not converge has no value (nan); its residual is kept beside it. At every probe the
search begins near the eigenvector that the last one found, which a checkpoint keeps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...declare import Measurement
from ...declare.curves.of_probes import OF_PROBES
from .base import Probe, ProbedStep

if TYPE_CHECKING:
    from torch import Tensor


class LargestEigenvalue(Probe):
    curves = OF_PROBES["sharpness"]
    setting = "sharpness"

    def memory(self, measurement: Measurement, parameters_KP: Tensor) -> dict[str, Tensor]:
        name = self.curves[0].name
        return {name: parameters_KP.new_zeros(parameters_KP.shape)} if measurement.sharpness == "probes" else {}

    def after_update(self, step: ProbedStep, before_KP: Tensor) -> dict[str, Tensor]:
        return self.looked(step)

    def looked(self, step: ProbedStep, preconditioner_KP: Tensor | None = None) -> dict[str, Tensor]:
        """Its two curves, and the eigenvector put down for the next look."""
        from ..hessian import sharpness

        if step.measurement.sharpness == "end" and not step.last:
            return {}
        value, residual = (curve.name for curve in self.curves)
        near_KP = step.memory.get(value)
        examples = step.training_sample(step.measurement.sharpness_examples)
        found = sharpness(step.network, *examples, step.seeds, near_KP, preconditioner_KP)
        if near_KP is not None:
            near_KP.copy_(found.vector)
        return {value: found.value, residual: found.residual}


PROBE = LargestEigenvalue()
