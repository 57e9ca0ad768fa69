import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement

from folklore.harness.errors import UserError
from folklore.harness.train.workloads import data
from folklore.harness.train.workloads.data import bpe, packages, recipe
from folklore.harness.train.workloads.data.text import Text
from tests.audit import pins
from tests.harness.train.workloads.data.conftest import Install, source


def loaded(tokenizer: str = "bytes") -> Text:
    data.load.cache_clear()
    text = data.load(packages.NAME, tokenizer)
    assert isinstance(text, Text)
    return text


def installed_by(message: str) -> list[Requirement]:
    """Requirements that a refusal's last line installs."""
    words = shlex.split(message[message.index("pip install") :])
    return [Requirement(word) for word in words[2:] if not word.startswith("-")]


@pytest.mark.usefixtures("three")
def test_whole_packages_are_splits_in_the_order_of_their_paths() -> None:
    """Files that a build writes are no part of them, and no byte of one split is in another."""
    texts, contents = packages.read()
    assert texts == {split: [source(seed + 1), source(seed)] for split, seed in (("validation", 0), ("test", 2), ("train", 4))}
    text = loaded()
    joined = b"\n".join(texts["train"])
    symbols = np.unique(np.frombuffer(b"\n".join(content for files in texts.values() for content in files), np.uint8))
    assert symbols[text.splits["train"]].tobytes() == joined
    assert text.facts.classes == len(symbols)
    assert text.facts.contents == str(contents)
    assert str(contents).startswith(
        "6 files read; 0 passed over (0 copies of others, 0 near copies of others, 0 near copies of"
    )


def test_other_versions_are_refused_with_the_line_that_installs_the_pinned_ones(
    three: Install, tmp_path: Path, pin: Callable[[], None]
) -> None:
    """One is missing and one is another version: after the line is followed the text loads."""
    three("trout", {"b.py": source(4)}, version="2.0")
    (tmp_path / "site/vole.dist-info").rename(tmp_path / "vole")
    with pytest.raises(UserError, match=r"here trout 2\.0, vole is missing; pip install trout==1\.0 vole==1\.0$") as refusal:
        loaded()
    for wanted in installed_by(str(refusal.value)):
        seed = {"trout": 4, "vole": 0}[wanted.name]
        files = {"b.py": source(seed), "a/z.py": source(seed + 1), "version.py": b"built otherwise\n"}
        three(wanted.name, files, version=str(wanted.specifier).removeprefix("=="))
    assert loaded().splits


def test_a_changed_file_is_refused_by_its_name(three: Install, tmp_path: Path) -> None:
    path = tmp_path / "site/toad/b.py"
    for content in (source(2) + b"changed\n", None):
        path.unlink() if content is None else path.write_bytes(content)
        way_out = "pip install --force-reinstall --no-deps toad==1.0"
        with pytest.raises(UserError, match=f"{re.escape(str(path))} is not as it came with toad; {way_out}$"):
            loaded()
    three("toad", {"b.py": source(2), "a/z.py": source(3)})
    assert loaded().splits


def test_other_files_of_the_pinned_version_are_refused(three: Install) -> None:
    three("toad", {"b.py": source(2), "a/z.py": source(9)})
    with pytest.raises(UserError, match=r"toad came with other \.py files .* --no-deps toad==1\.0$"):
        loaded()


def test_copies_leave_and_near_copies_leave_training(three: Install, pin: Callable[[], None]) -> None:
    """A copy with other blank lines, indentation and names here and there is a near copy; one in another order is none."""
    validation = source(0)
    lines = validation.splitlines(keepends=True)
    near = b"\n".join(b"    " + (line if number % 20 else b"x = 1\n") for number, line in enumerate(lines))
    own = source(5)
    files = {
        "a.py": own,
        "copy.py": own,
        "empty.py": b"",
        "near.py": near,
        "part.py": b"".join(own.splitlines(keepends=True)[:120]) + source(6, 80),
        "shuffled.py": b"".join(reversed(own.splitlines(keepends=True))),
    }
    three("trout", files)
    pin()
    texts, contents = packages.read()
    assert texts["train"] == [own, files["shuffled.py"]]
    assert texts["validation"] == [source(1), validation]
    assert str(contents) == (
        "6 files read; 3 passed over (1 copies of others, 1 near copies of others, 1 near copies of validation or test)"
    )


def test_the_hash_covers_text_splits_and_tokenizer(
    three: Install, pin: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    hashes = [loaded().facts.hash, loaded("bpe-512").facts.hash]
    monkeypatch.setattr(packages, "PACKAGES", {"validation": ("toad",), "test": ("vole",), "train": ("trout",)})
    hashes.append(loaded().facts.hash)
    three("trout", {"b.py": source(4), "a/z.py": source(8)})
    pin()
    hashes.append(loaded().facts.hash)
    assert len(set(hashes)) == 4


@pytest.mark.usefixtures("three")
def test_pieces_of_a_vocabulary_are_those_of_the_files() -> None:
    text = loaded("bpe-512")
    train = text.splits["train"]
    assert text.facts.classes == 512
    assert bpe.vocabulary("bpe-512").decode(train.tolist()).encode() == source(5) + b"\n" + source(4) + b"\n"


def test_the_table_pins_what_the_project_pins() -> None:
    """A newer constraint needs the recipe again."""
    constraints = {name.lower(): version for name, version in pins().items()}
    table = packages.pinned()
    assert {name: constraints[name] for name in table} == {name: package.version for name, package in table.items()}
    assert sorted(table) == sorted(name for names in packages.PACKAGES.values() for name in names)


@pytest.mark.slow
def test_the_real_packages_are_large_and_the_shipped_files_are_what_the_recipe_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, vocabulary = packages.TABLE.read_text(), bpe.shipped("bpe-512").read_text()
    text = loaded()
    sizes = {split: len(tokens) for split, tokens in text.splits.items()}
    assert sizes["train"] > 100_000_000
    assert min(sizes["validation"], sizes["test"]) > 8_000_000
    assert max(text.splits["train"]) == text.facts.classes - 1
    monkeypatch.setattr(packages, "TABLE", tmp_path / "packages.json")
    monkeypatch.setattr(bpe, "shipped", lambda name: tmp_path / f"{name}.json")
    recipe.main()
    assert packages.TABLE.read_text() == table
    assert bpe.shipped("bpe-512").read_text() == vocabulary
