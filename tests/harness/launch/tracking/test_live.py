"""MLflow is kept up with the ledger, whenever it is there; training never notices that it is not."""

import itertools
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from folklore.harness.declare import Study
from folklore.harness.launch.tracking.live import PAUSE_SECONDS, Launch, Projector, Sink
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from tests.harness.helpers import planned, result, rows


class FakeTracker:
    """Takes what it is given while `works` says so."""

    identity = "fake"

    def __init__(self, works: Callable[[], bool]):
        self.works = works
        self.packs: list[tuple[str, str | None]] = []
        self.statuses: list[tuple[str, str]] = []

    def _check(self) -> None:
        if not self.works():
            raise ConnectionError("away")

    def close_stale(self) -> None:
        self._check()

    def launch(self, scale: str, environment: dict[str, str], trials: int, datasets: dict[str, str]) -> str:
        self._check()
        return f"launch of {trials}"

    def record(self, trials: Any, parent: str | None) -> None:
        self._check()
        self.packs.append((trials["pack"].iloc[0], parent))

    def finish(self, run_id: str, status: str) -> None:
        self._check()
        self.statuses.append((run_id, status))


@pytest.fixture
def ledger(study: Study, memory_stores: None) -> Ledger:
    """Four packs of one trial each; the first from an earlier run."""
    ledger = Ledger(Store("memory://projector"), study.name)
    for index, trial in enumerate(planned(study).trials[:4]):
        ledger.write(f"pack{index}", rows(study, (trial,), lambda _: result(1.0), pack=f"pack{index}"))
    yield ledger
    ledger.store.files.rm("/projector", recursive=True)


def projected(ledger: Ledger, works: Callable[[], bool], clock: Callable[[], float]) -> tuple[FakeTracker, Sink]:
    """The sink after a run whose packs 1 to 3 finished one after the other."""
    tracker = FakeTracker(works)
    sink = Sink(ledger, lambda: tracker, Launch("laptop", 3))  # type: ignore[arg-type, return-value]
    projector = Projector(clock)
    projector.start()
    projector.serve(sink)
    for index in (1, 2, 3):
        projector.add(sink, f"pack{index}")
    projector.drain()
    return tracker, sink


def test_everything_is_projected_once_under_its_launch(ledger: Ledger) -> None:
    tracker, sink = projected(ledger, lambda: True, lambda: 0.0)
    assert sorted(tracker.packs) == [(f"pack{index}", "launch of 3") for index in range(4)]
    assert not sink.missing
    sink.finish("FINISHED")
    assert tracker.statuses == [("launch of 3", "FINISHED")]


def test_mlflow_away_the_whole_time(ledger: Ledger, caplog: pytest.LogCaptureFixture) -> None:
    """One line, no matter how many packs; what is missing is known, and the end of the launch is no error."""
    with caplog.at_level(logging.WARNING):
        tracker, sink = projected(ledger, lambda: False, lambda: 0.0)
    assert tracker.packs == []
    assert sink.missing == {"pack1", "pack2", "pack3"}
    assert len(caplog.messages) == 2, "when it failed, and when it was tried a last time"
    assert "training goes on" in caplog.messages[0]
    sink.finish("FINISHED")


def test_what_mlflow_did_not_take_is_not_marked_as_there(ledger: Ledger) -> None:
    """Otherwise no later start would bring it."""
    calls = itertools.count()
    tracker, sink = projected(ledger, lambda: next(calls) < 3, lambda: 0.0)  # it is opened, and takes one pack
    assert tracker.packs == [("pack0", "launch of 3")]
    assert sink.missing == set(ledger.not_projected("fake")) == {"pack1", "pack2", "pack3"}


def test_mlflow_that_comes_back(ledger: Ledger) -> None:
    """It is left alone for a while, and then gets all it missed, earlier runs' packs included."""
    calls = iter([False])
    seconds = iter(range(0, 1000, int(PAUSE_SECONDS) + 1))
    tracker, sink = projected(ledger, lambda: next(calls, True), lambda: float(next(seconds)))
    assert sorted(pack for pack, _ in tracker.packs) == ["pack0", "pack1", "pack2", "pack3"]
    assert not sink.missing


def test_the_machine_is_sampled_while_packs_are_waited_for(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the thread that writes everything else, and no more once the run is over."""
    monkeypatch.setattr("folklore.harness.launch.tracking.live.SAMPLE_SECONDS", 0.02)
    tracker = FakeTracker(lambda: True)
    samples: list[tuple[str, int, str]] = []

    def measure(run_id: str, values: dict[str, float], step: int) -> None:
        assert 0 <= values["cpu_utilization_percentage"] <= 100
        assert 0 < values["system_memory_usage_percentage"] <= 100
        samples.append((run_id, step, threading.current_thread().name))

    tracker.measure = measure  # type: ignore[attr-defined]
    projector = Projector()
    # Served first: samples are counted from the start, and a busy machine takes some before it hears of a run.
    projector.serve(Sink(ledger, lambda: tracker, Launch("laptop", 3)))  # type: ignore[arg-type, return-value]
    projector.start()
    deadline = time.monotonic() + 20
    while len(samples) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    projector.drain()
    assert samples[:3] == [("launch of 3", step, "mlflow-projector") for step in range(3)]
    count = len(samples)
    time.sleep(0.1)
    assert len(samples) == count


def test_samples_that_mlflow_refuses_stop_nothing(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("folklore.harness.launch.tracking.live.SAMPLE_SECONDS", 0.01)
    monkeypatch.setattr("folklore.harness.launch.tracking.live.PAUSE_SECONDS", 0.01)
    tracker = FakeTracker(lambda: True)  # which has no `measure`
    projector = Projector()
    projector.start()
    sink = Sink(ledger, lambda: tracker, Launch("laptop", 3))  # type: ignore[arg-type, return-value]
    projector.serve(sink)
    time.sleep(0.2)
    projector.add(sink, "pack1")
    projector.drain()
    assert len(tracker.packs) == 4


def test_a_line_where_mlflow_takes_long_after_the_last_pack(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("folklore.harness.launch.tracking.live.LEAVE_SECONDS", 0.01)
    takes = threading.Event()
    projector, sink = Projector(), Sink(ledger, lambda: FakeTracker(lambda: takes.wait(60)), None)  # type: ignore[arg-type, return-value]
    projector.serve(sink)
    projector.start()
    threading.Timer(0.3, takes.set).start()
    projector.drain()
    assert caplog.messages == ["MLflow takes in what was trained last"]
    assert not sink.missing


def test_a_run_that_is_interrupted_leaves_the_rest(ledger: Ledger) -> None:
    tracker = FakeTracker(lambda: True)
    sink = Sink(ledger, lambda: tracker, None)  # type: ignore[arg-type, return-value]
    projector = Projector()
    projector.serve(sink)
    projector.leave()
    projector.start()
    projector.join(5)
    assert not projector.is_alive()
    assert tracker.packs == []
