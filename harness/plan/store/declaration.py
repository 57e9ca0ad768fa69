"""A study as it was declared before its first trial, written down before anything of it is trained.

declared/STUDY/SCALE-vVERSION-HASH.json     never written again

The hash covers thresholds, seeds and all that decides numbers, and no words. So a page can say when a study was declared, with
how many trials already there, and what has changed since: a threshold that moved after the first run shows.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from ...declare import Judgement, Spec, Study, fingerprint
from ...declare.base import decides, declared
from ...errors import UserError
from .reading import read_or_leave
from .store import Store

SUFFIX = ".json"
# A scale's field in declarations of earlier Folklores, always 0: it said nothing.
RETIRED = "more_seeds"


@dataclass(frozen=True)
class Declaration:
    """declared_at: UTC. trials_before: of this version and scale, stored when it was declared. looks: numbers of seeds after
    which it is judged, where seeds are added until claims are decided; None: once, with its own. declared: the whole study.
    predicted: of a rung of a ladder, what the rungs below it said of each criterion (judge/trends.py).
    """

    study: str
    version: int
    scale: str
    hash: str
    declared_at: str
    trials_before: int
    looks: tuple[int, ...] | None
    declared: Mapping[str, Any]
    predicted: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def from_json(cls, content: bytes) -> "Declaration":
        value = json.loads(content)
        for scale in value["declared"].get("scales", {}).values():
            scale.pop(RETIRED, None)
        return cls(**{**value, "looks": tuple(value["looks"]) if value["looks"] else None})

    def advice_on(self, claim: str, verdict: str, reading: str) -> str:
        """The declared advice to a practitioner after such a verdict, in the words of that day; empty if there is none."""
        judgements = {judgement["claim"]: judgement for judgement in self.declared["judgements"]}
        advice = judgements.get(claim, {}).get("advice", {})
        return str(advice.get(f"{verdict}: {reading}") or advice.get(verdict, ""))

    def to_json(self) -> bytes:
        """In declared order: arms and scales are shown in it, and a study may be read back from here."""
        content = {name: value for name, value in asdict(self).items() if value or name != "predicted"}
        return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()


def declarations(store: Store, study: Study, scale: str) -> list[Declaration]:
    """All declarations that were ever written of this version at a scale, the first one first."""
    history = stored_declarations(store, study.name)
    return [declaration for declaration in history if (declaration.scale, declaration.version) == (scale, study.version)]


def stored_declarations(store: Store, study: str) -> list[Declaration]:
    """All declarations that were ever written of a study, of any version and scale, the first one first."""
    history = [
        declaration for name in store.names(f"declared/{study}", SUFFIX) if (declaration := _read(store, name)) is not None
    ]
    return sorted(history, key=lambda declaration: (declaration.declared_at, declaration.trials_before, declaration.hash))


def state(store: Store, study: str) -> list[str]:
    """Names all stored declarations of a study, contents included."""
    return [
        f"{declaration.scale} {declaration.version} {fingerprint(asdict(declaration))}"
        for declaration in stored_declarations(store, study)
    ]


def _read(store: Store, name: str) -> Declaration | None:
    return read_or_leave(store, name, Declaration.from_json, "this declaration is left out")


def require_declarable(
    store: Store, study: Study, scale: str, trials_before: int, looks: tuple[int, ...] | None = None
) -> Declaration | None:
    """The declaration if it is stored already, or None if it may be written. looks: see Declaration.

    Raises UserError where that would judge trials which were judged by other rules: once before looks, by other looks, or
    again at the full error rate after looks.
    """
    before = declarations(store, study, scale)
    same = next((declaration for declaration in before if declaration.hash == study.hash), None)
    fixed = next((declaration.looks for declaration in before if declaration.looks), None)
    if same is not None and (looks is None or same.looks == looks):
        return same
    if trials_before and (looks is not None or fixed is not None):
        planned = f"after {', '.join(map(str, fixed))} seeds" if fixed else "once"
        raise UserError(
            f"study '{study.name}' version {study.version} at scale '{scale}' is judged {planned} by its declaration in this"
            " store, and its trials were seen: raise its version and move first_seed to fresh seeds, or use another --store"
        )
    if looks is not None:
        _require_fresh_seeds(store, study, scale, looks)
    return None


def _require_fresh_seeds(store: Store, study: Study, scale: str, looks: tuple[int, ...]) -> None:
    """Raises UserError for looks on seeds that an earlier version was judged on: their results may have led to the new
    version."""
    wanted = range(study.first_seed, study.first_seed + looks[-1])
    for name in store.names(f"declared/{study.name}", SUFFIX):
        other = _read(store, name)
        if other is None or other.scale != scale or other.version == study.version:
            continue
        first = int(other.declared.get("first_seed", 0))
        # Read without a check: another Folklore may have declared what this one would not take.
        at_scale = other.declared.get("scales", {}).get(scale, {})
        count = other.looks[-1] if other.looks else int(at_scale.get("seeds") or other.declared.get("seeds", 0))
        if first < wanted.stop and wanted.start < first + count:
            raise UserError(
                f"study '{study.name}' version {study.version}: its seeds {wanted.start} to {wanted.stop - 1} meet those of"
                f" version {other.version}, {first} to {first + count - 1}: move first_seed to {first + count} or beyond"
            )


def declare(
    store: Store,
    study: Study,
    scale: str,
    trials_before: int,
    looks: tuple[int, ...] | None = None,
    predicted: Sequence[Mapping[str, Any]] = (),
) -> Declaration:
    """Writes the declaration, unless it is written already, and returns it. Raises UserError as `require_declarable` does."""
    there = require_declarable(store, study, scale, trials_before, looks)
    if there is not None:
        return there
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    content = study.model_dump(mode="json")
    declaration = Declaration(study.name, study.version, scale, study.hash, now, trials_before, looks, content, predicted)
    store.write(f"declared/{study.name}/{scale}-v{study.version}-{study.hash}{SUFFIX}", declaration.to_json())
    return declaration


def earlier_judgements(declarations: Sequence[Declaration], version: int) -> dict[str, tuple[Judgement, ...]]:
    """Name of a choice -> its judgements: those of earlier versions, and those of this one as it was first declared. A
    judgement that only another Folklore can read, by a metric that left, is left out alone."""
    judgements: dict[str, tuple[Judgement, ...]] = {}
    for declaration in sorted(declarations, key=lambda declaration: (declaration.version, declaration.declared_at)):
        choice = f"as version {declaration.version} asked" if declaration.version < version else "as first declared"
        if (
            declaration.version <= version
            and choice not in judgements
            and (readable := tuple(_readable(declaration.declared["judgements"])))
        ):
            judgements[choice] = readable
    return judgements


def _readable(judgements: Sequence[Mapping[str, Any]]) -> Iterator[Judgement]:
    for judgement in judgements:
        with suppress(ValidationError):
            yield Judgement.model_validate(judgement)


def looks_of(declarations: Sequence[Declaration], study: Study) -> tuple[int, ...] | None:
    """The looks by which the study is judged: those it was declared with as it is now, else those of an earlier declaration of
    its version, which a change does not take away. None: it is judged once."""
    same = next((declaration for declaration in declarations if declaration.hash == study.hash), None)
    return (
        same.looks if same is not None else next((declaration.looks for declaration in declarations if declaration.looks), None)
    )


def changed_since(declarations: Sequence[Declaration], study: Study) -> list[str]:
    """The deciding fields that have changed since the first declaration, a line each."""
    if not declarations or declarations[0].hash == study.hash:
        return []
    return changes(declarations[0].declared, study)


def altered(declarations: Sequence[Declaration]) -> list[Declaration]:
    """The declarations that were altered after they were written: their hash is of something else. Those of another Folklore
    cannot be checked."""
    return [
        declaration
        for declaration in declarations
        if (now := _hash_of(json.dumps(declaration.declared))) is not None and now != declaration.hash
    ]


@lru_cache(maxsize=256)
def _hash_of(content: str) -> str | None:
    """The hash of a declared study, None if it cannot be read. Kept, because every judgement and page asks for it."""
    try:
        return Study.model_validate(json.loads(content)).hash
    except ValidationError:
        return None


def declared_otherwise(declarations: Sequence[Declaration], study: Study, ran_under: Collection[str]) -> str:
    """How a study that trials are judged by differs from what was declared before them, in a sentence; '' if it does not.

    ran_under: hashes of other declarations that trials ran under. More seeds are no difference.
    """
    if changed := altered(declarations):
        return (
            f"the declaration of {changed[0].declared_at[:10]} was altered after it was written: its hash is {changed[0].hash},"
            " and what it says now has another"
        )
    known = {declaration.hash: declaration for declaration in declarations}
    unknown = sorted(digest for digest in ran_under if digest not in known)
    if unknown and not looks_of(declarations, study):
        return f"its trials ran under a declaration that is not stored here (hash {unknown[0]}), so what it said is not known"
    every = [line for digest in sorted(ran_under) if digest in known for line in changes(known[digest].declared, study)]
    if moved := [line for line in dict.fromkeys(every) if not SEEDS.match(line)]:
        more = f", and {len(moved) - 1} more" if len(moved) > 1 else ""
        return f"its trials ran under another declaration ({moved[0]}{more})"
    return ""


# Changes of how many seeds there are.
SEEDS = re.compile(r"(scales\.\w+\.)?(first_seed|seeds):")


def changes(old: Mapping[str, Any], new: Study) -> list[str]:
    """The deciding fields that differ from a stored declaration, a line each: where, what it was, what it is.

    The declaration is read by the fields that a study has now. One of an earlier Folklore that this one would not take is
    compared as it is stored, and any other with the defaults that it was declared with.
    """
    with suppress(ValidationError):
        old = Study.model_validate(old).model_dump(mode="json")
    return [f"{path}: {_spelled(was)} before, {_spelled(now)} now" for path, was, now in _differences(old, new)]


_ABSENT = object()


def _differences(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """old: JSON. new: a spec, or what is in one."""
    if isinstance(old, Mapping) and isinstance(new, Spec):
        fields = dict(new)
        for field in [*old, *(field for field in fields if field not in old)]:
            if field not in fields or decides(type(new), field):
                # A field left at none says nothing; a setting of none does.
                was, now = (_ABSENT if side.get(field) is None else side[field] for side in (old, fields))
                yield from _differences(was, now, f"{path}.{field}".lstrip("."))
    elif isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in [*old, *(name for name in new if name not in old)]:
            yield from _differences(old.get(name, _ABSENT), new.get(name, _ABSENT), f"{path}.{name}")
    elif isinstance(old, list) and isinstance(new, tuple | list):
        for index in range(max(len(old), len(new))):
            was, now = (side[index] if index < len(side) else _ABSENT for side in (old, new))
            yield from _differences(was, now, f"{path}[{_named((was, declared(now)), index)}]")
    elif old != declared(new):
        yield path, old, declared(new)


def _named(pair: tuple[Any, Any], index: int) -> str:
    """A list's entry by its claim or name, where it has one."""
    for side in pair:
        if isinstance(side, Mapping):
            for key in ("claim", "name"):
                if isinstance(side.get(key), str):
                    return str(side[key])
    return str(index)


def _spelled(value: Any) -> str:
    if value is _ABSENT:
        return "nothing"
    if value is None:
        return "none"
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)
    return text if len(text) <= 120 else text[:117] + "…"
