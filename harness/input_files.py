"""Reading what users hand in: regular files alone, and never more bytes or files than a bound.

A FIFO or a device keeps its reader waiting or feeds it without end, and a few kilobytes can unpack to more than any memory
holds. All bounds on data stand here; the one on a study's file stands in harness/declare/study_file.py.
"""

import os
import stat
from pathlib import Path
from typing import BinaryIO, Protocol

# Bytes of a dataset once it is unpacked: of a text, or of all pixels of its images. While it is split a text takes five times
# as much memory, and images, which become float32, six times.
LARGEST_DATASET = 2_000_000_000
# Bytes of a store's files: JSON, the trials of one pack with their curves, and what else there is: checkpoints.
LARGEST_STORED = {".json": 64_000_000, ".parquet": 4_000_000_000, "": 64_000_000_000}
# Files and folders below a folder, or members of a zip.
MOST_FILES = 1_000_000
# How deep they may lie.
MOST_LEVELS = 100
# Bytes read at a time, so that an interrupt is heard in between.
CHUNK = 1 << 20

KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)

Parts = tuple[str, ...]  # of a path below a folder or inside a zip


class TooMuchError(ValueError):
    """A file holds more than is read of it."""


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def open_regular(path: Path) -> BinaryIO:
    """A regular file to read from. Raises OSError, and ValueError for anything else that a path may lead to."""
    # Asked before it is opened, for opening alone may wait or have effects; and after, for it may have changed.
    _require_regular(os.stat(path).st_mode)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _require_regular(os.fstat(descriptor).st_mode)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: Path, most: int) -> bytes:
    """A regular file's bytes. Raises OSError, ValueError for another kind of file, TooMuchError for more than `most` bytes."""
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > most:
            raise _too_much(most)
        return read_bounded(file, most)


def read_bounded(stream: Readable, most: int) -> bytes:
    """All that a stream gives. Raises TooMuchError once that is more than `most` bytes."""
    content = bytearray()
    while chunk := stream.read(CHUNK):
        content += chunk
        if len(content) > most:
            raise _too_much(most)
    return bytes(content)


def require_bounded(stream: Readable, most: int) -> None:
    """Raises TooMuchError if a stream gives more than `most` bytes; what it gives is not kept."""
    count = 0
    while chunk := stream.read(CHUNK):
        count += len(chunk)
        if count > most:
            raise _too_much(most)


def size_of(count: int) -> str:
    """Bytes in the largest unit of which there is one."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count} bytes"


def below(folder: Path) -> tuple[list[Parts], list[Parts]]:
    """Files and folders at any depth. Links are followed, except into a folder that they lie in.

    Raises OSError for a folder that cannot be read, and TooMuchError for more than MOST_FILES, or deeper than MOST_LEVELS.
    """
    files: list[Parts] = []
    folders: list[Parts] = []
    pending: list[tuple[Parts, tuple[str, ...]]] = [((), (os.path.realpath(folder),))]
    while pending:
        parts, above = pending.pop()
        with os.scandir(folder.joinpath(*parts)) as entries:
            for entry in entries:
                path = (*parts, entry.name)
                require_shallow(path)
                (folders if _is_folder(entry) else files).append(path)
                if _is_folder(entry) and (real := os.path.realpath(entry.path)) not in above:
                    pending.append((path, (*above, real)))
                if len(files) + len(folders) > MOST_FILES:
                    raise too_many_files()
    return files, folders


def too_many_files() -> TooMuchError:
    return TooMuchError(f"holds more than {MOST_FILES} files and folders")


def require_shallow(parts: Parts) -> None:
    """Raises TooMuchError for a path that goes deeper than MOST_LEVELS."""
    if len(parts) > MOST_LEVELS:
        raise TooMuchError(f"'{'/'.join(parts[:3])}/…' lies {len(parts)} levels deep, more than {MOST_LEVELS}")


def _too_much(most: int) -> TooMuchError:
    return TooMuchError(f"more than {size_of(most)}, the most that is read")


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    """Whether an entry is a folder; a link that leads round in a circle is none."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _require_regular(mode: int) -> None:
    for is_kind, name in KINDS:
        if is_kind(mode):
            raise ValueError(f"is {name} and no regular file; copy what it holds into one")
