"""A quadratic bowl, whose course is known in closed form."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ....declare import Workload
from .base import Architecture

if TYPE_CHECKING:
    from .....models import Model, Parametrization
    from ..data import DataFacts


class Bowl(Architecture):
    takes_numbers = True

    def build(self, workload: Workload, facts: DataFacts, scheme: Parametrization) -> Model:
        from .....models import Quadratic

        return Quadratic(math.prod(facts.features))

    def objection(self, facts: DataFacts) -> str:
        if facts.targets == math.prod(facts.features):
            return ""
        return ": it takes a dataset quadratic:D, whose targets are as many zeros as it has features"

    def words(self, workload: Workload) -> str:
        return workload.model


ARCHITECTURE = Bowl()
