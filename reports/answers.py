"""What a study's page begins with: the sentences of its verdicts, and what to do.

The rule. A study names the claims that answer its question (Study.answer). If it names none, they are the decided ones, or if
nothing is decided, which is then said first, the open ones, those that came nearest before others. Of these as many speak as
there is room for in four sentences, firm ones before fragile ones. They are said in declared order, but no claim that is not
decided comes before one that is.

If named claims have more than four sentences together each says its first alone. What would mislead is not left out: that a
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
    """What is said of one claim, numbers in bold, and what to do."""

    claim: str
    verdict: str
    text: Markup
    advice: str = ""


@dataclass(frozen=True)
class Answer:
    """first: what has to be known before; empty as a rule. advice: what to do, each thing once."""

    first: Markup
    said: tuple[Said, ...]
    advice: tuple[str, ...]


def answer(verdicts: Sequence[Verdict], named: Sequence[str], standing: Callable[[Verdict], str]) -> Answer:
    """The answer of a study at one scale. named: the claims that the study says answer it. standing: firm, fragile or exact."""
    spoken = speaking(verdicts, named, standing)
    brief = sum(len(each.answer) for each in spoken) > MOST_SENTENCES and len(spoken) > 1
    texts = (with_bold_numbers(shortened(each) if brief else each.answer) for each in spoken)
    said = [Said(each.claim, each.verdict, text, each.advice) for each, text in zip(spoken, texts, strict=True)]
    return Answer(
        _said_first(verdicts, named or any(each.verdict in DECIDED for each in spoken)),
        tuple(said),
        tuple(dict.fromkeys(each.advice for each in spoken if each.advice)),
    )


def _said_first(verdicts: Sequence[Verdict], answered: object) -> Markup:
    if so_far := next((each.so_far for each in verdicts if each.so_far), ""):
        return Markup(f"So far, {so_far} are trained: these are not the declared verdicts yet.")
    return Markup("") if answered else _undecided(verdicts)


def speaking(verdicts: Sequence[Verdict], named: Sequence[str], standing: Callable[[Verdict], str]) -> list[Verdict]:
    """The verdicts whose sentences begin the page, in the order they are said."""
    if named:
        return decided_first(verdicts, named)
    decided = [each for each in verdicts if each.verdict in DECIDED]
    ordered = sorted(decided, key=lambda each: standing(each) == FRAGILE)
    ordered = ordered or sorted((each for each in verdicts if each.verdict == OPEN), key=lambda each: each.p)
    found: list[Verdict] = []
    room = MOST_SENTENCES
    for each in ordered:
        needed = len(each.answer)
        if needed <= room or not found:
            found.append(each)
            room -= needed
    # Said in declared order: what is firm only comes before what is fragile when there is not room for all.
    return sorted(found, key=list(verdicts).index)


def decided_first(verdicts: Sequence[Verdict], named: Sequence[str]) -> list[Verdict]:
    """The verdicts on these claims, in the order of their names as far as they are decided, then the others."""
    by_claim = {verdict.claim: verdict for verdict in verdicts}
    return sorted((by_claim[claim] for claim in named if claim in by_claim), key=lambda verdict: verdict.verdict not in DECIDED)


def shortened(verdict: Verdict) -> tuple[Sentence, ...]:
    """Its first sentence, as far as that does not mislead, and of what is open why it is."""
    if len(verdict.answer) < 2 or verdict.estimate is None or verdict.reading in OF_PARTS:
        return verdict.answer
    first, last = verdict.answer[0], verdict.answer[-1]
    if len(verdict.panels) > 1:
        return (*verdict.answer[:2], last) if verdict.reading == SOME_WORKLOADS else (first, last)
    if verdict.verdict == OPEN:
        return first, Sentence((f"The claim is open: {WHY_OPEN[verdict.reading]}.",))
    return (first,)


def _undecided(verdicts: Sequence[Verdict]) -> Markup:
    if any(each.verdict == INVALID for each in verdicts):
        return Markup("Trials are missing, so that nothing is decided.")
    none = "Its claim is not decided here." if len(verdicts) == 1 else f"None of the {len(verdicts)} claims is decided here."
    return Markup(none) if verdicts else Markup("")
