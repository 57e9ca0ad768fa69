"""The largest eigenvalue of the Hessian of the training loss, of fixed training examples with the labels that are trained on.

At the weights that a step leaves. What did not converge has no value (nan); its residual is kept beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from folklore.harness.spec import Measurement
from folklore.harness.training.curve import Curve
from folklore.harness.training.probes.base import Probe, ProbedStep

if TYPE_CHECKING:
    from torch import Tensor

VALUE = Curve(
    "probe_sharpness", "nats", "largest eigenvalue of the Hessian of the training loss", tracked="sharpness/largest_eigenvalue"
)
RESIDUAL = Curve("probe_sharpness_residual", "", "|Hv - value v| over the value, of that eigenvalue and its vector v")


class LargestEigenvalue(Probe):
    curves = (VALUE, RESIDUAL)

    def serves(self, measurement: Measurement) -> bool:
        return measurement.sharpness != "off"

    def after_update(self, step: ProbedStep, before_KP: Tensor) -> dict[str, Tensor]:
        from folklore.harness.training.hessian import sharpness

        if step.measurement.sharpness == "end" and not step.last:
            return {}
        found = sharpness(step.network, *step.training_sample(step.measurement.sharpness_examples), step.seeds)
        return {VALUE.name: found.value, RESIDUAL.name: found.residual}


PROBE = LargestEigenvalue()
