"""Datasets by name: splits to train on, to choose by and to judge by, and batches keyed on a seed."""

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from ....declare import Configuration
from ....declare.characters import refused_character
from ....declare.own_address import OwnAddress
from ....errors import UserError, unknown
from .base import STEPS_PER_DRAW, DataFacts, Dataset, Index, Split
from .bpe import SIZES
from .examples import digits, mnist
from .images import read_images
from .packages import NAME as PACKAGES
from .synthetic import LARGEST as SYNTHETIC
from .synthetic import synthetic
from .text import BYTES, TEXTS, python_packages, read_text, tokenize

BUILT_IN = ("digits", "mnist-5k", *TEXTS, PACKAGES)


@dataclass(frozen=True)
class GivenByPath:
    """words: what it is; write: how --data has it; facts: placeholders to plan with, the hash unknown."""

    words: str
    write: str
    facts: DataFacts


# Sets a study may name although no package carries them: the user says where they lie.
BY_PATH = {
    "web-text": GivenByPath(
        "any large sample of web text, such as a shard of OpenWebText or FineWeb",
        "text:PATH",
        DataFacts(hash="unknown", classes=256),
    ),
    "cifar-10": GivenByPath(
        "the images of CIFAR-10, in a sub-folder for each class",
        "images:PATH",
        DataFacts(hash="unknown", classes=10, features=(3, 32, 32)),
    ),
}


def describe(name: str, tokenizer: str = BYTES) -> DataFacts:
    """For a plan: the facts of a dataset, or placeholders for one that is still to be given."""
    if name not in BY_PATH:
        return load(name, tokenizer).facts
    facts = BY_PATH[name].facts
    return facts if facts.features else replace(facts, classes=SIZES.get(tokenizer, facts.classes))


@lru_cache(maxsize=4)
def load(name: str, tokenizer: str = BYTES) -> Dataset:
    """A dataset by its name. Raises UserError.

    `digits`, `mnist-5k`, `python-docs`, `python-source`, both texts as two tasks (`python-docs+python-source`),
    `python-packages` (packages.py), a synthetic one (synthetic.py), `text:PATH` (a file, also gzipped, or a folder of .txt
    files) or `images:PATH` (a folder or a .zip with a sub-folder for each class). tokenizer: of a text.
    """
    if (character := refused_character(name)) is not None:
        raise UserError(f"dataset {name}: holds {character}, which cannot be shown as it is; rename the file or folder")
    if (text := _text(name, tokenizer)) is not None:
        return text
    dataset = _no_text(name)
    if tokenizer != BYTES:
        raise UserError(f"tokenizer = {tokenizer}: dataset '{name}' is no text that has bytes; leave it out")
    return dataset


def _text(name: str, tokenizer: str) -> Dataset | None:
    if TEXTS.keys() >= set(parts := name.split("+")):
        return tokenize(name, *(TEXTS[part]() for part in parts), tokenizer=tokenizer)
    if name == PACKAGES:
        return python_packages(tokenizer)
    kind, _, path = name.partition(":")
    if kind == "text" and path:
        text, contents = read_text(Path(path))
        return tokenize(name, text, contents=str(contents), tokenizer=tokenizer)
    return None


def _no_text(name: str) -> Dataset:
    if name == "digits":
        return digits()
    if name == "mnist-5k":
        return mnist()
    if name in BY_PATH:
        entry = BY_PATH[name]
        raise UserError(f"dataset '{name}' ({entry.words}) is not shipped: say where it lies with --data {name}={entry.write}")
    kind, _, path = name.partition(":")
    if kind == "images" and path:
        return read_images(Path(path))
    if (address := OwnAddress.parse(name)) is not None:
        from ..own.dataset import own_examples  # imports torch, as the user's module does

        return own_examples(address)
    if kind in SYNTHETIC:
        return synthetic(kind, path)
    raise unknown("dataset", name, (*BUILT_IN, *BY_PATH, *(f"{kind}:SIZE" for kind in SYNTHETIC), "text:PATH", "images:PATH"))


def epochs_of(configuration: Configuration, dataset: Dataset) -> float:
    """How many times a run sees its training split: sequences or examples over those that the split, or the part of it that is
    trained on, has side by side."""
    workload = configuration.workload
    trained = dataset.limited(workload.training_set_size)
    return configuration.training.examples / len(trained.examples_index(workload.context))


__all__ = ["STEPS_PER_DRAW", "DataFacts", "Dataset", "Index", "Split", "describe", "epochs_of", "load", "tokenize"]
