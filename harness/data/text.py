"""Text as tokens.

Tokens are bytes, numbered by their order among the bytes that occur. Of every ten blocks of the text, one is held out
for validation and one for test, so that all three splits have the same mixture of topics.
"""

import gzip
import hashlib
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from harness.data.base import STEPS_PER_DRAW, DataFacts, Dataset, Index, Split
from harness.errors import UserError
from harness.randomness import numpy_generator

if TYPE_CHECKING:
    from torch import Tensor

BLOCK_BYTES = 4096
VALIDATION_BLOCK, TEST_BLOCK, BLOCK_PERIOD = 4, 9, 10


@dataclass(frozen=True)
class Text(Dataset):
    """A tokenized text; an example is the index of the first token of a window of context + 1."""

    name: str
    facts: DataFacts
    splits: dict[Split, NDArray[np.uint8]]

    def check(self, context: int) -> None:
        for split, tokens in self.splits.items():
            if len(tokens) < 2 * (context + 1):
                raise UserError(
                    f"dataset '{self.name}': its {split} split has {len(tokens)} bytes, fewer than two windows of context"
                    f" {context}; give a longer text or a shorter context"
                )

    def sample_index(self, split: Split, examples: int, context: int) -> Index:
        last = len(self.splits[split]) - (context + 1)
        return np.linspace(0, last, examples).round().astype(np.int64)

    def batch_index(self, seed: int, draw: int, batch_size: int, context: int) -> Index:
        generator = numpy_generator(seed, "batches", draw)
        high = len(self.splits["train"]) - context
        return generator.integers(0, high, size=(STEPS_PER_DRAW, batch_size), dtype=np.int64)

    def arrays(self, split: Split) -> "tuple[Tensor, ...]":
        import torch

        return (torch.from_numpy(self.splits[split]),)

    def gather(self, arrays: "tuple[Tensor, ...]", index: "Tensor", context: int) -> "tuple[Tensor, Tensor]":
        import torch

        (tokens,) = arrays
        windows = tokens[index.unsqueeze(-1) + torch.arange(context + 1, device=index.device)].long()
        return windows[..., :-1], windows[..., 1:]


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
        facts=DataFacts(hash=hashlib.sha256(text).hexdigest()[:16], classes=len(symbols)),
        splits={
            "train": tokens[~held_out],
            "validation": tokens[position == VALIDATION_BLOCK],
            "test": tokens[position == TEST_BLOCK],
        },
    )


def python_documentation() -> bytes:
    """The help topics that come with every Python; the text differs between versions, and so does its hash."""
    topics: dict[str, str] = import_module("pydoc_data.topics").topics
    return "\n".join(topics[topic] for topic in sorted(topics)).encode()


def read_text(path: Path) -> bytes:
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
