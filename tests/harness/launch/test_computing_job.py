"""A computed job in a worker's hands: a call a seed, on one thread, in the ledger when done; and what is published."""

from pathlib import Path

import pytest
import torch

from folklore.harness.declare import AtLeast, AtMost, Criterion, Judgement, Study
from folklore.harness.declare.computed import called
from folklore.harness.declare.metrics import Computed
from folklore.harness.launch.computing_job import ComputingJob, ComputingQueue
from folklore.harness.plan.computing import computed_jobs
from folklore.harness.plan.store import evidence
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store

EXACT = Computed(function="ramp.updates", number="ratio")
DRAWN = Computed(function="operations.error", arguments={"operation": "gelu", "format": "bf16"}, number="over_unit_roundoff")


@pytest.fixture
def asking(study: Study) -> Study:
    criteria = tuple(
        Criterion(name=metric.number, observe=metric, claimed=AtLeast(value=1.5), refuted=AtMost(value=0.1))
        for metric in (EXACT, DRAWN)
    )
    return study.model_copy(update={"judgements": (Judgement(claim="warmup.improves_best", criteria=criteria),)})


def test_it_goes_on_call_by_call_and_is_kept_when_it_is_done(asking: Study, tmp_path: Path) -> None:
    ledger = Ledger(Store(str(tmp_path)), asking.name)
    threads = torch.get_num_threads()
    jobs = computed_jobs(asking, "laptop")
    assert {job.function for job in jobs.values()} == {EXACT.function, DRAWN.function}
    for digest, job in jobs.items():
        work = ComputingJob(asking, job, str(tmp_path)).open()
        calls = max(1, len(job.seeds))
        for done in range(1, calls + 1):
            assert digest not in ledger.computations()
            progress = work.advance(0.0)
            assert (progress.share, progress.done) == (pytest.approx(done / calls), done == calls)
        work.close()
        computation = ledger.computations()[digest]
        number = EXACT.number if job.function == EXACT.function else DRAWN.number
        assert computation.values(number) == {seed: float(called(job, seed).numbers[number]) for seed in job.seeds or (None,)}
        assert computation.environment["threads"] == "1"
    assert torch.get_num_threads() == threads


def test_jobs_are_given_out_once(asking: Study, tmp_path: Path) -> None:
    digests: list[str] = []
    jobs = {digest: ComputingJob(asking, job, str(tmp_path)) for digest, job in computed_jobs(asking, "laptop").items()}
    queue = ComputingQueue(jobs, digests.append)
    assert digests == list(jobs)
    assert [queue.next(), queue.next()] == list(jobs.items())
    assert queue.exhausted
    assert queue.next() is None
    assert not queue.halve(digests[0])


def test_what_is_published_is_read_again_and_damage_is_left_out(
    asking: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(evidence, "FOLDER", tmp_path)
    for job in computed_jobs(asking, "laptop").values():
        work = ComputingJob(asking, job, str(tmp_path)).open()
        while not work.advance(60.0).done:
            pass
    computations = Ledger(Store(str(tmp_path)), asking.name).computations()
    path = evidence.write_computations(asking.name, list(computations.values()))
    assert evidence.computations(asking.name) == computations
    assert evidence.write_computations(asking.name, list(computations.values())[:1]) == path
    assert evidence.computations(asking.name) == computations, "the other one stays"
    path.write_text(path.read_text(encoding="utf-8").replace('"numbers"', '"other"', 1), encoding="utf-8")
    assert len(evidence.computations(asking.name)) == 1
    assert "a computed job is left out" in caplog.text
    path.write_text("[", encoding="utf-8")
    assert evidence.computations(asking.name) == {}
