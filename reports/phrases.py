"""Claims and numbers as they stand in sentences and dense rows."""

import re

from markupsafe import Markup, escape

from folklore.harness.judging.spelling import in_prose
from folklore.harness.judging.verdict_history import Stand
from folklore.harness.judging.verdicts import Finding, Verdict
from folklore.harness.spec import Claim

# An answer of several sentences that is longer than this is cut to the sentence of the criterion that decides.
LONGEST_ANSWER = 150
# A number with its unit, before its interval in parentheses or at the end: "1.8x (1.6–2.0)", "−0.44% (−0.99 to 0.11)", ": 0.5."
_NUMBER = re.compile(
    r"(?<![\w.,−])[−+]?\d[\d.,]*(?:e[−+]?\d+)?(?:%|x\b)?(?: [a-z]+)?(?= \([−+]?\d)|(?<=: )[−+]?\d[\d.,]*(?:%|x\b)?(?=\.$)"
)


def title(claim: Claim) -> str:
    """The claim as a title, with a capital unless it begins with a symbol (η*, k micro-batches, B_crit)."""
    text = claim.in_short
    return text[0].upper() + text[1:] if re.match(r"[a-z]{2}|a ", text) else text


def number(seen: Verdict | Finding | Stand) -> str:
    """The number of a dense row, as a sentence has it: 1.8x (1.6–2.0). Empty if there is none."""
    if seen.estimate is None or seen.low is None or seen.high is None:
        return ""
    return in_prose(seen.estimate, seen.low, seen.high, seen.unit)


def said(verdict: Verdict) -> str:
    """A verdict's answer, or of a long one the sentence of the criterion whose numbers are the verdict's."""
    if len(verdict.answer) <= LONGEST_ANSWER:
        return verdict.answer
    numbers = (verdict.estimate, verdict.low, verdict.high)
    deciding = [each.says for each in verdict.findings if (each.estimate, each.low, each.high) == numbers]
    return deciding[0] if deciding else verdict.answer


def with_numbers(text: str) -> Markup:
    """The text, escaped, with its numbers in bold."""
    parts, end = [], 0
    for found in _NUMBER.finditer(text):
        parts += [escape(text[end : found.start()]), Markup("<b>{}</b>").format(found[0])]
        end = found.end()
    return Markup("").join([*parts, escape(text[end:])])
