"""Results of commands, declared once: printed for people, dumped by --json, and given to agents, whose tools take their
schemas from them."""

from dataclasses import fields
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

Value = TypeVar("Value")
# Fields for --json that agents are spared, for whom every word is in the way of others.
ForScripts = Annotated[Value, SkipJsonSchema(), Field(exclude=True)]
# Fields for people alone; they have a default, for neither --json nor a tool has them.
ForPeople = Annotated[Value, SkipJsonSchema(), Field(exclude=True, repr=False)]


# For a dataclass or model: the text below a field describes it to agents.
DESCRIBED = ConfigDict(use_attribute_docstrings=True, defer_build=True)


class Result(BaseModel):
    """A field's default stands for what --json leaves out."""

    model_config = DESCRIBED | {"frozen": True}


def fields_of(value: Any) -> dict[str, Any]:
    """Names and values that --json has of a result or a dataclass, in the order of its fields."""
    if not isinstance(value, Result):
        return {field.name: getattr(value, field.name) for field in fields(value) if field.repr}
    declared = type(value).model_fields.items()
    return {
        field.alias or name: getattr(value, name)
        for name, field in declared
        if field.repr and (field.is_required() or name in value.model_fields_set)
    }
