"""How many verdicts of a register may be false, and which of them stand firm.

Every claim is judged at 5% by itself. Of the m claims that were tested at most m x 5% are expected to be decided falsely.
Benjamini and Hochberg's procedure (1995) finds those verdicts among which the expected share of false ones is at most 5%: their
q values are at most 5%. Exact verdicts have no error and do not count.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when they are first used: seconds, and much that is read here needs none

from ..declare.level import ALPHA
from .outcomes import DECIDED, OPEN
from .robustness import Robustness
from .verdict import Verdict

FIRM, NEW, FRAGILE, BELOW, SO_FAR = "firm", "new", "fragile", "below the claim's size", "so far"
EXACT, COMPUTED = "exact", "computed"
# In the order of filters.
STANDINGS = (FIRM, NEW, FRAGILE, SO_FAR, BELOW, EXACT, COMPUTED)
# Standings of verdicts that arithmetic settles, and no trial.
ARITHMETIC = (EXACT, COMPUTED)

# Claim, scale, device.
Place = tuple[str, str, str]


@dataclass(frozen=True)
class ErrorRates:
    """tested: claims with an error whose outcome is open or decided. decided: of these. q: of every one tested."""

    tested: int
    decided: int
    q: Mapping[Place, float]

    @property
    def expected_false(self) -> float:
        """At most this many of the decided verdicts are expected to be false."""
        return min(float(self.decided), ALPHA * self.tested)


def place_in_register(verdict: Verdict) -> Place:
    return verdict.claim, verdict.scale, verdict.device


def error_rates(verdicts: Iterable[Verdict]) -> ErrorRates:
    tested = [verdict for verdict in verdicts if verdict.verdict in (*DECIDED, OPEN) and not verdict.is_arithmetic]
    p_values = np.array([_p(verdict) for verdict in tested])
    q_values: Sequence[float] = scipy.stats.false_discovery_control(p_values).tolist() if len(tested) else []
    decided = sum(verdict.verdict in DECIDED for verdict in tested)
    return ErrorRates(len(tested), decided, dict(zip(map(place_in_register, tested), q_values, strict=True)))


def _p(verdict: Verdict) -> float:
    """The p value; if all seeds are alike, at least a sign test's, for they have no spread to take an error from."""
    alike = verdict.low is not None and verdict.low == verdict.high
    return min(1.0, max(verdict.p, 2.0 ** (1 - verdict.seeds))) if alike else verdict.p


def standing(verdict: Verdict, robustness: Robustness | None, rates: ErrorRates) -> str:
    """Firm: it survives the correction for the register, leaving out any one seed, every other reading, and its bounds moved by
    a quarter; it was asked before its trials were seen; and it repeats the verdict of the version before it by the same rule.
    New: it does not repeat anything yet. Below the claim's size: it speaks of less than the claim. So far: its run is not at
    its end. Exact, computed: arithmetic settles it (declare/computed.py). Fragile: else. Empty: it decides nothing, or whether
    it holds is not known."""
    if verdict.verdict not in DECIDED:
        return ""
    if verdict.is_arithmetic:
        return EXACT if all(finding.grade == "exact" for finding in verdict.findings) else COMPUTED
    if verdict.so_far:
        return SO_FAR
    if verdict.below_size:
        return BELOW
    if robustness is None:
        return ""
    if why_fragile(verdict, robustness, rates):
        return FRAGILE
    return NEW if verdict.new else FIRM


def why_fragile(verdict: Verdict, robustness: Robustness, rates: ErrorRates) -> list[str]:
    """Reasons why a verdict is fragile, a clause each."""
    reasons = ["its criteria were written after its trials were seen"] if verdict.after_the_fact else []
    reasons += [verdict.unrepeated] if verdict.unrepeated else []
    reasons += ["its criteria differ from those declared before its trials"] if verdict.declared_otherwise else []
    q = rates.q.get(place_in_register(verdict), 0.0)
    if q > ALPHA:
        reasons.append(f"among {rates.tested} claims it may be chance (q = {q:.2g})")
    if robustness.seeds_that_matter:
        reasons.append(f"without one seed it is {robustness.without_seed[robustness.seeds_that_matter[0]]}")
    if robustness.readings_that_matter:
        first = robustness.readings_that_matter[0]
        reasons.append(f"by another reading ({first.choice}) it is {first.verdict}")
    moved = [alternative for alternative in robustness.choices_that_matter if alternative.moved]
    if moved:
        reasons.append(f"with {moved[0].choice} it is {moved[0].verdict}")
    return [*reasons, *robustness.grids]
