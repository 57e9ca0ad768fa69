import gzip
from pathlib import Path

import numpy as np
import pytest

from harness import data
from harness.data.text import BLOCK_BYTES
from harness.errors import UserError


def test_python_documentation_is_there() -> None:
    text = data.load("python-docs")
    assert len(text.splits["train"]) > 300_000
    assert 90 < text.facts.classes <= 256
    assert int(max(split.max() for split in text.splits.values())) == text.facts.classes - 1


def test_splits_partition_the_text() -> None:
    raw = bytes(np.random.default_rng(0).integers(97, 123, size=100_000, dtype=np.uint8))
    text = data.tokenize("x", raw)
    assert sum(len(split) for split in text.splits.values()) == len(raw)
    decode = np.unique(np.frombuffer(raw, dtype=np.uint8))
    validation = decode[text.splits["validation"]].tobytes()
    assert validation.startswith(raw[4 * BLOCK_BYTES : 5 * BLOCK_BYTES])
    assert raw[4 * BLOCK_BYTES : 4 * BLOCK_BYTES + 50] not in decode[text.splits["train"]].tobytes()


def test_batches_are_keyed_on_seed_and_draw() -> None:
    text = data.load("python-docs")
    first = text.batch_index(1, 0, 4, 32)
    assert np.array_equal(first, text.batch_index(1, 0, 4, 32))
    assert not np.array_equal(first, text.batch_index(2, 0, 4, 32))
    assert not np.array_equal(first, text.batch_index(1, 1, 4, 32))
    assert first.shape == (data.STEPS_PER_DRAW, 4)
    assert first.min() >= 0
    assert text.batch_index(0, 0, 2000, 32).max() + 33 <= len(text.splits["train"])


def test_the_hash_is_of_the_content(tmp_path: Path) -> None:
    content = b"abcdefgh" * 10_000
    (tmp_path / "a.txt").write_bytes(content)
    (tmp_path / "a.gz").write_bytes(gzip.compress(content))
    plain, zipped = data.load(f"text:{tmp_path / 'a.txt'}"), data.load(f"text:{tmp_path / 'a.gz'}")
    assert plain.facts.hash == zipped.facts.hash
    assert plain.facts.hash != data.tokenize("y", content + b"z").facts.hash


@pytest.mark.parametrize(
    ("name", "finding"),
    [
        ("pyton-docs", "did you mean 'python-docs'"),
        ("text:/no/such/file.txt", "no such file or folder"),
        ("web-text", "--data web-text=text:PATH"),
    ],
)
def test_a_dataset_that_is_not_there(name: str, finding: str) -> None:
    with pytest.raises(UserError, match=finding):
        data.load(name)


@pytest.mark.parametrize(
    ("file", "content", "finding"),
    [
        ("latin.txt", b"a" * 50_000 + b"\xe9\x20", "not UTF-8 at byte 50000"),
        ("short.txt", b"abc", "3 bytes, fewer than"),
        ("broken.gz", b"no gzip at all", "cannot be read"),
    ],
)
def test_a_text_that_cannot_be_used(tmp_path: Path, file: str, content: bytes, finding: str) -> None:
    (tmp_path / file).write_bytes(content)
    with pytest.raises(UserError, match=finding):
        data.load(f"text:{tmp_path / file}")


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"holds no \.txt or \.gz file"):
        data.load(f"text:{tmp_path}")


def test_a_context_longer_than_a_split() -> None:
    text = data.tokenize("x", bytes(range(97, 107)) * 4200)
    with pytest.raises(UserError, match=r"context 3000"):
        text.check(3000)
