"""Small packages in place of the pinned ones, and a cache of the test's own."""

import base64
import hashlib
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

import pytest

from folklore.harness.train.workloads import data
from folklore.harness.train.workloads.data import packages

Install = Callable[..., None]


def source(seed: int, lines: int = 200) -> bytes:
    """A file of lines that no other seed has."""
    words = random.Random(seed)
    return "".join(f"value_{words.randrange(10**9)} = {words.random()}  # é\n" for _ in range(lines)).encode()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    data.load.cache_clear()
    yield tmp_path / "cache/folklore/tokens"
    data.load.cache_clear()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs a package of these files below a folder that Python finds."""
    monkeypatch.syspath_prepend(tmp_path / "site")

    def installs(name: str, files: Mapping[str, bytes], version: str = "1.0") -> None:
        info = tmp_path / f"site/{name}.dist-info"
        info.mkdir(parents=True, exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        rows = [f"../../../bin/{name}.py,sha256=x,1", f"{name}/kernel.so,sha256=x,1", f"{name}/__pycache__/a.pyc,,"]
        for path, content in files.items():
            file = tmp_path / "site" / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            rows.append(f"{name}/{path},sha256={digest},{len(content)}")
        (info / "RECORD").write_text("\n".join(rows) + "\n")

    return installs


@pytest.fixture
def pin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Writes the table of the packages that are installed, as the recipe does."""
    monkeypatch.setattr(packages, "TABLE", tmp_path / "packages.json")

    def pins() -> None:
        packages.TABLE.write_text(json.dumps({name: asdict(package) for name, package in packages.installed().items()}))

    return pins


@pytest.fixture
def three(install: Install, pin: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> Install:
    """A package a split, of two files each, pinned."""
    monkeypatch.setattr(packages, "PACKAGES", {"validation": ("vole",), "test": ("toad",), "train": ("trout",)})
    for seed, name in enumerate(("vole", "toad", "trout")):
        install(name, {"b.py": source(2 * seed), "a/z.py": source(2 * seed + 1), "version.py": b"built = 1\n"})
    pin()
    return install
