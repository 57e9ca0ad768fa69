"""Trials that start from others, run: parents first and once, whatever is killed, lost or damaged in between."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from folklore.harness.declare import Study
from folklore.harness.declare.trial import Start, Trial
from folklore.harness.launch.pack_queue import PackQueue
from folklore.harness.launch.training_job import TrainingJob, TrainingWork
from folklore.harness.plan.lanes import Choice
from folklore.harness.plan.plan import Plan, PlannedPack, make_pack, make_plan
from folklore.harness.plan.starts import kept_steps, nothing_left_of, starts_of
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from folklore.harness.train.workloads.data import load
from tests.harness.plan.test_starts import study_of


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(study_of(), "smoke", "cpu", load("digits").facts.hash, lanes=3)


def arm_of(pack: PlannedPack) -> str:
    return pack.trials[0].arm


def packs_of(plan: Plan, arm: str) -> list[PlannedPack]:
    return [pack for pack in plan.packs if arm_of(pack) == arm]


class Worker:
    """Trains packs in this process, as a sweep has them trained on workers."""

    def __init__(self, plan: Plan, folder: Path):
        self.plan, self.ledger, self.folder = plan, Ledger(Store(str(folder)), plan.study.name), folder
        self.trials: Mapping[str, Trial] = {trial.digest: trial for trial in plan.trials}
        self.kept = kept_steps(plan.trials)

    def job(self, pack: PlannedPack) -> TrainingJob:
        choice, uri, plan = Choice(len(pack.trials), "eager", "given"), str(self.folder), self.plan
        kept = {trial.digest: self.kept[trial.digest] for trial in pack.trials if trial.digest in self.kept}
        parents = {start.digest: self.job(make_pack([self.trials[start.digest]])) for start in starts_of(pack.trials)}
        return TrainingJob(plan.study, plan.scale, "cpu", "digits", uri, pack, choice, kept=kept, parents=parents)

    def train(self, pack: PlannedPack) -> TrainingWork:
        work = self.job(pack).open()
        while not work.advance(10.0).done:
            pass
        work.close()
        return work

    def queue(self) -> PackQueue:
        nothing: Callable[..., None] = lambda *arguments: None  # noqa: E731
        done, states = self.ledger.digests, self.ledger.states
        return PackQueue(self.plan, lambda pack: pack, nothing, nothing, done, states=states)  # type: ignore[arg-type,return-value]

    def handed_out(self, stop: int = 1000) -> Iterator[PlannedPack]:
        """Packs as a new run trains them, at most `stop`."""
        queue = self.queue()
        while stop and (job := queue.next()) is not None:
            pack = queue.packs[job[0]]
            self.train(pack)
            queue.settled(job[0])
            stop -= 1
            yield pack


@pytest.fixture
def worker(plan: Plan, tmp_path: Path) -> Worker:
    return Worker(plan, tmp_path)


@pytest.fixture(scope="module")
def whole(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Worker:
    """One that has trained everything, undisturbed. Nothing of it is to be changed."""
    worker = Worker(plan, tmp_path_factory.mktemp("whole"))
    list(worker.handed_out())
    return worker


@pytest.fixture
def before_finer(whole: Worker, plan: Plan, tmp_path: Path) -> Worker:
    """One that has trained what `finer` starts from, and not `finer`."""
    shutil.copytree(whole.folder, tmp_path, dirs_exist_ok=True)
    for pack in packs_of(plan, "finer"):
        (file,) = (tmp_path / "ledger" / plan.study.name).glob(f"{pack.key}.*")
        file.unlink()
    return Worker(plan, tmp_path)


def losses(worker: Worker) -> dict[str, float]:
    trials = worker.ledger.trials()
    return dict(zip(trials["digest"], trials["test_loss"], strict=True))


def damage(worker: Worker, start: Start) -> None:
    path = worker.folder / worker.ledger._state(start)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


# ---- the order


def queue_of(plan: Plan, settled: set[str], orphaned: Callable[[PlannedPack], None] = lambda pack: None) -> PackQueue:
    """A queue of packs that nobody trains. settled: digests of finished trials."""
    nothing: Callable[..., None] = lambda *arguments: None  # noqa: E731
    return PackQueue(plan, lambda pack: pack, nothing, nothing, lambda: settled, orphaned=orphaned)  # type: ignore[arg-type,return-value]


def test_parents_are_handed_out_before_what_starts_from_them(plan: Plan) -> None:
    """And others of their arm need not be done."""
    settled, running, order = set[str](), list[str](), list[str]()
    queue = queue_of(plan, settled)
    while not queue.exhausted:
        while (job := queue.next()) is not None:
            pack = queue.packs[job[0]]
            assert {start.digest for start in starts_of(pack.trials)} <= settled
            order += [arm_of(pack)]
            running.append(job[0])
        if running:
            settled.update(trial.digest for trial in queue.packs[running[0]].trials)
            queue.settled(running.pop(0))
    assert settled == plan.digests
    assert order.count("first") == len(packs_of(plan, "first"))
    assert order[0] == "first"


def test_what_starts_from_a_trial_that_was_given_up_is_given_up_with_it(plan: Plan) -> None:
    """And nothing else is."""
    orphans: list[PlannedPack] = []
    settled = set[str]()
    queue = queue_of(plan, settled, orphans.append)
    key, _ = queue.next() or ("", None)
    lost = {trial.digest: (trial.seed, trial.point["peak_lr"]) for trial in queue.packs[key].trials}
    queue.settled(key, failed=True)
    while (job := queue.next()) is not None:
        settled.update(trial.digest for trial in queue.packs[job[0]].trials)
        queue.settled(job[0])
    given_up = {trial.digest for pack in orphans for trial in pack.trials}
    assert settled | given_up | lost.keys() == plan.digests
    assert not settled & (given_up | lost.keys())
    at_lost = {trial.digest for trial in plan.trials if (trial.seed, trial.point["peak_lr"]) in lost.values()}
    assert given_up == at_lost - lost.keys()


# ---- checkpoints


def test_only_what_others_start_from_leaves_checkpoints(whole: Worker, plan: Plan) -> None:
    assert whole.ledger.packs() == sorted(pack.key for pack in plan.packs)
    assert whole.ledger.digests() == plan.digests
    assert whole.ledger.states() == set(starts_of(plan.trials))
    assert whole.queue().exhausted


def test_killed_at_any_pack_the_next_run_trains_what_is_left(worker: Worker, whole: Worker) -> None:
    trained: list[str] = []
    while stopped := [pack.key for pack in worker.handed_out(stop=1)]:
        trained += stopped
    assert sorted(trained) == whole.ledger.packs(), "each once"
    assert losses(worker) == losses(whole)


def test_killed_on_the_way_it_goes_on_and_leaves_the_checkpoint_that_it_would(
    whole: Worker, plan: Plan, tmp_path: Path
) -> None:
    """Before the step of the checkpoint, at it, and after it."""
    pack = packs_of(plan, "first")[0]
    for stop in (5, 15, 20):
        worker = Worker(plan, tmp_path / str(stop))
        work = worker.job(pack).open()
        while work.training.step < stop:
            work.advance(0.0)
        work.close()
        again = worker.job(pack).open()
        assert again.training.step == stop
        while not again.advance(0.0).done:
            pass
        for start in [Start(trial.digest, 15) for trial in pack.trials]:
            ours, theirs = worker.ledger.read_state(start), whole.ledger.read_state(start)
            assert ours is not None
            assert theirs is not None
            assert all(torch.equal(ours[name], value) for name, value in theirs.items())


def test_a_checkpoint_that_is_gone_while_its_trial_is_in_flight_is_made_again(
    worker: Worker, plan: Plan, caplog: pytest.LogCaptureFixture
) -> None:
    pack = packs_of(plan, "first")[0]
    work = worker.job(pack).open()
    while work.training.step < 20:
        work.advance(0.0)
    work.close()
    lost = Start(pack.trials[0].digest, 15)
    (worker.folder / worker.ledger._state(lost)).unlink()
    worker.train(pack)
    assert lost in worker.ledger.states()
    assert "lies after others that are not there: the pack starts over" in caplog.text


@pytest.mark.parametrize("arms", [("first",), ("fine",), ("first", "fine")])
def test_a_missing_checkpoint_is_planned_and_trained_again(
    arms: tuple[str, ...], before_finer: Worker, whole: Worker, plan: Plan
) -> None:
    """Once for all that start from it, and what starts from it is what it would have been."""
    worker = before_finer
    missing = {start for start in worker.ledger.states() if worker.trials[start.digest].arm in arms}
    for start in missing:
        worker.ledger.store.remove(worker.ledger._state(start))
    needed = {start.digest for start in missing if worker.trials[start.digest].arm == "fine"}
    if {"first", "fine"} == set(arms):
        needed |= {start.digest for start in missing}
    done = nothing_left_of(plan.trials, worker.ledger.digests(), worker.ledger.states)
    assert worker.ledger.digests() - done == needed
    again = [trial.digest for pack in worker.handed_out() for trial in pack.trials]
    assert sorted(again) == sorted(needed | {trial.digest for pack in packs_of(plan, "finer") for trial in pack.trials})
    assert losses(worker) == losses(whole)


def test_a_damaged_checkpoint_is_set_aside_and_its_trial_trained_again(
    before_finer: Worker, whole: Worker, plan: Plan, caplog: pytest.LogCaptureFixture
) -> None:
    """By the worker that finds it damaged; its own parent, too. The records stay as they were."""
    worker = before_finer
    files = worker.ledger.packs()
    pack = packs_of(plan, "finer")[0]
    fine = starts_of(pack.trials)[0]
    first = worker.trials[fine.digest].start
    assert first is not None
    for start in (fine, first):
        damage(worker, start)
    worker.train(pack)
    for start in (fine, first):
        assert f"{worker.ledger._state(start)} does not match its checksum: set aside" in caplog.text
        assert f"trial {start.digest} is trained again: others start from its checkpoint, which is not there" in caplog.text
        assert start in worker.ledger.states()
    assert worker.ledger.packs() == sorted([*files, pack.key])
    actual, expected = losses(worker), losses(whole)
    assert max(abs(actual[trial.digest] - expected[trial.digest]) for trial in pack.trials) < 2e-4, "alone, up to rounding"


def test_a_checkpoint_of_other_sources_is_none(
    before_finer: Worker, whole: Worker, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trial that starts from it would be half of one engine and half of another."""
    worker = before_finer
    monkeypatch.setattr("folklore.harness.plan.store.ledger.engine_sources", lambda: "others")
    assert worker.ledger.states() == set()
    again = {trial.digest for pack in worker.handed_out() for trial in pack.trials}
    assert again == plan.digests, "all that others start from, and they"
    assert worker.ledger.states() == whole.ledger.states() | set(starts_of(plan.trials))


def test_a_worker_that_is_ended_while_it_trains_a_parent_goes_on_with_it(worker: Worker, plan: Plan) -> None:
    pack = packs_of(plan, "fine")[0]
    for stop in (5, 10):
        work = worker.job(pack).open()
        while work.before is not None and work.before.training.step < stop:
            assert not work.advance(0.0).done
        work.close()
    work = worker.job(pack).open()
    assert work.before is not None
    assert work.before.training.step == 10
    worker.train(pack)
    assert {trial.digest for trial in pack.trials} == worker.ledger.digests()


def test_a_trial_from_its_parents_end_is_what_it_would_be_had_there_been_no_end(tmp_path: Path) -> None:
    """Through plan, store and packs of other lanes."""
    steady = {"optimizer": "adamw", "schedule": "constant", "warmup_fraction": 0.0, "batch_size": 8, "steps": 20}
    on = {"label": "on", "settings": {"starts_from": "first", "start_state": "optimizer", "steps": 10}}
    arms = {"on": on, "first": {"label": "first"}, "whole": {"label": "whole", "settings": {"steps": 30}}}
    study: Study = study_of(training=steady, arms=arms, factors={"peak_lr": (0.001, 0.002)})
    worker = Worker(make_plan(study, "smoke", "cpu", load("digits").facts.hash, lanes=3), tmp_path)
    list(worker.handed_out())
    trials = worker.ledger.trials().set_index(["arm", "seed", "peak_lr"])["test_loss"]
    assert (trials["on"] - trials["whole"]).abs().max() < 2e-4
    assert (trials["on"] - trials["first"]).abs().min() > 2e-4


def test_more_seeds_start_from_more_parents(whole: Worker, plan: Plan, tmp_path: Path) -> None:
    shutil.copytree(whole.folder, tmp_path, dirs_exist_ok=True)
    more = Worker(plan.with_seeds(study_of(seeds=3)), tmp_path)
    added = [trial for pack in more.handed_out() for trial in pack.trials]
    assert {trial.seed for trial in added} == {2}
    assert len(added) == 6
    assert replace(added[0], digest="") != added[0]
