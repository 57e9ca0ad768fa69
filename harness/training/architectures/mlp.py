"""A multi-layer perceptron on features of any shape."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from folklore.harness.spec import Workload
from folklore.harness.training.architectures.base import Architecture

if TYPE_CHECKING:
    from folklore.harness.data import DataFacts
    from folklore.models import Model, Parametrization


class Perceptron(Architecture):
    drops = True

    def build(self, workload: Workload, facts: DataFacts, scheme: Parametrization) -> Model:
        from folklore.models import MLP

        features = math.prod(facts.features)
        return MLP(features, facts.classes, workload.width, workload.depth, scheme, workload.activation)

    def hidden_parameters(self, workload: Workload) -> int:
        """Of the layers from hidden to hidden."""
        return (workload.depth - 1) * (workload.width**2 + workload.width)


ARCHITECTURE = Perceptron()
