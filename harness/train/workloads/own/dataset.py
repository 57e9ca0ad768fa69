"""A user's own examples as a dataset of numbers; the network of an own workload knows the example of each number.

So every step, part of a batch and evaluation is made of numbers alone, whatever the examples come in.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import torch

from ....declare.own_address import OwnAddress
from ..data.base import ByExample, DataFacts, Split
from .examples import copies
from .finding import find_again
from .identity import data_hash
from .workload import SPLITS

if TYPE_CHECKING:
    from torch import Tensor

NAMES: dict[Split, str] = {"train": SPLITS[0], "validation": SPLITS[1], "test": SPLITS[2]}


@dataclass(frozen=True)
class OwnExamples(ByExample):
    """first: split -> the number of its first example, counted over all splits."""

    name: str
    facts: DataFacts
    counts: dict[Split, int]
    first: dict[Split, int]

    def count(self, split: Split) -> int:
        return self.counts[split]

    def arrays(self, split: Split) -> "tuple[Tensor, ...]":
        return (torch.arange(self.first[split], self.first[split] + self.counts[split]),)

    def first_trained(self, count: int) -> Self:
        return replace(self, counts={**self.counts, "train": count})

    def gather(self, arrays: "tuple[Tensor, ...]", index: "Tensor", context: int) -> "tuple[Tensor, Tensor]":
        """The numbers, twice: examples and targets go by the same."""
        numbers = arrays[0][index]
        return numbers, numbers


def own_examples(address: OwnAddress) -> OwnExamples:
    """Raises UserError where they cannot be found, or have changed since they were planned with."""
    workload = find_again(address).workload
    counts = {split: len(workload.examples[own]) for split, own in NAMES.items()}
    said = ", ".join(f"{own} {counts[split]}" for split, own in NAMES.items())
    training, *others = workload.examples.items()
    for split, examples in others:
        if count := copies(training[1], examples):
            said += f"; {count} of {split} have the inputs of training examples"
    facts = DataFacts(hash=data_hash(workload), classes=0, features=(1,), contents=f"examples, as given: {said}")
    first: dict[Split, int] = {"train": 0, "validation": counts["train"], "test": counts["train"] + counts["validation"]}
    return OwnExamples(str(address), facts, counts, first)
