import os
import threading

import pytest

from folklore.reports import parallel
from folklore.reports.parallel import parallel_map


def test_results_come_in_order_and_from_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "available_cores", lambda: 2)
    monkeypatch.setattr(threading, "active_count", lambda: 1)  # other tests leave threads of their libraries behind
    pairs = parallel_map(lambda item: (item * 2, os.getpid()), [1, 2, 3])
    assert [value for value, _ in pairs] == [2, 4, 6]
    if os.uname().sysname == "Linux":
        assert os.getpid() not in {process for _, process in pairs}


def test_an_error_comes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "available_cores", lambda: 2)

    def fail(item: int) -> int:
        raise ValueError(f"item {item}")

    with pytest.raises(ValueError, match="item 1"):
        parallel_map(fail, [1, 2])


def test_beside_other_threads_it_does_not_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock that another thread holds would stay locked in the child for ever."""
    monkeypatch.setattr(parallel, "available_cores", lambda: 2)
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        assert parallel_map(lambda item: os.getpid(), [1, 2]) == [os.getpid()] * 2
    finally:
        stop.set()
        thread.join()
