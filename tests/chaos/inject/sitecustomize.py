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
WATCHED = "folklore.harness.train.pack"
# Seconds by which the clock is moved.
CLOCK = "FOLKLORE_CHAOS_CLOCK"


class _Watch(importlib.abc.MetaPathFinder):
    """Changes modules of the harness when they are imported."""

    def find_spec(self, name, path=None, target=None):  # type: ignore[no-untyped-def]
        if not name.startswith("folklore.harness."):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_and_change(module):  # type: ignore[no-untyped-def]
            execute(module)
            if name == WATCHED:
                _wrap(module.Pack)
            if CLOCK in os.environ and getattr(module, "datetime", None) is datetime.datetime:
                module.datetime = _moved(float(os.environ[CLOCK]))

        spec.loader.exec_module = exec_and_change  # type: ignore[method-assign]
        return spec


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
    """By so many seconds, for all of Python that asks the time module."""
    now, now_ns = time.time, time.time_ns
    time.time, time.time_ns = lambda: now() + seconds, lambda: now_ns() + int(seconds * 1e9)


def _moved(seconds):  # type: ignore[no-untyped-def]
    """A datetime by that clock, for the harness' own modules alone: compiled libraries crash on a subclass in its place."""

    class Moved(datetime.datetime):
        @classmethod
        def now(cls, tz=None):  # type: ignore[no-untyped-def]
            return cls.fromtimestamp(time.time(), tz)

    return Moved


if CLOCK in os.environ:
    _move_clock(float(os.environ[CLOCK]))
if "FOLKLORE_CHAOS_TRACE" in os.environ:
    sys.meta_path.insert(0, _Watch())
