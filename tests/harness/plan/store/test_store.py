from pathlib import Path

import pytest

from folklore.harness.errors import UnreadableError, UnwritableError, UserError
from folklore.harness.plan.store.store import Store


@pytest.mark.parametrize("uri", ["{tmp}/store", "file://{tmp}/store", "memory://folklore-test"])
@pytest.mark.usefixtures("memory_stores")
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


@pytest.mark.parametrize(
    "uri",
    [
        "nope://x",
        "memory://x",
        "zip://x",
        "jupyter://x",
        "data:,x",
        "data://x",
        "http://x/y",
        "simplecache::s3://x",
        "zip::s3://x",
    ],
)
def test_what_cannot_keep_results_is_refused_with_what_can(uri: str) -> None:
    with pytest.raises(UserError, match=r"store .*keeps no results; give a folder or one of file://, s3://, gs://, abfs://"):
        Store(uri)


def test_an_address_that_fails_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    store = Store(str(tmp_path))

    def away(*_: object, **__: object) -> None:
        raise RuntimeError("endpoint does\nnot answer")

    for name in ("ls", "exists"):
        monkeypatch.setattr(store.files, name, away)
    for asked in (lambda: store.names("a", ".json"), lambda: store.folders("a"), lambda: store.exists("a")):
        with pytest.raises(UnreadableError, match=rf"store {tmp_path}: cannot be read \(endpoint does not answer\)"):
            asked()


def test_a_file_beyond_its_bound_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "a.json").open("wb") as file:
        file.truncate(10**12)
    with pytest.raises(ValueError, match="more than 64 MB"):
        Store(str(tmp_path)).read("a.json")


def test_who_only_reads_leaves_damaged_files_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.json").write_text("{")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(PermissionError("read-only")))
    assert Store(str(tmp_path)).set_aside("a.json") == "left out"
