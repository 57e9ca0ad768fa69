"""Errors a user can mend: one line that names the value, the rule and the way out."""

import difflib
from collections.abc import Iterable

from pydantic import ValidationError


class UserError(ValueError):
    """Bad input or an unusable environment. The command line prints its one line and exits with 2."""


def one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def unknown(kind: str, name: str, known: Iterable[str]) -> UserError:
    """The error for a name that is not there, with the nearest name that is."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
    hint = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(names) or 'none'}"
    return UserError(f"no {kind} named '{name}': {hint}")


def invalid(subject: str, error: ValidationError) -> UserError:
    """pydantic's findings on one line: field, value, rule."""
    findings = []
    for item in error.errors():
        field = ".".join(str(part) for part in item["loc"])
        message = item["msg"].removeprefix("Value error, ")
        value = "" if item["type"] == "value_error" else f" = {item['input']!r:.80}"
        findings.append(f"{field}{value}: {message}" if field else message)
    return UserError(f"{subject}: {'; '.join(findings)}")
