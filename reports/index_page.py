"""What the index shows: the matrix of claims by scales, how much of each document is judged, and what a store changes."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from folklore.harness.judging.outcomes import VERDICTS
from folklore.harness.judging.verdict_memory import Judged
from folklore.harness.judging.verdicts import Verdict
from folklore.harness.planning.catalog import Register
from folklore.harness.spec import Claim, Study
from folklore.reports.places import place_of

# Columns of the matrix: these scales first, in this order.
SCALES = ("laptop", "gpu", "cluster")
NOT_STUDIED = "not yet studied"

Column = tuple[str, str]


def content(
    studies: Sequence[Study],
    register: Register,
    judged: Sequence[Judged],
    places: Collection[str],
    changes: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Rows are claims in register order, columns the scales and devices that were judged. places: what links may lead to
    (reports/places.py). changes: verdicts of this store that differ from the published ones."""
    columns = columns_of(judged)
    verdicts = by_claim(judged, register)
    filed = [(claim.study, claim) for claim in register.claims]
    filed += [(study.name, claim) for study in studies for claim in study.claims]
    groups: dict[str, list[dict[str, Any]]] = {study.name: [] for study in studies}
    for group, claim in filed:
        groups.setdefault(group, []).append(row(claim, columns, verdicts))
    counts = {name: sum(v.verdict == name for v in verdicts.values() if (v.scale, v.device) in columns) for name in VERDICTS}
    return {
        "columns": columns,
        "groups": {name: rows for name, rows in groups.items() if rows},
        "titles": {study.name: study.title for study in studies},
        "places": places,
        "unwritten": unwritten(verdicts, places),
        "counts": counts,
        "verdicts": [*VERDICTS, NOT_STUDIED],
        "kinds": sorted({kind for _, claim in filed for kind in claim.kinds}),
        "claims": len(filed),
        "studied": len({v.claim for v in verdicts.values()}),
        "documents": [coverage(document.key, document.title, register, verdicts) for document in register.documents],
        "changes": changes,
    }


def columns_of(judged: Iterable[Judged]) -> list[Column]:
    found = {(each.scale, each.device) for each in judged if each.meant_to_be}
    return sorted(found, key=lambda column: (SCALES.index(column[0]) if column[0] in SCALES else len(SCALES), column))


def by_claim(judged: Iterable[Judged], register: Register) -> dict[tuple[str, str, str], Verdict]:
    """What is judged, of scales that are. Where several studies judge a claim, the one it is filed under speaks for it."""
    filed = {claim.id: claim.study for claim in register.claims}
    found: dict[tuple[str, str, str], Verdict] = {}
    for verdict in (verdict for each in judged if each.meant_to_be for verdict in each.verdicts):
        place = (verdict.claim, verdict.scale, verdict.device)
        if place not in found or filed.get(verdict.claim) == verdict.study:
            found[place] = verdict
    return found


def unwritten(verdicts: Mapping[tuple[str, str, str], Verdict], places: Collection[str]) -> list[str]:
    """Studies with a verdict in the matrix and no place that shows it."""
    return sorted({verdict.study for verdict in verdicts.values() if place_of(verdict) not in places})


def row(claim: Claim, columns: Sequence[Column], verdicts: Mapping[tuple[str, str, str], Verdict]) -> dict[str, Any]:
    """A claim and its verdict in each column; `found`: what a filter may ask for."""
    cells = [verdicts.get((claim.id, *column)) for column in columns]
    return {
        "claim": claim,
        "cells": cells,
        "links": [place_of(cell) if cell else "" for cell in cells],
        "studied": any(cells),
        "found": sorted({cell.verdict for cell in cells if cell}) or [NOT_STUDIED],
        "documents": list(dict.fromkeys(source.document for source in claim.sources)),
    }


def coverage(key: str, title: str, register: Register, verdicts: Mapping[tuple[str, str, str], Verdict]) -> dict[str, Any]:
    """How many of a document's claims are judged, and how: a claim counts once, by its verdicts at all scales."""
    own = {claim.id for claim in register.claims if any(source.document == key for source in claim.sources)}
    found: dict[str, set[str]] = {claim: set() for claim in own}
    for (claim, _, _), verdict in verdicts.items():
        if claim in own:
            found[claim].add(verdict.verdict)
    return {
        "key": key,
        "title": title,
        "claims": len(own),
        "studied": sum(bool(each) for each in found.values()),
        "counts": {name: sum(name in each for each in found.values()) for name in VERDICTS},
    }
