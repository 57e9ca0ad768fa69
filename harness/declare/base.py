"""The base of all spec objects, and their canonical form."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Self, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, model_validator

from .characters import refused


@dataclass(frozen=True)
class Undeclared:
    """Marks a field that is no part of what is declared, and says why: `label: Annotated[str, WORDS]`."""

    why: str


# The most characters of a text in one line, as titles and labels are, and of any other text.
LONGEST_LABEL, LONGEST_TEXT = 200, 4_000
WORDS = Undeclared("it explains and decides nothing")


@dataclass(frozen=True)
class DeclaredAs:
    """Marks a field that had another name when studies were first published: their hashes go on with that."""

    name: str


@dataclass(frozen=True)
class Unit:
    """The unit of a field's numbers: `steps: Annotated[int, Unit("steps")]`."""

    name: str


@dataclass(frozen=True)
class Longest:
    """The most characters of a field's text. Pydantic's own bound would refuse texts before it can be said what is wrong."""

    characters: int


class Mark(Enum):
    """A mark of a field beside its type: `peak_lr: Annotated[float, Mark.PER_LANE]`."""

    PER_LANE = "may differ between the lanes of a pack: the engine holds it as a tensor or a table"
    COSTS_NOTHING = "changes nothing of what a step costs, though the lanes of a pack share it"


class Spec(BaseModel):
    """Frozen, and closed: a misspelled field is an error, never a silent default."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)
    # The fields of a part of a configuration with which trials were first published. This list never grows:
    # a later field enters a study's hash once it is not at its default.
    FIRST_FIELDS: ClassVar[frozenset[str]] = frozenset()

    def first_declared(self) -> dict[str, Any] | None:
        """The content that stands for it in a study's hash, if it was published as something else; None: its fields."""
        return None

    @model_validator(mode="after")
    def _texts_can_be_shown(self) -> Self:
        for name, most in _texts(type(self)).items():
            if (why := refused(getattr(self, name), most)) is not None:
                raise ValueError(f"{name} {why}")
        return self


def decides(spec: type[Spec], field: str) -> bool:
    """Whether a field of a spec is part of what is declared."""
    return not any(isinstance(mark, Undeclared) for mark in spec.model_fields[field].metadata)


@cache
def marked(spec: type[Spec], mark: Mark) -> frozenset[str]:
    """The fields of a spec that have a mark."""
    return frozenset(name for name, field in spec.model_fields.items() if mark in field.metadata)


@cache
def _texts(spec: type[Spec]) -> dict[str, int]:
    """The fields that may hold a text that a user chose, each with the most characters of one: few of a study's many values."""
    fields = ((name, field) for name, field in spec.model_fields.items() if _may_hold_text(field.annotation))
    return {
        name: next((mark.characters for mark in field.metadata if isinstance(mark, Longest)), LONGEST_TEXT)
        for name, field in fields
    }


def _may_hold_text(annotation: Any) -> bool:
    """Whether a value of this type is a text, or holds one outside of a spec of its own."""
    if get_origin(annotation) is Literal or annotation in (int, float, bool, NoneType):
        return False
    if get_origin(annotation) in (Union, UnionType, Annotated, tuple):
        return any(map(_may_hold_text, get_args(annotation)))
    return not (isinstance(annotation, type) and issubclass(annotation, Spec | Enum))


def unit_of(spec: type[Spec], field: str) -> str:
    """The unit of a field's numbers; '' if they have none."""
    return next((mark.name for mark in spec.model_fields[field].metadata if isinstance(mark, Unit)), "")


def declared(value: Any) -> Any:
    """The declared part of a spec, or of anything inside one, as JSON would have it: its fields without those that are marked
    Undeclared and without those left at none. Keys of a mapping are names that a user gave: all of them count, whatever they
    are, and none is a value like others there.
    """
    if isinstance(value, Spec):
        if (first := value.first_declared()) is not None:
            return first
        fields = ((first, getattr(value, name)) for name, first in _declared_fields(type(value)).items())
        return {first: declared(entry) for first, entry in fields if entry is not None}
    if isinstance(value, Mapping):
        return {name: declared(entry) for name, entry in value.items()}
    return [declared(entry) for entry in value] if isinstance(value, tuple | list) else value


@cache
def _declared_fields(spec: type[Spec]) -> dict[str, str]:
    """Deciding field -> its first name."""
    fields = ((name, field.metadata) for name, field in spec.model_fields.items() if decides(spec, name))
    return {name: next((mark.name for mark in marks if isinstance(mark, DeclaredAs)), name) for name, marks in fields}


def canonical_json(value: Any) -> str:
    """One spelling for equal data: sorted keys, no spaces, shortest floats."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def fingerprint(value: Any, length: int = 16) -> str:
    """The first hexadecimal digits of the SHA-256 of the canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:length]
