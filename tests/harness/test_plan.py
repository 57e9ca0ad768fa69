from harness.plan import make_plan, points
from harness.spec import Study


def test_every_trial_once(study: Study) -> None:
    plan = make_plan(study, "laptop", "cpu", "data", lanes=8)
    assert len(plan.trials) == 2 * 5 * 5
    assert len(plan.digests) == 50
    assert len(list(points(study, "laptop"))) == 10
    packed = [trial.digest for pack in plan.packs for trial in pack.trials]
    assert sorted(packed) == sorted(plan.digests)
    assert max(len(pack.trials) for pack in plan.packs) <= 8


def test_digests_depend_on_what_decides_the_numbers(study: Study) -> None:
    base = make_plan(study, "laptop", "cpu", "data", lanes=8)
    assert make_plan(study, "laptop", "cpu", "data", lanes=3).digests == base.digests, "not on packing"
    reworded = Study.model_validate({**study.model_dump(), "question": "Else?", "title": "B", "departures": ("x",)})
    assert make_plan(reworded, "laptop", "cpu", "data", lanes=8).digests == base.digests, "not on words"
    newer = Study.model_validate({**study.model_dump(), "version": 2})
    for other in (
        make_plan(study, "laptop", "cuda", "data", lanes=8),
        make_plan(study, "laptop", "cpu", "other", lanes=8),
        make_plan(newer, "laptop", "cpu", "data", lanes=8),
    ):
        assert not other.digests & base.digests


def test_more_seeds_keep_the_trials_there_are(study: Study) -> None:
    base = make_plan(study, "laptop", "cpu", "data", lanes=8)
    more = make_plan(Study.model_validate({**study.model_dump(), "seeds": 7}), "laptop", "cpu", "data", lanes=8)
    assert base.digests < more.digests


def test_what_is_done_is_not_planned_again(study: Study) -> None:
    plan = make_plan(study, "laptop", "cpu", "data", lanes=8)
    first = plan.packs[0]
    assert plan.without(set()) == plan.packs
    assert plan.without(plan.digests) == ()
    left = plan.without({trial.digest for trial in first.trials})
    assert left == plan.packs[1:]
    part = plan.without({first.trials[0].digest})
    assert part[0].trials == first.trials[1:]
    assert part[0].key != first.key
    assert part[1:] == plan.packs[1:]


def test_lanes_of_a_pack_agree_in_shape(study: Study) -> None:
    dump = study.model_dump()
    dump["arms"]["half"]["settings"]["optimizer"] = "sgd"
    plan = make_plan(Study.model_validate(dump), "laptop", "cpu", "data", lanes=100)
    assert len(plan.packs) == 2
    for pack in plan.packs:
        assert len({trial.configuration.pack_key for trial in pack.trials}) == 1


def test_a_hundred_thousand_trials_plan_quickly_enough_to_wait_for(study: Study) -> None:
    """No clock here: that configurations are resolved once a point and not once a seed is what makes it quick."""
    plan = make_plan(Study.model_validate({**study.model_dump(), "seeds": 1000}), "laptop", "cpu", "data", lanes=64)
    assert len({id(trial.configuration) for trial in plan.trials}) == 10
    assert len(plan.trials) == 10_000
