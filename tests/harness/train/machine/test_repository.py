"""Facts that a repository gives about the sources in it."""

import shutil
from pathlib import Path

import pytest

from folklore.harness.folders import PROJECT
from folklore.harness.train.machine import repository
from folklore.harness.train.machine.repository import AS_COMMITTED, SHIPPED, UNKNOWN, Repository, Sources, running_sources
from tests.git_repository import committed, git, written

FILES = {"harness/run.py": "1", "models/net.py": "1", "studies/toy.py": "1", "README.md": "1", ".gitignore": "results/\n"}


def state(folder: Path) -> str:
    return Repository(folder).sources().state


def test_sources_are_as_committed_whatever_lies_beside_them(tmp_path: Path) -> None:
    commit = committed(tmp_path, FILES)
    assert Repository(tmp_path).sources() == Sources(commit, AS_COMMITTED)
    written(tmp_path, {"README.md": "2", "results/ledger": "trials", "notes.txt": "mine"})
    assert Repository(tmp_path).sources() == Sources(f"{commit}+", AS_COMMITTED)


@pytest.mark.parametrize("name", ["harness/run.py", "models/net.py", "studies/toy.py", "studies/not in git/new.py"])
def test_a_file_that_differs_or_that_git_does_not_know_is_named(tmp_path: Path, name: str) -> None:
    committed(tmp_path, FILES)
    written(tmp_path, {name: "2"})
    assert name in state(tmp_path)
    git(tmp_path, "add", "--all")
    assert name in state(tmp_path), "staged, and in no commit"


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    committed(tmp_path, FILES)
    (tmp_path / "studies/toy.py").unlink()
    assert state(tmp_path) == "changed: studies/toy.py"


def test_of_many_files_some_are_named(tmp_path: Path) -> None:
    committed(tmp_path, FILES)
    written(tmp_path, {f"harness/new{number}.py": "" for number in range(8)})
    assert state(tmp_path).endswith("harness/new4.py, 3 more")


def test_outside_git_and_without_git_nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, FILES)
    assert Repository(tmp_path).sources() == Sources("", UNKNOWN)
    committed(tmp_path, {})
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Repository(tmp_path).sources() == Sources("", UNKNOWN)


def test_a_copy_that_the_repository_around_it_ignores_is_not_as_committed(tmp_path: Path) -> None:
    """As a wheel's, installed into an environment in a user's own repository."""
    committed(tmp_path, {**FILES, ".gitignore": ".venv/\n"})
    copy = tmp_path / ".venv" / "folklore"
    shutil.copytree(tmp_path / "harness", copy / "harness")
    assert state(copy) == UNKNOWN


def test_commits_are_known_by_where_head_comes_from(tmp_path: Path) -> None:
    first = committed(tmp_path, FILES)
    git(tmp_path, "checkout", "--quiet", "-b", "aside")
    aside = committed(tmp_path, {"studies/toy.py": "2"})
    git(tmp_path, "checkout", "--quiet", "main")
    repository = Repository(tmp_path)
    assert [(repository.holds(commit), repository.is_ancestor(commit)) for commit in (first, aside)] == [
        (True, True),
        (True, False),
    ]
    for name in ("0123456789ab", "", "main", "--output=studies/toy.py"):
        assert not repository.holds(name), name


def test_code_that_was_shipped_knows_where_from(monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = Sources("0123456789ab", "changed: studies/toy.py")
    monkeypatch.setenv(SHIPPED, shipped.to_json())
    running_sources.cache_clear()
    try:
        assert running_sources() == shipped
    finally:
        running_sources.cache_clear()


def test_it_looks_where_this_code_lies() -> None:
    assert (PROJECT / "harness" / "train" / "machine" / "repository.py").samefile(repository.__file__)
