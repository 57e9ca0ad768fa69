"""Independent pieces of work on all cores of this machine."""

import gc
import multiprocessing
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

from ..harness.train.machine.description import available_cores

Item = TypeVar("Item")
Result = TypeVar("Result")

# Forked processes find their work here: it need not be sent.
_work: list[tuple[Callable[[Any], Any], Sequence[Any]]] = []


def parallel_map(
    work: Callable[[Item], Result], items: Sequence[Item], done: Callable[[int, int], None] = lambda count, of: None
) -> list[Result]:
    """`work` of each item, in order, in forked processes where that is safe: on Linux, with no other thread running.

    A process that starts afresh would import for longer than most pages take. What `work` changes in memory is lost; what it
    returns travels pickled. done: is told how many of all are finished, in order, and at the start that none is.
    """
    results: list[Result] = []
    done(0, len(items))
    for result in _results(work, items):
        results.append(result)
        done(len(results), len(items))
    return results


def _results(work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    workers = min(available_cores(), len(items))
    if workers < 2 or not sys.platform.startswith("linux") or threading.active_count() > 1:
        yield from map(work, items)
        return
    _work.append((work, items))
    try:
        # Objects that a process was forked with stay: the collector need not search them for cycles.
        forked = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(workers, mp_context=forked, initializer=gc.freeze) as pool:
            yield from pool.map(_run, range(len(items)))
    finally:
        _work.pop()


def _run(index: int) -> Any:
    work, items = _work[-1]
    return work(items[index])
