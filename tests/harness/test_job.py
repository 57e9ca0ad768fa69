"""A pack as work for a sweep: recorded once, and stopped at a deadline where it can go on."""

import time
from pathlib import Path

import pytest

from harness import job as jobs
from harness.job import TrainingJob
from harness.ledger import Ledger
from harness.packing import Choice
from harness.plan import make_plan
from harness.spec import Study
from harness.store import Store


@pytest.fixture
def made(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: object) -> TrainingJob:
    monkeypatch.setattr(jobs.data, "load", lambda name: text)
    plan = make_plan(study, "laptop", "cpu", text.facts.hash, lanes=4)  # type: ignore[attr-defined]
    return TrainingJob(study, "laptop", "cpu", "markov", str(tmp_path), plan.packs[0], Choice(4, "eager", "given"))


def test_a_pack_says_how_it_was_trained(made: TrainingJob, study: Study) -> None:
    work = made.open()
    while not work.advance(10.0).done:
        pass
    rows = Ledger(Store(made.store_uri), study.name).read(made.pack.key)
    assert rows is not None
    assert set(rows.column("program").to_pylist()) == {"eager"}
    assert set(rows.column("width_source").to_pylist()) == {"given"}
    assert set(rows.column("lanes").to_pylist()) == {4}


def test_at_the_deadline_it_leaves_a_checkpoint_and_goes_on_from_it(made: TrainingJob, study: Study) -> None:
    ledger = Ledger(Store(made.store_uri), study.name)
    late = TrainingJob(**{**vars(made), "deadline": time.time() - 1})
    stopped = late.open().advance(0.0)
    assert (stopped.done, stopped.stopped) == (False, True)
    assert ledger.packs() == []
    work = made.open()
    assert work.training.step == 1, "one step was trained before the deadline was seen"
    while not work.advance(10.0).done:
        pass
    again = made.open()
    while not again.advance(10.0).done:
        pass
    assert work.training.results()[0].test_loss == again.training.results()[0].test_loss
    assert ledger.packs() == [made.pack.key]


def test_what_ends_before_its_deadline_is_done(made: TrainingJob) -> None:
    work = TrainingJob(**{**vars(made), "deadline": time.time() + 1000}).open()
    progress = work.advance(1000.0)
    assert (progress.done, progress.stopped) == (True, False)
