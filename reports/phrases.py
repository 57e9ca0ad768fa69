"""Claims and numbers as they stand in sentences and dense rows."""

import re
from collections.abc import Collection, Iterable

from markupsafe import Markup, escape

from ..harness.declare import Claim
from ..harness.judge.combining import SOME_WORKLOADS
from ..harness.judge.sentences import Number, Sentence
from ..harness.judge.spelling import in_prose
from ..harness.judge.verdict import CriterionFinding, Verdict
from ..harness.judge.verdict_history import Stand
from ..harness.words import capitalized

# An answer of several sentences that is longer than this is cut to the sentence of the criterion that decides.
LONGEST_ANSWER = 150


def title(claim: Claim) -> str:
    return capitalized(claim.in_short)


def number(finding: Verdict | CriterionFinding | Stand) -> str:
    """The number of a dense row, as a sentence has it: 1.8x (1.6–2.0). Empty if there is none."""
    if finding.estimate is None or finding.low is None or finding.high is None:
        return ""
    return in_prose(finding.estimate, finding.low, finding.high, finding.unit)


def said(verdict: Verdict) -> tuple[Sentence, ...]:
    """A verdict's answer, or if it is long the sentence of the criterion whose numbers are the verdict's; where workloads
    disagree, one on which the claim holds and one on which it fails."""
    if verdict.reading == SOME_WORKLOADS:
        return verdict.answer[:2]
    if len(verdict.plain_answer) <= LONGEST_ANSWER:
        return verdict.answer
    numbers = (verdict.estimate, verdict.low, verdict.high)
    deciding = [finding.says for finding in verdict.findings if (finding.estimate, finding.low, finding.high) == numbers]
    return tuple(deciding[:1]) or verdict.answer


def with_bold_numbers(sentences: Iterable[Sentence], *, whole: bool = True) -> Markup:
    """Sentences, escaped, with what was measured in bold. whole: its interval and the word that says which way it goes, too."""
    return Markup(" ").join(
        Markup("").join(_bold(part, whole) if isinstance(part, Number) else escape(part) for part in sentence.parts)
        for sentence in sentences
    )


def with_study_links(text: str, there: Collection[str]) -> Markup:
    """A text, escaped, in which "study NAME" leads to that study's page. there: studies that have one."""

    def linked(match: re.Match[str]) -> str:
        name = match[1]
        return f'study <a href="{name}.html">{name}</a>' if name in there else match[0]

    return Markup(re.sub(r"\bstudy (\w+)", linked, escape(text)))


def _bold(number: Number, whole: bool) -> Markup:
    bold, rest = (str(number), "") if whole else (number.value, number.rest)
    return Markup("<b>{}</b>{}").format(bold, rest)
