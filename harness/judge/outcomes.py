"""One criterion: which verdict an interval has among the regions declared, and the reading that says why.

The first that applies, each at the level of the test (a two-sided p value of at most alpha means that the interval of level
1 - alpha lies inside; at 5% a side for equivalence and non-inferiority, whose intervals are 90% ones):

    supported   inside the region claimed
    refuted     inside the region that refutes; on the other side of the null; or inside the margin around it, if an effect is
                claimed
    partly      on the claimed side of the null, but not surely of the size claimed
    open        anything else
"""

from dataclasses import dataclass
from typing import Protocol

from ..declare import Rule
from ..declare.level import ALPHA
from .statistics.intervals import Observation, Regions

SUPPORTED, PARTLY, REFUTED, OPEN = "supported", "partly", "refuted", "open"
OUT_OF_REGIME, INVALID = "out of regime", "invalid"
VERDICTS = (SUPPORTED, PARTLY, REFUTED, OPEN, OUT_OF_REGIME, INVALID)
# How a verdict is shown whose question was found to be wrong (withdrawing.py): nothing is judged to be it.
WITHDRAWN = "withdrawn"
# Readings of "out of regime": the claim does not speak of such models; a precondition of the claim does not hold.
REGIME, PRECONDITION = "regime", "precondition"
# Verdicts that say something of the claim.
DECIDED = (SUPPORTED, PARTLY, REFUTED)
# Readings of "open": the interval reaches into a region that decides; it surely lies in none; single parts or workloads decide,
# but not surely over all of them.
TOO_NOISY, BETWEEN, MULTIPLICITY = "too noisy", "between", "multiplicity"
INFINITE = float("inf")


class Question(Protocol):
    """The rule that decides on an observation: a study's Criterion, or a claim about runs trained elsewhere
    (declare/criterion.py)."""

    @property
    def claimed(self) -> Rule: ...
    @property
    def refuted(self) -> Rule: ...
    @property
    def test(self) -> str | None: ...
    @property
    def null(self) -> float | None: ...
    @property
    def one_sided(self) -> bool: ...
    @property
    def side(self) -> int: ...
    @property
    def negligible(self) -> tuple[float, float] | None: ...


def deciding_regions(criterion: Question) -> Regions:
    """Pieces of the axis that decide: an interval wholly inside any has a verdict."""
    pieces = criterion.claimed.pieces + criterion.refuted.pieces
    if criterion.side and criterion.null is not None:
        pieces += ((criterion.null, INFINITE), (-INFINITE, criterion.null))
        pieces += (criterion.negligible,) if criterion.negligible else ()
    return pieces


def favours(criterion: Question, piece: tuple[float, float]) -> bool:
    """Whether a piece that decides speaks for the claim: it is claimed, or the claimed side of the null."""
    return piece in criterion.claimed.pieces or on_claimed_side(criterion, piece)


def on_claimed_side(criterion: Question, piece: tuple[float, float]) -> bool:
    return bool(criterion.side) and piece[0 if criterion.side > 0 else 1] == criterion.null


@dataclass(frozen=True)
class Probabilities:
    """p values against "the true value does not lie there". direction: the claimed side of the null. refuted: any region that
    refutes, with `opposite`, the other side of the null, and `negligible`, the margin around it, among them."""

    supported: float = 1.0
    refuted: float = 1.0
    direction: float = 1.0
    opposite: float = 1.0
    negligible: float = 1.0


def probabilities(criterion: Question, observation: Observation) -> Probabilities:
    sides = 0.5 if criterion.one_sided else 1.0
    supported, refuted = (sides * observation.p_in(rule.pieces) for rule in (criterion.claimed, criterion.refuted))
    side, null = criterion.side, criterion.null
    if null is None or not side:
        return Probabilities(supported, refuted, direction=supported)
    above, below = observation.p_inside(null, INFINITE), observation.p_inside(-INFINITE, null)
    direction, opposite = (above, below) if side > 0 else (below, above)
    negligible = 1.0 if criterion.negligible is None else observation.p_inside(*criterion.negligible)
    # The region claimed lies on its side, even on the null itself.
    return Probabilities(supported, min(refuted, opposite, negligible), min(direction, supported), opposite, negligible)


def outcome(criterion: Question, observation: Observation, p: Probabilities, alpha: float = ALPHA) -> tuple[str, str]:
    """Verdict and reading."""
    if p.supported <= alpha:
        return SUPPORTED, ""
    if p.refuted <= alpha:
        return REFUTED, _why_refuted(criterion, observation, p, alpha)
    if criterion.side and p.direction <= alpha:
        return PARTLY, _size(criterion, observation) or "direction"
    return OPEN, _why_open(criterion, observation)


def _why_refuted(criterion: Question, observation: Observation, p: Probabilities, alpha: float) -> str:
    if criterion.test == "no_worse":
        return "worse"
    if criterion.test == "equivalence":
        return "different"
    if not criterion.side:
        return _size(criterion, observation) or "different"
    if p.negligible <= alpha:
        return "no effect"
    return "opposite" if p.opposite <= alpha else _size(criterion, observation) or "smaller"


def _why_open(criterion: Question, observation: Observation) -> str:
    """Too noisy, if the truth could lie in a region that decides; else it surely does not, and more seeds would not help."""
    reached = any(low < observation.high and observation.low < high for low, high in deciding_regions(criterion))
    return TOO_NOISY if reached else BETWEEN


def _size(criterion: Question, observation: Observation) -> str | None:
    """Smaller or larger than what is claimed; None if the interval meets that. Below a null, more negative is larger."""
    low, high = (min(low for low, _ in criterion.claimed.pieces), max(high for _, high in criterion.claimed.pieces))
    if observation.high < low:
        return "larger" if criterion.side < 0 else "smaller"
    if observation.low > high:
        return "smaller" if criterion.side < 0 else "larger"
    return None
