"""What a verdict means for the documents: each is graded by what it says itself.

A document that gives no number is graded by the direction alone: a threshold that only our rule brings is not its own. Where
documents disagree each has a side, and the side that was shown to be right is supported. What only we ask, and what our copies
of the documents have lost, grades nobody.
"""

from folklore.harness.judging.outcomes import OPEN, PARTLY, REFUTED, SUPPORTED
from folklore.harness.judging.verdicts import Verdict
from folklore.harness.spec import Claim


def by_direction(claim: Claim, verdict: Verdict) -> str:
    """The verdict on what the documents say: if they give no number, by the direction of the effect."""
    if claim.size or claim.quantifier == "exact" or not verdict.direction:
        return verdict.verdict
    return SUPPORTED if verdict.direction == "claimed" else REFUTED


def right_side(claim: Claim, verdict: Verdict) -> str:
    """The side that was shown to be right, by its name; empty: none was."""
    found = by_direction(claim, verdict)
    if found not in (SUPPORTED, REFUTED):
        return ""
    if found in verdict.right:
        return verdict.right[found]
    return claim.sides[0].name if claim.sides and found == SUPPORTED else ""


def grade(claim: Claim, verdict: Verdict, document: str) -> str | None:
    """A document's grade on a claim, one of the verdicts; None if it has none."""
    if claim.own or document in claim.ungraded:
        return None
    found = by_direction(claim, verdict)
    if not claim.sides:
        return found
    own = claim.side_of(document)
    if not own:
        return None
    if found not in (SUPPORTED, REFUTED):
        return found
    right = right_side(claim, verdict)
    if not right:  # the first side is wrong, and nothing says that another is right
        return REFUTED if own == [claim.sides[0].name] else OPEN
    grades = {SUPPORTED if name == right else REFUTED for name in own}
    return grades.pop() if len(grades) == 1 else PARTLY
