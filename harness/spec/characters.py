"""Which characters a declaration's texts may hold: what it says is printed, written as UTF-8 and shown on pages."""

import re
from typing import Any

# Halves of a UTF-16 pair, which no encoding takes; characters that steer a terminal; and those that turn the direction of
# writing, so that a text reads otherwise than it is. Tabs and line breaks may stand.
REFUSED = re.compile(r"[\ud800-\udfff\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def refused_character(value: Any) -> str | None:
    """The first in a text, or in any text of a tuple or a mapping with its keys, as U+HEX; None where all may stand."""
    if isinstance(value, str):
        if value.isascii() and value.isprintable():  # of nearly all, and sooner known than searched
            return None
        found = REFUSED.search(value)
        return f"U+{ord(found[0]):04X}" if found else None
    if isinstance(value, dict):
        return refused_character((*value, *value.values()))
    if isinstance(value, tuple):
        return next(filter(None, map(refused_character, value)), None)
    return None


def longest_text(value: Any) -> int:
    """Characters of the longest text in a value, or in a tuple or a mapping with its keys."""
    if isinstance(value, str):
        return len(value)
    parts = (*value, *value.values()) if isinstance(value, dict) else value if isinstance(value, tuple) else ()
    return max(map(longest_text, parts), default=0)
