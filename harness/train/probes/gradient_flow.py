"""How the gradient is spread over the weight matrices, and how far the first and the last of them have moved.

The gradient is that of the loss of fixed training examples, all of them where there are no more: without a batch's noise, which
is all that is left of a batch's gradient where it vanishes. A matrix is a parameter with two sides or more, as an embedding and
a convolution's kernels are; gains and biases are none. The first is the model's first matrix, the last is the one before the
readout: of an MLP they are of one shape if it has as many features as units. Their gradients are root mean squares of the
entries, so that shapes do not count. Norms are summed in FP64: the squares of a gradient of 1e-20 are no FP32 numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...declare.curves.of_probes import (
    FLOW_FIRST,
    FLOW_FIRST_MOVED,
    FLOW_FIRST_UPDATE,
    FLOW_HIDDEN_LEAST,
    FLOW_HIDDEN_MOST,
    FLOW_LAST,
    FLOW_LAST_MOVED,
    FLOW_LAST_UPDATE,
    FLOW_LEAST,
    FLOW_MOST,
    FLOW_NORM,
    FLOW_RMS_LEAST,
    FLOW_RMS_MOST,
    OF_PROBES,
)
from .base import Probe, ProbedStep

if TYPE_CHECKING:
    from torch import Tensor

    from ..workloads.network import PackedNetwork

# Of the matrices in the order of the model, the last of which is the readout.
ENDS = {FLOW_FIRST: 0, FLOW_LAST: -2}


class GradientFlow(Probe):
    curves = OF_PROBES["gradient_flow"]
    setting, examples = "measurement.gradient_flow", "flow_examples"

    def before_update(self, step: ProbedStep) -> dict[str, Tensor]:
        from ..fixed_examples import gradient_of

        network = step.network
        gradient_KP = gradient_of(network, *step.training_sample(step.measurement.flow_examples))
        norms_KM = matrix_norms(network, gradient_KP)
        values = {FLOW_NORM.name: gradient_KP.double().norm(dim=1)}
        if norms_KM.shape[1] < 2:  # of what is no network of layers
            return values
        entries_M = norms_KM.new_tensor(_sizes(network)).sqrt()
        hidden_KM = norms_KM[:, _hidden(network)]
        if hidden_KM.shape[1]:
            values |= {FLOW_HIDDEN_LEAST.name: hidden_KM.amin(dim=1), FLOW_HIDDEN_MOST.name: hidden_KM.amax(dim=1)}
        return values | {
            FLOW_LEAST.name: norms_KM.amin(dim=1),
            FLOW_MOST.name: norms_KM.amax(dim=1),
            FLOW_RMS_LEAST.name: (norms_KM / entries_M).amin(dim=1),
            FLOW_RMS_MOST.name: (norms_KM / entries_M).amax(dim=1),
            **{curve.name: (norms_KM / entries_M)[:, place] for curve, place in ENDS.items()},
        }

    def after_update(self, step: ProbedStep, before_KP: Tensor) -> dict[str, Tensor]:
        network = step.network
        start_KP = network.starts(step.seeds).to(before_KP.device)
        if len(_sizes(network)) < 2:
            return {}
        update_KM, moved_KM, before_KM, start_KM = (
            matrix_norms(network, tensor_KP)
            for tensor_KP in (network.flat_KP - before_KP, network.flat_KP - start_KP, before_KP, start_KP)
        )
        updates_KM, moved_KM = update_KM / before_KM, moved_KM / start_KM
        return {
            FLOW_FIRST_UPDATE.name: updates_KM[:, ENDS[FLOW_FIRST]],
            FLOW_LAST_UPDATE.name: updates_KM[:, ENDS[FLOW_LAST]],
            FLOW_FIRST_MOVED.name: moved_KM[:, ENDS[FLOW_FIRST]],
            FLOW_LAST_MOVED.name: moved_KM[:, ENDS[FLOW_LAST]],
        }


def matrix_norms(network: PackedNetwork, values_KP: Tensor) -> Tensor:
    """Euclidean norm of each weight matrix's slice, [K, matrices], in FP64."""
    return network.matrix_norms(values_KP.double())


def _sizes(network: PackedNetwork) -> list[int]:
    """Entries of each weight matrix."""
    return [size for size, p in zip(network.sizes, network.model.parameters, strict=True) if len(p.shape) > 1]


def _hidden(network: PackedNetwork) -> list[int]:
    """Places of the matrices from hidden to hidden units, among the weight matrices."""
    matrices = [p for p in network.model.parameters if len(p.shape) > 1]
    return [place for place, p in enumerate(matrices) if p.growing_sides == 2]


PROBE = GradientFlow()
