"""Reads what a store holds: half a file, a pipe, a file of a stranger or of another Folklore is damaged and gives no
traceback."""

import logging
from collections.abc import Callable
from typing import TypeVar

from pyarrow import ArrowException

from ...errors import UserError, quoted
from .store import Store

log = logging.getLogger(__name__)

Found = TypeVar("Found")

# Errors of parsing content that is something else: JSON, Parquet, and the dataclasses made of them.
STUMBLES = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, ArrowException, OSError)


class DamagedError(ValueError):
    """A file of a store is not what it should be."""


def read_as(store: Store, name: str, parse: Callable[[bytes], Found]) -> Found:
    """A file's content, parsed. Raises DamagedError, FileNotFoundError, and UnreadableError if the store does not answer."""
    return asked(lambda: parse(store.read(name)))


def asked(question: Callable[[], Found]) -> Found:
    """The answer to a question about a file. Raises as `read_as` does."""
    try:
        return question()
    except (FileNotFoundError, UserError, DamagedError):
        raise
    except STUMBLES as error:
        raise DamagedError(f"cannot be read ({quoted(error)})") from None


def read_or_leave(store: Store, name: str, parse: Callable[[bytes], Found], consequence: str) -> Found | None:
    """A file's content, parsed; None if it is missing, or damaged: then a line says so, and what follows."""
    try:
        return read_as(store, name, parse)
    except FileNotFoundError:
        return None
    except DamagedError as error:
        log.warning("%s %s: %s", name, error, consequence)
        return None


def read_or_set_aside(store: Store, name: str, parse: Callable[[bytes], Found], consequence: str) -> Found | None:
    """As `read_or_leave`; a damaged file is renamed, so that it is said once."""
    return or_set_aside(store, name, lambda: parse(store.read(name)), consequence)


def or_set_aside(store: Store, name: str, question: Callable[[], Found], consequence: str) -> Found | None:
    try:
        return asked(question)
    except FileNotFoundError:
        return None
    except DamagedError as error:
        log.warning("%s %s: %s, %s", name, error, store.set_aside(name), consequence)
        return None
