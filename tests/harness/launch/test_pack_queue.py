"""Packs that memory does not hold come again in narrower ones, each trial once."""

from folklore.harness.declare import Study
from folklore.harness.launch.pack_queue import PackQueue
from folklore.harness.plan.plan import PlannedPack, make_plan
from tests.harness.helpers import changed


def queue_of(study: Study, lanes: int, done: set[str]) -> tuple[PackQueue, list[PlannedPack], list[PlannedPack]]:
    added: list[PlannedPack] = []
    removed: list[PlannedPack] = []
    plan = make_plan(study, "laptop", "cpu", "data", lanes=lanes)
    queue = PackQueue(plan, lambda pack: pack, lambda p, _: p, lambda: None, lambda: done, added.append, removed.append)  # type: ignore[arg-type,return-value]
    return queue, added, removed


def test_halves_until_it_fits_and_all_that_wait_with_it(study: Study) -> None:
    """Eight lanes and four do not fit, two do: every trial is trained once, and only the first pack was tried too wide."""
    done: set[str] = set()
    queue, added, removed = queue_of(study, 8, done)
    whole = set(queue.plan.digests)
    tried: list[int] = []
    while (job := queue.next()) is not None:
        key, pack = job
        tried.append(len(pack.trials))  # type: ignore[attr-defined]
        if tried[-1] > 2:
            assert queue.halve(key)
            continue
        digests = {trial.digest for trial in pack.trials}  # type: ignore[attr-defined]
        assert not digests & done
        done |= digests
        queue.settled(key)
    assert done == whole
    assert queue.exhausted
    assert [width for width in tried if width > 2] == [tried[0], (tried[0] + 1) // 2]
    there = {pack.key for pack in added} - {pack.key for pack in removed}
    assert there == set(queue.packs), "the view knows the packs that there are"


def test_one_lane_cannot_be_halved(study: Study) -> None:
    done: set[str] = set()
    queue, _, _ = queue_of(study, 1, done)
    job = queue.next()
    assert job is not None
    assert not queue.halve(job[0])
    queue.settled(job[0], failed=True)
    assert len(queue.given_up) == 1


def test_other_shapes_keep_their_width(study: Study) -> None:
    queue, _, _ = queue_of(changed(study, {"arms.half.settings": {"batch_size": 8}}), 5, set())
    key, pack = queue.next() or ("", None)
    assert queue.halve(key)
    narrow = pack.trials[0].configuration.shape_key  # type: ignore[union-attr]
    while (job := queue.next()) is not None:
        trials = job[1].trials  # type: ignore[attr-defined]
        assert len(trials) <= 3 if trials[0].configuration.shape_key == narrow else len(trials) == 5
