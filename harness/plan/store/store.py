"""Files on a disk or an object store, by fsspec URI. A reader never sees half a file."""

import os
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from ...errors import UnreadableError, UnwritableError, UserError, masked, one_line
from ...input_files import LARGEST_STORED, open_regular, read_regular

# fsspec knows some thirty more, which keep nothing (memory, data), can only be read (http, zip) or ask a notebook.
SCHEMES = ("file", "s3", "gs", "abfs")
SCHEME = re.compile(r"([\w+.-]*)(?:://|::)|(data):")


class Store:
    """A folder of files under one URI (a path, file://, s3://, gs://, abfs://). Paths inside use '/'."""

    def __init__(self, uri: str):
        self.uri = uri
        if not uri:
            raise UserError("store '': name a folder or a URI with --store")
        if (match := SCHEME.match(uri)) and (scheme := match[1] or match[2]) not in SCHEMES:
            known = ", ".join(f"{name}://" for name in SCHEMES)
            raise UserError(f"store {masked(uri)}: '{scheme}' keeps no results; give a folder or one of {known} with --store")
        try:
            # Listings are asked for again each time: other processes write here.
            self.files, root = fsspec.core.url_to_fs(uri, use_listings_cache=False)
        except Exception as error:  # every backend has errors of its own
            raise UserError(
                f"store {masked(uri)}: cannot be opened ({one_line(error)}); fix that or give another with --store"
            ) from None
        self.is_local = isinstance(self.files, LocalFileSystem)
        self.root = str(Path(root).absolute()) if self.is_local else root.rstrip("/")
        if self.is_local and os.path.exists(self.root) and not os.path.isdir(self.root):
            raise UserError(f"store {uri}: is a file; name a folder with --store")

    @property
    def root_uri(self) -> str:
        """The URI with an absolute path, for workers that start in another directory."""
        return self.root if self.is_local else self.uri

    def path(self, name: str) -> str:
        """The path of a file; a name that would lead out of the store is refused, wherever it came from."""
        if name.startswith("/") or ".." in name.split("/"):
            raise ValueError(f"the name {name!r} leads outside the store")
        return f"{self.root}/{name}"

    def check_writable(self) -> None:
        """Write, read and remove a small file. Raises UserError."""
        name = f".write-test-{uuid.uuid4().hex}"
        try:
            self.write(name, b"folklore")
            if self.read(name) != b"folklore":
                raise OSError("a file read back differs from what was written")
            self.remove(name)
        except UnwritableError:
            raise
        except Exception as error:  # every backend has errors of its own
            raise UnwritableError(
                f"store {masked(self.uri)}: cannot be used ({one_line(error)}); give another with --store"
            ) from None

    def write(self, name: str, content: bytes) -> None:
        """All or nothing: on a disk through a temporary file and a rename; an object store's put is atomic itself.

        Raises UnwritableError.
        """
        path = self.path(name)
        try:
            self._write(path, content)
        except Exception as error:  # every backend has errors of its own
            raise UnwritableError(
                f"store {masked(self.uri)}: cannot be written ({one_line(error)}); fix it or give another with --store:"
                " what is finished is kept, and the same command goes on"
            ) from error

    def _write(self, path: str, content: bytes) -> None:
        if not self.is_local:
            self.files.pipe_file(path, content)
            return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        temporary = f"{path}.{uuid.uuid4().hex}.tmp"
        try:
            with open(temporary, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            if os.path.exists(temporary):
                os.unlink(temporary)
            raise

    def read(self, name: str) -> bytes:
        """Raises FileNotFoundError, ValueError for what is no regular file or larger than any of a store, UnreadableError."""
        path = self.path(name)
        if self.is_local:
            most = LARGEST_STORED.get(os.path.splitext(path)[1], LARGEST_STORED[""])
            return bytes(self._asked(lambda: read_regular(Path(path), most)))
        return bytes(self._asked(lambda: self.files.cat_file(path)))

    def open(self, name: str) -> IO[bytes]:
        """To read parts of a file. Raises as `read` does."""
        path = self.path(name)
        return self._asked(lambda: open_regular(Path(path)) if self.is_local else self.files.open(path, "rb"))  # type: ignore[no-any-return]

    def exists(self, name: str) -> bool:
        return bool(self._asked(lambda: self.files.exists(self.path(name))))

    def remove(self, name: str) -> None:
        self.files.rm_file(self.path(name))

    def set_aside(self, name: str) -> str:
        """Rename a file that cannot be read, so that it is not read again; returns what became of it, in words."""
        aside = f"{name}.damaged"
        try:
            if self.is_local:
                os.replace(self.path(name), self.path(aside))
            else:
                self.files.mv(self.path(name), self.path(aside))
        except Exception:  # every backend has errors of its own; who only reads may not be able to write
            return "left out"
        return f"set aside as {aside}"

    def folders(self, folder: str) -> list[str]:
        """Names of the folders inside a folder, sorted; empty where it is not there."""
        entries = self._listed(folder)
        return sorted(entry["name"].rstrip("/").rsplit("/", 1)[-1] for entry in entries if entry["type"] == "directory")

    def names(self, folder: str, suffix: str) -> list[str]:
        """Names inside a folder that end so, sorted; empty where the folder is not there."""
        paths = (entry["name"] for entry in self._listed(folder))
        return sorted(f"{folder}/{path.rsplit('/', 1)[-1]}" for path in paths if path.endswith(suffix))

    def stamps(self, folder: str, suffix: str) -> dict[str, str]:
        """Name -> the file's size and when it was written: without reading it, they tell whether it has changed."""
        if not self.is_local:
            stamps = {
                entry["name"].rsplit("/", 1)[-1]: _stamp(entry)
                for entry in self._listed(folder)
                if entry["name"].endswith(suffix)
            }
        else:
            stamps = self._asked(lambda: self._local_stamps(folder, suffix))
        return {f"{folder}/{name}": stamps[name] for name in sorted(stamps)}

    def _local_stamps(self, folder: str, suffix: str) -> dict[str, str]:
        """The same of a local folder, which may have tens of thousands of files: fsspec takes long to list them."""
        try:
            with os.scandir(self.path(folder)) as entries:
                return {
                    entry.name: f"{(status := entry.stat(follow_symlinks=False)).st_size}-{status.st_mtime_ns}"
                    for entry in entries
                    if entry.name.endswith(suffix)
                }
        except (FileNotFoundError, NotADirectoryError):
            return {}

    def _listed(self, folder: str) -> list[dict[str, Any]]:
        try:
            return list(self._asked(lambda: self.files.ls(self.path(folder), detail=True)))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _asked(self, question: Callable[[], Any]) -> Any:
        """An answer, or one line that names the store: every backend has errors of its own."""
        try:
            return question()
        except (FileNotFoundError, NotADirectoryError, UserError):
            raise
        except Exception as error:
            if self.is_local and isinstance(error, ValueError):
                raise
            raise UnreadableError(
                f"store {masked(self.uri)}: cannot be read ({one_line(error)}); fix that or give another with --store"
            ) from None


def _stamp(entry: dict[str, Any]) -> str:
    """All that says what an entry holds, or when it came: object stores have words of their own for it."""
    kept = (entry.get(name) for name in ("size", "ETag", "etag", "LastModified", "mtime", "updated", "created"))
    return "-".join(str(mark) for mark in kept if mark is not None)
