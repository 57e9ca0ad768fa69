import gc
from pathlib import Path

import pytest

from folklore.harness.declare import Study
from folklore.harness.options import Options
from folklore.harness.plan.plan import make_plan
from folklore.harness.plan.prepare import prepare
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from tests.harness.helpers import changed


def test_an_arm_has_further_seeds_of_its_own(study: Study) -> None:
    base = make_plan(study, "laptop", "cpu", "data", lanes=8)
    more = make_plan(changed(study, {"scales.laptop.arm_seeds": {"half": 8}}), "laptop", "cpu", "data", lanes=8)
    assert base.digests < more.digests
    added = [trial for trial in more.trials if trial.digest not in base.digests]
    assert {trial.arm for trial in added} == {"half"}
    assert sorted({trial.seed for trial in added}) == [5, 6, 7]
    seven = changed(study, seeds=7)
    assert more.with_seeds(seven).digests == make_plan(seven, "laptop", "cpu", "data").digests


def test_what_is_done_is_not_planned_again(study: Study) -> None:
    plan = make_plan(study, "laptop", "cpu", "data", lanes=8)
    first = plan.packs[0]
    assert plan.without(set()) == plan.packs
    assert plan.without(plan.digests) == ()
    remaining = plan.without({trial.digest for trial in first.trials})
    assert remaining == plan.packs[1:]
    part = plan.without({first.trials[0].digest})
    assert part[0].trials == first.trials[1:]
    assert part[0].key != first.key
    assert part[1:] == plan.packs[1:]


def test_added_seeds_extend_a_plan_to_what_a_new_one_would_be(study: Study) -> None:
    first = make_plan(study, "laptop", "cpu", "data", lanes=8)
    more = study.with_seeds("laptop", 8, "no claim is decided")
    extended, again = first.with_seeds(more), make_plan(more, "laptop", "cpu", "data", lanes=8)
    assert (extended.trials, extended.packs) == (again.trials, again.packs)
    assert all(one is other for one, other in zip(extended.trials, first.trials, strict=False)), "not expanded again"
    assert extended.with_seeds(study).trials == first.trials


def of_many_points(study: Study, count: int) -> Study:
    """The toy study with this many peak LRs at its laptop scale, without judgements."""
    lrs = tuple(2.0 ** (-20 * step / count) for step in range(count))
    return changed(study, {"scales.laptop.factors": {"peak_lr": lrs}}, judgements=(), seeds=1)


def test_a_point_is_resolved_once_however_often_it_is_needed(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """200,000 points took 30 s: each was resolved twice, with a workload and a measurement of its own."""
    many, resolved = of_many_points(study, 200), []

    def counted(self: Study, scale: str, arm: str, point: dict[str, object]) -> object:
        resolved.append((arm, *point.values()))
        return configuration(self, scale, arm, point)

    with monkeypatch.context() as patch:
        configuration = Study.configuration
        patch.setattr(Study, "configuration", counted)
        plan = prepare(many, "laptop", Options(str(tmp_path)), Ledger(Store(str(tmp_path)), many.name), only_plan=True).plan
    assert len(plan.trials) == 400
    assert len(resolved) == len(set(resolved)) == 400
    configurations = [trial.configuration for trial in plan.trials]
    for part in ("workload", "measurement", "pack_key"):
        assert len({id(getattr(configuration, part)) for configuration in configurations}) == 1, f"400 copies of one {part}"


def test_the_garbage_collector_waits_for_a_plan(study: Study) -> None:
    """It took a third of the time: a plan is a million objects, and no cycle among them."""
    many, collected = of_many_points(study, 2000), []

    def heard(phase: str, about: dict[str, int]) -> None:
        collected.append(phase)

    gc.callbacks.append(heard)
    try:
        plan = make_plan(many, "laptop", "cpu", "data", lanes=8)
        assert len(plan.packs) == 500
        assert collected.count("start") <= 4, "one after each step, not one each 700 objects"
    finally:
        gc.callbacks.remove(heard)
    assert gc.isenabled()
