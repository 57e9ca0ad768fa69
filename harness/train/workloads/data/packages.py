"""`python-packages`: the Python sources of packages that the project depends on, some 130 MB of code and prose.

packages.json pins the version of each package and the files that belong to it; what the files hold is checked against the
wheel's RECORD. Whole packages are held out, so that no split knows the names and habits of another one.
"""

import base64
import csv
import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from ....errors import UserError
from .base import Split
from .contents import COPIES, Contents

NAME = "python-packages"
TABLE = Path(__file__).parent / "packages.json"
# Held-out splits have a scientific package and another one each, of middle size, and none that others have parts of.
PACKAGES: dict[Split, tuple[str, ...]] = {
    "validation": ("networkx", "fonttools"),
    "test": ("matplotlib", "sqlalchemy"),
    "train": ("mpmath", "numpy", "pandas", "plotly", "scikit-learn", "scipy", "statsmodels", "sympy"),
}
# What builds write, or change for a platform, and what has no part in builds for Python 3.12 and later.
BUILT = frozenset(
    ("__config__.py", "version.py", "_version.py", "_version_meson.py", "_distributor_init.py", "_distributor_init_local.py")
)
OLD = ("numpy", "distutils")
# A shingle is this many lines that follow one another; a file is a near copy if this share of its shingles stands in others.
SHINGLE_LINES, NEAR_COPY = 3, 0.5
NEAR, NEAR_HELD_OUT = "near copies of others", "near copies of validation or test"


@dataclass(frozen=True)
class Pinned:
    """files: the digest of the paths and hashes of its .py files."""

    version: str
    files: str


@dataclass(frozen=True)
class Source:
    """path: below the folder that the package is installed in."""

    split: Split
    path: str
    text: bytes


def pinned() -> dict[str, Pinned]:
    return {name: Pinned(**fields) for name, fields in json.loads(TABLE.read_text()).items()}


def installed() -> dict[str, Pinned]:
    """The packages that are installed here, as packages.json would pin them."""
    names = sorted(name for names in PACKAGES.values() for name in names)
    return {name: Pinned(package.version, _digest(_hashes(package))) for name in names if (package := _installed(name))}


def require_pinned() -> None:
    """Raises UserError, with the line that installs what is pinned, where another version is installed or none."""
    wanted, here = pinned(), installed()
    if other := [name for name in wanted if name not in here or here[name].version != wanted[name].version]:
        versions = ", ".join(f"{name} {here[name].version if name in here else 'is missing'}" for name in other)
        raise UserError(
            f"dataset '{NAME}': needs the packages that it is made of in one version, and here {versions};"
            f" pip install {' '.join(f'{name}=={wanted[name].version}' for name in other)}"
        )
    if other := [name for name in wanted if here[name] != wanted[name]]:
        raise UserError(f"dataset '{NAME}': {', '.join(other)} came with other .py files than are pinned; {_again(other)}")


def read() -> tuple[dict[Split, list[bytes]], Contents]:
    """The files of every split in order, copies left out. Raises UserError."""
    require_pinned()
    files = [
        Source(split, path, text)
        for split, names in PACKAGES.items()
        for name in names
        for path, text in _texts(name)
        if text.strip()
    ]
    chosen, passed = without_copies(files)
    return {split: [file.text for file in chosen if file.split == split] for split in PACKAGES}, Contents(len(chosen), passed)


def without_copies(files: Sequence[Source]) -> tuple[list[Source], dict[str, int]]:
    """Files that are no copies of earlier ones, and how many were passed over for what; held-out files come first, so that of
    copies in two splits training loses its own."""
    distinct = list({file.text: file for file in reversed(files)}.values())[::-1]
    held_out = sum(file.split != "train" for file in distinct)
    known, known_held_out = _shares_known([file.text for file in distinct], held_out)
    near = known >= NEAR_COPY
    leaked = (known_held_out >= NEAR_COPY) & (np.arange(len(distinct)) >= held_out)
    counts = {COPIES: len(files) - len(distinct), NEAR: int((near & ~leaked).sum()), NEAR_HELD_OUT: int(leaked.sum())}
    return [file for file, copy in zip(distinct, near, strict=True) if not copy], counts


def _shares_known(texts: Iterable[bytes], held_out: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The share of each file's shingles that stand in an earlier file, and in an earlier one of the first `held_out`, [N]."""
    shingles = [_shingles(text) for text in texts]
    file = np.repeat(np.arange(len(shingles)), list(map(len, shingles)))
    _, first, number = np.unique(np.concatenate(shingles), return_index=True, return_inverse=True)
    earliest, count = file[first][number], np.bincount(file)
    known = earliest < file
    return np.bincount(file, known) / count, np.bincount(file, known & (earliest < held_out)) / count


def _shingles(text: bytes) -> NDArray[np.uint64]:
    """Hashes of the distinct runs of SHINGLE_LINES lines, blank lines and indentation aside."""
    lines = np.array([zlib.crc32(line) for line in map(bytes.strip, text.splitlines()) if line], dtype=np.uint64)
    lines = np.pad(lines, (0, max(0, SHINGLE_LINES - len(lines))))
    runs = np.lib.stride_tricks.sliding_window_view(lines, SHINGLE_LINES)
    # Odd numbers without a pattern, so that the order of lines counts.
    factors = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)
    return np.unique((runs * factors).sum(axis=1, dtype=np.uint64))


def _texts(name: str) -> Iterable[tuple[str, bytes]]:
    """Path and content of a package's files. Raises UserError for one that is not what came with the package."""
    package = distribution(name)
    for path, wanted in _hashes(package).items():
        file = Path(str(package.locate_file(path)))
        text = file.read_bytes() if file.is_file() else b""
        if base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode() != wanted:
            raise UserError(f"dataset '{NAME}': {file} is not as it came with {name}; {_again([name])}")
        yield path, text


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _hashes(package: Distribution) -> dict[str, str]:
    """Path -> SHA-256, as RECORD spells it, of the .py files that are the same wherever the version is installed; in order."""
    rows = csv.reader((package.read_text("RECORD") or "").splitlines())
    hashes = {
        PurePosixPath(path): digest.removeprefix("sha256=") for path, digest, _ in rows if path.endswith(".py") and digest
    }
    return {str(path): hashes[path] for path in sorted(hashes, key=lambda path: path.parts) if _is_source(path)}


def _is_source(path: PurePosixPath) -> bool:
    return path.name not in BUILT and path.parts[:2] != OLD and path.parts[0] != ".."


def _digest(hashes: Mapping[str, str]) -> str:
    return hashlib.sha256("".join(f"{path} {digest}\n" for path, digest in hashes.items()).encode()).hexdigest()


def _again(names: Iterable[str]) -> str:
    wanted = pinned()
    return f"pip install --force-reinstall --no-deps {' '.join(f'{name}=={wanted[name].version}' for name in names)}"
