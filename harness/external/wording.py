"""What is said of a judged claim."""

from typing import TYPE_CHECKING

from folklore.harness.judging.sentences import Number, Sentence

if TYPE_CHECKING:
    from folklore.harness.external.judged import Judged

# What verdicts on a task come to, in a word.
SIDES = {"holds": ("supported", "partly"), "fails": ("refuted",), "open": ("open",)}


def sentence(judged: "Judged") -> Sentence:
    """'b' is 1.2% (95% CI 0.8–1.6%) lower than 'a'."""
    claim = judged.claim
    if judged.estimate is None:
        return Sentence((judged.reason or _by_task(judged), "."))
    if claim.law is not None:
        return Sentence((f"{claim.metric} misses the {claim.law} in {claim.factor} by ", _number(judged, ""), "."))
    other = f"'{claim.other}'" if isinstance(claim.other, str) else f"{claim.other:g}"
    arm = f"The best of many tries of '{claim.arm}'" if judged.tuned else f"'{claim.arm}'"
    below = judged.estimate < 0
    if claim.target is not None:
        number = _number(judged, "fewer" if below else "more")
        return Sentence((f"{arm} takes ", number, f" steps to {claim.metric} {claim.target:g} than {other}."))
    return Sentence((f"{arm} is ", _number(judged, "lower" if below else "higher"), f" than {other}."))


def _by_task(judged: "Judged") -> str:
    """On how many tasks it holds, and on which it fails."""
    sides = {word: [each.name for each in judged.parts if each.verdict in verdicts] for word, verdicts in SIDES.items()}
    held = f"It holds on {len(sides['holds'])} of {len(judged.parts)}"
    return "; ".join([held, *(f"{word} on {', '.join(names)}" for word, names in sides.items() if names and word != "holds")])


def _number(judged: "Judged", word: str) -> Number:
    """Without its sign, which the word says."""
    estimate = judged.estimate or 0.0
    sign = -1 if estimate < 0 else 1
    ends = [sign * (estimate if each is None else each) for each in (judged.low, judged.high)]
    unit = "share" if judged.unit == "relative" else ""
    return Number(sign * estimate, min(ends), max(ends), unit, f"{judged.level:.0%}", word)
