"""Which characters a declaration's texts may hold: what it says is printed, written as UTF-8 and shown on pages."""

import re
from typing import Any

# Halves of a UTF-16 pair, which no encoding takes; characters that steer a terminal; and those that turn the direction of
# writing, so that a text reads otherwise than it is. Tabs and line breaks may stand.
REFUSED = re.compile(r"[\ud800-\udfff\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def refused(value: Any, most: int) -> str | None:
    """The fault of a text, or of any text of a tuple or a mapping with its keys: a character that may not stand there, or more
    than this many; None if there is no fault. Asked of every value of every spec."""
    if isinstance(value, str):
        if len(value) > most:
            return f"has {len(value)} characters, more than {most}; shorten it"
        character = refused_character(value)
        return character and f"holds {character}, which cannot be shown as it is; take it out"
    if isinstance(value, tuple | dict) and value:
        parts = (*value, *value.values()) if isinstance(value, dict) else value
        return next(filter(None, (refused(part, most) for part in parts if isinstance(part, str | tuple | dict))), None)
    return None


def refused_character(text: str) -> str | None:
    """The first refused character of a text, as U+HEX; None if all may stand."""
    if text.isascii() and text.isprintable():  # true of nearly all, and known sooner than by a search
        return None
    match = REFUSED.search(text)
    return f"U+{ord(match[0]):04X}" if match else None
