"""A user's examples, whatever they come in: tensors, arrays, tuples and dicts of them, a Dataset or a DataLoader."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten_with_path, tree_leaves, tree_map
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
    default_collate,
)
from torch.utils.data.dataloader import _InfiniteConstantSampler

from ....errors import UserError
from .keyed import keyed
from .objective import ABSENT, Tree

Batch = tuple[Tree, Tree]  # inputs and targets, [B, ...]
# At most this many examples of a dataset that is read one by one are asked what each counts.
MOST_ASKED = 64
# Examples of two splits that are held against each other.
MOST_COMPARED = 200_000
FORMS = "give a pair (inputs, targets), a dict of tensors, or a Dataset or DataLoader"


class Examples(ABC):
    """Examples that are drawn by number. is_read: one by one, when they are needed."""

    is_read = True

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def batch(self, index: Tensor) -> Batch:
        """The examples of these numbers, int64 [...]."""

    @abstractmethod
    def to(self, device: str) -> "Examples": ...

    def held(self, index: Tensor) -> Callable[[Sequence[int]], Batch]:
        """Reads the examples of these numbers once, int64 [N]. Gives batches of them, by their places in the index."""
        return lambda which: self.batch(index[list(which)])

    @property
    def targets_each(self) -> int:
        """Numbers that an example's targets have, or its inputs where these hold them."""
        inputs, targets = self.batch(torch.zeros(1, dtype=torch.int64))
        count: int = max([1, *(tensor.numel() for tensor in tree_leaves(targets) or tree_leaves(inputs))])
        return count


class SplitExamples(Examples):
    """The examples of one split, as the user gives them."""

    @property
    def is_ragged(self) -> bool:
        """Whether batches of one size may differ in shape."""
        return False

    @abstractmethod
    def structure(self) -> str:
        """Shapes and types of an example."""

    @abstractmethod
    def hash(self) -> str:
        """A hash of the content, 16 hexadecimal digits."""


@dataclass(frozen=True, eq=False)
class Held(SplitExamples):
    """Tensors [N, ...] that are held whole."""

    is_read = False
    inputs: Tree
    targets: Tree

    def __len__(self) -> int:
        return len(tree_leaves(self.inputs)[0])

    def batch(self, index: Tensor) -> Batch:
        batch: Batch = tree_map(lambda values: values[index.to(values.device)], (self.inputs, self.targets))
        return batch

    def structure(self) -> str:
        return _described((self.inputs, self.targets), lambda values: f"{list(values.shape[1:])}")

    def hash(self) -> str:
        return _hash([(self.inputs, self.targets)])

    def to(self, device: str) -> "Held":
        return Held(*tree_map(lambda values: values.to(device), (self.inputs, self.targets)))


@dataclass(frozen=True, eq=False)
class Fetched(SplitExamples):
    """A map-style dataset, of which a batch is read when it is needed. version: what identifies it; '': its content."""

    dataset: Any
    collate: Callable[[list[Any]], Any]
    version: str
    device: str = "cpu"

    def __len__(self) -> int:
        return len(self.dataset)

    def batch(self, index: Tensor) -> Batch:
        """The examples of these numbers; those of several lanes, [K, B], are read lane by lane and stacked."""
        if index.dim() > 1:
            batch: Batch = tree_map(lambda *tensors: torch.stack(tensors), *[self.batch(lane) for lane in index])
            return batch
        return self._collated([self.dataset[int(number)] for number in index])

    def held(self, index: Tensor) -> Callable[[Sequence[int]], Batch]:
        """As of Examples; random draws of a dataset as it is read, such as noise or a crop, are made once."""
        items = [self.dataset[int(number)] for number in index]
        return lambda which: self._collated([items[place] for place in which])

    def _collated(self, items: list[Any]) -> Batch:
        read = self.collate(items)
        pair = (read, ABSENT) if isinstance(read, Mapping) else tuple(read)
        if len(pair) != 2:
            raise ValueError(f"an example has {len(pair)} parts: must be a pair of inputs and targets, or one dict")
        moved: Batch = tree_map(lambda values: values.to(self.device), (_tree(pair[0]), _tree(pair[1])))
        return moved

    def structure(self) -> str:
        """Lengths may differ from batch to batch."""
        return _described(self.batch(torch.zeros(1, dtype=torch.int64)), lambda values: f"of {values.dim() - 1} dimensions")

    def hash(self) -> str:
        if self.version:
            return hashlib.sha256(f"{self.version} {len(self)}".encode()).hexdigest()[:16]
        with keyed(0):
            return _hash(self.batch(torch.tensor([number])) for number in range(len(self)))

    @property
    def is_ragged(self) -> bool:
        return self.collate is not default_collate

    def to(self, device: str) -> "Fetched":
        return Fetched(self.dataset, self.collate, self.version, device)


def _described(batch: Batch, shape: Callable[[Tensor], str]) -> str:
    """inputs.NAME TYPE SHAPE, …"""
    sides = zip(("inputs", "targets"), batch, strict=True)
    pairs = [(side, path, values) for side, tree in sides for path, values in tree_flatten_with_path(tree)[0]]
    return ", ".join(f"{side}{''.join(map(str, path))} {values.dtype} {shape(values)}" for side, path, values in pairs)


@dataclass(frozen=True, eq=False)
class Several(Examples):
    """Splits that are read, one after another, each put together by its own collate_fn. A batch is of one split."""

    parts: tuple[Fetched, ...]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def batch(self, index: Tensor) -> Batch:
        first, lowest = 0, int(index.min())
        for part in self.parts:
            if lowest < first + len(part):
                return part.batch(index - first)
            first += len(part)
        raise IndexError(f"example {lowest} of {len(self)}")

    def to(self, device: str) -> "Several":
        return Several(tuple(part.to(device) for part in self.parts))


def examples_of(subject: str, source: object, version: str) -> SplitExamples:
    """subject: what messages call them. Raises UserError for what no examples can be drawn from."""
    if isinstance(source, DataLoader):
        return _fetched(subject, _sampled(subject, source), source.collate_fn, version)
    if isinstance(source, tuple | list):
        return _held(subject, source)
    if isinstance(source, Mapping):
        return _held(subject, (source, ABSENT))
    if isinstance(source, Tensor | np.ndarray):
        raise UserError(f"{subject} is one {type(source).__name__}: {FORMS}")
    return _fetched(subject, source, default_collate, version)


def _sampled(subject: str, loader: "DataLoader[Any]") -> Any:
    """The examples of a loader that its sampler draws from. Raises UserError where it draws some more often than others."""
    batches = loader.batch_sampler
    if batches is not None and type(batches) is not BatchSampler:
        drawn: object = batches
    elif isinstance(loader.sampler, SubsetRandomSampler):
        return Subset(loader.dataset, sorted(int(index) for index in loader.sampler.indices))
    elif loader.sampler is None or isinstance(loader.sampler, RandomSampler | SequentialSampler | _InfiniteConstantSampler):
        return loader.dataset
    else:
        drawn = loader.sampler
    raise UserError(
        f"{subject}: its loader draws by a {type(drawn).__name__}, and batches here are drawn by seed, each example as likely:"
        " give a loader without it, of a Subset of the examples or with weights in the loss"
    )


def copies(training: Examples, other: Examples) -> int | None:
    """How many of the others have the inputs of a training example, to the bit; None if not checked: for examples that
    are read one by one, or are very many."""
    if not isinstance(training, Held) or not isinstance(other, Held) or len(training) + len(other) > MOST_COMPARED:
        return None
    known = set(_rows(training.inputs))
    return sum(row in known for row in _rows(other.inputs))


def _rows(inputs: Tree) -> Iterator[bytes]:
    """Each example's bytes."""
    leaves = [tensor.cpu().contiguous().resolve_conj() for tensor in tree_leaves(inputs)]
    flat = [leaf.reshape(len(leaf), -1).view(torch.uint8).numpy() for leaf in leaves]
    return (b"".join(array[row].tobytes() for array in flat) for row in range(len(flat[0])))


def joined(splits: Sequence[Examples]) -> Examples:
    """All splits' examples, one after another."""
    if isinstance(splits[0], Fetched):
        return Several(tuple(examples for examples in splits if isinstance(examples, Fetched)))
    pairs = [(examples.inputs, examples.targets) for examples in splits if isinstance(examples, Held)]
    return Held(*tree_map(lambda *tensors: torch.cat(tensors), *pairs))


def _fetched(subject: str, dataset: Any, collate: Callable[[list[Any]], Any], version: str) -> Fetched:
    if isinstance(dataset, IterableDataset) or not (hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__")):
        raise UserError(
            f"{subject} is a {type(dataset).__name__}: {FORMS} whose dataset has __len__ and __getitem__, so that batches"
            " can be drawn by seed"
        )
    if not len(dataset):
        raise UserError(f"{subject} holds no example: give at least 1")
    examples = Fetched(dataset, collate, version)
    try:
        examples.batch(torch.zeros(1, dtype=torch.int64))
    except Exception as error:  # whatever a user's code raises
        raise UserError(f"{subject}: its first example cannot be read ({error}); see to __getitem__ and collate_fn") from None
    return examples


def _held(subject: str, pair: Sequence[object]) -> Held:
    if len(pair) != 2:
        raise UserError(f"{subject} has {len(pair)} parts: must be two, (inputs, targets), or one dict")
    try:
        inputs, targets = map(_tree, pair)
    except TypeError as error:
        raise UserError(f"{subject} {error}; give tensors, NumPy arrays, or tuples or dicts of them") from None
    for problem in _problems(subject, inputs, targets):
        raise UserError(problem)
    return Held(inputs, targets)


def _problems(subject: str, inputs: Tree, targets: Tree) -> Iterator[str]:
    sides = [("inputs", values) for values in tree_leaves(inputs)] + [("targets", values) for values in tree_leaves(targets)]
    counts: dict[int, str] = {}
    for side, values in sides:
        if values.dim() == 0 or not len(values):
            yield f"{subject} {side} hold no example: give tensors [N, ...] with N of at least 1"
            return
        if (values.is_floating_point() or values.is_complex()) and not bool(values.isfinite().all()):
            yield f"{subject} {side} hold values that are not finite: remove or replace them"
        counts.setdefault(len(values), side)
    if not counts or sides[0][0] != "inputs":
        yield f"{subject} holds no inputs: give tensors [N, ...] with N of at least 1"
    elif len(counts) > 1:
        (first, side), (second, other) = list(counts.items())[:2]
        yield f"{subject} has {first} {side} and {second} {other}: must be as many"


def _tree(value: object) -> Tree:
    """The value as a tree of tensors; floating and complex numbers in single precision, for training. Raises TypeError."""
    if isinstance(value, Mapping):
        return {str(name): _tree(branch) for name, branch in value.items()}
    if isinstance(value, tuple | list):
        return tuple(_tree(branch) for branch in value)
    if isinstance(value, np.ndarray):
        native = value.astype(value.dtype.newbyteorder("="), copy=False)
        value = torch.from_numpy(np.ascontiguousarray(native)) if value.dtype.kind in "biufc" else value
    if not isinstance(value, Tensor) or value.layout != torch.strided:
        raise TypeError(
            f"hold a {getattr(value, 'layout', None) or type(value).__name__}".replace("torch.", "tensor of layout ")
        )
    if value.is_complex():
        return value.detach().to(torch.complex64)
    return value.detach().float() if value.is_floating_point() else value.detach()


def _hash(batches: Any) -> str:
    content = hashlib.sha256()
    for batch in batches:
        for tensor in tree_leaves(batch):
            content.update(f"{tensor.dtype} {list(tensor.shape)} ".encode())
            content.update(tensor.detach().cpu().contiguous().resolve_conj().numpy().data)
    return content.hexdigest()[:16]
