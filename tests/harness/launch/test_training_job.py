"""A pack as work for a sweep: recorded once, and ended early where it can go on."""

import logging
import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from folklore.harness.declare import Study
from folklore.harness.errors import TooLargeError, UnwritableError
from folklore.harness.launch.training_job import TrainingJob, TrainingWork
from folklore.harness.plan.lanes import Choice
from folklore.harness.plan.plan import make_plan
from folklore.harness.plan.store.comparisons import Comparisons, comparisons, comparisons_file, refusals, refuse
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from folklore.harness.train import programs
from folklore.harness.train.agreement import StepCheck
from folklore.harness.train.optimizers.adam import Adam
from folklore.harness.train.programs import EAGER, Program
from folklore.harness.train.workloads import data
from tests.harness.train.plain_steps import plant


@pytest.fixture
def made(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: object) -> TrainingJob:
    monkeypatch.setattr(data, "load", lambda name, tokenizer: text)
    plan = make_plan(study, "laptop", "cpu", text.facts.hash, lanes=4)  # type: ignore[attr-defined]
    return TrainingJob(study, "laptop", "cpu", "markov", str(tmp_path), plan.packs[0], Choice(4, "eager", "given"))


def finish(work: TrainingWork) -> TrainingWork:
    while not work.advance(10.0).done:
        pass
    return work


def trained(job: TrainingJob) -> TrainingWork:
    """Trains the rest of a pack, to its end."""
    return finish(job.open())


def test_a_pack_says_how_it_was_trained(made: TrainingJob, study: Study) -> None:
    trained(made)
    rows = Ledger(Store(made.store_uri), study.name).read(made.pack.key)
    assert rows is not None
    assert set(rows.column("program").to_pylist()) == {"eager"}
    assert set(rows.column("program_note").to_pylist()) == {None}
    assert set(rows.column("width_source").to_pylist()) == {"given"}
    assert set(rows.column("lanes").to_pylist()) == {4}


def forget(made: TrainingJob) -> None:
    """As if the pack had never been trained."""
    store = Store(made.store_uri)
    for name in store.names(f"ledger/{made.study.name}", ".parquet"):
        store.remove(name)


def test_a_program_that_differs_is_recorded_and_not_tried_again(
    made: TrainingJob, study: Study, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    plant(monkeypatch)
    made = replace(made, choice=Choice(4, "compiled", "given"))
    key = made.pack.trials[0].configuration.shape_key
    for tried in (True, False):
        caplog.clear()
        work = made.open()
        assert work.training.runner.program == Program(compiled=tried)
        finish(work)
        rows = Ledger(Store(made.store_uri), study.name).read(made.pack.key)
        assert rows is not None
        assert set(rows.column("program").to_pylist()) == {"eager"}
        (note,) = set(rows.column("program_note").to_pylist())
        assert note.startswith("compiled differs from the eager step (the weights of lane ")
        assert refusals(Store(made.store_uri), key) == {"compiled": note}
        assert len(caplog.records) == 1
        forget(made)
    assert caplog.messages[0].endswith(f"to try again, remove {comparisons_file(key)} from the store")
    assert made.open().training.runner.program == EAGER
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "default" if os.environ.get("ATEN_CPU_CAPABILITY") != "default" else "avx2")
    assert made.open().training.runner.program == Program(compiled=True), "another kind of machine"


def test_what_was_seen_to_agree_is_remembered(made: TrainingJob, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A later pack of the shape is not compared; one under other sources of the engine is, and refusals of these are over."""
    monkeypatch.setattr(programs, "compiled", lambda step: step)
    monkeypatch.setattr(programs, "missing_compiler", lambda device: "")
    made = replace(made, choice=Choice(4, "compiled", "given"))
    key, store, compared = made.pack.trials[0].configuration.shape_key, Store(made.store_uri), []
    whole = StepCheck.__call__
    monkeypatch.setattr(StepCheck, "__call__", lambda check, *steps: compared.append(1) or whole(check, *steps))
    for expected in (1, 0, 1):
        compared.clear()
        work = trained(made)
        forget(made)
        assert (len(compared), work.training.runner.program) == (expected, Program(compiled=True))
        assert len(comparisons(store, key).agreed) == 1
        refuse(store, key, "captured", "it differs")
        assert (len(comparisons(store, key).agreed), refusals(store, key)) == (1, {"captured": "it differs"})
        if not expected:
            monkeypatch.setattr("folklore.harness.plan.store.comparisons.engine_sources", lambda: "others")
            assert comparisons(store, key) == Comparisons()


def test_a_pack_that_is_stored_is_not_trained_again(made: TrainingJob, study: Study) -> None:
    """Its worker wrote it down, and was lost before it could say so: it may be handed out once more."""
    trained(made)
    store = Store(made.store_uri)
    files = store.names(f"ledger/{study.name}", ".parquet")
    again = made.open()
    progress = again.advance(10.0)
    again.close()
    assert (progress.done, progress.share, progress.lanes) == (True, 1.0, len(made.pack.trials))
    assert store.names(f"ledger/{study.name}", ".parquet") == files
    assert len(files) == 1


def test_a_pack_that_is_ended_early_leaves_a_checkpoint(made: TrainingJob, study: Study) -> None:
    ledger = Ledger(Store(made.store_uri), study.name)
    work = made.open()
    work.close()
    assert ledger.read_checkpoint(made.pack.key) is None, "nothing was trained yet"
    work = made.open()
    work.advance(0.0)
    work.advance(0.0)
    work.close()
    assert made.open().training.step == 2
    trained(made).close()
    assert ledger.read_checkpoint(made.pack.key) is None, "a finished pack leaves none"


def test_a_pack_is_not_resumed_under_other_sources(
    made: TrainingJob, study: Study, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An interrupted run of a changed optimizer, the change taken back, and the same command again: no trial has half of it."""
    update = Adam.update
    with monkeypatch.context() as changed:
        changed.setattr("folklore.harness.plan.store.ledger.engine_sources", lambda: "changed")
        changed.setattr(Adam, "update", lambda self, values, gradient, lr, step: update(self, values, gradient, lr / 2, step))
        work = made.open()
        work.advance(0.0)
        work.close()
    assert Ledger(Store(made.store_uri), study.name).store.exists(work.ledger._checkpoint(made.pack.key))
    resumed = made.open()
    assert resumed.training.step == 0
    assert "was written by other sources than these: the pack starts over" in caplog.text
    finish(resumed)
    forget(made)
    assert resumed.training.results()[0].test_loss == trained(made).training.results()[0].test_loss


def test_a_step_that_broke_leaves_no_checkpoint(made: TrainingJob, study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    work = made.open()
    work.advance(0.0)
    work.ledger.write_checkpoint(made.pack.key, work.training.state())
    monkeypatch.setattr(work.training, "advance", lambda *until: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        work.advance(0.0)
    work.training.step = 7
    work.close()
    assert made.open().training.step == 1, "the last whole state counts"


@pytest.mark.parametrize(
    "error",
    [torch.OutOfMemoryError("CUDA out of memory"), MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory")],
)
def test_memory_that_ends_is_told_from_other_errors(
    made: TrainingJob, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*until: float) -> None:
        raise error

    work = made.open()
    monkeypatch.setattr(work.training, "advance", fail)
    with pytest.raises(TooLargeError):
        work.advance(0.0)
    monkeypatch.setattr(work.training, "advance", lambda *until: torch.zeros(2) + torch.zeros(3))
    with pytest.raises(RuntimeError):
        work.advance(0.0)


def test_a_checkpoint_that_cannot_be_written_does_not_stop_training(
    made: TrainingJob, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise UnwritableError("no space left")

    work = replace(made, checkpoint_seconds=-1.0).open()
    monkeypatch.setattr(work.ledger, "write_checkpoint", full)
    with caplog.at_level(logging.WARNING):
        assert work.advance(0.0).share > 0
    assert "no space left" in caplog.text
    monkeypatch.undo()


def test_a_result_that_cannot_be_written_is_no_result(made: TrainingJob, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise UnwritableError("no space left")

    work = made.open()
    monkeypatch.setattr(work.ledger, "write", full)
    with pytest.raises(UnwritableError):
        work.advance(1000.0)
