"""A document, graded by what it says itself: its claims in its own order, its side where documents disagree."""

import re
from collections.abc import Collection, Mapping
from itertools import groupby
from typing import Any

from ..harness.declare import Claim, Document
from ..harness.judge.grading import grade, right_side
from ..harness.judge.outcomes import REFUTED, SUPPORTED
from ..harness.judge.withdrawing import WithdrawnVerdict
from ..harness.plan.catalog import Register
from . import phrases
from . import rows as shared
from .outcome_table import OutcomeTable, TableOutcome
from .verdict_words import NOT_GRADED, NOT_TESTED, ORDER


def content(document: Document, register: Register, table: OutcomeTable, places: Collection[str]) -> dict[str, Any]:
    """Rows in the order of the document: sections with numbers by size, names in the order the register first names them.
    places: what links may lead to (reports/places.py)."""
    placed = _placed(document.key, register)
    own = {claim.id for _, claim in placed}
    shown = OutcomeTable(table.columns, {place: outcome for place, outcome in table.outcomes.items() if place[0] in own})
    position = list(register.documents).index(document)
    return {
        "document": document,
        "before": register.documents[position - 1] if position else None,
        "after": register.documents[position + 1] if position + 1 < len(register.documents) else None,
        "places": places,
        "unwritten": shared.unwritten(shown, places),
        "columns": table.columns,
        "fields": shared.fields(table.columns),
        "sections": [
            {
                "heading": _heading(section),
                "anchor": "section-" + re.sub(r"\W+", "-", section).strip("-").lower(),
                "rows": [_row(claim, section, document, table, places) for _, claim in group],
            }
            for section, group in groupby(placed, key=lambda pair: pair[0])
        ],
        "graded": graded(document, register, table),
    }


def graded(document: Document, register: Register, table: OutcomeTable) -> dict[str, Any]:
    """How many of a document's claims came to each grade; a claim counts once, by the outcome that speaks for it."""
    own = [claim for _, claim in _placed(document.key, register)]
    grades = [_grade(claim, table.speaking(claim.id), document.key) for claim in own]
    return {
        "document": document,
        "claims": len(own),
        "judged": sum(claim_grade not in (NOT_TESTED, NOT_GRADED) for claim_grade in grades),
        "counts": [(name, grades.count(name)) for name in ORDER if name in grades],
    }


def _grade(claim: Claim, outcome: TableOutcome | None, document: str) -> str:
    if _not_graded(claim, document):
        return NOT_GRADED
    if outcome is None:
        return NOT_TESTED
    return grade(claim, outcome.verdict, document) or NOT_GRADED


def _not_graded(claim: Claim, document: str) -> str:
    """Why a document has no grade on a claim, a sentence; empty if it has one."""
    if claim.own:
        return "Our own question: no document claims it."
    if document in claim.ungraded:
        return f"Our copies of the documents lack {claim.lost}."
    if claim.sides and not claim.side_of(document):
        return "Takes no side."
    return ""


def _withdrawn(outcome: TableOutcome | None) -> str:
    """Why a verdict grades nobody, in sentences; empty if it stands."""
    verdict = None if outcome is None else outcome.verdict
    return f"The verdict is withdrawn. {verdict.erratum.reason}" if isinstance(verdict, WithdrawnVerdict) else ""


def _row(claim: Claim, section: str, document: Document, table: OutcomeTable, places: Collection[str]) -> dict[str, Any]:
    others = [source for source in claim.sources if (source.document, source.section) != (document.key, section)]
    speaking = table.speaking(claim.id)
    own_grade = _grade(claim, speaking, document.key)
    return {
        "section": section,
        "claim": claim,
        "title": phrases.title(claim),
        "grade": own_grade,
        "why_not": _not_graded(claim, document.key) or _withdrawn(speaking),
        "note": _why_otherwise(claim, own_grade, speaking),
        "cells": [
            shared.cell(outcome, column, places, _grade(claim, outcome, document.key))
            for outcome, column in zip(table.of(claim.id), table.columns, strict=True)
        ],
        "sides": _sides(claim, document.key, speaking),
        "others": shared.where(others),
    }


def _why_otherwise(claim: Claim, own_grade: str, outcome: TableOutcome | None) -> str:
    """Why a grade differs from the verdict on the claim, a sentence."""
    if outcome is None or own_grade in (NOT_GRADED, outcome.verdict.verdict) or claim.sides:
        return ""
    whole = f"The verdict on the whole claim is “{outcome.verdict.verdict}”."
    return f"{whole} The document gives no number, so its direction is graded."


def _sides(claim: Claim, document: str, outcome: TableOutcome | None) -> list[dict[str, Any]]:
    """The sides of documents that disagree: whose each is, and whether it was shown to be right."""
    right = right_side(claim, outcome.verdict) if outcome is not None and outcome.decides else ""
    return [
        {
            "says": side.says,
            "documents": list(dict.fromkeys(source.document for source in side.sources)),
            "own": side.name in claim.side_of(document),
            "right": "" if not right else SUPPORTED if side.name == right else REFUTED,
        }
        for side in claim.sides
    ]


def _placed(key: str, register: Register) -> list[tuple[str, Claim]]:
    """The claims of a document, each once, under the first of its sections, in the document's order."""
    own = {claim: [source.section for source in claim.sources if source.document == key] for claim in register.claims}
    order = {name: index for index, name in enumerate(dict.fromkeys(name for names in own.values() for name in names))}
    first = [(min(names, key=lambda name: _place(name, order)), claim) for claim, names in own.items() if names]
    return sorted(first, key=lambda pair: (*_place(pair[0], order), pair[0]))


def _place(section: str, order: Mapping[str, int]) -> tuple[int, int, int]:
    """Numbered sections and questions by number, a second quiz after the first, names after them."""
    match = re.fullmatch(r"(advanced )?Q?(\d+)", section)
    if match is None:
        return (2, order[section], 0)
    return (1 if match[1] else 0, int(match[2]), 0)


def _heading(section: str) -> str:
    if section.isdigit():
        return f"Section {section}"
    if section.startswith("advanced Q"):
        return section.replace("advanced Q", "Second quiz, question ")
    return re.sub(r"^Q(\d+)$", r"Question \1", section)
