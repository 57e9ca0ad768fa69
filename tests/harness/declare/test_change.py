"""A changed study says what was changed and why; a declaration knows nothing of seeds that a run adds."""

import pytest
from pydantic import ValidationError

from folklore.harness.declare import Change, Study
from folklore.harness.errors import UserError


def test_a_change_is_recorded_and_the_study_begins_its_departures_with_it(study: Study) -> None:
    fewer = Change(why=("To see what fewer steps do.",), settings=("steps = 7",))
    variation = study.changed(fewer, name="fewer", training={**study.training.model_dump(), "steps": 7})
    assert (variation.variation_of, variation.training.steps, variation.changes) == (study.name, 7, (fewer,))
    assert variation.departures == ("To see what fewer steps do.", *study.departures)
    again = variation.changed(Change(why=("Elsewhere.",), workload="mine"), name="elsewhere")
    assert (again.variation_of, [change.workload for change in again.changes]) == (study.name, ["", "mine"])
    assert Study.model_validate(again.model_dump(mode="json")) == again


def test_what_nobody_changed_says_nothing_of_changes(study: Study) -> None:
    assert "changes" not in study.model_dump()
    assert "changes" not in study.canonical_json()


def test_a_record_does_not_enter_the_hash(study: Study) -> None:
    variation = study.changed(Change(settings=("steps = 7",)))
    assert variation.model_copy(update={"changes": ()}).hash == variation.hash


def test_a_changed_study_keeps_all_rules(study: Study) -> None:
    with pytest.raises(UserError, match=r"a variation of study 'toy': .*a judged scale needs at least 5"):
        study.changed(Change(settings=("seeds = 2",)), seeds=2)


def test_added_seeds_are_of_one_scale_and_say_why(study: Study) -> None:
    more = study.with_seeds("laptop", 8, "no claim is decided by 5 seeds").with_seeds("laptop", 12, "nor by 8")
    assert (more.seeds_at("laptop"), more.declared_seeds_at("laptop")) == (12, 5)
    assert more.seeds_at("smoke") == study.seeds_at("smoke")
    assert [change.why for change in more.changes] == [("no claim is decided by 5 seeds",), ("nor by 8",)]
    assert (more.variation_of, more.departures) == (None, study.departures)
    assert more.model_dump() == study.model_dump()


def test_nobody_declares_added_seeds(study: Study) -> None:
    """They enter neither hash nor declaration."""
    with pytest.raises(ValidationError, match="holds seeds, which only a run adds"):
        Study.model_validate({**study.model_dump(), "changes": [{"seeds": {"laptop": 12}}]})
