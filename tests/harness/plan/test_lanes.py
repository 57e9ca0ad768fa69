"""LanesByShape: given, measured or nominal, and remembered."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from folklore.harness.declare import Configuration, Study
from folklore.harness.launch.lanes_job import lanes_job
from folklore.harness.launch.pack_queue import InTurn, MeasuredFirst
from folklore.harness.plan.lanes import Choice, Packing, Shape, remember_timings, shapes
from folklore.harness.plan.plan import Plan, make_plan
from folklore.harness.plan.store.comparisons import comparisons, comparisons_file, refusals, refuse
from folklore.harness.plan.store.remembered import remember
from folklore.harness.plan.store.store import Store
from folklore.harness.train import programs
from folklore.harness.train.agreement import StepCheck
from folklore.harness.train.machine.description import Device
from folklore.harness.train.programs import EAGER
from folklore.harness.train.throughput import Timing
from folklore.harness.train.workloads import data, workload_of
from tests.harness.helpers import changed
from tests.harness.train.plain_steps import plant

DEVICE = Device("cpu", "a <machine>/x", 2, 8 * 2**30)
FACTS = data.DataFacts("data", 17)


def packing(folder: Path, **wishes: object) -> Packing:
    return Packing(Store(str(folder)), DEVICE, lambda workload: workload_of(workload).model(FACTS), **wishes)  # type: ignore[arg-type]


@pytest.fixture
def plan(study: Study) -> Plan:
    return make_plan(changed(study, training={"steps": 400, "batch_size": 4}), "laptop", "cpu", "data")


def shapes_of(plan: Plan) -> dict:
    return shapes(plan.trials, {"python-docs": "python-docs"})


def measured(packing: Packing, key: str, shape: Shape) -> None:
    work = lanes_job(packing, key, shape).open()
    while not work.advance(0.0).done:
        pass


def test_what_shares_a_shape(plan: Plan) -> None:
    """Lengths and what is measured do not matter, per-lane settings neither."""
    ((key, shape),) = shapes_of(plan).items()
    assert (shape.trials, shape.steps, shape.lane_steps) == (50, 400, 20_000)
    fields = plan.trials[0].configuration.model_dump()

    def other_in(part: str, **values: object) -> Configuration:
        return Configuration.model_validate({**fields, part: {**fields[part], **values}})

    for same in (other_in("training", steps=7), other_in("training", peak_lr=1.0), other_in("measurement", probes=9)):
        assert same.shape_key == key
    for other in (other_in("workload", width=16), other_in("training", batch_size=2), other_in("training", optimizer="sgd")):
        assert other.shape_key != key


def test_a_wish_goes_first(plan: Plan, tmp_path: Path) -> None:
    chosen = packing(tmp_path, given=7, program="compiled")
    assert set(chosen.choices(shapes_of(plan)).values()) == {Choice(7, "compiled", "given")}
    assert chosen.worth_measuring(shapes_of(plan)) == {}


def test_without_measurement_the_size_decides(plan: Plan, tmp_path: Path, study: Study) -> None:
    wide = changed(study, workload={"width": 256, "depth": 4, "heads": 4, "context": 128})
    lanes = []
    for variant in (plan, make_plan(wide, "laptop", "cpu", "data")):
        (shape,) = shapes_of(variant).values()
        lanes.append(packing(tmp_path).nominal(shape.configuration))
    assert lanes == [128, 2]
    (choice,) = packing(tmp_path).choices(shapes_of(plan)).values()
    assert choice.source == "nominal"
    assert choice.lanes == 50 // 6, "a third of a worker's share: no pack keeps the others waiting"


def test_a_pack_takes_what_its_shape_was_measured_to_take(plan: Plan, tmp_path: Path) -> None:
    (key,) = shapes_of(plan)
    nominal = packing(tmp_path)
    pack = plan.packs[0]
    steps = len(pack.trials) * pack.trials[0].configuration.training.steps
    guess = nominal.pack_seconds(pack)
    timings = [Timing(lanes, "eager", seconds) for lanes, seconds in ((4, 4.0), (8, 16.0))]
    remember_timings(nominal.store, nominal.device, key, timings)
    assert nominal.pack_seconds(pack) == guess, "read once"
    assert packing(tmp_path).pack_seconds(pack) == steps * 1.0 != guess


def test_what_was_measured_is_remembered(plan: Plan, tmp_path: Path) -> None:
    """On this kind of device; the job travels, measures for real and writes what it found."""
    wanted = shapes_of(plan)
    ((key, shape),) = wanted.items()
    measured(packing(tmp_path), key, shape)
    (choice,) = packing(tmp_path).choices(wanted).values()
    assert choice.source == "measured"
    assert choice.program == EAGER.name
    assert packing(tmp_path).worth_measuring(wanted) == {}
    files = [path.relative_to(tmp_path).parts for path in tmp_path.rglob("*.json")]
    assert [parts[:2] for parts in files] == [("widths", "a-machine-x")]
    assert packing(tmp_path, program="compiled").choices(wanted)[key].source == "nominal", "nothing is known of compiled packs"


@pytest.mark.parametrize("wish", [None, "compiled"])
def test_a_program_that_differs_is_not_chosen(
    wish: str | None, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither if it was measured for its speed nor if it was wished for; and its time counts for nothing."""
    plant(monkeypatch)
    monkeypatch.setattr("folklore.harness.launch.lanes_job.SECONDS_WORTH_COMPILING", 0.0)
    ((key, shape),) = shapes_of(plan).items()
    measured(packing(tmp_path, program=wish), key, shape)
    (why,) = refusals(Store(str(tmp_path)), key).values()
    assert why.startswith("compiled differs from the eager step")
    assert {timing.program for timing in packing(tmp_path).remembered(key)} == {"eager"}
    assert packing(tmp_path).choices({key: shape})[key].program == "eager"
    # Not even measured again: a refused program is not compiled.
    monkeypatch.setattr(programs, "compiled", lambda step: pytest.fail("compiled again"))
    measured(packing(tmp_path, program=wish), key, shape)


def test_what_was_compared_while_lanes_were_measured_is_remembered(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of lanes that are held at first, which are measured at a step that moves them."""
    monkeypatch.setattr(programs, "compiled", lambda step: step)
    monkeypatch.setattr(programs, "missing_compiler", lambda device: "")
    compared, whole = [], StepCheck.__call__
    monkeypatch.setattr(StepCheck, "__call__", lambda check, *steps: compared.append(1) or whole(check, *steps))
    ((key, shape),) = shapes_of(plan).items()
    held = shape.configuration.training.model_copy(update={"ramp": "held", "warmup_fraction": 0.5})
    shape = replace(shape, configuration=shape.configuration.model_copy(update={"training": held}))
    counts = []
    for _ in range(2):
        measured(packing(tmp_path, program="compiled"), key, shape)
        counts.append({timing.lanes for timing in packing(tmp_path).remembered(key) if timing.program == "compiled"})
    agreed = comparisons(Store(str(tmp_path)), key).agreed
    assert {json.loads(comparison)["sizes"]["lanes"] for comparison in agreed} == counts[0] | counts[1]
    assert len(compared) == len(agreed)


def test_what_was_measured_of_a_program_refused_since_counts_for_nothing(plan: Plan, tmp_path: Path) -> None:
    ((key, shape),) = shapes_of(plan).items()
    store = Store(str(tmp_path))
    remember_timings(store, packing(tmp_path).device, key, [Timing(4, "eager", 4.0), Timing(8, "compiled", 4.0)])
    assert packing(tmp_path).choices({key: shape})[key].program == "compiled"
    refuse(store, key, "compiled", "it differs")
    refuse(store, key, "captured", "it differs, too")
    assert refusals(store, key) == {"compiled": "it differs", "captured": "it differs, too"}
    assert [timing.program for timing in packing(tmp_path).remembered(key)] == ["eager"]
    assert packing(tmp_path).choices({key: shape})[key].program == "eager"


def test_refusals_of_another_engine_are_forgotten(plan: Plan, tmp_path: Path) -> None:
    ((key, _),) = shapes_of(plan).items()
    store = Store(str(tmp_path))
    remember(store, comparisons_file(key), "another engine", {"refused": {"captured": "a false alarm"}, "agreed": []})
    assert refusals(store, key) == {}
    refuse(store, key, "compiled", "it differs")
    assert refusals(store, key) == {"compiled": "it differs"}


def test_only_what_trains_long_is_measured(plan: Plan, tmp_path: Path) -> None:
    chosen = packing(tmp_path)
    assert chosen.worth_measuring(shapes_of(plan)) == {}
    longer = {key: shape.__class__(**{**vars(shape), "lane_steps": 10**6}) for key, shape in shapes_of(plan).items()}
    assert list(chosen.worth_measuring(longer)) == list(longer)


class Jobs:
    """A queue of named jobs; `late` are known once the others are settled."""

    def __init__(self, *names: str, late: tuple[str, ...] = ()) -> None:
        self.left, self.late, self.running = list(names), list(late), set[str]()

    @property
    def exhausted(self) -> bool:
        return not self.left and not self.late

    def next(self) -> tuple[str, object] | None:
        if not self.left and not self.running:
            self.left, self.late = self.late, []
        if not self.left:
            return None
        self.running.add(self.left[0])
        return self.left[0], self.left.pop(0)

    def settled(self, pack: str, failed: bool = False) -> None:
        self.running.discard(pack)


def test_measurements_come_first_whatever_becomes_of_them() -> None:
    made = []
    queue = MeasuredFirst({"w1": "a", "w2": "b"}, lambda: made.append(1) or Jobs("p"))  # type: ignore[arg-type,dict-item,func-returns-value,return-value]
    assert [queue.next(), queue.next(), queue.next()] == [("w1", "a"), ("w2", "b"), None]
    queue.settled("w1")
    assert queue.next() is None
    assert not made
    queue.settled("w2", failed=True)
    assert queue.next() == ("p", "p")
    queue.settled("p")
    assert queue.exhausted


def test_the_next_study_fills_what_a_search_leaves_idle() -> None:
    search, other = Jobs("s1", late=("s2",)), Jobs("o1", "o2")
    queue = InTurn([search, other])  # type: ignore[list-item]
    assert [queue.next(), queue.next()] == [("s1", "s1"), ("o1", "o1")]
    queue.settled("s1")
    assert queue.next() == ("s2", "s2"), "the first study goes on as soon as it can"
    assert queue.next() == ("o2", "o2")
    for pack in ("s2", "o1", "o2"):
        queue.settled(pack)
    assert queue.next() is None
    assert queue.exhausted
