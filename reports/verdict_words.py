"""Verdicts as pages show them: a mark, the words a count is read with, and what follows for filters."""

from dataclasses import dataclass

from ..harness.judge.outcomes import INVALID, OPEN, OUT_OF_REGIME, PARTLY, REFUTED, REGIME, SUPPORTED, WITHDRAWN

NOT_TESTED = "not yet tested"
NOT_GRADED = "not graded"


@dataclass(frozen=True)
class Words:
    """mark: beside a verdict. one, several: how a count of claims is read ("1 holds", "12 hold"). name: of the style sheet."""

    mark: str
    one: str
    several: str
    name: str

    def count(self, claims: int) -> str:
        return f"{claims} {self.one if claims == 1 else self.several}"


# In the order in which they are counted and sorted.
WORDS = {
    SUPPORTED: Words("✓", "holds", "hold", "supported"),
    PARTLY: Words("◐", "holds in part", "hold in part", "partly"),
    REFUTED: Words("✗", "fails", "fail", "refuted"),
    OPEN: Words("?", "is open", "are open", "open"),
    OUT_OF_REGIME: Words("–", "not testable here", "not testable here", "out"),
    INVALID: Words("!", "lacks trials", "lack trials", "invalid"),
    WITHDRAWN: Words("⊘", "is withdrawn", "are withdrawn", "withdrawn"),
    NOT_TESTED: Words("·", "not yet tested", "not yet tested", "later"),
    NOT_GRADED: Words("○", "not graded", "not graded", "ungraded"),
}
ORDER = tuple(WORDS)
# What a document may be graded.
GRADES = tuple(name for name in ORDER if name not in (WITHDRAWN, NOT_TESTED, NOT_GRADED))
MARKS = {verdict: words.mark for verdict, words in WORDS.items()}

# How an effect changes as models grow: a mark, and what a page says.
GROWTH = {
    "holds": ("→", "holds"),
    "grows": ("↗", "grows"),
    "fades": ("↘", "fades"),
    "turns": ("±", "turns"),
    "none": ("–", "no effect"),
    "open": ("?", "open"),
}


def why(reading: str) -> str:
    """A reading beside its verdict: "regime" says no more than "out of regime" does."""
    return "" if reading == REGIME else reading
