import gzip
import hashlib
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch

from folklore.harness.declare import Workload
from folklore.harness.errors import UserError
from folklore.harness.train.workloads import data
from folklore.harness.train.workloads.data.text import BLOCK_BYTES, Text, python_source


def refused(name: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        data.load(name)


def test_python_documentation_is_there() -> None:
    text = data.load("python-docs")
    assert len(text.splits["train"]) > 300_000
    assert 90 < text.facts.classes <= 256
    assert int(max(split.max() for split in text.splits.values())) == text.facts.classes - 1


def test_python_source_is_there_and_large() -> None:
    text = data.load("python-source")
    assert sum(len(split) for split in text.splits.values()) > 5_000_000
    assert "dataclass" in bytes(sorted_symbols()[text.splits["train"]]).decode()
    assert text.facts.hash != data.load("python-docs").facts.hash


def sorted_symbols() -> np.ndarray:
    """The bytes that occur in Python's sources, in order: what the numbers of its tokens stand for."""
    return np.unique(np.frombuffer(python_source(), dtype=np.uint8))


def test_source_that_distributions_leave_out_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    with pytest.raises(UserError, match=r"holds no \.py file"):
        python_source()
    for name in ("b.py", "a/z.py", "a/tests/t.py", "site-packages/own.py", "_sysconfigdata_linux.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "latin.py").write_bytes("# é".encode("latin-1"))
    assert python_source() == b"a/z.py\nb.py"


def test_splits_partition_the_text() -> None:
    raw = bytes(np.random.default_rng(0).integers(97, 123, size=100_000, dtype=np.uint8))
    text = data.tokenize("x", raw)
    assert sum(len(split) for split in text.splits.values()) == len(raw)
    decode = np.unique(np.frombuffer(raw, dtype=np.uint8))
    validation = decode[text.splits["validation"]].tobytes()
    assert validation.startswith(raw[4 * BLOCK_BYTES : 5 * BLOCK_BYTES])
    assert raw[4 * BLOCK_BYTES : 4 * BLOCK_BYTES + 50] not in decode[text.splits["train"]].tobytes()


def test_several_texts_follow_one_another_in_every_split() -> None:
    """As long as the shortest each, and in the symbols of all; no window reaches into two."""
    one, other = bytes(range(97, 107)) * 4200, bytes(range(100, 120)) * 2100 + b"more of it"
    text, alone = data.tokenize("x", one, other), data.tokenize("y", one)
    assert text.facts.classes == 23
    for split, tokens in text.splits.items():
        half = len(tokens) // 2
        assert (tokens[:half] == alone.splits[split]).all()
        tasks = text.tasks_of(split, 2, 8)
        assert len(tasks) == len(tokens) - 8
        assert (tasks[: half - 8] == 0).all()
        assert (tasks[half - 8 : half] == -1).all()
        assert (tasks[half:] == 1).all()


def test_batches_are_keyed_on_seed_and_draw() -> None:
    text = data.load("python-docs")
    first = text.batch_index(1, 0, 4, 32)
    assert np.array_equal(first, text.batch_index(1, 0, 4, 32))
    assert not np.array_equal(first, text.batch_index(2, 0, 4, 32))
    assert not np.array_equal(first, text.batch_index(1, 1, 4, 32))
    assert first.shape == (data.STEPS_PER_DRAW, 4)
    assert first.min() >= 0
    assert text.batch_index(0, 0, 2000, 32).max() + 33 <= len(text.splits["train"])


def test_a_target_is_the_token_that_follows() -> None:
    text = Text("x", data.DataFacts("x", 9), {"train": np.arange(40, dtype=np.uint8)})
    inputs, targets = text.gather(text.arrays("train"), torch.tensor([[0, 31], [7, 4]]), 8)
    assert inputs[0, 1].tolist() == list(range(31, 39))
    assert targets.equal(inputs + 1)


def test_windows_of_an_epoch_lie_side_by_side() -> None:
    """Each token is predicted at most once an epoch, and all but fewer than two contexts at the ends are."""
    for length in (64, 65, 66, 71, 72, 73, 1000):
        text = Text("x", data.DataFacts("x", 9), {"train": np.zeros(length, dtype=np.uint8)})
        assert text.examples_index(8).tolist() == list(range(0, length - 15, 8)), length
        starts = set()
        for epoch in range(40):
            index = np.sort(text.epoch_index(3, epoch, 8))
            predicted = (index[:, None] + np.arange(1, 9)).ravel()
            assert (np.diff(predicted) == 1).all()
            assert predicted[0] > 0
            assert predicted[-1] < length
            assert len(predicted) > length - 16
            starts.add(int(index[0]))
        assert starts == set(range(8))


def test_epochs_are_keyed_on_seed_and_epoch() -> None:
    digits = data.load("digits")
    first = digits.epoch_index(1, 0, 0)
    assert np.array_equal(first, digits.epoch_index(1, 0, 0))
    assert sorted(first) == digits.examples_index(0).tolist() == list(range(1079))
    for other in (digits.epoch_index(1, 1, 0), digits.epoch_index(2, 0, 0), digits.batch_index(1, 0, 1079, 0)[0]):
        assert not np.array_equal(first, other)


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
    refused(name, finding)


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
    refused(f"text:{tmp_path / file}", finding)


def test_an_empty_folder(tmp_path: Path) -> None:
    refused(f"text:{tmp_path}", r"holds no \.txt or \.gz file")


def no_regular_file(path: Path, kind: str) -> Path:
    """A file that would keep its reader waiting, or feed it without end."""
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    return path


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("name", ["a.txt", "a.gz", "folder/a.txt"])
def test_a_text_that_is_no_regular_file(name: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    path = no_regular_file(tmp_path / name, kind)
    address = path.parent if path.parent != tmp_path else path
    refused(f"text:{address}", f"text:{path}: is a {kind} and no regular file; copy what it holds into one")


def test_a_text_that_unpacks_to_more_than_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """50 MB out of 200 kB, of which no more than a chunk is ever held."""
    bomb = tmp_path / "bomb.gz"
    with gzip.open(bomb, "wb", compresslevel=1) as file:
        for _ in range(50):
            file.write(bytes(1_000_000))
    monkeypatch.setattr("folklore.harness.train.workloads.data.text.LARGEST_DATASET", 5_000_000)
    monkeypatch.setattr("folklore.harness.input_files.CHUNK", 1 << 16)
    tracemalloc.start()
    refused(f"text:{bomb}", r"bomb\.gz: with it the text has more than 5 MB, the most that is read; give a part")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000


def test_all_files_of_a_text_together_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for start, name in ((97, "a.txt"), (98, "b.txt")):
        (tmp_path / name).write_bytes(bytes(range(start, start + 10)) * 6000)
    assert len(data.load(f"text:{tmp_path}").splits["train"]) > 80_000
    data.load.cache_clear()
    monkeypatch.setattr("folklore.harness.train.workloads.data.text.LARGEST_DATASET", 100_000)
    refused(f"text:{tmp_path}", r"b\.txt: with it the text has more than 100 kB")


def test_a_sparse_file_is_refused_by_its_size(tmp_path: Path) -> None:
    with (tmp_path / "a.txt").open("wb") as file:
        file.truncate(10**12)
    refused(f"text:{tmp_path / 'a.txt'}", "more than 2 GB")


def test_a_text_takes_five_times_its_size() -> None:
    """With the text itself, as harness/input_files.py says beside the bound."""
    text = np.random.default_rng(0).integers(0, 200, 5_000_000, dtype=np.uint8).tobytes()
    tracemalloc.start()
    data.tokenize("x", text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak / len(text) < 4.2


@pytest.mark.parametrize("place", [10, (1 << 20) - 1, (1 << 20) + 5, 2 * (1 << 20) - 1])
def test_the_first_byte_that_is_not_utf8_is_named(place: int, tmp_path: Path) -> None:
    """Wherever it lies among the chunks that are looked at; characters of several bytes may lie across their ends."""
    content = bytearray("é€".encode() * 430_000)
    whole = len(content[:place].decode(errors="ignore").encode())
    content[whole : whole + 1] = b"\xff"
    (tmp_path / "a.txt").write_bytes(content)
    refused(f"text:{tmp_path / 'a.txt'}", f"not UTF-8 at byte {whole}; convert it first")


def test_a_name_that_cannot_be_shown() -> None:
    refused("text:/tmp/\x1b[31m.txt", r"holds U\+001B, which cannot be shown as it is; rename the file or folder")


@pytest.mark.parametrize("name", ["quadratic:2", "regression:2", "markov:2", "digits", "mnist-5k", "python-docs"])
def test_targets_that_are_numbers_have_a_squared_error(name: str) -> None:
    """A study's declaration knows this of a dataset by its name alone."""
    assert Workload(model="linear", dataset=name).squares == (data.load(name).facts.classes == 0)


def test_a_context_longer_than_a_split() -> None:
    text = data.tokenize("x", bytes(range(97, 107)) * 4200)
    with pytest.raises(UserError, match=r"context 3000"):
        text.check(3000)


def test_a_folder_of_texts_says_what_it_reads(tmp_path: Path) -> None:
    """Suffixes in capitals, no hidden files, links to folders, and of copies the first."""
    first, other = (bytes(np.random.default_rng(seed).integers(97, 117, 50_000, dtype=np.uint8)) for seed in (0, 1))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/b.TXT").write_bytes(other)
    (tmp_path / "texts/.ipynb_checkpoints").mkdir(parents=True)
    (tmp_path / "texts/.ipynb_checkpoints/a-checkpoint.txt").write_bytes(first)
    for name, content in (("a.txt", first), ("z.txt", first), ("notes.md", b"x")):
        (tmp_path / "texts" / name).write_bytes(content)
    (tmp_path / "texts/linked").symlink_to(tmp_path / "elsewhere")
    texts = data.load(f"text:{tmp_path / 'texts'}")
    assert texts.facts.hash == hashlib.sha256(first + b"\n" + other).hexdigest()[:16]
    assert texts.facts.contents == "2 files read; 3 passed over (1 .md, 1 copies of others, 1 hidden)"
