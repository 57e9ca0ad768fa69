"""Loaded by every Python process of a run under test: notes what is trained, so that what is trained twice can be counted, and
plays a device whose memory holds few lanes, and a clock that was moved back.

A line for each call of Pack.advance: seconds, lanes, steps before and after. The product itself is not changed.
"""

import datetime
import importlib.abc
import importlib.machinery
import os
import sys
import time

# Where the file that FOLKLORE_CHAOS_MEMORY names is there.
LANES_IN_MEMORY = 2
WATCHED = "harness.training.pack"


class _Watch(importlib.abc.MetaPathFinder):
    """Wraps Pack.advance when its module is imported."""

    def find_spec(self, name, path=None, target=None):  # type: ignore[no-untyped-def]
        if name != WATCHED:
            return None
        sys.meta_path.remove(self)
        found = importlib.machinery.PathFinder.find_spec(name, path)
        assert found is not None
        assert found.loader is not None
        execute = found.loader.exec_module

        def exec_and_wrap(module):  # type: ignore[no-untyped-def]
            execute(module)
            _wrap(module.Pack)

        found.loader.exec_module = exec_and_wrap  # type: ignore[method-assign]
        return found


def _wrap(pack):  # type: ignore[no-untyped-def]
    advance = pack.advance

    def noted(self, *arguments, **named):  # type: ignore[no-untyped-def]
        before = self.step
        if os.path.exists(os.environ["FOLKLORE_CHAOS_MEMORY"]) and len(self.lanes) > LANES_IN_MEMORY:
            import torch

            raise torch.OutOfMemoryError("out of memory, says the chaos suite")
        advance(self, *arguments, **named)
        line = f"{time.monotonic():.3f} {len(self.lanes)} {before} {self.step}\n"
        trace = os.open(os.environ["FOLKLORE_CHAOS_TRACE"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(trace, line.encode())
        os.close(trace)

    pack.advance = noted


def _move_clock(seconds):  # type: ignore[no-untyped-def]
    """By so many seconds, for all of Python that asks what time it is."""
    now, now_ns = time.time, time.time_ns
    time.time, time.time_ns = lambda: now() + seconds, lambda: now_ns() + int(seconds * 1e9)

    class Moved(datetime.datetime):
        @classmethod
        def now(cls, tz=None):  # type: ignore[no-untyped-def]
            return cls.fromtimestamp(time.time(), tz)

        @classmethod
        def utcnow(cls):  # type: ignore[no-untyped-def]
            return cls.fromtimestamp(time.time(), datetime.UTC).replace(tzinfo=None)

    datetime.datetime = Moved


if "FOLKLORE_CHAOS_CLOCK" in os.environ:
    _move_clock(float(os.environ["FOLKLORE_CHAOS_CLOCK"]))
if "FOLKLORE_CHAOS_TRACE" in os.environ:
    sys.meta_path.insert(0, _Watch())
