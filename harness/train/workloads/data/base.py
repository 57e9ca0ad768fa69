"""The protocol of a dataset: three splits, a hash, and batches keyed on a seed."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from ....errors import UserError
from ....randomness import numpy_generator

# A dataset is described without torch, whose import takes seconds; only its batches are tensors.
if TYPE_CHECKING:
    from torch import Tensor

Split = Literal["train", "validation", "test"]
Index = NDArray[np.int64]

# Batches are drawn for this many steps at a time; a restart redraws the block it stands in.
STEPS_PER_DRAW = 256
# Targets a lane that an evaluation holds at once: bounds its memory without changing its result beyond rounding.
EVALUATION_TARGETS = 4096


@dataclass(frozen=True)
class DataFacts:
    """The facts about a dataset that a plan and a model need.

    classes: symbols of a text, or labels; 0 where targets are numbers. features: shape of one example; empty for a text.
    targets: numbers a target has, where they are numbers. contents: of a user's folder, what was read and how it was split.
    """

    hash: str
    classes: int
    features: tuple[int, ...] = ()
    targets: int = 0
    contents: str = field(default="", compare=False)


class Dataset(ABC):
    """Trained on `train`, chosen by `validation`, judged on `test`. `context` is a text's tokens a sequence."""

    name: str
    facts: DataFacts

    @abstractmethod
    def check(self, context: int) -> None:
        """Raises UserError where a split is too short."""

    @abstractmethod
    def batch_index(self, seed: int, draw: int, batch_size: int, context: int) -> Index:
        """Training examples of the `draw`-th run of STEPS_PER_DRAW steps, [STEPS_PER_DRAW, batch_size]."""

    @abstractmethod
    def examples_index(self, context: int) -> Index:
        """The training examples that together are the split, in order, every one of them once, [N]."""

    def epoch_index(self, seed: int, epoch: int, context: int) -> Index:
        """The training examples of an epoch in the order a seed sees them in, every one of them once, [N]."""
        return numpy_generator(seed, "epochs", epoch).permutation(self.examples_index(context))

    @abstractmethod
    def sample_index(self, split: Split, examples: int, context: int) -> Index:
        """The fixed, evenly spread examples a split is evaluated on: the same ones for every trial, [examples]."""

    @abstractmethod
    def arrays(self, split: Split) -> "tuple[Tensor, ...]":
        """A split's content, to be moved to the device once."""

    def training_arrays(self, label_noise: float) -> "tuple[Tensor, ...]":
        """The training split, with a share of its labels drawn at random where it has labels. Raises UserError where not."""
        if label_noise:
            raise UserError(f"label_noise = {label_noise}: dataset '{self.name}' is a text and has no labels; leave it at 0")
        return self.arrays("train")

    @abstractmethod
    def tasks_of(self, split: Split, tasks: int, context: int) -> Index:
        """The task, from 0, that each example of a split belongs to, by its number; -1: to none. Raises UserError where the
        data do not come in this number of tasks."""

    @abstractmethod
    def limited(self, training_set_size: int | None, drawn: bool = False) -> "Dataset":
        """The same with the first this many examples, or tokens of a text, for its training split; drawn: with as many for
        each seed, of its own, and numbers of examples are then of those (own_index). Raises UserError where it has fewer."""

    def own_index(self, seed: int) -> Index:
        """The training examples that a seed draws for itself, in its order, [training_set_size]."""
        raise NotImplementedError

    @abstractmethod
    def gather(self, arrays: "tuple[Tensor, ...]", index: "Tensor", context: int) -> "tuple[Tensor, Tensor]":
        """Inputs and targets of the indexed examples; an index [...] gives [..., example]."""


class ByExample(Dataset):
    """Whole examples, each drawn by its number."""

    @abstractmethod
    def count(self, split: Split) -> int:
        """The number of examples in a split."""

    def check(self, context: int) -> None:
        for split in get_args(Split):
            if not self.count(split):
                raise UserError(f"dataset '{self.name}': its {split} split is empty; give more examples")

    def sample_index(self, split: Split, examples: int, context: int) -> Index:
        """Every example once where fewer are asked for than there are, else all of them."""
        count = self.count(split)
        return np.linspace(0, count - 1, min(examples, count)).round().astype(np.int64)

    def batch_index(self, seed: int, draw: int, batch_size: int, context: int) -> Index:
        generator = numpy_generator(seed, "batches", draw)
        return generator.integers(0, self.count("train"), size=(STEPS_PER_DRAW, batch_size), dtype=np.int64)

    def examples_index(self, context: int) -> Index:
        return np.arange(self.count("train"), dtype=np.int64)

    def tasks_of(self, split: Split, tasks: int, context: int) -> Index:
        """The task of each example: every task has as many classes, in their order."""
        classes = self.facts.classes
        if not classes or classes % tasks:
            raise UserError(
                f"tasks = {tasks}: must divide the number of classes of dataset '{self.name}', {classes}; choose another"
            )
        labels: Index = self.arrays(split)[1].numpy()
        return labels // (classes // tasks)

    def training_arrays(self, label_noise: float) -> "tuple[Tensor, ...]":
        if label_noise and not self.facts.classes:
            raise UserError(f"label_noise = {label_noise}: dataset '{self.name}' has no labels; leave it at 0")
        return self.arrays("train")

    def limited(self, training_set_size: int | None, drawn: bool = False) -> Self:
        if training_set_size is None:
            return self
        if training_set_size > (count := self.count("train")):
            raise UserError(
                f"training_set_size = {training_set_size}: dataset '{self.name}' has {count}; choose at most this many"
            )
        return self.drawn(training_set_size) if drawn else self.first_trained(training_set_size)

    @abstractmethod
    def first_trained(self, count: int) -> Self:
        """The same with the first this many training examples."""

    def drawn(self, count: int) -> Self:
        """The same with as many training examples for each seed, of its own."""
        raise UserError(f"training_set = drawn: dataset '{self.name}' gives all seeds the same examples; leave it out")
