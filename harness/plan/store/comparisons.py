"""Results of comparing programs with the eager step: programs that are not run on a kind of machine, because they do something
else there, and steps that are known to agree, which are not compared again.

programs/KIND/SHAPE.json     what was found of one shape on one kind of machine, by one version of the engine
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from ...declare import fingerprint
from ...train.compile_cache import machine_kind
from ...train.machine.repository import engine_sources
from .remembered import recall, remember
from .store import Store


@dataclass(frozen=True)
class Comparisons:
    """refused: programs that are not run -> why. agreed: keys of steps (train/step_key.py)."""

    refused: dict[str, str] = field(default_factory=dict)
    agreed: set[str] = field(default_factory=set)

    @classmethod
    def parse(cls, value: dict[str, Any]) -> "Comparisons":
        return cls(dict(value["refused"]), set(value["agreed"]))


def comparisons(store: Store, key: str) -> Comparisons:
    """The comparisons of a shape on this kind of machine by these sources of the engine."""
    return recall(store, comparisons_file(key), engine_sources(), Comparisons.parse) or Comparisons()


def refusals(store: Store, key: str) -> dict[str, str]:
    """Programs of a shape that are not run on this kind of machine -> why."""
    return comparisons(store, key).refused


def refuse(store: Store, key: str, program: str, why: str) -> None:
    """Remember that a program does something else than the eager step, so that no later pack of the shape tries it."""
    _add(store, key, {program: why}, ())


def agree(store: Store, key: str, agreed: Collection[str]) -> None:
    """Remember that steps agree, so that no later pack of the shape compares them."""
    _add(store, key, {}, agreed)


def _add(store: Store, key: str, refused: dict[str, str], agreed: Collection[str]) -> None:
    before = comparisons(store, key)
    value = {"refused": before.refused | refused, "agreed": sorted(before.agreed | set(agreed))}
    remember(store, comparisons_file(key), engine_sources(), value)


def comparisons_file(key: str) -> str:
    """The file with the comparisons of a shape on machines of this kind; without it programs are compared again."""
    return f"programs/{machine_kind()}/{fingerprint(key)}.json"
