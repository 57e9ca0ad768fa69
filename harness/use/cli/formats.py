"""Verdicts of `folklore judge`, to be sent: Markdown for a pull request, rows of LaTeX for a table."""

import re
from collections.abc import Iterable, Iterator, Sequence

from ...elsewhere.gate import MEANINGS, Gate
from ...elsewhere.judge_runs import JudgedRuns
from ...elsewhere.ranking import PlacedResult, Ranking
from ...elsewhere.run_verdict import RunVerdict
from ...judge.spelling import in_prose
from ...words import capitalized

FORMATS = ("markdown", "latex")
SIGNS = {"supported": "✓", "partly": "◐", "refuted": "✗", "open": "?"}
# LaTeX's special characters.
SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$"}
SPECIAL |= {sign: "\\" + sign for sign in "&%$#_{}"} | {"≤": r"$\leq$", "≥": r"$\geq$", "−": "$-$", "–": "--"}

Report = JudgedRuns | Gate | Ranking


def written(report: Report, form: str) -> str:
    """The report as text. form: one of FORMATS."""
    return "".join(f"{line}\n" for line in (_markdown(report) if form == "markdown" else _latex(report)))


def _markdown(report: Report) -> Iterator[str]:
    if isinstance(report, Ranking):
        yield from _table(_heads(report), [_cells(placed) for placed in report.arms])
        return
    judged = report.judged if isinstance(report, Gate) else report
    if isinstance(report, Gate):
        yield f"**{capitalized(report.outcome)}**: {MEANINGS[report.outcome]}.{_rates(report)}"
        yield ""
    yield from _table(
        ("Verdict", "Claim", _effect_head(judged), "p", _rows_are(judged)), [_of_claim(verdict) for verdict in judged.claims]
    )
    yield ""
    for verdict in judged.claims:
        said = [str(verdict.answer), *map(_sentence, filter(None, [verdict.reason, verdict.settling, *verdict.notes]))]
        said += [f"Fragile: {'; '.join(verdict.fragile)}."] if verdict.fragile else []
        yield _plain(f"- {verdict.claim.text}: {' '.join(said)}")
    for problem in judged.problems:
        yield _plain(f"- {capitalized(problem.what)}: {problem.count}; {problem.consequence}.")


def _effect_head(judged: JudgedRuns) -> str:
    """Claims of equivalence and non-inferiority have intervals of 90%."""
    levels = sorted({f"{verdict.level:.0%}" for verdict in judged.claims}, reverse=True)
    return f"Effect ({' or '.join(levels)} CI)"


def _rows_are(judged: JudgedRuns) -> str:
    return "Items" if judged.runs[0].of_items else "Runs"


def _rates(gate: Gate) -> str:
    if gate.false_alarms is None:
        return ""
    return f" False alarms: {gate.false_alarms:.2g}; damage of twice the margin is seen {gate.caught:.0%} of the time."


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield _line(heads)
    yield _line(["---"] * len(heads))
    yield from map(_line, rows)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_plain, cells)) + " |"


def _plain(text: str) -> str:
    """Text that Markdown shows as it is: names of arms come from files of others."""
    return re.sub(r"([\\`*\[\]|@#<])", r"\\\1", " ".join(text.split()))


def _of_claim(judged: RunVerdict) -> tuple[str, ...]:
    verdict = " ".join(
        filter(None, [SIGNS.get(judged.verdict, ""), judged.verdict, f"({judged.strength})" * bool(judged.strength)])
    )
    return verdict, judged.claim.text, _effect(judged), f"{judged.p:.2g}", _runs(judged)


def _effect(judged: RunVerdict) -> str:
    if judged.estimate is None or judged.low is None or judged.high is None:
        return "–"
    return in_prose(judged.estimate, judged.low, judged.high, judged.unit)


def _runs(judged: RunVerdict) -> str:
    counts = [sum(finding.runs[side] for finding in judged.findings) for side in (0, 1)]
    return " and ".join(str(count) for count in counts if count)


def _heads(ranking: Ranking) -> tuple[str, ...]:
    return ("Rank", "Arm", "Score (95% CI)" if ranking.is_of_tasks else "Mean (95% CI)", "Better", "Tied with")


def _cells(placed: PlacedResult) -> tuple[str, ...]:
    return placed.ranks, placed.arm, mean_of(placed), improvement_of(placed), ", ".join(placed.tied)


def mean_of(placed: PlacedResult) -> str:
    """The arm's mean with its interval, if it has one."""
    ends = (placed.mean, placed.mean) if placed.low is None or placed.high is None else (placed.low, placed.high)
    return in_prose(placed.mean, *ends)


def improvement_of(placed: PlacedResult) -> str:
    return "–" if placed.improvement is None else f"{placed.improvement:.0%}"


def _latex(report: Report) -> Iterator[str]:
    """A row for each claim or arm, under a comment that names the columns."""
    if isinstance(report, Ranking):
        heads, rows = _heads(report), [_cells(placed) for placed in report.arms]
    else:
        judged = report.judged if isinstance(report, Gate) else report
        heads = ("Claim", "Verdict", _effect_head(judged), "p", _rows_are(judged))
        rows = [
            (verdict.claim.text, verdict.verdict, _effect(verdict), f"{verdict.p:.2g}", _runs(verdict))
            for verdict in judged.claims
        ]
    yield "% " + " & ".join(heads)
    for row in rows:
        yield " & ".join(map(_escaped, row)) + r" \\"


def _escaped(text: str) -> str:
    return "".join(SPECIAL.get(sign, sign) for sign in " ".join(text.split()))


def _sentence(text: str) -> str:
    return capitalized(text) + "." * (not text.endswith(("?", ".")))
