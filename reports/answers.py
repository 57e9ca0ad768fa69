"""The top of a study's page: the sentences of its verdicts, and what to do.

The rule. A study names the claims that answer its question (Study.answer). If it names none, they are the decided ones, or if
nothing is decided, which is then said first, the open ones, those that came nearest before others. As many of these speak as
fit into four sentences, firm ones before fragile ones. They are said in declared order, but no undecided claim comes before a
decided one.

If named claims have more than four sentences together, each says its first alone. What would mislead is not left out: that a
claim is open, that some of its parts fail, on which workloads it holds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ..harness.judge.combining import OF_PARTS, SOME_WORKLOADS
from ..harness.judge.error_rates import FRAGILE
from ..harness.judge.explaining import WHY_OPEN
from ..harness.judge.outcomes import DECIDED, INVALID, OPEN
from ..harness.judge.sentences import Sentence
from ..harness.judge.verdict import Verdict
from .phrases import with_bold_numbers

MOST_SENTENCES = 4


@dataclass(frozen=True)
class Said:
    """The sentences about one claim, numbers in bold, and what to do."""

    claim: str
    verdict: str
    text: Markup
    advice: str = ""


@dataclass(frozen=True)
class Answer:
    """first: what a reader has to know before; usually empty. advice: what to do, each thing once."""

    first: Markup
    said: tuple[Said, ...]
    advice: tuple[str, ...]


def answer(verdicts: Sequence[Verdict], named: Sequence[str], standing: Callable[[Verdict], str]) -> Answer:
    """The answer of a study at one scale. named: the claims that the study says answer it. standing: firm, fragile or exact."""
    spoken = speaking(verdicts, named, standing)
    brief = sum(len(verdict.answer) for verdict in spoken) > MOST_SENTENCES and len(spoken) > 1
    texts = (with_bold_numbers(shortened(verdict) if brief else verdict.answer) for verdict in spoken)
    said = [Said(verdict.claim, verdict.verdict, text, verdict.advice) for verdict, text in zip(spoken, texts, strict=True)]
    return Answer(
        _said_first(verdicts, named or any(verdict.verdict in DECIDED for verdict in spoken)),
        tuple(said),
        tuple(dict.fromkeys(verdict.advice for verdict in spoken if verdict.advice)),
    )


def _said_first(verdicts: Sequence[Verdict], answered: object) -> Markup:
    if so_far := next((verdict.so_far for verdict in verdicts if verdict.so_far), ""):
        return Markup(f"So far, {so_far} are trained: these are not the declared verdicts yet.")
    return Markup("") if answered else _undecided(verdicts)


def speaking(verdicts: Sequence[Verdict], named: Sequence[str], standing: Callable[[Verdict], str]) -> list[Verdict]:
    """The verdicts whose sentences begin the page, in the order they are said."""
    if named:
        return decided_first(verdicts, named)
    decided = [verdict for verdict in verdicts if verdict.verdict in DECIDED]
    ordered = sorted(decided, key=lambda verdict: standing(verdict) == FRAGILE)
    ordered = ordered or sorted((verdict for verdict in verdicts if verdict.verdict == OPEN), key=lambda verdict: verdict.p)
    spoken: list[Verdict] = []
    room = MOST_SENTENCES
    for verdict in ordered:
        needed = len(verdict.answer)
        if needed <= room or not spoken:
            spoken.append(verdict)
            room -= needed
    # Said in declared order: firm ones come before fragile ones only if there is not room for all.
    return sorted(spoken, key=list(verdicts).index)


def decided_first(verdicts: Sequence[Verdict], named: Sequence[str]) -> list[Verdict]:
    """The verdicts on these claims, in the order of their names as far as they are decided, then the others."""
    by_claim = {verdict.claim: verdict for verdict in verdicts}
    return sorted((by_claim[claim] for claim in named if claim in by_claim), key=lambda verdict: verdict.verdict not in DECIDED)


def shortened(verdict: Verdict) -> tuple[Sentence, ...]:
    """Its first sentence, unless that alone misleads, and why an open claim is open."""
    if len(verdict.answer) < 2 or verdict.estimate is None or verdict.reading in OF_PARTS:
        return verdict.answer
    first, last = verdict.answer[0], verdict.answer[-1]
    if len(verdict.panels) > 1:
        return (*verdict.answer[:2], last) if verdict.reading == SOME_WORKLOADS else (first, last)
    if verdict.verdict == OPEN:
        return first, Sentence((f"The claim is open: {WHY_OPEN[verdict.reading]}.",))
    return (first,)


def _undecided(verdicts: Sequence[Verdict]) -> Markup:
    if any(verdict.verdict == INVALID for verdict in verdicts):
        return Markup("Trials are missing, so that nothing is decided.")
    none = "Its claim is not decided here." if len(verdicts) == 1 else f"None of the {len(verdicts)} claims is decided here."
    return Markup(none) if verdicts else Markup("")
