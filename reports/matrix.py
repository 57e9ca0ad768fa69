"""reports/README.md, the matrix of claims by scales: `python -m folklore.reports.matrix`
writes it; a test holds it to the published verdicts."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..harness.declare import Study
from ..harness.judge.spelling import spell_interval
from ..harness.judge.verdict import Verdict
from ..harness.judge.verdict_memory import JudgedTrials, published_verdicts
from ..harness.judge.withdrawing import WithdrawnVerdict
from ..harness.plan import catalog
from ..harness.plan.catalog import Register
from . import index_page
from .index_page import BASES
from .outcome_table import OutcomeTable, TableOutcome, outcome_table
from .verdict_words import MARKS, NOT_GRADED, WORDS, why

PATH = Path(__file__).parent / "README.md"


def markdown(studies: Sequence[Study], register: Register, judged: Sequence[JudgedTrials]) -> str:
    """The whole file, from what became of the studies' claims."""
    table = outcome_table(judged, register).without_rungs(studies)
    index = index_page.content(studies, register, table, places=())
    lines = [
        "# Claims and verdicts",
        "",
        "Written by `make reports` from the published evidence; do not edit. The same command builds the pages, with figures",
        "and every trial, into `results/pages`.",
        "",
        f"{index['claims']} claims, {index['own']} questions of our own; {index['judged']} are judged. A verdict holds for its"
        " scale. Firm: it repeats the version before it on fresh seeds, and survives the correction for all tested claims,"
        " leaving out any one seed, and every reasonable reading of the data; new: it repeats nothing yet; fragile: it does not"
        " survive all of them.",
        "",
        *(line for bar in index["bars"] for line in _counts(bar)),
        "",
        "Documents, each graded by what it says itself:",
        "",
        *_documents(index),
        *_withdrawn(table),
    ]
    for group in dict.fromkeys(row["study"] for row in index["rows"]):
        rows = [row for row in index["rows"] if row["study"] == group and row["judged"]]
        if rows:
            lines += ["", f"## {group}" + (f": {index['titles'][group]}" if group in index["titles"] else ""), ""]
            lines += _outcomes(rows, table)
    waiting = [row for row in index["rows"] if not row["judged"]]
    if waiting:
        lines += ["", "## To come", ""]
        lines += _table(("Claim", "Where"), ((_claim(row), _where(row)) for row in waiting))
    return "\n".join(lines) + "\n"


def _outcomes(rows: Sequence[dict[str, Any]], table: OutcomeTable) -> list[str]:
    """The verdicts of one study's claims, in the columns in which one of them has a verdict."""
    by_row = [(row, table.of(row["claim"].id)) for row in rows]
    there = [place for place in range(len(table.columns)) if any(outcomes[place] for _, outcomes in by_row)]
    heads = ("Claim", "Where", *(f"{scale} ({device})" for scale, device in (table.columns[place] for place in there)))
    return _table(heads, ((_claim(row), _where(row), *(_cell(outcomes[place]) for place in there)) for row, outcomes in by_row))


def _counts(bar: dict[str, Any]) -> list[str]:
    lines = [f"- {bar['label']}:"]
    for basis, words in BASES.items():
        counts = ", ".join(WORDS[name].count(count) for name, count in bar[basis])
        lines += [f"  - {sum(count for _, count in bar[basis])} {words}: {counts}."] if counts else []
    chance = f"  - Of the {bar['decided']} decided by measurement, at most {bar['false']} are expected to be wrong by chance."
    return [*lines, chance]


def _documents(index: dict[str, Any]) -> list[str]:
    grades = (*index["grades"], NOT_GRADED)
    rows = []
    for grading in index["documents"]:
        counts, document = dict(grading["counts"]), grading["document"]
        grade_counts = (counts.get(name, 0) for name in grades)
        rows.append((f"{document.title} ({document.key})", grading["claims"], grading["judged"], *grade_counts))
    return _table(("Document", "Claims", "Judged", *(name.capitalize() for name in grades)), rows)


def _withdrawn(table: OutcomeTable) -> list[str]:
    """Claims whose verdicts do not stand, and why."""
    verdicts = {
        outcome.verdict.claim: outcome.verdict
        for outcome in table.outcomes.values()
        if isinstance(outcome.verdict, WithdrawnVerdict)
    }
    rows = [(f"`{claim}`", verdict.erratum.date, verdict.erratum.reason) for claim, verdict in verdicts.items()]
    return ["", "## Withdrawn", "", *_table(("Claim", "Since", "Why"), rows)] if rows else []


def _table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    return lines + ["| " + " | ".join(_escaped(str(cell)) for cell in row) + " |" for row in rows]


def _claim(row: dict[str, Any]) -> str:
    return f"{row['claim'].paraphrase} (`{row['claim'].id}`)"


def _where(row: dict[str, Any]) -> str:
    own = ["our own question"] if row["claim"].own else []
    return ", ".join([*own, *(f"{source.document} {source.section}" for source in row["claim"].sources)])


def _cell(outcome: TableOutcome | None) -> str:
    if outcome is None:
        return "–"
    verdict = outcome.verdict
    if isinstance(verdict, WithdrawnVerdict):
        return f"{MARKS[verdict.verdict]} {verdict.verdict}; was ~~{_told(verdict.judged)}~~"
    return _told(verdict, outcome.standing)


def _told(verdict: Verdict, standing: str = "") -> str:
    beside = ", ".join(word for word in (why(verdict.reading), standing) if word)
    words = f"{MARKS[verdict.verdict]} {verdict.verdict}" + (f" ({beside})" if beside else "")
    if verdict.estimate is None or verdict.low is None or verdict.high is None:
        return words
    return f"{words}: {spell_interval(verdict.estimate, verdict.low, verdict.high, verdict.unit)}"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def published() -> str:
    """The file as the published evidence has it."""
    studies = catalog.all_studies()
    judged = [judged_trials for study in studies for judged_trials in published_verdicts(study) or ()]
    return markdown(studies, catalog.register(), judged)


if __name__ == "__main__":
    PATH.write_text(published(), encoding="utf-8")
