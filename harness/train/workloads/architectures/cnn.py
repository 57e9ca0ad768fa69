"""A convolutional network on images."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....declare import Workload
from .base import Architecture

if TYPE_CHECKING:
    from .....models import Model, Parametrization
    from ..data import DataFacts


class Convolutional(Architecture):
    drops = True
    settings = ("loss", "tasks")

    def build(self, workload: Workload, facts: DataFacts, scheme: Parametrization) -> Model:
        from .....models import CNN

        return CNN(facts.features, facts.classes, workload.width, workload.depth, scheme)

    def objection(self, facts: DataFacts) -> str:
        if len(facts.features) in (2, 3):
            return ""
        return f" (examples of shape {facts.features}): it takes images; choose mlp"

    def hidden_parameters(self, workload: Workload) -> int:
        """Parameters of the blocks and the last norm."""
        return workload.depth * (18 * workload.width**2 + 4 * workload.width) + 2 * workload.width


ARCHITECTURE = Convolutional()
