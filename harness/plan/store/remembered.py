"""Values that take time to work out, kept in files of the store that may be deleted at any time.

A value counts as long as its key, which covers all that it depends on, is the same: a damaged, a foreign and an outdated file
are made again. On a store that cannot be written everything works, and takes longer.
"""

import json
import logging
from collections.abc import Callable
from typing import Any, TypeVar

from ...errors import UnwritableError, one_line
from .reading import read_or_leave
from .store import Store

log = logging.getLogger(__name__)

Value = TypeVar("Value")


def recall(store: Store, name: str, key: str, parse: Callable[[Any], Value]) -> Value | None:
    """The value in a file, parsed from JSON; None if there is none of this key."""

    def value(content: bytes) -> Value | None:
        kept = json.loads(content)
        return parse(kept["value"]) if kept.get("key") == key else None

    return read_or_leave(store, name, value, "it is made again")


def remember(store: Store, name: str, key: str, value: Any) -> None:
    """Keep a value that JSON can spell."""
    keep(store, name, json.dumps({"key": key, "value": value}, ensure_ascii=False).encode())


def keep(store: Store, name: str, content: bytes) -> None:
    """Write a file, if the store can be written."""
    try:
        store.write(name, content)
    except UnwritableError as error:
        log.info("%s is not kept: %s", name, one_line(error))
