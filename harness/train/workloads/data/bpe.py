"""Byte-level BPE (Sennrich et al. 2016; Radford et al. 2019): the 256 bytes, and the pairs of tokens that were most common in
the text that a vocabulary was trained on. It is shipped, so that one text has the same tokens everywhere."""

import hashlib
import json
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Tokenizer -> how many tokens it has.
SIZES = {"bpe-512": 512}


def shipped(name: str) -> Path:
    return Path(__file__).parent / f"{name}.json"


@cache
def vocabulary(name: str) -> "Tokenizer":
    from tokenizers import Tokenizer

    return Tokenizer.from_str(shipped(name).read_text())


def digest(name: str) -> str:
    """A hash of the vocabulary, which decides the tokens of a text; '' of bytes."""
    return hashlib.sha256(shipped(name).read_bytes()).hexdigest() if name in SIZES else ""


def encode(name: str, pieces: Iterable[bytes]) -> NDArray[np.int16]:
    """The tokens of pieces of UTF-8, one after another; no token lies in two of them. 3 MB a second on one core."""
    _quietly_serial()
    tokenizer = vocabulary(name)
    encoded = (tokenizer.encode_batch_fast([piece.decode()])[0].ids for piece in pieces)
    return np.concatenate([np.array(ids, dtype=np.int16) for ids in encoded])


def trained(name: str, pieces: Iterable[bytes]) -> str:
    """The JSON of a vocabulary of this name's size, trained on pieces of UTF-8."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    _quietly_serial()
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=SIZES[name], initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator((piece.decode() for piece in pieces), trainer)
    return json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False, separators=(",", ":")) + "\n"


def _quietly_serial() -> None:
    """After threads of its own the library warns on stderr at every fork."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
