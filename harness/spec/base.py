"""The base of all spec objects, and their canonical form."""

import hashlib
import json
from typing import Any

from pydantic import BaseModel, ConfigDict


class Spec(BaseModel):
    """Frozen, and closed: a misspelled field is an error, never a silent default."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def canonical_json(value: Any) -> str:
    """One spelling for equal data: sorted keys, no spaces, shortest floats."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def fingerprint(value: Any, length: int = 16) -> str:
    """The first hexadecimal digits of the SHA-256 of the canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:length]
