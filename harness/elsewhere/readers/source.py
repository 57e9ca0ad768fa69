"""A source that a user names, a file, a folder or an address, and the contents of its files within bounds."""

import gzip
import json
import os
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from pyarrow import ArrowException

from ...errors import UserError, masked, quoted
from ...input_files import CHUNK, MOST_FILES, TooMuchError, open_regular, require_shallow, size_of, too_many_files
from ..table import MOST_LINE, MOST_ROWS, Problem

# Bytes of a file, unpacked, and of all files of a folder as they lie there; of JSON, which takes ten times as much memory.
LARGEST, LARGEST_JSON = 500_000_000, 100_000_000
FORMATS = (
    "CSV, JSON, JSON lines, Parquet, W&B exports, trainer_state.json, Lightning's metrics.csv, TensorBoard event files, Ray"
    " Tune results, logs of Inspect and of lm-evaluation-harness, MLflow (mlflow:EXPERIMENT, http://HOST:PORT#EXPERIMENT,"
    " FILE.db#EXPERIMENT), Optuna (FILE.db#STUDY), Folklore's stores"
)
# Characters of a path or an address: Linux opens no longer path.
LONGEST_SOURCE = 4096
# The first byte of every pickle of protocol 2 and later; endings of files that are pickles, or hold some.
PICKLE, PICKLES = b"\x80", (".pkl", ".pickle", ".pt", ".pth", ".ckpt", ".joblib", ".dill")
MARKS_16 = (b"\xff\xfe", b"\xfe\xff")
# Prefixes of a path to a database or a journal.
BEFORE_PATHS = ("sqlite:///", "file://", "optuna:sqlite:///", "optuna:")

Found = TypeVar("Found")


class EmptyError(UserError):
    """A file without a single row: an error if it is named itself, and a problem of a folder that holds others."""

    def __init__(self, path: Path):
        super().__init__(f"runs '{path}': is empty, or has a header and no rows; name a file with runs in it")


@dataclass(frozen=True)
class Source:
    """named: as on the command line. address: without what follows '#'. path: its file or folder; None if there is none.
    part: what follows '#', an experiment or a study."""

    named: str
    address: str
    path: Path | None
    part: str

    @classmethod
    def parse(cls, named: str) -> "Source":
        """Raises UserError for one that is too long to be any."""
        if len(named) > LONGEST_SOURCE:
            raise UserError(
                f"runs '{named[:80]}…': has {len(named):,} characters, and no path or address has more than"
                f" {LONGEST_SOURCE:,}; name a file, a folder or an address"
            )
        if os.path.exists(named):  # also with a '#' in its name
            return cls(named, named, Path(named), "")
        address, _, part = named.partition("#")
        before = next((prefix for prefix in sorted(BEFORE_PATHS, key=len, reverse=True) if address.startswith(prefix)), "")
        path = address.removeprefix(before)
        return cls(named, address, Path(path) if path and os.path.exists(path) else None, part)

    @property
    def shown(self) -> str:
        """Its name without passwords."""
        return masked(self.named)

    @property
    def is_folder(self) -> bool:
        return self.path is not None and self.path.is_dir()

    @property
    def root(self) -> Path:
        """The folder that `files` are below."""
        assert self.path is not None
        return self.path if self.is_folder else self.path.parent

    @property
    def place(self) -> Path:
        """The path that messages name."""
        return self.path or Path(self.shown)

    @cached_property
    def files(self) -> tuple[str, ...]:
        """Paths below the root, sorted, without hidden ones; of a file itself. Raises UserError."""
        if self.path is None or not self.is_folder:
            return () if self.path is None else (self.path.name,)
        with readable(self.path):
            files = tuple(sorted("/".join(parts) for parts in _below(self.path)))
        for file in files:
            try:
                file.encode()
            except UnicodeEncodeError:
                raise self.error(f"holds '{file:.200}', whose name is not UTF-8", "rename it") from None
        return files

    def named_files(self, *names: str) -> list[str]:
        return [file for file in self.files if file.rpartition("/")[2] in names]

    def run_of(self, file: str) -> str:
        """The folder that a file lies in, as the name of its run; the root's own name for files right in it."""
        return file.rpartition("/")[0] or self.root.resolve().name

    def error(self, rule: str, way_out: str) -> UserError:
        return UserError(f"runs '{self.shown}': {rule}; {way_out}")


def _below(root: Path) -> Iterator[tuple[str, ...]]:
    """Files that are not hidden, shallow ones first. A folder is read under its own name and through one link at most, so
    folders of links on each other end soon; a link to a folder that it lies in is not followed."""
    # A folder's parts, the folders that it lies in, itself included, and whether a link led to it.
    pending: deque[tuple[tuple[str, ...], tuple[str, ...], bool]] = deque([((), (os.path.realpath(root),), False)])
    linked: set[str] = set()
    count = 0
    while pending:
        parts, above, is_linked = pending.popleft()
        with os.scandir(root.joinpath(*parts)) as entries:
            visible = sorted(entry.path for entry in entries if not entry.name.startswith("."))
        if (count := count + len(visible)) > MOST_FILES:
            raise too_many_files()
        for path in visible:
            inside = (*parts, os.path.basename(path))
            require_shallow(inside)
            if not os.path.isdir(path):  # nor a link that leads round in a circle
                yield inside
                continue
            real, through_link = os.path.realpath(path), is_linked or os.path.islink(path)
            if real not in above and not (through_link and real in linked):
                linked |= {real} if through_link else set()
                pending.append((inside, (*above, real), through_link))


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turns what a file's reader raises into UserError."""
    try:
        yield
    except UserError:
        raise
    except EOFError:
        raise _unreadable(path, "is cut off", "copy it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise _unreadable(path, f"cannot be unpacked ({quoted(error)})", "copy it again") from None
    except TooMuchError as error:
        raise _unreadable(path, str(error), "leave out what is not judged, or name fewer files") from None
    except RecursionError:
        raise _unreadable(path, "is nested too deeply", "give a flat table") from None
    except MemoryError:
        raise _unreadable(path, "takes more memory than there is", "name a smaller file") from None
    except OSError as error:
        raise _unreadable(path, f"cannot be read ({error.strerror or quoted(error)})", "give another file") from None
    except (ValueError, ArrowException) as error:
        raise _unreadable(path, quoted(error), "fix that, or give another file") from None


def each_of(files: Mapping[str, Path], read: Callable[[Path], Found]) -> tuple[dict[str, Found], tuple[Problem, ...]]:
    """Name -> what `read` makes of a file, empty ones left out. Raises UserError, and EmptyError if all are empty."""
    contents, empty, total = {}, [], 0
    for name, path in files.items():
        with readable(path):
            total += path.stat().st_size
            if len(files) > 1 and total > LARGEST:
                raise TooMuchError(f"and the files before it hold more than {size_of(LARGEST)}, the most that is read")
        try:
            contents[name] = read(path)
        except EmptyError:
            empty.append(name)
            if len(empty) == len(files):
                raise
    return contents, problem("files that are empty", len(empty), "left out", empty)


def problem(what: str, count: int, consequence: str, examples: Iterable[object] = ()) -> tuple[Problem, ...]:
    """The one problem, or none if the count is 0."""
    names = tuple(map(str, examples))
    return (Problem(what, count, consequence, names[:3], names=names),) if count else ()


def refuse_pickle(path: Path) -> None:
    """Raises UserError for a pickle, by its name or its first byte: reading one runs what is in it."""
    with readable(path), open_regular(path) as file:
        if path.suffix.lower() in PICKLES or (file.read(1) == PICKLE and path.suffix.lower() != ".gz"):
            raise _unreadable(path, "is a pickle, and to read one is to run it", "save the runs as CSV or JSON")


def text_of(path: Path, most: int = LARGEST, is_lines: bool = True) -> bytes:
    """A file as UTF-8 without a mark, unpacked if it is gzip. is_lines: no line is longer than MOST_LINE. Raises UserError."""
    with readable(path), open_regular(path) as file:
        is_packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        content = _bounded(cast("BinaryIO", gzip.GzipFile(fileobj=file)) if is_packed else file, most, is_lines)
    with readable(path):
        return _as_utf8(content)


def json_of(path: Path) -> Any:
    """A JSON document, NaN and Infinity included. Raises UserError."""
    content = text_of(path, LARGEST_JSON, is_lines=False)
    if not content.strip():
        raise EmptyError(path)
    with readable(path):
        try:
            return parsed_json(content)
        except json.JSONDecodeError as error:
            raise ValueError(f"is no JSON ({error.msg}, line {error.lineno}, column {error.colno})") from None


class DoubledKeyError(ValueError):
    """An object that says one thing twice; Python's reader takes the last."""


def parsed_json(content: bytes) -> Any:
    """Raises JSONDecodeError, DoubledKeyError, and ValueError for a number of thousands of digits."""
    return json.loads(content, object_pairs_hook=_with_keys_once)


def _with_keys_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        name = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise DoubledKeyError(f"has the key '{name:.80}' twice in one object")
    return record


def _bounded(stream: BinaryIO, most: int, is_lines: bool) -> bytes:
    content = bytearray()
    while chunk := stream.read(CHUNK):
        content += chunk
        if len(content) > most:
            raise TooMuchError(f"holds more than {size_of(most)}, the most that is read")
        if is_lines and len(content) - 1 - content.rfind(b"\n") > MOST_LINE:
            raise TooMuchError(f"has a line of more than {size_of(MOST_LINE)}, the most that is read")
    if is_lines and content.count(b"\n") > MOST_ROWS + 1:
        raise TooMuchError(f"has more than {MOST_ROWS:,} lines, the most that are read")
    return bytes(content)


def _as_utf8(content: bytes) -> bytes:
    if content.startswith(PICKLE):
        raise ValueError("is a pickle, and to read one is to run it")
    if content.startswith(MARKS_16):
        content = content.decode("utf-16").encode()
    content = content.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in content:
        raise ValueError("holds zero bytes, so it is no text")
    try:
        content.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"is no UTF-8 text (byte {error.start + 1}); save it as UTF-8") from None
    return content


def _unreadable(path: Path, rule: str, way_out: str) -> UserError:
    return UserError(f"runs '{path}': {rule}; {way_out}")
