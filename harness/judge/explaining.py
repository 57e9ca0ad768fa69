"""Why a verdict is what it is, and the sentences that a reader takes away."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ..declare import Criterion
from ..declare.claims import Quantifier
from ..words import capitalized, enumerated
from .combining import OF_PARTS, SOME_PARTS, SOME_WORKLOADS, Combined, least_that_hold, undecided_over_all
from .outcomes import BETWEEN, MULTIPLICITY, OPEN, OUT_OF_REGIME, PARTLY, PRECONDITION, REFUTED, SUPPORTED, TOO_NOISY
from .sentences import Number, Sentence, filled, turned
from .spelling import region, spell_interval
from .statistics.intervals import Observation
from .verdict import CriterionFinding, Verdict


def reason(criterion: Criterion, observation: Observation, verdict: str, reading: str, settling: str) -> str:
    """The rule that applied, with its numbers. settling: what would settle it if it is open."""
    numbers = (
        f"{criterion.name}: {spell_interval(observation.estimate, observation.low, observation.high, criterion.written_in)}"
    )
    # Computed numbers have no interval.
    inside = "the whole interval is" if criterion.observe.grade == "measured" else "which is"
    if verdict == SUPPORTED:
        return f"{numbers}, {inside} {region(criterion.claimed, criterion)}"
    if verdict == OPEN:
        return f"{numbers}; {settling}"
    if verdict == PARTLY:
        return f"{numbers}, in the claimed direction ({region(criterion.claimed, criterion)}) but {IN_WORDS[reading]}"
    if reading == "opposite":
        return f"{numbers}, the effect is the opposite of the claimed one"
    if reading == "no effect" and criterion.margin is not None:
        return f"{numbers}, too small to matter"
    return f"{numbers}, {inside} {region(criterion.refuted, criterion)}"


SPOKEN_OF = {"all": "all", "most": "most", "some": "some", "exact": "all"}
WHERE = {
    SUPPORTED: "holds on",
    PARTLY: "holds partly on",
    REFUTED: "fails on",
    OPEN: "is open on",
    OUT_OF_REGIME: "cannot be tested on",
}
# Why a claim, or one of its workloads, is open.
WHY_OPEN = {
    TOO_NOISY: "too noisy",
    BETWEEN: "between the regions that support and refute it",
    MULTIPLICITY: "not significant over several tests",
    PRECONDITION: "a precondition is not shown to hold",
    "": "no estimate",
}
IN_WORDS = {
    "smaller": "smaller than claimed",
    "larger": "larger than claimed",
    "direction": "not shown to be as large",
}


def deciding(findings: Sequence[CriterionFinding], outcome: Combined) -> CriterionFinding:
    """The finding whose numbers stand for the claim: a precondition that is not met, the weakest support, the clearest
    refutation, also if several tests leave it open, else the first of its kind. Over several workloads, the finding of the
    middle one of those with the claim's verdict: neither an extreme workload nor one with another verdict speaks for all.
    """
    if outcome.reading == PRECONDITION:
        return next(finding for finding in findings if finding.precondition and finding.verdict != SUPPORTED)
    parts = [finding for finding in findings if not finding.precondition]
    if len(outcome.panels) > 1 and (middle := _middle(parts, outcome)) is not None:
        return middle
    same = [part for part in parts if part.verdict == outcome.verdict]
    if outcome.verdict == SUPPORTED and same:
        return max(same, key=lambda part: part.p_supported)
    if outcome.verdict == REFUTED and same:
        return _clearest_against(same)
    if outcome.reading == MULTIPLICITY and len(outcome.panels) == 1:
        return _clearest_against(parts)
    return (same or [part for part in parts if part.estimate is not None] or parts)[0]


def _middle(parts: Sequence[CriterionFinding], outcome: Combined) -> CriterionFinding | None:
    """The finding with the median estimate (the lower of two), of one part for every workload with the claim's verdict (if none
    has it, for all that can be tested): the first that says the same or, if none does, the first."""
    tested = [panel for panel in outcome.panels if panel.verdict != OUT_OF_REGIME] or outcome.panels
    alike = {panel.name for panel in tested if panel.verdict == outcome.verdict} or {panel.name for panel in tested}
    estimated = [part for part in parts if part.panel in alike and part.estimate is not None]
    own = [part for part in estimated if part.verdict == outcome.verdict] or estimated
    first = {part.panel: part for part in reversed(own)}
    ordered = sorted(first.values(), key=lambda part: part.estimate or 0.0)
    return ordered[(len(ordered) - 1) // 2] if ordered else None


def explained(findings: Sequence[CriterionFinding], outcome: Combined, deciding: CriterionFinding, alpha: float) -> str:
    parts = [finding for finding in findings if not finding.precondition]
    if _rests_on(outcome, deciding):
        return f"{NOT_MET}: {deciding.reason}"
    why = _why_open(findings, outcome, deciding, alpha) if outcome.verdict == OPEN else deciding.reason
    if len(outcome.panels) > 1:
        return f"{_over_panels(outcome)}; {why}"
    if outcome.verdict == SUPPORTED and len(parts) > 1:
        return f"{'both' if len(parts) == 2 else f'all {len(parts)}'} criteria hold; {why}"
    if outcome.reading in OF_PARTS:
        return "; ".join(f"{part.name}: {part.verdict}" for part in parts)
    return why


NOT_MET = "a precondition of the claim is not shown to hold"


def _rests_on(outcome: Combined, deciding: CriterionFinding) -> bool:
    """Whether the deciding finding is a precondition of the whole claim."""
    return deciding.precondition and (not deciding.panel or len(outcome.panels) == 1)


def _why_open(findings: Sequence[CriterionFinding], outcome: Combined, deciding: CriterionFinding, alpha: float) -> str:
    """Why nothing is decided, with its numbers: over all workloads, or on the workload whose numbers stand for the claim."""
    if outcome.over_all is not None:
        return f"single workloads decide it, but over all {len(outcome.panels)} p = {outcome.over_all:.2g} exceeds {alpha:.2g}"
    panel = next(panel for panel in outcome.panels if panel.name == deciding.panel)
    here = [finding for finding in findings if finding.panel == panel.name]
    parts = [finding for finding in here if not finding.precondition]
    if panel.reading == PRECONDITION:
        return f"{NOT_MET}: {next(finding.reason for finding in here if finding.precondition and finding.verdict != SUPPORTED)}"
    if panel.reading == MULTIPLICITY:
        worst = _clearest_against(parts)
        many = f"over {len(parts)} parts p = {panel.p_refuted:.2g} exceeds {alpha:.2g}"
        return f"{worst.reason}, but {many}; {worst.settling}"
    return next(finding.reason for finding in (deciding, *parts) if finding.verdict == OPEN)


def _clearest_against(parts: Sequence[CriterionFinding]) -> CriterionFinding:
    return min(parts, key=lambda part: part.p_refuted)


# More panels than this are counted, and not named.
MOST_NAMED = 3
# Most parts of a claim in an answer.
MOST_PARTS = 3


def _over_panels(outcome: Combined) -> str:
    """Holds on MLP and CNN; fails on GPT. Of many: holds on 6 of 8 workloads; is open (too noisy) on GPT."""
    named: dict[str, list[str]] = {}
    for verdict, where in WHERE.items():
        for panel in outcome.panels:
            if panel.verdict == verdict:
                why = f"is open ({WHY_OPEN[panel.reading]}) on" if verdict == OPEN else where
                named.setdefault(why, []).append(panel.name)
    many = f"of {len(outcome.panels)} workloads"
    return "; ".join(
        f"{where} {listed(names) if len(names) <= MOST_NAMED else f'{len(names)} {many}'}" for where, names in named.items()
    )


def asked_of_workloads(verdict: Verdict, quantifier: Quantifier) -> str:
    """Claimed for most workloads: holds on 3 of 4. Fails on GPT. Empty if a claim has one workload."""
    if len(verdict.panels) < 2:
        return ""
    counted = [panel for panel in verdict.panels if panel.verdict != OUT_OF_REGIME]
    holding = sum(panel.verdict == SUPPORTED for panel in counted)
    clauses = [
        f"{verb} {listed(names)}"
        for name, verb in WHERE.items()
        if name != SUPPORTED and (names := [panel.name for panel in verdict.panels if panel.verdict == name])
    ]
    rest = f" It {enumerated(clauses)}." if clauses else ""
    if not counted:
        return f"Claimed for {SPOKEN_OF[quantifier]} workloads.{rest}"
    needed = least_that_hold(quantifier, len(counted))
    return (
        f"Claimed for {SPOKEN_OF[quantifier]} workloads ({needed} of {len(counted)} must hold):"
        f" holds on {holding} of {len(counted)}.{rest}"
    )


def listed(workloads: Sequence[str]) -> str:
    """Workloads as a list, in which MLP, clean labels is MLP (clean labels), so that it does not look like two."""
    return enumerated([f"{name.replace(', ', ' (', 1)})" if ", " in name and "(" not in name else name for name in workloads])


def answer(findings: Sequence[CriterionFinding], outcome: Combined, deciding: CriterionFinding) -> tuple[Sentence, ...]:
    """The sentences that a reader takes away."""
    if deciding.estimate is None:
        return (Sentence((f"No estimate: {deciding.reason}.",)),)
    parts = [finding for finding in findings if not finding.precondition and finding.estimate is not None]
    said = deciding.says
    if _rests_on(outcome, deciding):
        return said, Sentence(("This precondition of the claim is not shown to hold, so nothing is decided.",))
    if outcome.verdict == OUT_OF_REGIME:
        why = Sentence((f"{capitalized(deciding.reason)}.",))
        return why, Sentence(("Seen here, and not decisive: ", *said.parts))
    if outcome.reading == SOME_WORKLOADS:
        return *_different(_contrasted(parts, outcome)), *_on_which(outcome)
    if len(outcome.panels) > 1:
        sentences = (said, *_range_over_workloads(findings, deciding, outcome), *_beside(parts, outcome, deciding))
        untested = _untested(findings, deciding) if outcome.reading in OF_PARTS else ()
        return *dict.fromkeys(sentences), *untested, *_on_which(outcome)
    if outcome.reading == MULTIPLICITY:
        many = f"p = {outcome.panels[0].p_refuted:.2g} over its {len(parts)} parts is not significant"
        return said, Sentence((f"This alone would refute the claim, but {many}.",))
    if outcome.verdict == OPEN:
        return said, Sentence((f"It is open whether {deciding.claimed}: {deciding.settling}.",))
    if outcome.verdict == REFUTED:
        parts = [part for part in parts if part.verdict == REFUTED]
    untested = _untested(findings, deciding) if outcome.verdict == PARTLY else ()
    return *(_different(parts[:MOST_PARTS]) or (said,)), *untested


def _beside(parts: Sequence[CriterionFinding], outcome: Combined, deciding: CriterionFinding) -> tuple[Sentence, ...]:
    """Further sentences on a claim of several parts: if it holds, its other parts on the same workload; if it holds in part,
    one that fails, on the same workload if there is one."""
    if outcome.verdict == SUPPORTED:
        own = [part for part in parts if part.panel == deciding.panel and part is not deciding]
        return _different(own[: MOST_PARTS - 1])
    if outcome.reading != SOME_PARTS:
        return ()
    failing = sorted(
        (part for part in parts if part.verdict == REFUTED), key=lambda part: (part.panel != deciding.panel, part.p_refuted)
    )
    return _different(failing[:1])


def _untested(findings: Sequence[CriterionFinding], deciding: CriterionFinding) -> Iterator[Sentence]:
    """A sentence on how many parts of a claim that holds in part cannot be tested."""
    parts = [finding for finding in findings if not finding.precondition and finding.panel == deciding.panel]
    if untested := sum(part.verdict == OUT_OF_REGIME for part in parts):
        yield Sentence((f"{untested} of its {len(parts)} parts cannot be tested here.",))


def _contrasted(parts: Sequence[CriterionFinding], outcome: Combined) -> list[CriterionFinding]:
    """Findings where the claim holds, and where it fails: on the middle one of those workloads."""
    findings = []
    for verdicts in ((SUPPORTED, PARTLY), (REFUTED,)):
        panels = tuple(panel for panel in outcome.panels if panel.verdict in verdicts)
        middle = _middle(parts, replace(outcome, verdict=panels[0].verdict, panels=panels)) if panels else None
        findings += [] if middle is None else [middle]
    return findings


def _range_over_workloads(
    findings: Sequence[CriterionFinding], deciding: CriterionFinding, outcome: Combined
) -> Iterator[Sentence]:
    """Range over the 4 workloads: 0.1% to 1.9%. It takes the same part on each that can be tested, with the sentence's sign;
    over 3 of the 4 if some have no number, or one of another unit."""
    if deciding.precondition:
        return
    untested = {panel.name for panel in outcome.panels if panel.verdict == OUT_OF_REGIME}
    by_panel: dict[str, list[CriterionFinding]] = {}
    for finding in findings:
        if not finding.precondition and finding.panel not in untested:
            by_panel.setdefault(finding.panel, []).append(finding)
    same = [part for part in _same_part(by_panel, deciding) if part.unit == deciding.unit]
    sentence_number = next((part for part in deciding.says.parts if isinstance(part, Number)), None)
    numbers = [
        number
        for part in same
        if sentence_number is not None and (number := _as_told(part, deciding, sentence_number)) is not None
    ]
    if len(numbers) < 2:
        return
    least, most = (end(numbers, key=lambda number: number.estimate) for end in (min, max))
    if least.value != most.value:
        digits, _, unit = least.value.partition(" ")
        low = digits if unit and most.value.endswith(f" {unit}") else least.value  # 3 to 5 nats
        over = f"the {len(numbers)}" if len(numbers) == len(by_panel) else f"{len(numbers)} of the {len(by_panel)}"
        yield Sentence((f"Range over {over} workloads: ", low, " to ", most.value, "."))


def _same_part(by_panel: Mapping[str, Sequence[CriterionFinding]], deciding: CriterionFinding) -> Iterator[CriterionFinding]:
    """The part of every workload that is named like the deciding one but for the workload; else the part in its place, unless
    it is named like another."""

    def words(part: CriterionFinding) -> str:
        return part.name.replace(part.panel, "")

    own = by_panel[deciding.panel]
    place, others = list(own).index(deciding), {words(part) for part in own if part is not deciding}
    for parts in by_panel.values():
        placed = (part for part in parts[place : place + 1] if words(part) not in others)
        named = (part for part in parts if words(part) == words(deciding))
        yield from itertools.islice(itertools.chain(named, placed), 1)


def _as_told(finding: CriterionFinding, deciding: CriterionFinding, number: Number) -> Number | None:
    """A finding's number, turned round if the sentence's is; None if it has none, or the sentence has another."""
    if finding.estimate is None or finding.low is None or finding.high is None or deciding.estimate is None:
        return None
    plain = replace(number, estimate=finding.estimate, low=finding.low, high=finding.high, word="")
    if number.estimate == deciding.estimate:
        return plain
    for ratio in (False, True):
        if number.estimate == turned(deciding.estimate, ratio):
            estimate, high, low = (turned(end, ratio) for end in (finding.estimate, finding.low, finding.high))
            return replace(plain, estimate=estimate, low=low, high=high)
    return None


def _on_which(outcome: Combined) -> Iterator[Sentence]:
    """The claim holds on MLP and CNN; fails on GPT."""
    start = "It depends on the workload: the claim" if outcome.reading == SOME_WORKLOADS else "The claim"
    yield Sentence((f"{start} {_over_panels(outcome)}.",))
    if outcome.over_all is not None:
        yield Sentence((f"Over all workloads together this is not significant (p = {outcome.over_all:.2g}).",))


def _different(findings: Iterable[CriterionFinding]) -> tuple[Sentence, ...]:
    """The sentences of findings, each once."""
    return tuple({str(finding.says): finding.says for finding in findings}.values())


def told_workloads(verdict: Verdict) -> tuple[str, ...]:
    """The workloads whose numbers an answer gives."""
    outcome = Combined(verdict.verdict, verdict.reading, verdict.p, verdict.panels, verdict.direction)
    parts = [finding for finding in verdict.findings if not finding.precondition]
    findings = _contrasted(parts, outcome) if outcome.reading == SOME_WORKLOADS else [deciding(verdict.findings, outcome)]
    return tuple(dict.fromkeys(finding.panel for finding in findings))


def retold(verdict: Verdict, criteria: Sequence[Criterion], quantifier: Quantifier) -> Verdict:
    """A stored verdict, whose sentences are plain text, with its criteria's sentences, which know their numbers."""
    if not verdict.findings:
        return verdict
    pairs = zip(criteria, verdict.findings, strict=True)
    findings = tuple(replace(finding, says=_said(criterion, finding)) for criterion, finding in pairs)
    over_all = undecided_over_all(verdict.panels, quantifier) if verdict.reading == MULTIPLICITY else None
    outcome = Combined(verdict.verdict, verdict.reading, verdict.p, verdict.panels, verdict.direction, over_all)
    return replace(verdict, findings=findings, answer=answer(findings, outcome, deciding(findings, outcome)))


def _said(criterion: Criterion, finding: CriterionFinding) -> Sentence:
    if finding.estimate is None or finding.low is None or finding.high is None:
        return Sentence()
    return filled(criterion, finding.estimate, finding.low, finding.high)


def in_question(criterion: Criterion) -> str:
    """The clause after "whether" that an open criterion leaves open."""
    at_the_null = criterion.null is not None and any(criterion.null in piece for piece in criterion.claimed.pieces)
    return "this is more than chance" if at_the_null else f"this is {region(criterion.claimed, criterion)}"
