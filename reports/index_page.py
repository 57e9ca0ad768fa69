"""The index: verdicts in a bar, a few claims that stand out, every claim in a row, studies and documents."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ..harness.declare import Claim, Study
from ..harness.judge.error_rates import STANDINGS
from ..harness.judge.outcomes import INVALID, OUT_OF_REGIME, WITHDRAWN
from ..harness.plan.catalog import Register
from ..harness.words import enumerated
from . import document_page, phrases
from . import rows as shared
from .highlights import highlights
from .outcome_table import MACHINES, Column, OutcomeTable, TableOutcome
from .places import growth_place, page
from .verdict_words import GRADES, NOT_TESTED, ORDER


def content(
    studies: Sequence[Study],
    register: Register,
    table: OutcomeTable,
    places: Collection[str],
    changes: Sequence[Mapping[str, Any]] = (),
    own: Mapping[str, OutcomeTable] = MappingProxyType({}),
    figures: Collection[str] = (),
    grown: Mapping[str, Mapping[str, Sequence[str]]] = MappingProxyType({}),
) -> dict[str, Any]:
    """Claims in register order. places: what links may lead to (reports/places.py). changes: verdicts of this store that differ
    from the published ones. own: of the studies that bring claims of their own, what became of these: they stand apart.
    figures: images that are there. grown: by study, its claims with the words for how their effects change as models grow."""
    claims = register.claims
    titles = {study.name: study.title for study in studies}
    rows = [row(claim, claim.study, table, places, grown.get(claim.study, {})) for claim in claims]
    asked = [claim_row for claim_row in rows if not claim_row["claim"].own]
    cards, columns = highlights(claims, table, figures)
    machines = list(dict.fromkeys(MACHINES.get(scale, f"{scale} scale") for scale, _ in table.columns))
    return {
        "columns": table.columns,
        "fields": shared.fields(table.columns),
        "bars": [bar(column, _asked_at(column[0], claims, studies), table) for column in table.columns],
        "findings": cards,
        "highlights": columns,
        "rows": rows,
        "titles": titles,
        "places": places,
        "unwritten": sorted({name for outcomes in (table, *own.values()) for name in shared.unwritten(outcomes, places)}),
        "machines": enumerated(machines) if machines else "",
        "claims": len(asked),
        "own": len(rows) - len(asked),
        "judged": sum(claim_row["judged"] and claim_row["verdict"] != WITHDRAWN for claim_row in rows),
        "withdrawn": sum(claim_row["verdict"] == WITHDRAWN for claim_row in rows),
        "standings": [name for name in STANDINGS if any(name in claim_row["standings"] for claim_row in rows)],
        "surprising": any(claim_row["surprise"] is not None for claim_row in rows),
        "verdicts": [name for name in ORDER if any(name in claim_row["found"] for claim_row in rows)],
        "kinds": sorted({kind for claim in claims for kind in claim.kinds}),
        "study_rows": _studies([study for study in studies if study.name not in own], rows, places),
        "yours": [_yours(study, own[study.name], places, grown.get(study.name, {})) for study in studies if study.name in own],
        "documents": [document_page.graded(document, register, table) for document in register.documents],
        "grades": GRADES,
        "later": table.later,
        "changes": changes,
    }


def _asked_at(scale: str, claims: Iterable[Claim], studies: Sequence[Study]) -> list[Claim]:
    """The claims whose study has a scale: not every study has longer runs on two cores."""
    without = {study.name for study in studies if scale not in study.scales}
    return [claim for claim in claims if claim.study not in without]


def _yours(study: Study, table: OutcomeTable, places: Collection[str], grown: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """A study with the claims that it brings along."""
    return {
        "study": study,
        "link": page(study.name) if page(study.name) in places else "",
        "columns": table.columns,
        "fields": shared.fields(table.columns),
        "bars": [bar(column, study.claims, table) for column in table.columns],
        "rows": [row(claim, study.name, table, places, grown) for claim in study.claims],
    }


def row(
    claim: Claim,
    study: str,
    table: OutcomeTable,
    places: Collection[str],
    grown: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> dict[str, Any]:
    """A claim and its outcome in each column. found: what filters may ask for."""
    outcomes, speaking = table.of(claim.id), table.speaking(claim.id)
    verdict = speaking.verdict if speaking else None
    growth = f"{page(study)}#{growth_place(claim.id)}"
    return {
        "claim": claim,
        "title": phrases.title(claim),
        "study": study,
        "study_page": page(study) if page(study) in places else "",
        "judged": speaking is not None,
        "verdict": verdict.verdict if verdict else NOT_TESTED,
        "surprise": verdict.surprise if verdict else None,
        "cells": [shared.cell(outcome, column, places) for column, outcome in zip(table.columns, outcomes, strict=True)],
        "grows": grown.get(claim.id, ()),
        "grows_at": growth if growth in places else "",
        "found": sorted({outcome.verdict.verdict for outcome in outcomes if outcome}) or [NOT_TESTED],
        "standings": sorted({outcome.standing for outcome in outcomes if outcome and outcome.standing}),
        "documents": list(dict.fromkeys(source.document for source in claim.sources)),
        "where": shared.where(claim.sources),
    }


# What a claim's outcome rests on, in words.
BASES = {
    "measured": "measured in the claim's regime",
    "below": "measured below the claim's size, which speak of small models and grade no document",
    "arithmetic": "settled by arithmetic, without training",
    "untested": "without a verdict here",
}


def basis_of(outcome: TableOutcome | None) -> str:
    if outcome is None or outcome.verdict.verdict in (OUT_OF_REGIME, INVALID, WITHDRAWN):
        return "untested"
    if outcome.verdict.is_arithmetic:
        return "arithmetic"
    return "below" if outcome.verdict.below_size else "measured"


def _verdict(outcome: TableOutcome | None) -> str:
    return outcome.verdict.verdict if outcome else NOT_TESTED


def bar(column: Column, claims: Sequence[Claim], table: OutcomeTable) -> dict[str, Any]:
    """How many claims came to each verdict in a column, by what that rests on, and how many of the decided ones may be
    false."""
    outcomes = [table.outcomes.get((claim.id, *column)) for claim in claims]
    rates = table.rates[column]
    return {
        "label": " ".join(column),
        **{basis: shared.counted(_verdict(outcome) for outcome in outcomes if basis_of(outcome) == basis) for basis in BASES},
        "decided": rates.decided,
        "tested": rates.tested,
        "false": math.ceil(rates.expected_false - 1e-9),
    }


def _studies(studies: Sequence[Study], rows: Sequence[Mapping[str, Any]], places: Collection[str]) -> list[dict[str, Any]]:
    """Studies with the verdicts of the claims that are filed under them."""
    return [
        {
            "study": study,
            "link": page(study.name) if page(study.name) in places else "",
            "counts": shared.counted(claim_row["verdict"] for claim_row in rows if claim_row["study"] == study.name),
        }
        for study in studies
    ]
