"""Linear regression, or classification, whose course is known in closed form."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ....declare import Workload
from .base import Architecture

if TYPE_CHECKING:
    from .....models import Model, Parametrization
    from ..data import DataFacts


class Linear(Architecture):
    takes_numbers = True

    def build(self, workload: Workload, facts: DataFacts, scheme: Parametrization) -> Model:
        from .....models import LinearModel

        return LinearModel(math.prod(facts.features), facts.classes or facts.targets)

    def words(self, workload: Workload) -> str:
        return workload.model


ARCHITECTURE = Linear()
