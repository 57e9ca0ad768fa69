"""Text as tokens, split three ways: to train on, to choose by, and to judge by.

Tokens are bytes, numbered by their order among the bytes that occur. Of every ten blocks of the text, one is held out
for validation (choosing) and one for test (judging), so that all three have the same mixture of topics.
"""

import gzip
import hashlib
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from harness.errors import UserError, unknown
from harness.randomness import numpy_generator

Split = Literal["train", "validation", "test"]

BLOCK_BYTES = 4096
VALIDATION_BLOCK, TEST_BLOCK, BLOCK_PERIOD = 4, 9, 10
# Batches are drawn for this many steps at a time; a restart redraws the block it stands in.
STEPS_PER_DRAW = 256
BUILT_IN = ("python-docs",)
# Sets a study may name although no package carries them: the user says where they lie.
BY_PATH = {"web-text": "any large sample of web text, such as a shard of OpenWebText or FineWeb"}


@dataclass(frozen=True)
class Text:
    """A tokenized text; `splits` maps a split's name to its tokens, uint8 [N]."""

    name: str
    vocabulary: int
    hash: str
    splits: dict[Split, NDArray[np.uint8]]

    def check(self, context: int) -> None:
        for split, tokens in self.splits.items():
            if len(tokens) < 2 * (context + 1):
                raise UserError(
                    f"dataset '{self.name}': its {split} split has {len(tokens)} bytes, fewer than two windows of context"
                    f" {context}; give a longer text or a shorter context"
                )

    def sample_starts(self, split: Split, examples: int, context: int) -> NDArray[np.int64]:
        """Starts of evenly spread windows of context + 1 tokens: the same ones for every trial, [examples]."""
        last = len(self.splits[split]) - (context + 1)
        return np.linspace(0, last, examples).round().astype(np.int64)

    def batch_starts(self, seed: int, draw: int, batch_size: int, context: int) -> NDArray[np.int64]:
        """Starts of the training windows of the `draw`-th run of STEPS_PER_DRAW steps, [STEPS_PER_DRAW, batch_size]."""
        generator = numpy_generator(seed, "batches", draw)
        high = len(self.splits["train"]) - context
        return generator.integers(0, high, size=(STEPS_PER_DRAW, batch_size), dtype=np.int64)


def describe(name: str) -> tuple[int, str]:
    """Vocabulary and hash for a plan: of the dataset, or placeholders (any byte, unknown) for one still to be given."""
    if name in BY_PATH:
        return 256, "unknown"
    text = load(name)
    return text.vocabulary, text.hash


@lru_cache(maxsize=4)
def load(name: str) -> Text:
    """The dataset `python-docs`, or `text:PATH` (a file, also gzipped, or a folder of .txt files)."""
    if name == "python-docs":
        return tokenize(name, _python_documentation())
    if name in BY_PATH:
        raise UserError(f"dataset '{name}' ({BY_PATH[name]}) is not shipped: say where it lies with --data {name}=text:PATH")
    kind, _, path = name.partition(":")
    if kind == "text" and path:
        return tokenize(name, _read_text(Path(path)))
    raise unknown("dataset", name, (*BUILT_IN, *BY_PATH, "text:PATH"))


def tokenize(name: str, text: bytes) -> Text:
    """Bytes to tokens, and tokens to splits. Raises UserError for a text too short to split."""
    if len(text) < BLOCK_PERIOD * BLOCK_BYTES:
        raise UserError(
            f"dataset '{name}': {len(text)} bytes, fewer than the {BLOCK_PERIOD * BLOCK_BYTES} that splitting needs;"
            " give a longer text"
        )
    raw = np.frombuffer(text, dtype=np.uint8)
    symbols, tokens = np.unique(raw, return_inverse=True)
    tokens = tokens.astype(np.uint8)
    position = np.arange(len(tokens)) // BLOCK_BYTES % BLOCK_PERIOD
    held_out = (position == VALIDATION_BLOCK) | (position == TEST_BLOCK)
    return Text(
        name=name,
        vocabulary=len(symbols),
        hash=hashlib.sha256(text).hexdigest()[:16],
        splits={
            "train": tokens[~held_out],
            "validation": tokens[position == VALIDATION_BLOCK],
            "test": tokens[position == TEST_BLOCK],
        },
    )


def _python_documentation() -> bytes:
    """The help topics that come with every Python; the text differs between versions, and so does its hash."""
    topics: dict[str, str] = import_module("pydoc_data.topics").topics
    return "\n".join(topics[topic] for topic in sorted(topics)).encode()


def _read_text(path: Path) -> bytes:
    if not path.exists():
        raise UserError(f"dataset text:{path}: no such file or folder; give the path of a .txt or .gz file or a folder of them")
    files = sorted(p for p in path.rglob("*") if p.suffix in (".txt", ".gz")) if path.is_dir() else [path]
    if not files:
        raise UserError(f"dataset text:{path}: the folder holds no .txt or .gz file")
    return b"\n".join(_read_file(file) for file in files)


def _read_file(path: Path) -> bytes:
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"dataset text:{path}: not UTF-8 at byte {error.start}; convert it first") from None
    except (OSError, EOFError, gzip.BadGzipFile) as error:
        raise UserError(f"dataset text:{path}: cannot be read ({error})") from None
    return content
