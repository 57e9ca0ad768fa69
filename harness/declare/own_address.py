"""The address of a user's own workload, with its identity as it was planned."""

from dataclasses import dataclass
from typing import Any, Self

from .registry import registered

# The name of a workload's model if it is a user's own, and of the optimizer that it may bring along.
OWN = "own"
# The module of one that was handed over as an object.
GIVEN = "given"


@dataclass(frozen=True)
class OwnAddress:
    """An attribute of a Python module. identity: of all that decides the workload's numbers, 16 hexadecimal digits. It is part
    of the address, so that it enters the digests of trials, the shapes whose lanes are remembered, and what a worker holds its
    own copy against."""

    module: str
    attribute: str
    identity: str

    @classmethod
    def parse(cls, dataset: str) -> Self | None:
        """The address in the text own:MODULE:ATTRIBUTE@IDENTITY, which stands for it in a configuration; None for any other
        text."""
        kind, _, rest = dataset.partition(":")
        place, _, identity = rest.partition("@")
        module, _, attribute = place.partition(":")
        return cls(module, attribute, identity) if kind == OWN and module and attribute else None

    @property
    def place(self) -> str:
        """MODULE:ATTRIBUTE, as --workload takes it."""
        return f"{self.module}:{self.attribute}"

    def __str__(self) -> str:
        return f"{OWN}:{self.place}@{self.identity}"


def comparable(baseline: Any, candidate: Any, metric: str) -> tuple[Any, Any]:
    """Two own workloads, as they were found, which are to be arms of one study; finding them imports torch. Raises UserError
    where the metric is another number of one than of the other."""
    both: tuple[Any, Any] = registered("part", "train/workloads/own", "comparable", "comparable")(baseline, candidate, metric)
    return both
