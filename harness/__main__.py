"""Entry point of the `folklore` command: an interrupt ends it in one line at any moment, imports included.

Ctrl-C exits with 130; SIGTERM, which schedulers and preempted machines send, takes the same way out and exits with 143.
"""

import atexit
import gc
import logging
import os
import select
import signal
import sys
import threading
from types import FrameType
from typing import NoReturn

BAD_INPUT, INTERRUPTED, TERMINATED = 2, 130, 143
# The exit code of a program ended by SIGPIPE, a signal that Python ignores.
UNREAD = 128 + signal.SIGPIPE
# Objects made before the collector looks for cycles. At Python's 700 it goes through declarations, verdicts and figures, which
# stay, again and again: a fifth of a command's time.
COLLECTED_AFTER = 200_000
# Seconds until an interrupt that met an import is tried again.
IMPORT_SECONDS = 0.1

_terminated = False


def main() -> None:
    gc.set_threshold(COLLECTED_AFTER)
    _open_closed_streams()
    # Python's own handler raises KeyboardInterrupt; while libraries are imported nothing is there to be closed.
    signal.signal(signal.SIGINT, lambda *_: _leave())
    signal.signal(signal.SIGTERM, _terminate)
    # One thread a process, here and in workers, which inherit it: work is spread over processes, and threads of several
    # libraries in several processes cost many times what they gain.
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    from .errors import UnreadError
    from .use.cli import app

    signal.signal(signal.SIGINT, _interrupt)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except KeyboardInterrupt:
        _leave()
    except (BrokenPipeError, UnreadError) as error:
        code = _unread() or _failed(error)
    except Exception as error:
        code = _shown(error)
    # All is done: what is left of this process cannot be interrupted any more.
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.SIG_IGN)
    _end(_code() if code == INTERRUPTED else code)


def _open_closed_streams() -> None:
    """Opens /dev/null for streams that the shell has closed (`>&-`): their numbers must not go to the next file opened."""
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(opened)
    sys.stdout = sys.stdout or os.fdopen(1, "w")
    sys.stderr = sys.stderr or os.fdopen(2, "w")


def _end(code: int | None) -> NoReturn:
    """End without taking the interpreter apart: with these libraries that takes seconds, and Ray's threads may crash it."""
    atexit._run_exitfuncs()
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)


def _interrupt(_: int, frame: FrameType | None) -> None:
    """Raises KeyboardInterrupt, but not during an import: a compiled library interrupted while it loads may be left half
    initialized. The signal is sent again until the import is done."""
    if _is_importing(frame):
        again = threading.Timer(IMPORT_SECONDS, os.kill, (os.getpid(), signal.SIGINT))
        again.daemon = True
        again.start()
        return
    raise KeyboardInterrupt


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def _terminate(*_: object) -> None:
    global _terminated
    if not _terminated:
        _terminated = True
        signal.raise_signal(signal.SIGINT)


def _code() -> int:
    return TERMINATED if _terminated else INTERRUPTED


def _shown(error: Exception) -> int:
    """Click's own errors (a missing argument, an unknown option) print themselves."""
    show = getattr(error, "show", None)
    if show is None:
        raise error
    show()
    return int(getattr(error, "exit_code", 2))


def _unread() -> int | None:
    """The exit code if the reader of the output has gone, as `head` does; nothing is printed. None: it was another pipe."""
    unread = [stream for stream in (sys.stdout, sys.stderr) if stream is not None and _has_no_reader(stream.fileno())]
    for stream in unread:  # what is still to be written goes nowhere, and is no second error
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return UNREAD if unread else None


def _has_no_reader(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _failed(error: Exception) -> int:
    print(f"error: {error}", file=sys.stderr)
    return BAD_INPUT


def _leave() -> NoReturn:
    if _unread() is None:
        sys.stdout.flush()
        print("interrupted", file=sys.stderr, flush=True)
    os._exit(_code())


if __name__ == "__main__":
    main()
