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


def reason(criterion: Criterion, seen: Observation, verdict: str, reading: str, settling: str) -> str:
    """The rule that applied, with its numbers. settling: what would settle it if it is open."""
    numbers = f"{criterion.name}: {spell_interval(seen.estimate, seen.low, seen.high, criterion.written_in)}"
    # What is computed has no interval.
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


def deciding(findings: Sequence[CriterionFinding], found: Combined) -> CriterionFinding:
    """The finding whose numbers stand for the claim: a precondition that is not met, the weakest support, the clearest
    refutation, also where several tests leave it open, else the first of its kind. Over several workloads that of the middle
    one of those with the claim's verdict: no extreme one speaks for all, and none that says something else.
    """
    if found.reading == PRECONDITION:
        return next(each for each in findings if each.precondition and each.verdict != SUPPORTED)
    parts = [each for each in findings if not each.precondition]
    if len(found.panels) > 1 and (middle := _middle(parts, found)) is not None:
        return middle
    same = [each for each in parts if each.verdict == found.verdict]
    if found.verdict == SUPPORTED and same:
        return max(same, key=lambda each: each.p_supported)
    if found.verdict == REFUTED and same:
        return _clearest_against(same)
    if found.reading == MULTIPLICITY and len(found.panels) == 1:
        return _clearest_against(parts)
    return (same or [each for each in parts if each.estimate is not None] or parts)[0]


def _middle(parts: Sequence[CriterionFinding], found: Combined) -> CriterionFinding | None:
    """Of the first part of every workload with the claim's verdict (if none has it, of all that can be tested) that says the
    same, or of the first parts, the one with the median estimate (the lower of two)."""
    tested = [panel for panel in found.panels if panel.verdict != OUT_OF_REGIME] or found.panels
    alike = {panel.name for panel in tested if panel.verdict == found.verdict} or {panel.name for panel in tested}
    seen = [each for each in parts if each.panel in alike and each.estimate is not None]
    own = [each for each in seen if each.verdict == found.verdict] or seen
    first = {each.panel: each for each in reversed(own)}
    ordered = sorted(first.values(), key=lambda each: each.estimate or 0.0)
    return ordered[(len(ordered) - 1) // 2] if ordered else None


def explained(findings: Sequence[CriterionFinding], found: Combined, deciding: CriterionFinding, alpha: float) -> str:
    parts = [each for each in findings if not each.precondition]
    if _rests_on(found, deciding):
        return f"{NOT_MET}: {deciding.reason}"
    why = _why_open(findings, found, deciding, alpha) if found.verdict == OPEN else deciding.reason
    if len(found.panels) > 1:
        return f"{_over_panels(found)}; {why}"
    if found.verdict == SUPPORTED and len(parts) > 1:
        return f"{'both' if len(parts) == 2 else f'all {len(parts)}'} criteria hold; {why}"
    if found.reading in OF_PARTS:
        return "; ".join(f"{each.name}: {each.verdict}" for each in parts)
    return why


NOT_MET = "a precondition of the claim is not shown to hold"


def _rests_on(found: Combined, deciding: CriterionFinding) -> bool:
    """Whether what decides is a precondition of the whole claim."""
    return deciding.precondition and (not deciding.panel or len(found.panels) == 1)


def _why_open(findings: Sequence[CriterionFinding], found: Combined, deciding: CriterionFinding, alpha: float) -> str:
    """Why nothing is decided, with its numbers: over all workloads, or on that whose numbers stand for the claim."""
    if found.over_all is not None:
        return f"single workloads decide it, but over all {len(found.panels)} p = {found.over_all:.2g} exceeds {alpha:.2g}"
    panel = next(each for each in found.panels if each.name == deciding.panel)
    here = [each for each in findings if each.panel == panel.name]
    parts = [each for each in here if not each.precondition]
    if panel.reading == PRECONDITION:
        return f"{NOT_MET}: {next(each.reason for each in here if each.precondition and each.verdict != SUPPORTED)}"
    if panel.reading == MULTIPLICITY:
        worst = _clearest_against(parts)
        many = f"over {len(parts)} parts p = {panel.p_refuted:.2g} exceeds {alpha:.2g}"
        return f"{worst.reason}, but {many}; {worst.settling}"
    return next(each.reason for each in (deciding, *parts) if each.verdict == OPEN)


def _clearest_against(parts: Sequence[CriterionFinding]) -> CriterionFinding:
    return min(parts, key=lambda each: each.p_refuted)


# More panels than these are counted where they are the larger part; the rest is named.
MOST_NAMED = 3
# Parts of a claim that an answer tells.
MOST_PARTS = 3


def _over_panels(found: Combined) -> str:
    """Holds on MLP and CNN; fails on GPT. Of many: holds on 6 of 8 workloads; is open (too noisy) on GPT."""
    named: dict[str, list[str]] = {}
    for verdict, where in WHERE.items():
        for each in found.panels:
            if each.verdict == verdict:
                why = f"is open ({WHY_OPEN[each.reading]}) on" if verdict == OPEN else where
                named.setdefault(why, []).append(each.name)
    many = f"of {len(found.panels)} workloads"
    return "; ".join(
        f"{where} {listed(names) if len(names) <= MOST_NAMED else f'{len(names)} {many}'}" for where, names in named.items()
    )


def asked_of_workloads(verdict: Verdict, quantifier: Quantifier) -> str:
    """Claimed for most workloads: holds on 3 of 4. Fails on GPT. Empty where a claim has one workload."""
    if len(verdict.panels) < 2:
        return ""
    counted = [panel for panel in verdict.panels if panel.verdict != OUT_OF_REGIME]
    holding = sum(panel.verdict == SUPPORTED for panel in counted)
    told = [
        f"{verb} {listed(names)}"
        for name, verb in WHERE.items()
        if name != SUPPORTED and (names := [panel.name for panel in verdict.panels if panel.verdict == name])
    ]
    rest = f" It {enumerated(told)}." if told else ""
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


def answer(findings: Sequence[CriterionFinding], found: Combined, deciding: CriterionFinding) -> tuple[Sentence, ...]:
    """What a reader takes away."""
    if deciding.estimate is None:
        return (Sentence((f"No estimate: {deciding.reason}.",)),)
    parts = [each for each in findings if not each.precondition and each.estimate is not None]
    said = deciding.says
    if _rests_on(found, deciding):
        return said, Sentence(("This precondition of the claim is not shown to hold, so nothing is decided.",))
    if found.verdict == OUT_OF_REGIME:
        why = Sentence((f"{capitalized(deciding.reason)}.",))
        return why, Sentence(("Seen here, and not decisive: ", *said.parts))
    if found.reading == SOME_WORKLOADS:
        return *_different(_contrasted(parts, found)), *_on_which(found)
    if len(found.panels) > 1:
        told = (said, *_range_over_workloads(findings, deciding, found), *_beside(parts, found, deciding))
        untested = _untested(findings, deciding) if found.reading in OF_PARTS else ()
        return *dict.fromkeys(told), *untested, *_on_which(found)
    if found.reading == MULTIPLICITY:
        many = f"p = {found.panels[0].p_refuted:.2g} over its {len(parts)} parts is not significant"
        return said, Sentence((f"This alone would refute the claim, but {many}.",))
    if found.verdict == OPEN:
        return said, Sentence((f"It is open whether {deciding.claimed}: {deciding.settling}.",))
    if found.verdict == REFUTED:
        parts = [each for each in parts if each.verdict == REFUTED]
    untested = _untested(findings, deciding) if found.verdict == PARTLY else ()
    return *(_different(parts[:MOST_PARTS]) or (said,)), *untested


def _beside(parts: Sequence[CriterionFinding], found: Combined, deciding: CriterionFinding) -> tuple[Sentence, ...]:
    """What else a reader has to know of a claim of several parts: of what holds its other parts on the same workload; of what
    holds in part, one that fails, if there is one on the same workload."""
    if found.verdict == SUPPORTED:
        own = [each for each in parts if each.panel == deciding.panel and each is not deciding]
        return _different(own[: MOST_PARTS - 1])
    if found.reading != SOME_PARTS:
        return ()
    failing = sorted(
        (each for each in parts if each.verdict == REFUTED), key=lambda each: (each.panel != deciding.panel, each.p_refuted)
    )
    return _different(failing[:1])


def _untested(findings: Sequence[CriterionFinding], deciding: CriterionFinding) -> Iterator[Sentence]:
    """How many parts of a claim that holds in part cannot be tested."""
    parts = [each for each in findings if not each.precondition and each.panel == deciding.panel]
    if untested := sum(each.verdict == OUT_OF_REGIME for each in parts):
        yield Sentence((f"{untested} of its {len(parts)} parts cannot be tested here.",))


def _contrasted(parts: Sequence[CriterionFinding], found: Combined) -> list[CriterionFinding]:
    """What is seen where the claim holds, and where it fails: on the middle one of those workloads."""
    told = []
    for verdicts in ((SUPPORTED, PARTLY), (REFUTED,)):
        panels = tuple(each for each in found.panels if each.verdict in verdicts)
        middle = _middle(parts, replace(found, verdict=panels[0].verdict, panels=panels)) if panels else None
        told += [] if middle is None else [middle]
    return told


def _range_over_workloads(
    findings: Sequence[CriterionFinding], deciding: CriterionFinding, found: Combined
) -> Iterator[Sentence]:
    """Range over the 4 workloads: 0.1% to 1.9%. Of the same part on each that can be tested, with the sentence's sign; where
    some have no number, or one of another unit, over 3 of the 4."""
    if deciding.precondition:
        return
    untested = {panel.name for panel in found.panels if panel.verdict == OUT_OF_REGIME}
    by_panel: dict[str, list[CriterionFinding]] = {}
    for each in findings:
        if not each.precondition and each.panel not in untested:
            by_panel.setdefault(each.panel, []).append(each)
    same = [each for each in _same_part(by_panel, deciding) if each.unit == deciding.unit]
    told = next((part for part in deciding.says.parts if isinstance(part, Number)), None)
    numbers = [number for each in same if told is not None and (number := _as_told(each, deciding, told)) is not None]
    if len(numbers) < 2:
        return
    least, most = (end(numbers, key=lambda each: each.estimate) for end in (min, max))
    if least.value != most.value:
        digits, _, unit = least.value.partition(" ")
        low = digits if unit and most.value.endswith(f" {unit}") else least.value  # 3 to 5 nats
        over = f"the {len(numbers)}" if len(numbers) == len(by_panel) else f"{len(numbers)} of the {len(by_panel)}"
        yield Sentence((f"Range over {over} workloads: ", low, " to ", most.value, "."))


def _same_part(by_panel: Mapping[str, Sequence[CriterionFinding]], deciding: CriterionFinding) -> Iterator[CriterionFinding]:
    """The part of every workload that is named like the deciding one but for the workload; else that in its place, unless it
    is named like another part."""

    def words(each: CriterionFinding) -> str:
        return each.name.replace(each.panel, "")

    own = by_panel[deciding.panel]
    place, others = list(own).index(deciding), {words(each) for each in own if each is not deciding}
    for parts in by_panel.values():
        placed = (each for each in parts[place : place + 1] if words(each) not in others)
        named = (each for each in parts if words(each) == words(deciding))
        yield from itertools.islice(itertools.chain(named, placed), 1)


def _as_told(each: CriterionFinding, deciding: CriterionFinding, told: Number) -> Number | None:
    """A finding's number, turned round if that of the sentence is; None without one, or if the sentence says another."""
    if each.estimate is None or each.low is None or each.high is None or deciding.estimate is None:
        return None
    plain = replace(told, estimate=each.estimate, low=each.low, high=each.high, word="")
    if told.estimate == deciding.estimate:
        return plain
    for ratio in (False, True):
        if told.estimate == turned(deciding.estimate, ratio):
            estimate, high, low = (turned(end, ratio) for end in (each.estimate, each.low, each.high))
            return replace(plain, estimate=estimate, low=low, high=high)
    return None


def _on_which(found: Combined) -> Iterator[Sentence]:
    """The claim holds on MLP and CNN; fails on GPT."""
    start = "It depends on the workload: the claim" if found.reading == SOME_WORKLOADS else "The claim"
    yield Sentence((f"{start} {_over_panels(found)}.",))
    if found.over_all is not None:
        yield Sentence((f"Over all workloads together this is not significant (p = {found.over_all:.2g}).",))


def _different(findings: Iterable[CriterionFinding]) -> tuple[Sentence, ...]:
    """What findings say, each thing once."""
    return tuple({str(each.says): each.says for each in findings}.values())


def told_workloads(verdict: Verdict) -> tuple[str, ...]:
    """The workloads whose numbers an answer tells."""
    found = Combined(verdict.verdict, verdict.reading, verdict.p, verdict.panels, verdict.direction)
    parts = [each for each in verdict.findings if not each.precondition]
    told = _contrasted(parts, found) if found.reading == SOME_WORKLOADS else [deciding(verdict.findings, found)]
    return tuple(dict.fromkeys(each.panel for each in told))


def retold(verdict: Verdict, criteria: Sequence[Criterion], quantifier: Quantifier) -> Verdict:
    """A verdict that was read back, whose sentences are plain text, with sentences that know their numbers: what its criteria
    say of them."""
    if not verdict.findings:
        return verdict
    seen = zip(criteria, verdict.findings, strict=True)
    findings = tuple(replace(finding, says=_said(criterion, finding)) for criterion, finding in seen)
    over_all = undecided_over_all(verdict.panels, quantifier) if verdict.reading == MULTIPLICITY else None
    found = Combined(verdict.verdict, verdict.reading, verdict.p, verdict.panels, verdict.direction, over_all)
    return replace(verdict, findings=findings, answer=answer(findings, found, deciding(findings, found)))


def _said(criterion: Criterion, seen: CriterionFinding) -> Sentence:
    if seen.estimate is None or seen.low is None or seen.high is None:
        return Sentence()
    return filled(criterion, seen.estimate, seen.low, seen.high)


def in_question(criterion: Criterion) -> str:
    """What an open criterion leaves open, a clause after "whether"."""
    at_the_null = criterion.null is not None and any(criterion.null in piece for piece in criterion.claimed.pieces)
    return "this is more than chance" if at_the_null else f"this is {region(criterion.claimed, criterion)}"
