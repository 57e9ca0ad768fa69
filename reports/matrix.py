"""reports/README.md, the matrix of claims by scales: `python -m folklore.reports.matrix`
writes it; a test holds it to the published verdicts."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from folklore.harness.judging.spelling import spell_interval
from folklore.harness.judging.verdict_memory import Judged, published_verdicts
from folklore.harness.judging.verdicts import Verdict
from folklore.harness.planning import catalog
from folklore.harness.planning.catalog import Register
from folklore.harness.spec import Study
from folklore.reports import index_page

PATH = Path(__file__).parent / "README.md"
MARKS = {"supported": "✓", "refuted": "✗", "inconclusive": "?", "out of regime": "–", "invalid": "!"}


def markdown(studies: Sequence[Study], register: Register, judged: Sequence[Judged]) -> str:
    """The whole file, from what became of the studies' claims."""
    found = index_page.content(studies, register, judged, places=())
    lines = [
        "# Claims and verdicts",
        "",
        "Written by `make reports` from the published evidence; do not edit. The pages themselves, with figures and",
        "every trial, are built by the same command into `results/pages`.",
        "",
        f"{found['studied']} of {found['claims']} registered claims are judged: "
        + ", ".join(f"{count} {name}" for name, count in found["counts"].items() if count)
        + ". A verdict holds for its scale.",
        "",
        *_table(
            ("Document", "Claims", "Judged", *(name.capitalize() for name in found["counts"])),
            (
                (f"{each['title']} ({each['key']})", each["claims"], each["studied"], *each["counts"].values())
                for each in found["documents"]
            ),
        ),
    ]
    heads = ("Claim", "Where", *(f"{scale} ({device})" for scale, device in found["columns"]))
    for group, rows in found["groups"].items():
        if any(row["studied"] for row in rows):
            title = found["titles"].get(group)
            lines += ["", f"## {group}" + (f": {title}" if title else ""), ""]
            lines += _table(heads, ((_claim(row), _where(row), *map(_cell, row["cells"])) for row in rows))
    waiting = [row for rows in found["groups"].values() for row in rows if not row["studied"]]
    if waiting:
        lines += ["", "## Not yet studied", ""]
        lines += _table(("Claim", "Where"), ((_claim(row), _where(row)) for row in waiting))
    return "\n".join(lines) + "\n"


def _table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    return lines + ["| " + " | ".join(_escaped(str(cell)) for cell in row) + " |" for row in rows]


def _claim(row: dict[str, Any]) -> str:
    return f"{row['claim'].paraphrase} (`{row['claim'].id}`)"


def _where(row: dict[str, Any]) -> str:
    return ", ".join(f"{source.document} {source.section}" for source in row["claim"].sources)


def _cell(verdict: Verdict | None) -> str:
    if verdict is None:
        return "–"
    told = f"{MARKS[verdict.verdict]} {verdict.verdict}"
    if verdict.estimate is None or verdict.low is None or verdict.high is None:
        return told
    return f"{told}: {spell_interval(verdict.estimate, verdict.low, verdict.high, verdict.unit)}"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def published() -> str:
    """The file as the published evidence has it."""
    studies = [catalog.load_study(name) for name in catalog.study_names()]
    judged = [each for study in studies for each in published_verdicts(study) or ()]
    return markdown(studies, catalog.register(), judged)


if __name__ == "__main__":
    PATH.write_text(published(), encoding="utf-8")
