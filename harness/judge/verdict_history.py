"""Every published verdict that was replaced by another word, and every rule that a later version of a study changed:
`evidence/history.json`. Publishing appends to its verdicts; whoever changes a rule writes the entry of its rules.

Entries are facts: the old verdict, the new one, their versions of the study, and the date. `why` is the log's reason, empty if
the log has none. Withdrawals have no entry: errata are the register's.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pydantic import TypeAdapter

from ..plan.store import evidence
from .outcomes import INVALID

FILE = "history.json"
# Claim, study, scale, device.
Place = tuple[str, str, str, str]


@dataclass(frozen=True)
class Stand:
    """The verdict of one version of a study on a claim. published: else it stands in the log alone. version: None if unknown.
    Numbers in `unit`; None if there are none."""

    version: int | None
    verdict: str
    reading: str
    estimate: float | None
    low: float | None
    high: float | None
    unit: str
    published: bool = True

    @classmethod
    def of(cls, verdict: Mapping[str, Any], version: int | None) -> "Stand":
        """verdict: its fields, also as an earlier Folklore stored them."""
        estimate, low, high, unit = (verdict[name] for name in ("estimate", "low", "high", "unit"))
        return cls(version, verdict["verdict"], verdict.get("reading", ""), estimate, low, high, unit)


@dataclass(frozen=True)
class Change:
    """A published verdict that became another. date: as 2026-11-25. why: the log's reason; empty if it has none."""

    claim: str
    study: str
    scale: str
    device: str
    date: str
    old: Stand
    new: Stand
    why: str = ""

    @property
    def place(self) -> Place:
        return self.claim, self.study, self.scale, self.device

    @property
    def of_words_alone(self) -> bool:
        """Whether nothing was judged otherwise: a verdict had another name, or its trials were not there before."""
        renamed = (self.old.verdict, self.new.verdict) == ("inconclusive", "open") and self.old.version == self.new.version
        return renamed or self.old.verdict == INVALID


@dataclass(frozen=True)
class RuleChange:
    """A rule that a version of a study changed. was: the verdict by the rule before, with its reading; change: the new and the
    old rule, a sentence.

    A new version has fresh seeds, and its rule was written before they were trained, but after the old verdict was known. A
    reader who knows both can judge the change.
    """

    claim: str
    study: str
    version: int
    was: str
    change: str


@dataclass(frozen=True)
class History:
    """Oldest first."""

    verdicts: list[Change] = field(default_factory=list)
    rules: list[RuleChange] = field(default_factory=list)


def history() -> History:
    path = evidence.FOLDER / FILE
    return TypeAdapter(History).validate_json(path.read_bytes()) if path.exists() else History()


def stands(verdicts: Iterable[Mapping[str, Any]], version: int | None) -> dict[Place, Stand]:
    """Verdicts by claim, study, scale and device. version: of the study."""
    return {
        (verdict["claim"], verdict["study"], verdict["scale"], verdict["device"]): Stand.of(verdict, version)
        for verdict in verdicts
    }


def changes(before: Mapping[Place, Stand], after: Mapping[Place, Stand], date: str) -> list[Change]:
    """Verdicts that another word replaced between publications."""
    return [
        Change(*place, date, before[place], new)
        for place, new in after.items()
        if place in before and before[place].verdict != new.verdict
    ]


def append(new_changes: Sequence[Change]) -> None:
    """Appends changes of verdicts to the file."""
    if new_changes:
        known = history()
        text = json.dumps(asdict(replace(known, verdicts=[*known.verdicts, *new_changes])), indent=1, ensure_ascii=False)
        (evidence.FOLDER / FILE).write_text(text + "\n", encoding="utf-8")
