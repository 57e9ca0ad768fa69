"""A document, graded: its claims in its own order with what became of them."""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import Any

from folklore.harness.judging.verdicts import Verdict
from folklore.harness.planning.catalog import Register
from folklore.harness.spec import Claim, Document
from folklore.reports import index_page
from folklore.reports.index_page import Column


def content(
    document: Document,
    register: Register,
    columns: Sequence[Column],
    verdicts: Mapping[tuple[str, str, str], Verdict],
    places: Collection[str],
) -> dict[str, Any]:
    """Sections as the document orders them: numbers by size, names in the order the register first names them. places: what
    links may lead to (reports/places.py)."""
    named = [source.section for claim in register.claims for source in claim.sources if source.document == document.key]
    order = {section: index for index, section in enumerate(dict.fromkeys(named))}
    placed = [
        (section, claim)
        for claim in register.claims
        for section in dict.fromkeys(source.section for source in claim.sources if source.document == document.key)
    ]
    placed.sort(key=lambda pair: (*_place(pair[0], order), pair[0]))
    sections = {
        section: [_row(claim, document, columns, verdicts) for _, claim in group]
        for section, group in groupby(placed, key=lambda pair: pair[0])
    }
    own = {claim.id for _, claim in placed}
    return {
        "document": document,
        "places": places,
        "unwritten": index_page.unwritten({place: each for place, each in verdicts.items() if each.claim in own}, places),
        "columns": columns,
        "sections": {_heading(section): rows for section, rows in sections.items()},
        "coverage": index_page.coverage(document.key, document.title, register, verdicts),
    }


def _row(
    claim: Claim, document: Document, columns: Sequence[Column], verdicts: Mapping[tuple[str, str, str], Verdict]
) -> dict[str, Any]:
    others = [source for source in claim.sources if source.document != document.key]
    return {**index_page.row(claim, columns, verdicts), "others": others}


def _place(section: str, order: Mapping[str, int]) -> tuple[int, int, int]:
    """Numbered sections and questions by number, a second quiz after the first, names after them."""
    found = re.fullmatch(r"(advanced )?Q?(\d+)", section)
    if found is None:
        return (2, order[section], 0)
    return (1 if found[1] else 0, int(found[2]), 0)


def _heading(section: str) -> str:
    if section.isdigit():
        return f"Section {section}"
    return (
        section.replace("advanced Q", "Second quiz, question ")
        if section.startswith("advanced")
        else re.sub(r"^Q(\d+)$", r"Question \1", section)
    )
