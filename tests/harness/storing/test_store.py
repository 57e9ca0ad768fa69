from pathlib import Path

import pytest

from folklore.harness.errors import UnwritableError, UserError
from folklore.harness.storing.store import Store


@pytest.mark.parametrize("uri", ["{tmp}/store", "file://{tmp}/store", "memory://folklore-test"])
def test_round_trip(uri: str, tmp_path: Path) -> None:
    store = Store(uri.format(tmp=tmp_path))
    store.check_writable()
    store.write("a/b.bin", b"one")
    store.write("a/b.bin", b"two")
    assert store.read("a/b.bin") == b"two"
    assert store.exists("a/b.bin")
    assert store.names("a", ".bin") == ["a/b.bin"]
    assert store.names("nowhere", ".bin") == []
    store.remove("a/b.bin")
    assert not store.exists("a/b.bin")


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(str(tmp_path))
    store.write("a/b.bin", b"old")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(UnwritableError, match=r"disk full"):
        store.write("a/b.bin", b"new")
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b.bin"]
    assert store.read("a/b.bin") == b"old"


def test_a_relative_path_is_made_absolute_for_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Store("results").root_uri == str(tmp_path / "results")


def test_a_store_that_cannot_be_written_is_one_line() -> None:
    with pytest.raises(UserError, match=r"cannot be written .* --store"):
        Store("/proc/folklore").check_writable()


def test_an_unknown_protocol() -> None:
    with pytest.raises(UserError, match=r"store nope://x"):
        Store("nope://x")
