"""Grades of documents by a verdict: each is graded by what it says itself.

A document that gives no number is graded by the direction alone: a threshold that only our rule brings is not its own. If
documents disagree, each has a side, and how large an effect is may be what tells them apart: the verdict itself decides. If a
study's criteria tell the sides apart, the one shown to be right is supported and the others are refuted; else only those on the
first side, which the claim states, are graded. Claims that only we ask, claims that our copies of the documents have lost, and
withdrawn verdicts grade nobody; nor do trials below the size that a claim speaks of.
"""

from ..declare import Claim
from .outcomes import PARTLY, REFUTED, SUPPORTED, WITHDRAWN
from .verdict import Verdict


def by_direction(claim: Claim, verdict: Verdict) -> str:
    """The verdict on what the documents say: if they agree and give no number, by the direction of the effect."""
    if claim.sides or claim.size or claim.quantifier == "exact" or not verdict.direction:
        return verdict.verdict
    return SUPPORTED if verdict.direction == "claimed" else REFUTED


def right_side(claim: Claim, verdict: Verdict) -> str:
    """The side that was shown to be right, by its name; empty: none was, or the sides were not told apart."""
    return verdict.right.get(verdict.verdict, "")


def grade(claim: Claim, verdict: Verdict, document: str) -> str | None:
    """A document's grade on a claim, one of the verdicts; None if it has none."""
    if claim.own or document in claim.ungraded or verdict.verdict == WITHDRAWN or verdict.below_size or verdict.so_far:
        return None
    common_grade = by_direction(claim, verdict)
    if not claim.sides:
        return common_grade
    own = claim.side_of(document)
    if not own:
        return None
    right = right_side(claim, verdict)
    if not right:  # what is judged is the first side, and nothing that tells it from another
        return common_grade if claim.sides[0].name in own else None
    grades = {SUPPORTED if name == right else REFUTED for name in own}
    return grades.pop() if len(grades) == 1 else PARTLY
