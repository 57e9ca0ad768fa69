"""Arguments of a tool call, refused in one line before any work if the tool does not take them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError, model_validator

from ...errors import UserError, unknown
from ...results import Result

# Characters of a path, an address, a claim or a name: Linux opens no longer path.
LONGEST_TEXT = 4096
# Most errors of one call that are reported at once.
MOST_FINDINGS = 3


class Fields(Result):
    """An argument with fields of its own, none of them unknown: what is ignored would be asked for in vain."""

    @model_validator(mode="before")
    @classmethod
    def _require_known(cls, content: Any) -> Any:
        if isinstance(content, Mapping):
            require_known("field", content, cls.model_fields)
        return content


def require_known(kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Raises UserError with the nearest known name."""
    known = list(known)
    for name in names:
        if name not in known:
            raise unknown(kind, f"{name:.80}", known)


def require_short(arguments: Mapping[str, Any]) -> None:
    """Raises UserError for a text, also inside of lists and mappings, that no command takes."""
    for name, value in arguments.items():
        for text in _texts(value):
            if len(text) > LONGEST_TEXT:
                raise UserError(
                    f"{name} '{text[:80]}…': has {len(text):,} characters, more than {LONGEST_TEXT:,}; give a shorter one"
                )


def _texts(value: Any) -> Iterator[str]:
    pending = [value]
    while pending:
        match pending.pop():
            case str(text):
                yield text
            case Mapping() as mapping:
                pending += [*mapping, *mapping.values()]
            case list() as several:
                pending += several


def findings(error: ValidationError) -> str:
    """pydantic's findings on one line: argument and rule."""
    messages = [
        ": ".join(filter(None, (".".join(map(str, detail["loc"])), detail["msg"].removeprefix("Value error, "))))
        for detail in error.errors()
    ]
    more = [f"and {len(messages) - MOST_FINDINGS} more"] if len(messages) > MOST_FINDINGS else []
    return "; ".join([*messages[:MOST_FINDINGS], *more])
