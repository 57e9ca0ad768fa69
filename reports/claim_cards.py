"""The card of one claim on a study's page: the verdict, the sentence, the criteria in a table, and all that is folded."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from markupsafe import Markup

from ..harness.declare import Claim, Criterion, Document, Erratum, Judgement, Observed, Published, Study
from ..harness.judge.attempts import Attempt
from ..harness.judge.error_rates import FRAGILE, ErrorRates, standing, why_fragile
from ..harness.judge.explaining import asked_of_workloads
from ..harness.judge.power import Resolution
from ..harness.judge.robustness import Robustness
from ..harness.judge.settling import turns_open_at
from ..harness.judge.spelling import in_prose, number_and_interval, region, spell, spell_declared
from ..harness.judge.verdict import CriterionFinding, Verdict
from ..harness.judge.verdict_history import Change, RuleChange
from ..harness.judge.withdrawing import WithdrawnVerdict, as_judged
from ..harness.words import counted, enumerated
from . import changes_page
from .phrases import title, with_bold_numbers
from .places import place_of
from .verdict_words import why
from .words import OUTCOMES, READINGS

# As CITATION.cff, LICENSE and pyproject.toml have them.
AUTHORS, LICENCE, PACKAGE = "The Folklore developers", "MIT", "folklore-harness"
TESTS = {
    "no_worse": "No worse by more than the margin, tested at 5% on one side: being better never refutes.",
    "equivalence": "The same within the margin, by two tests at 5% each.",
}


@dataclass(frozen=True)
class Place:
    """Where a claim stands in one document. link: to the page of that."""

    title: str
    sections: str
    link: str


@dataclass(frozen=True)
class Row:
    """One criterion in the table of a card. number, interval: empty without one, and `reason` says why."""

    name: str
    claimed: str
    number: str
    interval: str
    outcome: str
    verdict: str
    reason: str


@dataclass(frozen=True)
class Rule:
    """One criterion in words, as it was fixed: (what, text) pairs; outcome: what was found."""

    name: str
    lines: tuple[tuple[str, str], ...]
    outcome: str


@dataclass(frozen=True)
class Card:
    """All of it; `rules` and what follows are folded, but for `tables`: where exact numbers come from. erratum: of a verdict
    that is withdrawn; `was`, `reading` and `sentence` are then those that do not stand. course: what published verdicts it had
    before, a clause; empty if it never had another. unjudged: clauses of the claim's measure that no criterion of this scale
    decides."""

    id: str
    claim: Claim
    title: str
    verdict: Verdict
    erratum: Erratum | None
    was: str
    course: str
    reading: str
    standing: str
    fragile: tuple[str, ...]
    sentence: Markup
    workloads: str
    rows: tuple[Row, ...]
    places: tuple[Place, ...]
    rules: tuple[Rule, ...]
    robustness: str
    power: tuple[str, ...]
    calibration: tuple[str, ...]
    published: tuple[Published, ...]
    contradictions: tuple[str, ...]
    reported: tuple[str, ...]
    tables: tuple[Mapping[str, Any], ...]
    unjudged: tuple[str, ...]
    rule_changes: tuple[RuleChange, ...]
    sides: tuple[str, ...]
    note: str
    cite: str
    command: str
    advice_before: str
    earlier: tuple[Attempt, ...]


def card(
    verdict: Verdict,
    claim: Claim,
    judgement: Judgement,
    documents: Mapping[str, Document],
    robust: Robustness | None,
    rates: ErrorRates,
    resolutions: Sequence[Resolution] = (),
    published: Sequence[Published] = (),
    reported: Sequence[str] = (),
    tables: Sequence[Mapping[str, Any]] = (),
    calibrated: Sequence[Mapping[str, Any]] = (),
    changes: Sequence[Change] = (),
    rule_changes: Sequence[RuleChange] = (),
    cite: str = "",
    command: str = "",
    advice_before: str = "",
    earlier: Sequence[Attempt] = (),
) -> Card:
    """changes: of the claim's published verdict at this scale. rule_changes: of its rule in this study. cite, command: how to
    name it, and what trains it again. advice_before: as it was declared, if it was changed after the verdict.
    earlier: what versions of the study that were replaced came to."""
    criteria = judgement.criteria_at(verdict.scale)
    stands = standing(verdict, robust, rates)
    own = tuple(publication for publication in published if publication.claim == verdict.claim)
    judged = as_judged(verdict)
    return Card(
        id=f"{verdict.claim}-{verdict.scale}-{verdict.device}",
        claim=claim,
        title=title(claim),
        verdict=verdict,
        erratum=verdict.erratum if isinstance(verdict, WithdrawnVerdict) else None,
        was="" if judged is verdict else judged.verdict,
        course=changes_page.course(changes),
        reading=READINGS.get(judged.reading, why(judged.reading)),
        standing=stands,
        fragile=tuple(why_fragile(verdict, robust, rates)) if robust is not None and stands == FRAGILE else (),
        sentence=with_bold_numbers(judged.answer),
        workloads=asked_of_workloads(verdict, judgement.quantifier or claim.quantifier),
        rows=_rows(criteria, verdict),
        places=_places(claim, documents),
        rules=tuple(_rule(criterion, finding, claim) for criterion, finding in zip(criteria, verdict.findings, strict=False)),
        robustness=f"{robust.seeds_in_words}; {robust.choices_in_words}" if robust is not None and judged is verdict else "",
        power=tuple(line for resolution in resolutions if (line := power_in_words(resolution, verdict.seeds))),
        calibration=tuple(calibration_in_words(criteria, verdict.seeds, calibrated)),
        published=own,
        contradictions=tuple(_contradictions(criteria, verdict, own)),
        reported=tuple(reported),
        tables=tuple(tables),
        unjudged=tuple(
            text for letter, text in claim.clauses.items() if letter not in {criterion.clause for criterion in criteria}
        ),
        rule_changes=tuple(rule_changes),
        sides=tuple(_sides(claim, judgement, documents)),
        note=judgement.note,
        cite=cite,
        command=command,
        advice_before=advice_before,
        earlier=tuple(earlier),
    )


def citation(verdict: Verdict, claim: Claim, study: Study, as_of: str, site_url: str) -> str:
    """A verdict as others can cite it: authors, year, title, what it rests on, and its address if the pages have one. as_of: as
    2026-11-28."""
    named = f"claim {verdict.claim}, study {study.name} version {study.version} (hash {study.hash})"
    link = f" {site_url}{place_of(verdict)}" if site_url else ""
    return (
        f"{AUTHORS} ({as_of[:4]}). {title(claim)}. Folklore {version(PACKAGE)}, {named}, {verdict.scale} scale,"
        f" {counted(verdict.seeds, 'seed')}, as of {as_of}.{link}"
    )


def _rows(criteria: Sequence[Criterion], verdict: Verdict) -> tuple[Row, ...]:
    pairs = list(zip(criteria, verdict.findings, strict=False))
    parts = Counter(finding.panel for _, finding in pairs)
    return tuple(row(_row_name(criterion, finding, parts), criterion, finding) for criterion, finding in pairs)


def row(name: str, criterion: Criterion, finding: CriterionFinding) -> Row:
    number = interval = ""
    if finding.estimate is not None and finding.low is not None and finding.high is not None:
        number, interval = number_and_interval(finding.estimate, finding.low, finding.high, finding.unit)
        if finding.low < finding.high and not math.isclose(finding.level, 0.95):
            interval += f" {finding.level:.0%}"
    claimed = region(criterion.claimed, criterion)
    return Row(name, claimed, number, interval, OUTCOMES[finding.verdict], finding.verdict, finding.reason)


def _contradictions(criteria: Sequence[Criterion], verdict: Verdict, published: Sequence[Published]) -> list[str]:
    """Others measured 4x (Kalra and Barkeshli 2024), here 1.8x (1.6–2.0). And the likeliest reason."""
    lines = []
    for criterion, finding in zip(criteria, verdict.findings, strict=False):
        if finding.estimate is None or finding.low is None or finding.high is None:
            continue
        for publication in published:
            if (
                publication.criterion != criterion.name
                or publication.value is None
                or finding.low <= publication.value <= finding.high
            ):
                continue
            theirs = in_prose(publication.value, publication.value, publication.value, criterion.written_in)
            ours = in_prose(finding.estimate, finding.low, finding.high, criterion.written_in)
            lines.append(f"others measured {theirs} ({publication.source}), here {ours}. {publication.if_different}".strip())
    return lines


def _row_name(criterion: Criterion, finding: CriterionFinding, parts: Mapping[str, int]) -> str:
    """Its workload, if it has one and nothing else is observed there; else its own name."""
    if criterion.precondition:
        return f"Precondition: {criterion.name}"
    if not finding.panel:
        return criterion.name
    if parts[finding.panel] == 1:
        return finding.panel
    return criterion.name if finding.panel in criterion.name else f"{finding.panel}: {criterion.name}"


def _places(claim: Claim, documents: Mapping[str, Document]) -> tuple[Place, ...]:
    sections: dict[str, list[str]] = {}
    for source in claim.sources:
        if source.document in documents:
            sections.setdefault(source.document, []).append(source.section)
    return tuple(Place(documents[key].title, _sections(names), f"document-{key}.html") for key, names in sections.items())


def _sections(names: Sequence[str]) -> str:
    """Sections 2, 11 and 12, Q3."""
    numbered = [name for name in names if name[0].isdigit()]
    word = "section" if len(numbered) == 1 else "sections"
    numeric_sections = [f"{word} {enumerated(numbered)}"] if numbered else []
    return ", ".join([*numeric_sections, *(name for name in names if name not in numbered)])


def _rule(criterion: Criterion, finding: CriterionFinding, claim: Claim) -> Rule:
    unit = criterion.written_in
    lines = [("decides", claim.clauses[criterion.clause])] if criterion.clause in claim.clauses and criterion.clause else []
    lines += [("supported if", region(criterion.claimed, criterion)), ("refuted if", region(criterion.refuted, criterion))]
    if criterion.null is not None:
        lines.append(("no effect", spell_declared(criterion.null, unit)))
    if criterion.negligible is not None:
        low, high = (spell_declared(edge, unit) for edge in criterion.negligible)
        lines.append(("too small to matter", f"between {low} and {high}"))
    if criterion.expected is not None:
        lines.append(("expected", f"{spell_declared(criterion.expected.value, unit)} ({criterion.expected.source})"))
    if criterion.test in TESTS:
        lines.append(("test", TESTS[criterion.test]))
    lines.append(("interval", _interval(criterion.observe, finding)))
    if finding.grade == "measured" and finding.low is not None and finding.high is not None:
        bound = turns_open_at(criterion, finding.verdict, finding.low, finding.high)
        lines += [] if bound is None else [("turns open", f"at a bound of {spell(bound, unit)}")]
    reason = finding.reason if finding.estimate is not None else f"no number: {finding.reason}"
    name = f"Precondition: {criterion.name}" if criterion.precondition else criterion.name
    return Rule(
        name, tuple(lines), f"{finding.verdict}{f' ({reading})' if (reading := why(finding.reading)) else ''}: {reason}"
    )


def _interval(observed: Observed, finding: CriterionFinding) -> str:
    """The level of an interval, or how exact a number without one is."""
    if observed.grade == "measured":
        return f"{finding.level:.1%}".replace(".0%", "%")
    if observed.grade == "exact":
        return "none: the number is exact"
    return "none: the number is computed in 64 bits, the same on every machine to its last digits shown"


def power_in_words(resolution: Resolution, seeds: int) -> str:
    """The effect that a criterion shows with this many seeds, and its power; empty if neither is known."""
    if resolution.expected is not None and resolution.power is not None:
        line = (
            f"{resolution.criterion}: {seeds} seeds show the expected {spell_declared(resolution.expected, resolution.unit)}"
            f" ({resolution.verdict}) with {resolution.power:.0%} power"
        )
        if resolution.power < 0.8:
            line += (
                f"; {resolution.seeds} seeds would have 80%" if resolution.seeds else "; no number of seeds up to 1000 has 80%"
            )
        return line + "."
    if resolution.resolves is not None:
        how_far = (
            f"a factor of {resolution.resolves:.3g}"
            if resolution.log_axis
            else spell(resolution.resolves, resolution.unit).lstrip("+")
        )
        return f"{resolution.criterion}: {seeds} seeds decide what lies {how_far} inside a region, with 80% power."
    return ""


def calibration_in_words(criteria: Sequence[Criterion], seeds: int, calibrated: Sequence[Mapping[str, Any]]) -> list[str]:
    """How often intervals of these kinds held the truth in simulated worlds with about this many seeds."""
    lines = []
    for kind in dict.fromkeys(
        criterion.observe.calibrated_as for criterion in criteria if criterion.observe.grade == "measured"
    ):
        rows = [row for row in calibrated if row["observable"] == kind and row["coverage"] is not None]
        if not rows:
            continue
        nearest = min({row["seeds"] for row in rows}, key=lambda count: (abs(count - seeds), count))
        covered = [row["coverage"] for row in rows if row["seeds"] == nearest]
        low, high = (f"{value:.0%}" for value in (min(covered), max(covered)))
        share = low if low == high else f"{low} to {high}"
        lines.append(
            f"95% intervals of “{kind.replace('_', ' ')}” hold the truth in {share} of simulated worlds with {nearest} seeds."
        )
    return lines


def _sides(claim: Claim, judgement: Judgement, documents: Mapping[str, Document]) -> list[str]:
    """A line for each side of the documents: its words, and the verdict that shows it to be right."""
    right = {side: verdict for verdict, side in (judgement.right or {}).items()}
    lines = []
    for side in claim.sides:
        sources = [f"{source.document} {source.section}" for source in side.sources]
        who = f" ({', '.join(sources)})" if sources else ""
        shown = f" Right if {right[side.name]}." if side.name in right else ""
        lines.append(f"{side.says.rstrip('.')}{who}.{shown}")
    return lines
