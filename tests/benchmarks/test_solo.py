"""What packs are measured against is the same training: a lane's curve is that of the trial trained alone by torch's own,
to what a bench asks for before it writes a ratio."""

import json
import queue
import threading
from dataclasses import replace
from typing import Any

import pytest
import torch

from folklore.harness.train.pack import Pack
from tests.benchmarks import engine
from tests.benchmarks.engine import PACKED, Contender, Found
from tests.benchmarks.results import FOLDER, DisagreementError, comparisons
from tests.benchmarks.solo import Solo, Way
from tests.benchmarks.works import AGREEMENT_STEPS, WORKS, Work

# The rounding that the engine states for lanes. Convolutions drift more from torch's own: for them a bench's gate holds.
STATED_NATS = 2e-4
ROW = {"work", "device", "lanes", "against", "ratio", "low", "high", "makespan_ratio", "agreement", "versions"}


@pytest.mark.parametrize("work", [work for work in WORKS["cpu"] if "430k" not in work.name], ids=lambda work: work.name)
def test_a_lane_is_the_plain_trial(work: Work) -> None:
    work = replace(work, steps=AGREEMENT_STEPS)
    pack = Pack([work.lane(trial) for trial in range(3)], work.dataset())
    pack.advance()
    tolerance = work.tolerance_nats if work.workload.model == "cnn" else STATED_NATS
    solo = Solo(work.configuration(0), work.dataset(), "cpu", Way(fused=True))
    for trial in (0, 2):
        alone = torch.tensor(solo.train(work.configuration(trial), trial))
        assert float((pack.records["train_loss"][:, trial] - alone).abs().max()) < tolerance


def test_published_results_are_as_the_bench_writes_them() -> None:
    files = [path for path in FOLDER.glob("*.json") if not path.stem.endswith(("-raw", "-harness", "-roofline", "-scale"))]
    for path in files:
        for row in json.loads(path.read_text()):
            assert row.keys() == ROW
            assert row["low"] <= row["ratio"] <= row["high"]


def test_a_process_that_fails_keeps_no_other_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two that read side by side one has no memory: both say so."""
    barrier, rates = threading.Barrier(2), queue.Queue[Any]()
    first = threading.Lock()

    def reading(barrier: threading.Barrier, *_: object) -> list[float]:
        if first.acquire(blocking=False):
            raise torch.OutOfMemoryError("CUDA out of memory")
        barrier.wait()
        return [1.0]

    monkeypatch.setattr(engine, "_readings", reading)
    readers = [threading.Thread(target=engine._reader, args=(barrier, rates), daemon=True) for _ in range(2)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(30)
    answers = sorted(rates.get_nowait().partition(":")[0] for _ in readers)
    assert answers == ["BrokenBarrierError", "OutOfMemoryError"]


def test_what_disagrees_or_was_left_out_is_no_ratio() -> None:
    work = WORKS["cpu"][0]
    rates = {name: Contender(name, rates=[2.0, 3.0], makespans=[1.0]) for name in (PACKED, "eager", "fused", "2 processes")}
    rows = comparisons(work, Found(4, "eager", work.tolerance_nats / 2, rates, {}))
    assert [row["against"].partition(" (")[0] for row in rows] == ["eager solo", "best solo"], "no packs side by side"
    for agreement in (2 * work.tolerance_nats, float("nan")):
        with pytest.raises(DisagreementError, match="no ratio is worth anything"):
            comparisons(work, Found(4, "eager", agreement, rates, {}))
