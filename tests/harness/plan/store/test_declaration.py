"""Declarations before the first trial: written once, and every later change of what decides shows."""

import json
from dataclasses import replace

import pytest

from folklore.harness.declare import AtLeast, Study
from folklore.harness.errors import UserError
from folklore.harness.judge.trial_sets import stored_sets
from folklore.harness.plan.store.declaration import (
    changed_since,
    changes,
    declarations,
    declare,
    earlier_judgements,
    looks_of,
    stored_declarations,
)
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from tests.harness.helpers import bowl, changed, result, stored


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(str(tmp_path))


def _with_threshold(study: Study, value: float) -> Study:
    (judgement,) = study.judgements
    (criterion,) = judgement.criteria
    moved = judgement.model_copy(update={"criteria": (criterion.model_copy(update={"claimed": AtLeast(value=value)}),)})
    return study.model_copy(update={"judgements": (moved,)})


def test_it_is_written_once(study: Study, store: Store) -> None:
    first = declare(store, study, "laptop", trials_before=0)
    again = declare(store, study, "laptop", trials_before=40)
    assert again == first
    assert [declaration.trials_before for declaration in declarations(store, study, "laptop")] == [0]
    assert declarations(store, study, "smoke") == []


def test_a_threshold_that_moved_after_the_first_run_shows(study: Study, store: Store) -> None:
    declare(store, study, "laptop", trials_before=0)
    moved = _with_threshold(study, 0.01)
    declare(store, moved, "laptop", trials_before=50)
    history = declarations(store, moved, "laptop")
    assert [declaration.trials_before for declaration in history] == [0, 50]
    (change,) = changed_since(history, moved)
    assert change == (
        "judgements[warmup.improves_best].criteria[tuned loss, none over half].claimed.value: 0.0 before, 0.01 now"
    )
    assert changed_since(history, study) == []


def test_it_keeps_what_the_rungs_below_said(study: Study, store: Store) -> None:
    """On a rung of a ladder; elsewhere it is written as before."""
    said = [{"claim": "warmup.improves_best", "estimate": 0.1}]
    assert declare(store, study, "laptop", trials_before=0, predicted=said).predicted == said
    (declaration,) = declarations(store, study, "laptop")
    assert declaration.predicted == said
    assert b"predicted" not in replace(declaration, predicted=()).to_json()


def test_words_are_no_change(study: Study, store: Store) -> None:
    declare(store, study, "laptop", trials_before=0)
    reworded = study.model_copy(update={"title": "Another title", "departures": ("one text",)})
    declare(store, reworded, "laptop", trials_before=7)
    assert len(declarations(store, reworded, "laptop")) == 1
    assert changed_since(declarations(store, reworded, "laptop"), reworded) == []


def test_judgements_of_earlier_versions_and_as_first_declared(study: Study, store: Store) -> None:
    """The first declaration of each version; none of a version that is still to come."""
    second = _with_threshold(study, 0.02).model_copy(update={"version": 2})
    moved, third = _with_threshold(second, 0.03), study.model_copy(update={"version": 3})
    for version in (study, second, moved, third):
        declare(store, version, "laptop", trials_before=0)
    judgements = earlier_judgements(stored_declarations(store, study.name), version=2)
    assert judgements == {"as version 1 asked": study.judgements, "as first declared": second.judgements}


def test_a_metric_that_left_takes_no_other_judgement_with_it(study: Study, store: Store) -> None:
    """Otherwise verdicts would be called new although nobody changed anything."""
    (judgement,) = study.judgements
    declaration = declare(store, study, "laptop", trials_before=0)
    orphan = judgement.model_dump(mode="json") | {"claim": "a.b"}
    orphan["criteria"][0]["observe"] = {"kind": "a_metric_that_left", "arm": "none"}
    both = {**declaration.declared, "judgements": [orphan, *declaration.declared["judgements"]]}
    assert earlier_judgements([replace(declaration, declared=both)], version=2) == {"as version 1 asked": (judgement,)}
    alone = {**declaration.declared, "judgements": [orphan]}
    assert earlier_judgements([replace(declaration, declared=alone)], version=2) == {}


def test_another_version_is_declared_for_itself(study: Study, store: Store) -> None:
    declare(store, study, "laptop", trials_before=0)
    second = study.model_copy(update={"version": 2})
    assert declarations(store, second, "laptop") == []


def test_looks_cannot_be_chosen_afterwards(study: Study, store: Store) -> None:
    declare(store, study, "laptop", trials_before=0)
    with pytest.raises(UserError, match=r"is judged once by its declaration in this store.*raise its version"):
        declare(store, study, "laptop", trials_before=50, looks=(5, 8, 12))


def test_looks_cannot_be_changed(study: Study, store: Store) -> None:
    declare(store, study, "laptop", trials_before=0, looks=(5, 8, 12))
    assert looks_of(declarations(store, study, "laptop"), study) == (5, 8, 12)
    assert declare(store, study, "laptop", trials_before=50, looks=(5, 8, 12)).looks == (5, 8, 12)
    with pytest.raises(UserError, match=r"is judged after 5, 8, 12 seeds"):
        declare(store, study, "laptop", trials_before=50, looks=(5, 8, 40))
    further = study.with_seeds("laptop", 8, "no claim is decided")
    assert declare(store, further, "laptop", trials_before=50).looks == (5, 8, 12)


def test_a_declaration_from_when_seeds_of_a_run_were_a_field_has_not_changed(study: Study, store: Store) -> None:
    declare(store, study, "laptop", trials_before=0)
    (name,) = store.names("declared/toy", ".json")
    old = json.loads(store.read(name))
    old["declared"]["scales"]["laptop"]["more_seeds"] = 0
    store.write(name, json.dumps(old).encode())
    (declaration,) = declarations(store, study, "laptop")
    assert changes(declaration.declared, study) == []
    assert Study.model_validate(declaration.declared) == study


def test_looks_cannot_be_dropped(study: Study, store: Store) -> None:
    """One with another threshold, or with as many seeds as were reached, is another one of trials looked at."""
    declare(store, study, "laptop", trials_before=0, looks=(5, 8, 12))
    other = _with_threshold(study, 0.01)
    with pytest.raises(UserError, match=r"is judged after 5, 8, 12 seeds"):
        declare(store, other, "laptop", trials_before=50)
    assert looks_of(declarations(store, other, "laptop"), other) == (5, 8, 12), "what is judged without a run keeps them, too"


def test_looks_of_a_new_version_begin_on_fresh_seeds(study: Study, store: Store) -> None:
    declare(store, study, "laptop", trials_before=0)
    second = study.model_copy(update={"version": 2})
    with pytest.raises(UserError, match=r"its seeds 0 to 11 meet those of version 1, 0 to 4: move first_seed to 5 or beyond"):
        declare(store, second, "laptop", trials_before=0, looks=(5, 8, 12))
    fresh = second.model_copy(update={"first_seed": 5})
    assert declare(store, fresh, "laptop", trials_before=0, looks=(5, 8, 12)).looks == (5, 8, 12)


def test_looks_can_be_chosen_anew_before_the_first_trial(study: Study, store: Store) -> None:
    declare(store, study, "laptop", trials_before=0, looks=(5, 8, 12))
    assert declare(store, study, "laptop", trials_before=0, looks=(5, 8, 20)).looks == (5, 8, 20)


def test_trials_without_a_declaration_count_as_seen(study: Study, store: Store) -> None:
    with pytest.raises(UserError, match=r"its trials were seen"):
        declare(store, study, "laptop", trials_before=3, looks=(5, 8))


def _named_label(study: Study, weight_decay: float) -> Study:
    """With an arm that has the name of an explaining field."""
    return changed(study, {"arms.label": {"label": "decayed", "settings": {"weight_decay": weight_decay}}})


def test_an_arm_that_is_called_as_a_field_is(study: Study, store: Store) -> None:
    first, moved = _named_label(study, 0.5), _named_label(study, 0.01)
    assert first.hash != moved.hash
    declare(store, first, "laptop", trials_before=0)
    (change,) = changed_since(declarations(store, moved, "laptop"), moved)
    assert change == "arms.label.settings.weight_decay: 0.5 before, 0.01 now"


def test_a_setting_of_none_is_a_setting(study: Study, store: Store) -> None:
    """An arm that does not clip is not one that clips as the study does."""
    clipped = changed(study, {"training.clip_norm": 1.0})
    free = changed(clipped, {"arms.half.settings.clip_norm": None})
    assert free.configuration("laptop", "half", {}).training.clip_norm is None
    assert free.hash != clipped.hash
    declare(store, clipped, "laptop", trials_before=0)
    assert changed_since(declarations(store, free, "laptop"), free) == [
        "arms.half.settings.clip_norm: nothing before, none now"
    ]


def test_an_arm_that_came_shows_without_its_words(study: Study, store: Store) -> None:
    declare(store, study, "laptop", trials_before=0)
    more = _named_label(study, 0.5)
    (change,) = changed_since(declarations(store, more, "laptop"), more)
    assert change == 'arms.label: nothing before, {"settings": {"weight_decay": 0.5}, "factors": {}} now'


def test_what_an_earlier_folklore_declared_is_compared_by_field(study: Study) -> None:
    """It lacks a field that came later, and holds one that this Folklore would not take."""
    old = study.model_dump(mode="json")
    del old["training"]["loss_scaling"]
    assert changes(old, study) == []
    old["arms"]["half"] |= {"label": "otherwise", "tuned": True}
    old["arms"]["half"]["settings"] |= {"note": 1}
    assert changes(old, study) == [
        "training.loss_scaling: nothing before, none now",
        "arms.half.settings.note: 1 before, nothing now",
        "arms.half.tuned: True before, nothing now",
    ]


def _altered(store: Store, old: str, new: str) -> None:
    (name,) = store.names("declared/toy", ".json")
    content = store.read(name).decode()
    assert old in content
    store.write(name, content.replace(old, new, 1).encode())


@pytest.fixture
def trained(study: Study, store: Store) -> Ledger:
    """All trials of the study, declared before them."""
    declare(store, study, "laptop", trials_before=0)
    return stored(study, store, lambda trial: result(bowl(trial, -7, 2.0)))


def test_verdicts_are_held_to_what_was_declared(study: Study, trained: Ledger) -> None:
    (records,) = stored_sets(study, trained)
    (verdict,) = records.verdicts()
    assert (records.declared_otherwise, verdict.declared_otherwise) == ("", False)


def test_a_threshold_moved_in_the_stored_declaration_shows(study: Study, store: Store, trained: Ledger) -> None:
    """And it is then judged by, as a study read from the store is."""
    _altered(store, '"value": 0.0', '"value": 0.01')
    (stored,) = declarations(store, study, "laptop")
    moved = Study.model_validate(stored.declared)
    for judged_by in (study, moved):
        (records,) = stored_sets(judged_by, trained)
        (verdict,) = records.verdicts()
        assert verdict.declared_otherwise
        assert "was altered after it was written" in verdict.cautions[0]
        assert verdict.row().declared_otherwise is True


def test_a_declaration_forged_whole_is_not_what_its_trials_ran_under(study: Study, store: Store, trained: Ledger) -> None:
    moved = _with_threshold(study, -5.0)
    for name in store.names("declared/toy", ".json"):
        store.remove(name)
    declare(store, moved, "laptop", trials_before=0)
    (records,) = stored_sets(moved, trained)
    assert records.declared_otherwise == (
        f"its trials ran under a declaration that is not stored here (hash {study.hash}), so what it said is not known"
    )


def test_a_threshold_moved_in_the_study_shows_and_more_seeds_do_not(study: Study, store: Store, trained: Ledger) -> None:
    moved = _with_threshold(study, -5.0)
    declare(store, moved, "laptop", trials_before=50)
    (records,) = stored_sets(moved, trained)
    assert "its trials ran under another declaration (judgements[warmup.improves_best]" in records.declared_otherwise
    assert "0.0 before, -5.0 now)" in records.declared_otherwise
    more = study.model_copy(update={"seeds": study.seeds + 1})
    declare(store, more, "laptop", trials_before=50)
    (records,) = stored_sets(more, trained)
    assert records.declared_otherwise == ""
