"""A folder for the files of a run's Ray, in a place that belongs to the user alone, removed when the run is surely over.

/tmp/folklore-UID/          mode 0700
/tmp/folklore-UID/NAME/     of one run, which holds a lock on NAME.lock as long as it lives

The lock tells whether a run lives: the kernel drops it with the last process that holds it, however that ends. Process numbers
do not tell, for other containers and other users' processes may be hidden from this one.
"""

import fcntl
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from ..errors import UserError

# Ray's own variable for where its folders lie. Python's temporary folder may have too long a path for the sockets in them.
PLACE_VARIABLE, PLACE = "RAY_TMPDIR", "/tmp"
LOCK = ".lock"


class RunFolder:
    """Made and locked at once; `close` removes it. lock: a file descriptor, for processes that must not outlive the folder."""

    def __init__(self) -> None:
        private = private_folder()
        place = _locked(private)
        try:
            _remove_abandoned(private)
            self.path = Path(tempfile.mkdtemp(dir=private))
            self.lock = _locked(self.path.with_suffix(LOCK))
        finally:
            os.close(place)

    def close(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        self.path.with_suffix(LOCK).unlink(missing_ok=True)
        os.close(self.lock)


def private_folder() -> Path:
    """The folder of this user's runs. Raises UserError if somebody else has put something there."""
    path = Path(os.environ.get(PLACE_VARIABLE, PLACE)) / f"folklore-{os.getuid()}"
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        status = path.lstat()
    except OSError as error:
        raise UserError(f"{path}: cannot be made ({error.strerror}); set {PLACE_VARIABLE} to a folder of your own") from None
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077:
        raise UserError(
            f"{path}: must be a folder of yours that others cannot enter (mode 0700), and is not; remove it, or set"
            f" {PLACE_VARIABLE} to a folder of your own"
        )
    return path


def _locked(path: Path, flags: int = 0) -> int:
    """The file descriptor of a folder or file that is locked. Raises BlockingIOError where `flags` forbid to wait."""
    kind = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
    descriptor = os.open(path, kind | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | flags)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _remove_abandoned(private: Path) -> None:
    """Removes the folders of runs that were killed. The caller holds the lock of the private folder."""
    for name in {path.stem for path in private.iterdir()}:
        with suppress(OSError):
            lock = _locked(private / f"{name}{LOCK}", fcntl.LOCK_NB)
            shutil.rmtree(private / name, ignore_errors=True)
            (private / f"{name}{LOCK}").unlink()
            os.close(lock)
