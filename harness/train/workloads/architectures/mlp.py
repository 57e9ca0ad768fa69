"""A multi-layer perceptron on features of any shape."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ....declare import Workload
from .base import Architecture

if TYPE_CHECKING:
    from .....models import Model, Parametrization
    from ..data import DataFacts


class Perceptron(Architecture):
    drops = True
    settings = ("activation", "norm", "residual", "init_gain", "loss", "tasks", "adapter_rank")

    def build(self, workload: Workload, facts: DataFacts, scheme: Parametrization) -> Model:
        from .....models import MLP

        features = math.prod(facts.features)
        return MLP(
            features,
            facts.classes,
            workload.width,
            workload.depth,
            scheme,
            workload.activation,
            norm=workload.norm == "layer",
            residual=workload.residual,
            gain=workload.init_gain,
            adapter_rank=workload.adapter_rank,
        )

    def hidden_parameters(self, workload: Workload) -> int:
        """Parameters of the layers from hidden to hidden, and of all norms."""
        norms = 2 * workload.depth * workload.width if workload.norm == "layer" else 0
        return (workload.depth - 1) * (workload.width**2 + workload.width) + norms

    def units_may_die(self, workload: Workload) -> bool:
        return workload.activation == "relu" and workload.norm == "none" and not workload.residual

    def own_words(self, workload: Workload) -> str:
        """Its differences from a plain MLP of ReLUs, in words."""
        words = f", {workload.activation}" * (workload.activation != "relu")
        words += f", adapters of rank {workload.adapter_rank}" * (workload.adapter_rank > 0)
        words += ", layer norm" * (workload.norm == "layer") + ", residual" * workload.residual
        return words + (f", hidden weights from a gain of {workload.init_gain:.3g}" if workload.init_gain is not None else "")


ARCHITECTURE = Perceptron()
