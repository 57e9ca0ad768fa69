"""The largest eigenvalue of the Hessian of the training loss, of fixed training examples with the labels that are trained on.

At the weights that a step leaves. What did not converge has no value (nan); its residual is kept beside it. At every probe the
search begins near the eigenvector that the last one found, which a checkpoint keeps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...declare import Configuration, Measurement
from ...declare.curves.of_probes import OF_PROBES
from ..measured_steps import MOST_PRODUCTS
from ..part import Cost
from ..workloads import workload_of
from ..workloads.data.base import EVALUATION_TARGETS
from .base import Probe, ProbedStep

if TYPE_CHECKING:
    from torch import Tensor


# What an eigenvalue usually takes (reports/log): products of the Hessian with a vector, and forward passes of one such product,
# which is a backward pass through forward and backward pass.
PRODUCTS, PASSES = 15, 6.0


class LargestEigenvalue(Probe):
    curves = OF_PROBES["sharpness"]
    setting, settings = "measurement.sharpness", ("measurement.preconditioned_sharpness",)

    @classmethod
    def cost(cls, configuration: Configuration) -> Cost:
        """The basis of a search, what is remembered from one probed step to the next, and what forward pass, backward pass and
        a backward pass through both keep, in FP32, of as many examples as are passed at once."""
        workload, examples = configuration.workload, configuration.measurement.sharpness_examples
        at_probes = configuration.measurement.sharpness == "probes"
        targets = workload.context if workload_of(workload).reads_text else 1
        at_once = min(examples, max(1, EVALUATION_TARGETS // targets))
        searches = configuration.measurement.probes if at_probes else 1
        return Cost(MOST_PRODUCTS + 3 + at_probes, 4 * 3 * at_once, searches * PRODUCTS * PASSES * examples)

    def memory(self, measurement: Measurement, parameters_KP: Tensor) -> dict[str, Tensor]:
        name = self.curves[0].name
        return {name: parameters_KP.new_zeros(parameters_KP.shape)} if measurement.sharpness == "probes" else {}

    def after_update(self, step: ProbedStep, before_KP: Tensor) -> dict[str, Tensor]:
        return self.looked(step)

    def looked(self, step: ProbedStep, preconditioner_KP: Tensor | None = None) -> dict[str, Tensor]:
        """Its two curves; also keeps the eigenvector for the next search."""
        from ..hessian import sharpness

        if step.measurement.sharpness == "end" and not step.last:
            return {}
        value, residual = (curve.name for curve in self.curves)
        near_KP = step.memory.get(value)
        examples = step.training_sample(step.measurement.sharpness_examples)
        estimate = sharpness(step.network, *examples, step.seeds, near_KP, preconditioner_KP)
        if near_KP is not None:
            near_KP.copy_(estimate.vector)
        return {value: estimate.value, residual: estimate.residual}


PROBE = LargestEigenvalue()
