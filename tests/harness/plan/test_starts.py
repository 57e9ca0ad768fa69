"""Trials that start from others: whose checkpoint, in which order, and which must be trained again."""

from typing import Any

import pytest

from folklore.harness.declare import Study
from folklore.harness.declare.trial import Start, Trial
from folklore.harness.errors import UserError
from folklore.harness.plan.plan import Plan, make_plan
from folklore.harness.plan.recipe import study_recipe
from folklore.harness.plan.starts import kept_steps, nothing_left_of, require_same_parameters, starts_of
from folklore.harness.train.workloads import workload_of
from folklore.harness.train.workloads.data import DataFacts

FINE = {"label": "tuned", "settings": {"starts_from": "first", "start_fraction": 0.5, "steps": 12, "data_order": 1}}
FINER = {"label": "tuned again", "settings": {"starts_from": "fine", "steps": 6, "data_order": 2}}


def study_of(**fields: Any) -> Study:
    """Digits, two LRs, two seeds: a first training, one from its middle, and one from the end of that."""
    content: dict[str, Any] = {
        "name": "continued",
        "version": 1,
        "title": "A continuation",
        "question": "Does it go on?",
        "workload": {"model": "mlp", "dataset": "digits", "width": 8, "depth": 1},
        "training": {"optimizer": "sgd", "steps": 30, "batch_size": 8},
        "measurement": {"probes": 2, "evaluation_examples": 16, "final_examples": 16},
        "arms": {"finer": FINER, "fine": FINE, "first": {"label": "first"}},
        "factors": {"peak_lr": (0.1, 0.2)},
        "seeds": 2,
        "scales": {"smoke": {"description": "plumbing", "judged": False}},
    }
    return Study.model_validate({**content, **fields})


def plan_of(study: Study, lanes: int = 8) -> Plan:
    return make_plan(study, "smoke", "cpu", "data", lanes=lanes)


def of_arm(plan: Plan, arm: str) -> list[Trial]:
    return [trial for trial in plan.trials if trial.arm == arm]


def test_a_trial_starts_from_that_of_its_seed_and_factor_values() -> None:
    plan = plan_of(study_of())
    first = {(trial.seed, trial.point["peak_lr"]): trial for trial in of_arm(plan, "first")}
    fine = {(trial.seed, trial.point["peak_lr"]): trial for trial in of_arm(plan, "fine")}
    assert len(first) == len(fine) == 4
    for place, trial in fine.items():
        assert trial.start == Start(first[place].digest, 15)
        assert trial.generation == 1
    for trial in of_arm(plan, "finer"):
        assert trial.start == Start(fine[trial.seed, trial.point["peak_lr"]].digest, 12)
        assert trial.generation == 2
    assert kept_steps(plan.trials) == {
        **{trial.digest: (15,) for trial in first.values()},
        **{trial.digest: (12,) for trial in fine.values()},
    }


def test_all_start_from_the_only_value_that_a_parent_has() -> None:
    plan = plan_of(study_of(arms={"first": {"label": "first", "factors": {"peak_lr": (0.3,)}}, "fine": FINE}))
    assert len(of_arm(plan, "fine")) == 4
    assert [start.digest for start in starts_of(of_arm(plan, "fine"))] == [trial.digest for trial in of_arm(plan, "first")]


def test_a_digest_includes_what_a_trial_starts_from_and_no_name() -> None:
    """A change of the first arm moves the digests of all that come after it, a name moves none, and arms that start from none
    keep theirs."""
    plan = plan_of(study_of())
    digests = {arm: [trial.digest for trial in of_arm(plan, arm)] for arm in ("first", "fine", "finer")}
    other = plan_of(study_of(arms={"finer": FINER, "fine": FINE, "first": {"label": "first", "settings": {"momentum": 0.5}}}))
    for arm in digests:
        assert not set(digests[arm]) & {trial.digest for trial in of_arm(other, arm)}
    named = plan_of(
        study_of(
            arms={
                "finer": FINER,
                "fine": {**FINE, "settings": {**FINE["settings"], "starts_from": "one"}},
                "one": {"label": "first"},
            }
        )
    )
    assert named.digests == plan.digests
    alone = plan_of(study_of(arms={"first": {"label": "first"}}))
    assert [trial.digest for trial in of_arm(alone, "first")] == digests["first"]
    for field, value in (("start_fraction", 0.25), ("start_state", "optimizer"), ("data_order", 7)):
        settings = {**FINE["settings"], field: value}
        moved = plan_of(study_of(arms={"fine": {"label": "tuned", "settings": settings}, "first": {"label": "first"}}))
        assert not set(digests["fine"]) & {trial.digest for trial in of_arm(moved, "fine")}


def test_no_pack_holds_a_trial_and_one_that_starts_from_it() -> None:
    """Though they are of one shape and length."""
    alike = {"label": "on", "settings": {"starts_from": "first"}}
    plan = plan_of(study_of(arms={"on": alike, "first": {"label": "first"}}), lanes=100)
    assert [len({trial.arm for trial in pack.trials}) for pack in plan.packs] == [1, 1]
    assert len({trial.configuration.pack_key for trial in plan.trials}) == 1


def test_what_is_done_is_trained_again_where_a_checkpoint_is_missing_that_is_needed() -> None:
    plan = plan_of(study_of(seeds=1, factors={"peak_lr": (0.1,)}))
    (first,), (fine,), (finer,) = (of_arm(plan, arm) for arm in ("first", "fine", "finer"))
    whole = set(plan.digests)
    states = {Start(first.digest, 15), Start(fine.digest, 12)}
    for done, there, expected in (
        (whole, set(), whole),
        (whole - {finer.digest}, states, whole - {finer.digest}),
        (whole - {finer.digest}, states - {Start(fine.digest, 12)}, {first.digest}),
        (whole - {finer.digest}, set(), set()),
        (whole - {fine.digest, finer.digest}, {Start(first.digest, 14)}, set()),
        (set(), states, set()),
    ):
        assert nothing_left_of(plan.trials, done, lambda there=there: there) == expected


def test_the_store_is_not_asked_for_checkpoints_that_nothing_starts_from() -> None:
    plan = plan_of(study_of(arms={"first": {"label": "first"}}))
    assert nothing_left_of(plan.trials, set(), lambda: pytest.fail("asked")) == set()


REFUSED = {
    "no arm": ({"a": {"label": "a", "settings": {"starts_from": "frist"}}, "first": {"label": "b"}}, "did you mean 'first'"),
    "a circle": (
        {"a": {"label": "a", "settings": {"starts_from": "b"}}, "b": {"label": "b", "settings": {"starts_from": "a"}}},
        "leads in a circle at scale 'smoke': 'a' from 'b' from 'a'",
    ),
    "itself": ({"a": {"label": "a", "settings": {"starts_from": "a"}}}, "'a' from 'a'"),
    "other values": (
        {"a": {"label": "a", "settings": {"starts_from": "b"}, "factors": {"peak_lr": (0.3,)}}, "b": {"label": "b"}},
        "has peak_lr = 0.3, and arm 'b', which it starts from at scale 'smoke', has 2 other values",
    ),
    "another scale": (
        {"a": {"label": "a", "settings": {"starts_from": "b"}}, "b": {"label": "b", "scales": ("laptop",)}},
        "no arm for 'a' to start from at scale 'smoke' named 'b'",
    ),
    "another optimizer": (
        {
            "a": {"label": "a", "settings": {"starts_from": "b", "start_state": "optimizer", "optimizer": "adam"}},
            "b": {"label": "b"},
        },
        "optimizer is adam after sgd: choose the same, or start_state = weights",
    ),
    "no common order": (
        {"a": {"label": "a", "settings": {"starts_from": "b", "batch_size": 4}}, "b": {"label": "b"}},
        "batch_size does not allow it: choose another data_order",
    ),
    "no start": (
        {"a": {"label": "a", "settings": {"start_fraction": 0.5}}},
        "start_fraction = 0.5: is of training.st",
    ),
    "a held ramp": (
        {
            "a": {"label": "a", "settings": {"starts_from": "b", "start_state": "optimizer", "ramp": "held"}},
            "b": {"label": "b"},
        },
        "which count updates from this trial's start",
    ),
}


@pytest.mark.parametrize(("arms", "why"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_start_is_refused_in_one_line(arms: dict[str, Any], why: str) -> None:
    scales = {name: {"description": "plumbing", "judged": False} for name in ("smoke", "laptop")}
    with pytest.raises(ValueError, match="(?s)" + why.replace("(", r"\(")):
        study_of(arms=arms, scales=scales if "another" in why or "scale 'smoke' named" in why else {"smoke": scales["smoke"]})


def test_more_seeds_than_a_parent_has_and_a_searched_one_are_refused() -> None:
    arms = {"fine": FINE, "first": {"label": "first"}}
    with pytest.raises(ValueError, match="arm 'fine' has 5 seeds at scale 'smoke', and arm 'first', which it starts from, 2"):
        study_of(arms=arms, scales={"smoke": {"description": "plumbing", "judged": False, "arm_seeds": {"fine": 5}}})
    search = {"low": 0.1, "high": 1.0, "first_seed": 100}
    with pytest.raises(ValueError, match="the peak LR of 'first' is searched; give it values of its own"):
        study_of(arms={**arms, "first": {"label": "first", "searched": True}}, search=search)


def test_another_network_is_refused_before_anything_is_trained() -> None:
    wide = {"label": "wide", "settings": {**FINE["settings"], "width": 16}}
    study = study_of(arms={"fine": wide, "first": {"label": "first"}})
    facts = DataFacts("data", 10, (8, 8))
    with pytest.raises(UserError, match=r"arm 'fine' starts from arm 'first', whose network has other parameters \(.*weight\)"):
        require_same_parameters(plan_of(study).settings, lambda workload: workload_of(workload).model(facts))
    require_same_parameters(plan_of(study_of()).settings, lambda workload: workload_of(workload).model(facts))


def test_a_recipe_says_what_a_trial_starts_from() -> None:
    training = study_recipe(study_of(), "smoke")["training"]
    assert "data order 1, from the weights of arm first at 50% of the steps" in training
    assert "data order 2, from the weights of arm fine at the end" in training
