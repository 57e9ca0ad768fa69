"""The common parts of rows of claims, on the index and on a document's page."""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

from ..harness.declare import Source
from ..harness.judge.withdrawing import WithdrawnVerdict
from . import phrases
from .outcome_table import Column, OutcomeTable, TableOutcome
from .places import place_of
from .verdict_words import ORDER, why

# A longer name of a section stands on the document's page only.
LONGEST_SECTION = 12
# Of a cell's values, in the order of FIELDS, where a table is downloaded.
FIELDS = ("verdict", "reading", "standing", "estimate", "low", "high", "unit")


def cell(outcome: TableOutcome | None, column: Column, places: Collection[str], grade: str = "") -> dict[str, Any] | None:
    """An outcome in a row. grade: a document's, which stands in the verdict's place, but for one that is withdrawn, whose
    former words are in `was`. places: what links may lead to."""
    if outcome is None:
        return None
    verdict, link = outcome.verdict, place_of(outcome.verdict)
    was = verdict.judged.verdict if isinstance(verdict, WithdrawnVerdict) else ""
    grade = "" if was else grade
    numbers = ("" if number is None else repr(number) for number in (verdict.estimate, verdict.low, verdict.high))
    return {
        "verdict": grade or verdict.verdict,
        "reading": why(verdict.reading) if grade in ("", verdict.verdict) else "",
        "standing": outcome.standing,
        "why_fragile": "; ".join(outcome.why_fragile),
        "number": phrases.number(verdict),
        "was": was,
        "link": link if link in places else "",
        "label": " ".join(column),
        "values": [grade or verdict.verdict, verdict.reading, outcome.standing, *numbers, verdict.unit],
    }


def fields(columns: Iterable[Column]) -> list[list[str]]:
    """The headings of each column's values where a table is downloaded."""
    return [[f"{' '.join(column)} {field}" for field in FIELDS] for column in columns]


def where(sources: Iterable[Source]) -> list[dict[str, str]]:
    """Documents with their places: TB 2, 11. A section with a long name goes without it."""
    sections_by_document: dict[str, list[str]] = {}
    for source in sources:
        known = sections_by_document.setdefault(source.document, [])
        if len(source.section) <= LONGEST_SECTION and source.section not in known:
            known.append(source.section)
    return [{"document": key, "sections": ", ".join(sections)} for key, sections in sections_by_document.items()]


def counted(verdicts: Iterable[str]) -> list[tuple[str, int]]:
    """Verdicts with their counts, in the order of the bar; none that does not occur."""
    counts = Counter(verdicts)
    return [(name, counts[name]) for name in ORDER if counts[name]]


def unwritten(table: OutcomeTable, places: Collection[str]) -> list[str]:
    """Studies with a verdict in the table and no place that shows it."""
    return sorted({outcome.verdict.study for outcome in table.outcomes.values() if place_of(outcome.verdict) not in places})
