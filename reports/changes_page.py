"""Verdicts that changed: every published one that was replaced by another or withdrawn, with versions, dates and reasons."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..harness.declare import Erratum
from ..harness.judge.outcomes import WITHDRAWN
from ..harness.judge.verdict_history import Change, Stand
from ..harness.plan.catalog import Register
from . import phrases
from .places import page
from .verdict_words import why

PAGE = "changes.html"


@dataclass(frozen=True)
class Said:
    """One side of a step: a verdict's word and reading, its number as in a sentence, and where it comes from."""

    verdict: str
    reading: str
    number: str
    version: str


@dataclass(frozen=True)
class Step:
    """One change of a claim's verdict. note: that nothing but a word changed, or that the study's version did not."""

    date: str
    place: str
    old: Said
    new: Said
    note: str
    why: str
    of_words_alone: bool = False


def content(register: Register, history: Sequence[Change], places: Collection[str]) -> dict[str, Any]:
    """Claims of the register in two groups: judged otherwise at least once, latest first, and changed in words alone. places:
    what links may lead to."""
    steps = _steps(register, history)
    rows: list[dict[str, Any]] = [
        {
            "claim": claim,
            "title": phrases.title(claim),
            "study_page": page(claim.study) if page(claim.study) in places else "",
            "steps": steps[claim.id],
            "withdrawn": steps[claim.id][-1].new.verdict == WITHDRAWN,
        }
        for claim in register.claims
        if claim.id in steps
    ]
    changed = [row for row in rows if any(not step.of_words_alone for step in steps[row["claim"].id])]
    return {
        "withdrawn": [row for row in changed if row["withdrawn"]],
        "groups": {
            "changed": sorted(changed, key=lambda row: row["steps"][-1].date, reverse=True),
            "words alone": [row for row in rows if row not in changed],
        },
    }


def course(changes: Sequence[Change]) -> str:
    """A claim's verdicts one after the other, a clause; words that merely were renamed are left out, and it is empty if nothing
    else changed."""
    revisions = [change for change in changes if not change.of_words_alone]
    if not revisions:
        return ""
    stands = [revisions[0].old, *(change.new for change in revisions)]
    return ", then ".join(f"{stand.verdict}{f' (version {stand.version})' if stand.version else ''}" for stand in stands)


def _steps(register: Register, history: Sequence[Change]) -> Mapping[str, list[Step]]:
    """Claim -> what became of its verdict, oldest first."""
    steps: dict[str, list[Step]] = {}
    for change in history:
        steps.setdefault(change.claim, []).append(_step(change))
    for erratum in register.errata:
        steps.setdefault(erratum.claim, []).append(_withdrawal(erratum))
    return steps


def _step(change: Change) -> Step:
    place, old, new = f"{change.scale} {change.device}", _said(change.old), _said(change.new)
    return Step(change.date, place, old, new, _note(change), change.why, change.of_words_alone)


def _note(change: Change) -> str:
    if change.old.verdict == "inconclusive" and change.of_words_alone:
        return "Renamed: what was called inconclusive is called open."
    if change.of_words_alone:
        return "Its trials were not complete before."
    if change.old.version == change.new.version:
        return "The version of the study did not change."
    return ""


def _said(stand: Stand) -> Said:
    version = f"version {stand.version}" if stand.version else "version not known"
    origin = version if stand.published else f"{version}, in the log alone"
    return Said(stand.verdict, why(stand.reading), phrases.number(stand), origin)


def _withdrawal(erratum: Erratum) -> Step:
    version = f"version {erratum.version}"
    old = Said(erratum.verdict, why(erratum.reading), erratum.number, version)
    return Step(erratum.date, erratum.scale, old, Said(WITHDRAWN, "", "", version), "", erratum.reason)
