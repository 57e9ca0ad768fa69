"""The base of all spec objects, and their canonical form."""

import hashlib
import json
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, model_validator

from harness.spec.characters import refused_character


class Spec(BaseModel):
    """Frozen, and closed: a misspelled field is an error, never a silent default."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="after")
    def _texts_can_be_shown(self) -> Self:
        for name, value in self.__dict__.items():
            if (character := refused_character(value)) is not None:
                raise ValueError(f"{name} holds {character}, which cannot be shown as it is; take it out")
        return self


def canonical_json(value: Any) -> str:
    """One spelling for equal data: sorted keys, no spaces, shortest floats."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def fingerprint(value: Any, length: int = 16) -> str:
    """The first hexadecimal digits of the SHA-256 of the canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:length]
