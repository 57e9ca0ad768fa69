from pathlib import Path

import numpy as np
import pytest

from folklore.harness.train.workloads.data import bpe, kept, text

DOCS = text.python_documentation()[:60_000]


def encoded() -> text.Text:
    return text.tokenize("x", DOCS, tokenizer="bpe-512")


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("encoded again")

    monkeypatch.setattr(bpe, "encode", fail)


def test_a_text_is_encoded_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = encoded()
    assert [path.suffix for path in cache.iterdir()] == [".npz"], "nothing temporary stays"
    with monkeypatch.context() as patch:
        forbid(patch)
        again = encoded()
        with pytest.raises(AssertionError):
            text.tokenize("x", DOCS + b"more", tokenizer="bpe-512")
    assert again.facts == first.facts
    for split, tokens in first.splits.items():
        assert np.array_equal(again.splits[split], tokens)
        assert again.splits[split].dtype == tokens.dtype


@pytest.mark.parametrize("damage", ["a byte", "cut", "empty", "no zip"])
def test_a_damaged_file_is_written_again(damage: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = encoded()
    (path,) = cache.iterdir()
    whole = path.read_bytes()
    middle = len(whole) // 2
    path.write_bytes(
        {
            "a byte": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
            "cut": whole[:middle],
            "empty": b"",
            "no zip": b"tokens",
        }[damage]
    )
    again = encoded()
    assert all(np.array_equal(again.splits[split], tokens) for split, tokens in first.splits.items())
    forbid(monkeypatch)
    assert encoded().facts == first.facts


def test_other_code_makes_other_tokens(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded()
    monkeypatch.setattr(kept, "_made_by", lambda: "another version")
    encoded()
    assert len(list(cache.iterdir())) == 2


def test_without_a_folder_to_write_to_tokens_are_only_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert encoded().facts.classes == 512
