"""Properties of every plan, packing, queue, ledger and schedule, and not only of the examples of the other tests."""

import os
import random
import uuid

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from folklore.harness.declare import Arm, Measurement, Scale, Study, Training, Workload
from folklore.harness.launch.pack_queue import PackQueue
from folklore.harness.plan.plan import make_pack, make_plan
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from tests.harness.helpers import changed, result, rows

# In CI the same examples every time; elsewhere new ones, and what fails is kept by hypothesis and tried first.
SAME = "CI" in os.environ
QUICK = settings(max_examples=40, deadline=None, derandomize=SAME, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def studies(draw: st.DrawFn) -> Study:
    """Small ones of one or two arms, that may differ in shape, with grids and seeds of any size."""
    rates = draw(st.lists(st.floats(1e-6, 10.0, allow_nan=False), min_size=1, max_size=4, unique=True))
    arms = {"plain": Arm(label="plain")}
    if draw(st.booleans()):
        changed = draw(st.sampled_from([{"batch_size": 4}, {"warmup_fraction": 0.5}, {"weight_decay": 0.0}, {"width": 16}]))
        arms["other"] = Arm(label="other", settings=changed)
    return Study(
        name="any",
        version=draw(st.integers(1, 9)),
        title="any",
        question="?",
        workload=Workload(width=8, depth=1, heads=2, context=8),
        training=Training(steps=10, batch_size=8),
        measurement=Measurement(probes=2, evaluations=1, evaluation_examples=4, final_examples=4),
        arms=arms,
        factors={"peak_lr": tuple(rates)},
        seeds=draw(st.integers(1, 6)),
        first_seed=draw(st.integers(0, 1000)),
        scales={"any": Scale(description="any", judged=False)},
    )


@QUICK
@given(studies(), st.integers(1, 40))
def test_every_trial_is_in_one_pack(study: Study, lanes: int) -> None:
    plan = make_plan(study, "any", "cpu", "data", lanes=lanes)
    packed = [trial.digest for pack in plan.packs for trial in pack.trials]
    assert len(plan.trials) == len(plan.digests)
    assert sorted(packed) == sorted(plan.digests)
    for pack in plan.packs:
        assert len(pack.trials) <= lanes
        assert len({trial.configuration.pack_key for trial in pack.trials}) == 1


@QUICK
@given(studies(), st.integers(1, 40), st.integers(1, 40))
def test_digests_know_nothing_of_packing_and_words(study: Study, few: int, many: int) -> None:
    one, other = (make_plan(study, "any", "cpu", "data", lanes=lanes) for lanes in (few, many))
    assert one.digests == other.digests
    assert len(one.digests) == len(study.arms) * len(study.factors["peak_lr"]) * study.seeds
    reworded = changed(study, question="Else?", title="B", departures=("x",))
    assert make_plan(reworded, "any", "cpu", "data").digests == one.digests
    for other in (
        make_plan(study, "any", "cuda", "data"),
        make_plan(study, "any", "cpu", "other"),
        make_plan(study, "any", "cpu", "data", engine_version=99),
        make_plan(changed(study, version=study.version + 1), "any", "cpu", "data"),
    ):
        assert not other.digests & one.digests, "trials that may differ in their numbers share no digest"


@QUICK
@given(studies(), st.integers(1, 12), st.randoms(use_true_random=False))
def test_what_is_left_and_what_is_done_make_the_whole(study: Study, lanes: int, draw: random.Random) -> None:
    plan = make_plan(study, "any", "cpu", "data", lanes=lanes)
    done = {digest for digest in sorted(plan.digests) if draw.random() < 0.5}
    remaining = [trial.digest for pack in plan.without(done) for trial in pack.trials]
    assert len(remaining) == len(set(remaining))
    assert set(remaining) | done == plan.digests
    assert not set(remaining) & done


@QUICK
@given(studies(), st.integers(1, 12), st.randoms(use_true_random=False))
def test_a_queue_trains_every_trial_once_whatever_happens(study: Study, lanes: int, draw: random.Random) -> None:
    """Packs are done, given up, or found too large, in any order and several at a time."""
    plan = make_plan(study, "any", "cpu", "data", lanes=lanes)
    done: list[str] = []
    queue = PackQueue(plan, lambda pack: pack, lambda p, _: p, lambda: None, lambda: set(done))  # type: ignore[arg-type,return-value]
    running: list[str] = []
    while not queue.exhausted:
        job = queue.next()
        if job is not None:
            running.append(job[0])
        if running and (job is None or draw.random() < 0.5):
            key = running.pop(draw.randrange(len(running)))
            fate = draw.choice(["done", "done", "given up", "too large"])
            if fate == "too large" and queue.halve(key):
                continue
            if fate == "done":
                done += [trial.digest for trial in queue.packs[key].trials]
            queue.settled(key, failed=fate != "done")
    assert len(done) == len(set(done)), "trained twice"
    assert set(done) | queue.given_up == plan.digests
    assert not set(done) & queue.given_up


@settings(max_examples=15, deadline=None, derandomize=SAME)
@given(studies(), st.randoms(use_true_random=False))
def test_a_ledger_counts_each_trial_once(study: Study, draw: random.Random) -> None:
    """Packs written again, in other cuts, and files damaged: what is counted is there, once, and what is damaged is not."""
    plan = make_plan(study, "any", "cpu", "data", lanes=3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("folklore.harness.plan.store.store.SCHEMES", ("memory",))
        store = Store(f"memory://properties-{uuid.uuid4().hex}")
    ledger = Ledger(store, study.name)
    intact: set[str] = set()
    for pack in draw.sample(plan.packs, draw.randint(1, len(plan.packs))):
        halves = [pack, make_pack(pack.trials[: max(1, len(pack.trials) // 2)])]
        for part in draw.sample(halves, draw.randint(1, 2)):
            before = set(store.names(f"ledger/{study.name}", ".parquet"))
            ledger.write(part.key, rows(study, part.trials, lambda _: result(draw.random()), pack=part.key, scale="any"))
            (name,) = set(store.names(f"ledger/{study.name}", ".parquet")) - before or {""}
            if name and draw.random() < 0.3:
                content = bytearray(store.read(name))
                # A share of it, for its length depends on the clock and on the machine, which no draw may do.
                content[int(draw.random() * len(content))] ^= 1 << draw.randrange(8)
                store.write(name, bytes(content))
            else:
                intact |= {trial.digest for trial in part.trials}
    trials = ledger.trials()
    assert sorted(trials["digest"]) == sorted(intact)
    assert ledger.digests() == intact
