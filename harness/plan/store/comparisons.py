"""What comparing programs with the eager step has found: programs that are not run on a kind of machine, because they do
something else there, and steps that are known to agree, which are not compared again.

programs/KIND/SHAPE.json     what was found of one shape on one kind of machine, by one version of the engine
"""

import json
import logging
from collections.abc import Collection
from dataclasses import dataclass, field

from ...declare import canonical_json, fingerprint
from ...errors import UnwritableError, one_line
from ...train.compile_cache import machine_kind
from ...train.machine.repository import engine_sources
from .reading import read_or_leave
from .store import Store

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Comparisons:
    """refused: programs that are not run -> why. agreed: keys of steps (train/step_key.py)."""

    refused: dict[str, str] = field(default_factory=dict)
    agreed: set[str] = field(default_factory=set)


def comparisons(store: Store, key: str) -> Comparisons:
    """What was found of a shape on this kind of machine. A file that cannot be read counts as none; so does one of other
    sources of the engine: what was compared, or how, is not what is run now."""
    found = read_or_leave(store, comparisons_file(key), _comparisons, "programs are compared again")
    return found or Comparisons()


def _comparisons(content: bytes) -> Comparisons:
    found = json.loads(content)
    if found.get("engine") != engine_sources():
        return Comparisons()
    refused = {str(program): str(why) for program, why in found["refused"].items()}
    return Comparisons(refused, {canonical_json(each) for each in found["agreed"]})


def refusals(store: Store, key: str) -> dict[str, str]:
    """Programs of a shape that are not run on this kind of machine -> why."""
    return comparisons(store, key).refused


def refuse(store: Store, key: str, program: str, why: str) -> None:
    """Remember that a program does something else than the eager step, so that no later pack of the shape tries it."""
    found = comparisons(store, key)
    _write(store, key, Comparisons({**found.refused, program: why}, found.agreed))


def agree(store: Store, key: str, agreed: Collection[str]) -> None:
    """Remember that steps agree, so that no later pack of the shape compares them."""
    found = comparisons(store, key)
    _write(store, key, Comparisons(found.refused, found.agreed | set(agreed)))


def comparisons_file(key: str) -> str:
    """What was found of a shape on machines of this kind; without the file programs are compared again."""
    return f"programs/{machine_kind()}/{fingerprint(key)}.json"


def _write(store: Store, key: str, found: Comparisons) -> None:
    agreed = [json.loads(each) for each in sorted(found.agreed)]
    content = {"shape": json.loads(key), "engine": engine_sources(), "refused": found.refused, "agreed": agreed}
    try:
        store.write(comparisons_file(key), canonical_json(content).encode())
    except UnwritableError as error:
        log.warning("not remembered what a program was found to do: %s", one_line(error))
