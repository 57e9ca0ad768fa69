"""A command's answer is declared once: which part of it scripts have, which agents have, and which only people see."""

from dataclasses import dataclass

from pydantic import Field

from folklore.harness.results import DESCRIBED, ForPeople, ForScripts, Result, fields_of


@dataclass(frozen=True)
class Part:
    __pydantic_config__ = DESCRIBED

    size: int
    """in bytes"""
    digest: ForScripts[str]


class Answer(Result):
    digest: ForScripts[str]
    spread_of: str = Field(alias="from")
    """where it is from"""
    note: ForScripts[str] = ""
    parts: tuple[Part, ...]
    lines: ForPeople[object] = None


ANSWER = Answer.model_validate({"digest": "a1", "from": "a pilot", "parts": (Part(3, "b2"),), "lines": object()})


def test_scripts_have_all_in_the_order_of_its_fields_but_what_is_left_out_or_for_people() -> None:
    assert list(fields_of(ANSWER).items()) == [("digest", "a1"), ("from", "a pilot"), ("parts", ANSWER.parts)]
    assert fields_of(ANSWER.parts[0]) == {"size": 3, "digest": "b2"}
    assert fields_of(Answer(**{**fields_of(ANSWER), "note": "x"}))["note"] == "x"


def test_agents_have_what_is_not_for_scripts_and_are_told_so_beforehand() -> None:
    """A schema that promises more than the answer holds, or hides some of it, is refused by strict clients."""
    answer = ANSWER.model_dump(mode="json", by_alias=True)
    assert answer == {"from": "a pilot", "parts": [{"size": 3}]}
    schema = Answer.model_json_schema()
    assert schema["properties"].keys() == set(schema["required"]) == answer.keys()
    assert schema["properties"]["from"]["description"] == "where it is from"
    assert schema["$defs"]["Part"]["properties"] == {"size": {"description": "in bytes", "title": "Size", "type": "integer"}}
