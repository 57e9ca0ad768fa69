"""One run at a time for each study of a store: two would train the same trials, and write MLflow twice.

running/STUDY.json     who runs it; renewed while it runs

The ledger needs no lease to be right, as equal trials count once; it saves the work. A holder that was killed on this machine
is seen at once, one on another machine by its not renewing. No two clocks are compared.
"""

import json
import logging
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil

from ..errors import UnwritableError, UserError
from ..plan.store.reading import DamagedError, read_as
from ..plan.store.store import Store

log = logging.getLogger(__name__)

RENEW_SECONDS = 10.0
# A holder that has not renewed for so long is gone.
GONE_SECONDS = 35.0
# Two that take a lease at once both see, after so long, which of them wrote last.
SETTLE_SECONDS = 0.2


class Lease:
    """Held from entering to leaving."""

    def __init__(
        self,
        store: Store,
        study: str,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.store, self.study, self.sleep, self.clock = store, study, sleep, clock
        self.name = f"running/{study}.json"
        self.token = uuid.uuid4().hex
        self._left = threading.Event()
        self._renewals = 0
        self._thread = threading.Thread(target=self._renew, name=f"lease-{study}", daemon=True)

    def __enter__(self) -> "Lease":
        holder = self._read()
        if holder is not None and self._is_there(holder):
            raise UserError(
                f"study '{self.study}' is being run into this store by {holder['host']}, process {holder['process']}:"
                " wait for it, or give another --store"
            )
        self._write()
        self.sleep(SETTLE_SECONDS)
        if not self._is_ours():
            raise UserError(f"study '{self.study}' was started by another process at this moment: wait for it")
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._left.set()
        self._thread.join()
        try:
            if self._is_ours():
                self.store.remove(self.name)
        except OSError as error:
            log.warning("the lease %s could not be removed (%s): the next start finds its holder gone", self.name, error)

    def _is_there(self, holder: dict[str, object]) -> bool:
        """Whether a holder still runs."""
        if holder.get("host") == os.uname().nodename:
            return _started(holder.get("process")) == holder.get("started")
        log.warning("study '%s' was last run by %s: waiting to see whether it still is", self.study, holder.get("host"))
        until = self.clock() + GONE_SECONDS
        while self.clock() < until:
            self.sleep(1.0)
            if self._read() != holder:
                return self._read() is not None
        return False

    def _renew(self) -> None:
        while not self._left.wait(RENEW_SECONDS):
            try:
                if self._is_ours():
                    self._renewals += 1
                    self._write()
            except (OSError, UnwritableError):
                pass  # a store that is away for a moment: the run itself says so if it stays away

    def _is_ours(self) -> bool:
        holder = self._read()
        return holder is not None and holder.get("token") == self.token

    def _read(self) -> dict[str, object] | None:
        """The holder, or None; half a file, or something else, is no lease."""
        try:
            holder = read_as(self.store, self.name, json.loads)
        except (FileNotFoundError, DamagedError):
            return None
        return holder if isinstance(holder, dict) and "token" in holder else None

    def _write(self) -> None:
        process = os.getpid()
        content = {
            "host": os.uname().nodename,
            "process": process,
            "started": _started(process),
            "token": self.token,
            "renewals": self._renewals,
        }
        self.store.write(self.name, json.dumps(content).encode())


@contextmanager
def leases(store: Store, studies: Iterable[str]) -> Iterator[None]:
    """Holds the leases of several studies, taken in one order, so that two campaigns never wait for each other."""
    with ExitStack() as held:
        for study in sorted(studies):
            held.enter_context(Lease(store, study))
        yield


def _started(process: object) -> str | None:
    """When a process of this machine began: the kernel's count since it booted, for a clock can be set. None: there is none."""
    status = Path(f"/proc/{process}/stat")
    try:
        if Path("/proc/self/stat").exists():
            state, *fields = status.read_text().rpartition(")")[2].split()
            return None if state == "Z" else fields[18]
        return str(psutil.Process(int(str(process))).create_time())
    except (OSError, psutil.Error, ValueError):
        return None
