"""Probes: the measurements of probed steps. They only read; training never depends on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ...declare import Configuration, Measurement
from ...declare.curves.curve import Curve
from ..part import Cost, EnginePart

if TYPE_CHECKING:
    from torch import Tensor

    from ....models import Tap
    from ..workloads.network import PackedNetwork


class Objective(Protocol):
    """A loss to descend: a network's, or that of a procedure that does more with a batch than a network alone."""

    def gradient(
        self, inputs: Tensor, targets: Tensor, tap: Tap | None = None, scale_K: Tensor | None = None
    ) -> tuple[Tensor, Tensor]: ...


@dataclass
class ProbedStep:
    """A step of a pack. objective: what its gradient is of. inputs, targets: its batch, [K, B, ...]. gradient: of that batch,
    [K, P], and clipped after the update. scale: what each loss is multiplied by for its backward pass, [K]. taps: names of the
    activations that the model shows. seeds: of the lanes. measurement: what is asked for. training_sample: this many fixed
    training examples. last: whether it is the run's last step. tallies: what the procedure has counted in the steps before this
    one. preconditioner: what Adam divides by, [K, P]. memory: what probes remember from one probed step to the next, to be
    written in place.
    """

    network: PackedNetwork
    objective: Objective
    inputs: Tensor
    targets: Tensor
    gradient: Tensor
    scale: Tensor | None
    taps: Sequence[str]
    seeds: Sequence[int]
    measurement: Measurement
    training_sample: Callable[[int], tuple[Tensor, Tensor]]
    last: bool
    tallies: Mapping[str, Tensor] = field(default_factory=dict)
    preconditioner: Callable[[], Tensor] | None = None
    memory: Mapping[str, Tensor] = field(default_factory=dict)


class Probe(EnginePart):
    """One pass of measuring, and its curves. Values of a curve are [K], or [K, layers], [K, taps] and so on."""

    curves: ClassVar[tuple[Curve, ...]]

    # The field of a measurement with the number of fixed examples whose gradient it takes on a probed step.
    examples: ClassVar[str] = ""

    @classmethod
    def cost(cls, configuration: Configuration) -> Cost:
        """The passes over fixed examples; those over a step's own batch are counted for all probes alike."""
        measurement = configuration.measurement
        return Cost(passes=3.0 * measurement.probes * getattr(measurement, cls.examples, 0))

    def memory(self, measurement: Measurement, parameters_KP: Tensor) -> dict[str, Tensor]:
        """Name -> a tensor that it keeps from one probed step to the next; a checkpoint keeps it, too."""
        return {}

    def before_update(self, step: ProbedStep) -> dict[str, Tensor]:
        """Curve -> values, from weights as the batch saw them; those that need the update are left out."""
        return {}

    def after_update(self, step: ProbedStep, before_KP: Tensor) -> dict[str, Tensor]:
        """Curve -> values, from weights as the update left them. before_KP: as they were."""
        return {}

    def derived(self, records: Mapping[str, NDArray[np.float64]]) -> dict[str, list[float]]:
        """Curve -> values of a lane whose run has ended, from its records [probes, ...]."""
        return {}
