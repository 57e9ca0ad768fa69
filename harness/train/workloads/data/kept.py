"""Tokens that take long to make, kept on this machine: a file for each key, which may be deleted at any time."""

import contextlib
import hashlib
import os
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ....folders import cache_folder

# Whose change makes other tokens; that of other files of this folder makes none.
MAKERS = ("bpe.py", "packages.py", "text.py")
Arrays = dict[str, NDArray[np.generic]]


def kept(key: str, make: Callable[[], Arrays]) -> Arrays:
    """The arrays of a key: read if they are whole, else made and written. Where nothing can be written they are only made."""
    path = cache_folder() / "tokens" / f"{hashlib.sha256(f'{key} {_made_by()}'.encode()).hexdigest()[:32]}.npz"
    with contextlib.suppress(OSError, ValueError, EOFError, zipfile.BadZipFile), np.load(path, allow_pickle=False) as file:
        return dict(file)  # a zip holds a checksum of every array
    arrays = make()
    with contextlib.suppress(OSError):
        _write(path, arrays)
    return arrays


def _write(path: Path, arrays: Arrays) -> None:
    """All or nothing: other processes may read or write the same file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as file:
        try:
            np.savez(file, allow_pickle=False, **arrays)
            file.close()
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


@cache
def _made_by() -> str:
    """The digest of what makes tokens: some of this folder's code, and its vocabularies."""
    folder = Path(__file__).parent
    paths = sorted([*folder.glob("*.json"), *(folder / name for name in MAKERS)])
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()
