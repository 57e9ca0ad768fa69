"""The protocol of a model that a study may name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from ....declare import Workload

if TYPE_CHECKING:
    from .....models import Model, Parametrization
    from ..data import DataFacts


class Architecture(ABC):
    """reads_text: it takes sequences of tokens, and else examples with features. takes_numbers: its targets may be numbers.
    drops: it has places for dropout. settings: fields of a workload that not every model has."""

    reads_text = False
    takes_numbers = False
    drops = False
    settings: tuple[str, ...] = ()
    # The table one of whose rows each input chooses; '' where there is none.
    embedding = ""

    def check(self, workload: Workload) -> None:  # noqa: B027
        """Raises ValueError for settings that do not go together."""

    @abstractmethod
    def build(self, workload: Workload, facts: DataFacts, scheme: Parametrization) -> Model:
        """The model for data that it takes."""

    def hidden_parameters(self, workload: Workload) -> int:
        """Parameters beside those of the layers that read the input and write the output, whose number depends on the data."""
        return 0

    def units_may_die(self, workload: Workload) -> bool:
        """Whether it has units that no example may reach any more: ReLUs without a norm before or a residual stream beside
        them. A unit whose sum is normalized, or goes on past its activation, has a gradient however often it is zero."""
        return False

    def objection(self, facts: DataFacts) -> str:
        """Another reason why data do not fit, and the way out; '' if there is none."""
        return ""

    def words(self, workload: Workload) -> str:
        """Its size, as a recipe tells it."""
        size = f"{workload.model}, width {workload.width}, depth {workload.depth}{self.own_words(workload)}"
        if workload.parametrization == "mup":
            size += f", muP from width {workload.base_width}"
        return size + ", readout from zero" * workload.zero_readout

    def own_words(self, workload: Workload) -> str:
        """Its size beside width and depth, in words."""
        return ""
