"""Text as tokens.

Tokens are bytes, numbered by their order among the bytes that occur, or those of a vocabulary (bpe.py). Of every ten blocks of
the text, one is held out for validation and one for test, so that all three splits have the same mixture of topics. Several
texts, as long as the shortest of them each, follow one another in every split.
"""

import codecs
import gzip
import hashlib
import json
import os
import sysconfig
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from ....errors import UserError, one_line
from ....input_files import (
    CHUNK,
    LARGEST_DATASET,
    TooMuchError,
    below,
    open_regular,
    read_bounded,
    read_regular,
    require_bounded,
    size_of,
)
from ....randomness import numpy_generator
from . import bpe, packages
from .base import STEPS_PER_DRAW, DataFacts, Dataset, Index, Split
from .contents import COPIES, Contents, chosen
from .kept import Arrays, kept

if TYPE_CHECKING:
    from torch import Tensor

# The tokenizer of a text that no other is named for.
BYTES = "bytes"
BLOCK_BYTES = 4096
# Most bytes that one byte of a .gz unpacks to.
MOST_UNZIPPED = 1032
VALIDATION_BLOCK, TEST_BLOCK, BLOCK_PERIOD = 4, 9, 10
# Parts of the standard library that distributions leave out or add to: without them one version has one text.
OFTEN_MISSING = frozenset(
    {
        *("test", "tests", "idlelib", "idle_test", "tkinter", "turtledemo", "lib2to3", "ensurepip", "distutils"),
        *("pydoc_data", "site-packages", "dist-packages", "__pycache__"),
    }
)


@dataclass(frozen=True)
class Text(Dataset):
    """A tokenized text, or several, whose parts of a split are equally long; an example is the index of the first token of a
    window of context + 1."""

    name: str
    facts: DataFacts
    splits: dict[Split, NDArray[np.uint8] | NDArray[np.int16]]
    texts: int = 1

    def check(self, context: int) -> None:
        for split, tokens in self.splits.items():
            if len(tokens) < 2 * (context + 1):
                raise UserError(
                    f"dataset '{self.name}': its {split} split has {len(tokens)} tokens, fewer than two windows of context"
                    f" {context}; give a longer text or a shorter context"
                )

    def limited(self, training_set_size: int | None, drawn: bool = False) -> "Text":
        if drawn:
            raise UserError(
                f"training_set = drawn: dataset '{self.name}' is a text, which is trained on in its order; leave it out"
            )
        if training_set_size is None:
            return self
        if self.texts > 1:
            raise UserError(f"training_set_size = {training_set_size}: dataset '{self.name}' is several texts; leave it out")
        if training_set_size > (count := len(self.splits["train"])):
            raise UserError(
                f"training_set_size = {training_set_size}: dataset '{self.name}' has {count} tokens; choose at most this many"
            )
        return replace(self, splits={**self.splits, "train": self.splits["train"][:training_set_size]})

    def tasks_of(self, split: Split, tasks: int, context: int) -> Index:
        """The task of each window: every text is one; a window that reaches into the next text belongs to none."""
        if tasks != self.texts:
            raise UserError(
                f"tasks = {tasks}: dataset '{self.name}' is {self.texts} text(s), each of which is a task; join texts by +, as"
                " in python-docs+python-source"
            )
        first, length = np.arange(len(self.splits[split]) - context), len(self.splits[split]) // self.texts
        return np.where(first // length == (first + context) // length, first // length, -1)

    def sample_index(self, split: Split, examples: int, context: int) -> Index:
        last = len(self.splits[split]) - (context + 1)
        return np.linspace(0, last, examples).round().astype(np.int64)

    def batch_index(self, seed: int, draw: int, batch_size: int, context: int) -> Index:
        generator = numpy_generator(seed, "batches", draw)
        high = len(self.splits["train"]) - context
        return generator.integers(0, high, size=(STEPS_PER_DRAW, batch_size), dtype=np.int64)

    def examples_index(self, context: int) -> Index:
        """Windows side by side: each begins with the last token of the one before it, so that no token is predicted twice.

        So many that they fit from every start that an epoch may draw.
        """
        return context * np.arange((len(self.splits["train"]) - context) // context, dtype=np.int64)

    def epoch_index(self, seed: int, epoch: int, context: int) -> Index:
        """All windows of an epoch are moved by one draw below `context`: over the epochs a token stands in every position."""
        start = numpy_generator(seed, "epoch starts", epoch).integers(0, context)
        return super().epoch_index(seed, epoch, context) + start

    def arrays(self, split: Split) -> "tuple[Tensor, ...]":
        import torch

        return (torch.from_numpy(self.splits[split]),)

    def gather(self, arrays: "tuple[Tensor, ...]", index: "Tensor", context: int) -> "tuple[Tensor, Tensor]":
        import torch

        (tokens,) = arrays
        windows = tokens[index.unsqueeze(-1) + torch.arange(context + 1, device=index.device)].long()
        return windows[..., :-1], windows[..., 1:]


def tokenize(name: str, *texts: bytes, contents: str = "", tokenizer: str = BYTES) -> Text:
    """Bytes to tokens, and tokens to splits. Raises UserError for a text too short to split."""
    shortest = min(map(len, texts))
    if shortest < BLOCK_PERIOD * BLOCK_BYTES:
        raise UserError(
            f"dataset '{name}': {shortest} bytes, fewer than the {BLOCK_PERIOD * BLOCK_BYTES} that splitting needs;"
            " give a longer text"
        )
    if tokenizer != BYTES:
        return _encoded(name, texts, contents, tokenizer)
    text = texts[0] if len(texts) == 1 else b"".join(text[:shortest] for text in texts)
    numbers, classes = _numbers(text)
    tokens = np.frombuffer(text.translate(numbers), dtype=np.uint8)
    blocks = np.arange(-(-shortest // BLOCK_BYTES)) % BLOCK_PERIOD
    position = np.repeat(blocks.astype(np.uint8), BLOCK_BYTES)[:shortest]
    position = np.tile(position, len(texts)) if len(texts) > 1 else position
    held_out = (position == VALIDATION_BLOCK) | (position == TEST_BLOCK)
    return Text(
        name=name,
        facts=DataFacts(hash=hashlib.sha256(text).hexdigest()[:16], classes=classes, contents=contents),
        splits={
            "train": tokens[~held_out],
            "validation": tokens[position == VALIDATION_BLOCK],
            "test": tokens[position == TEST_BLOCK],
        },
        texts=len(texts),
    )


def _encoded(name: str, texts: Sequence[bytes], contents: str, tokenizer: str) -> Text:
    """Text by a vocabulary; each of several texts has as many tokens in a split as the one with the fewest."""
    key = _hash(bpe.digest(tokenizer), *(hashlib.sha256(text).hexdigest() for text in texts))

    def make() -> Arrays:
        encoded = [{split: bpe.encode(tokenizer, pieces) for split, pieces in _blocks(text).items()} for text in texts]
        fewest = {split: min(len(splits[split]) for splits in encoded) for split in encoded[0]}
        return {split: np.concatenate([splits[split][:count] for splits in encoded]) for split, count in fewest.items()}

    return Text(name, DataFacts(key[:16], bpe.SIZES[tokenizer], contents=contents), _splits(kept(key, make)), len(texts))


def _blocks(text: bytes) -> dict[Split, list[bytes]]:
    """The blocks of each split, which begin with a whole character."""
    starts = [_character(text, start) for start in range(0, len(text), BLOCK_BYTES)]
    blocks = [text[first:end] for first, end in pairwise([*starts, len(text)])]
    held_out: dict[Split, list[bytes]] = {
        "validation": blocks[VALIDATION_BLOCK::BLOCK_PERIOD],
        "test": blocks[TEST_BLOCK::BLOCK_PERIOD],
    }
    places = (VALIDATION_BLOCK, TEST_BLOCK)
    return {"train": [block for number, block in enumerate(blocks) if number % BLOCK_PERIOD not in places], **held_out}


def _character(text: bytes, start: int) -> int:
    """The first place from here on where a character of UTF-8 begins."""
    while start < len(text) and text[start] & 0xC0 == 0x80:
        start += 1
    return start


def python_packages(tokenizer: str = BYTES) -> Text:
    """The sources of packages.py, split by package. Raises UserError where others than the pinned ones are installed."""
    packages.require_pinned()
    arrays = kept(f"{packages.PACKAGES} {packages.pinned()} {tokenizer}", lambda: _packed(tokenizer))
    facts = json.loads(str(arrays.pop("facts")))
    return Text(packages.NAME, DataFacts(**facts), _splits(arrays))


def _packed(tokenizer: str) -> Arrays:
    """The tokens of every split, and `facts` in JSON."""
    files, contents = packages.read()
    joined = {split: b"\n".join(texts) for split, texts in files.items()}
    if tokenizer == BYTES:
        numbers, classes = _numbers(*joined.values())
        tokens: Arrays = {split: np.array(np.frombuffer(text.translate(numbers), np.uint8)) for split, text in joined.items()}
    else:
        tokens = {split: bpe.encode(tokenizer, (text + b"\n" for text in texts)) for split, texts in files.items()}
        classes = bpe.SIZES[tokenizer]
    hashes = (f"{split} {hashlib.sha256(text).hexdigest()}" for split, text in joined.items())
    facts = {"hash": _hash(bpe.digest(tokenizer), *hashes)[:16], "classes": classes, "contents": str(contents)}
    return {**tokens, "facts": np.array(json.dumps(facts))}


def _splits(arrays: Arrays) -> dict[Split, NDArray[np.uint8] | NDArray[np.int16]]:
    return cast("dict[Split, NDArray[np.uint8] | NDArray[np.int16]]", arrays)


def _hash(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def python_documentation() -> bytes:
    """The help topics that come with every Python; the text differs between versions, and so does its hash."""
    topics: dict[str, str] = import_module("pydoc_data.topics").topics
    return "\n".join(topics[topic] for topic in sorted(topics)).encode()


def python_source() -> bytes:
    """The source text of Python's standard library, some 10 MB of code and prose in English, file by file in the order of
    their paths. It differs between versions, and so does its hash. Raises UserError where Python came without its sources."""
    library = Path(sysconfig.get_path("stdlib"))
    paths, texts = [], []
    for folder, folders, files in os.walk(library):
        folders[:] = [name for name in folders if name not in OFTEN_MISSING]  # installed packages are many more files
        paths += [Path(folder, name) for name in files if name.endswith(".py") and not name.startswith("_sysconfigdata")]
    for path in sorted(paths, key=lambda path: path.relative_to(library).parts):
        text = path.read_bytes()
        if _first_not_utf8(text) is None:
            texts.append(text)
    if not texts:
        raise UserError(f"dataset 'python-source': {library} holds no .py file; take a Python with its sources, or a text:PATH")
    return b"\n".join(texts)


# Texts of every installation, by name.
TEXTS = {"python-docs": python_documentation, "python-source": python_source}


def read_text(path: Path) -> tuple[bytes, Contents]:
    """The text of a file, or of all .txt and .gz files below a folder in the order of their paths; of copies the first alone.

    Raises UserError for what is not there, is no regular file, holds no UTF-8 or, with all files together, more than
    LARGEST_DATASET bytes.
    """
    subject = f"dataset text:{path}"
    if not path.exists():
        raise UserError(f"{subject}: no such file or folder; give the path of a .txt or .gz file or a folder of them")
    try:
        files, passed = _files(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{subject}: cannot be read ({one_line(error)}); give another folder") from None
    if not files:
        raise UserError(f"{subject}: the folder holds no .txt or .gz file")
    texts: dict[str, bytes] = {}
    bytes_left = LARGEST_DATASET
    for file in files:
        text = _read_file(file, bytes_left)
        bytes_left = max(0, bytes_left - len(text))
        if texts.setdefault(hashlib.sha256(text).hexdigest(), text) is not text:
            passed[COPIES] += 1
    return b"\n".join(texts.values()), Contents(len(texts), passed)


def _files(path: Path) -> tuple[list[Path], Counter[str]]:
    if not path.is_dir():
        return [path], Counter()
    files, passed = chosen(below(path)[0], (".txt", ".gz"))
    return [path.joinpath(*parts) for parts in files], passed


def _read_file(path: Path, most: int) -> bytes:
    subject = f"dataset text:{path}"
    try:
        content = _unzipped(path, most) if path.suffix.lower() == ".gz" else read_regular(path, most)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{subject}: cannot be read ({one_line(error)}); give another file") from None
    except TooMuchError:
        raise UserError(
            f"{subject}: with it the text has more than {size_of(LARGEST_DATASET)}, the most that is read; give a part of it"
        ) from None
    except ValueError as error:
        raise UserError(f"{subject}: {one_line(error)}") from None
    if (byte := _first_not_utf8(content)) is not None:
        raise UserError(f"{subject}: not UTF-8 at byte {byte}; convert it first")
    return content


def _unzipped(path: Path, most: int) -> bytes:
    with open_regular(path) as file, gzip.GzipFile(fileobj=file) as unzipped:
        if os.fstat(file.fileno()).st_size * MOST_UNZIPPED > most:
            require_bounded(unzipped, most)  # keeps nothing of it
            unzipped.seek(0)
        return read_bounded(unzipped, most)


def _first_not_utf8(content: bytes) -> int | None:
    """The first byte that is not UTF-8, or None. Decodes piece by piece: at once a text could become four times as large."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(content), CHUNK):
        kept = len(decoder.getstate()[0])
        try:
            decoder.decode(content[start : start + CHUNK], final=start + CHUNK >= len(content))
        except UnicodeDecodeError as error:
            return start - kept + error.start
    return None


def _numbers(*texts: bytes) -> tuple[bytes, int]:
    """The table that gives a byte its number among those that occur, and how many these are."""
    occurs = np.zeros(256, dtype=bool)
    for text in texts:
        for start in range(0, len(text), CHUNK):
            occurs |= np.bincount(np.frombuffer(text, np.uint8, min(CHUNK, len(text) - start), start), minlength=256) > 0
    symbols = bytes(np.flatnonzero(occurs).tolist())
    # A byte a token at every step, where numpy's own functions would take eight.
    return bytes.maketrans(symbols, bytes(range(len(symbols)))), len(symbols)
