"""What a range test saw, and what each published rule reads off it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from folklore.harness.observables.estimating.range_test_rules import (
    RULES,
    NoSuggestion,
    Pick,
    Suggestion,
    divergence,
    smoothed,
    suggest,
)

Curve = NDArray[np.float64]
DIVERGENCE = "divergence"


@dataclass(frozen=True)
class RangeTest:
    """lr [N]; losses [S, N], raw training losses, nan where not finite; picks: rule -> one for each seed.

    `divergence` among the rules is where the test diverges. squares: the losses are squared errors, which have no unit.
    """

    lr: Curve
    losses: Curve
    picks: dict[str, tuple[Pick, ...]]
    squares: bool = False

    @property
    def smoothed(self) -> Curve:
        """[S, N]"""
        return np.stack([smoothed(loss) for loss in self.losses])

    def summary(self) -> list[dict[str, object]]:
        """A row for each rule: the geometric mean of its picks, the smallest and the largest, or why there is none."""
        return [_row(rule, picks) for rule, picks in self.picks.items()]

    @classmethod
    def of(cls, lr: Curve, losses: Curve, squares: bool = False) -> "RangeTest":
        """By every rule."""
        picks = {DIVERGENCE: tuple(divergence(lr, loss) for loss in losses)}
        picks |= {rule: tuple(suggest(rule, lr, loss) for loss in losses) for rule in RULES}
        return cls(lr, losses, picks, squares)


def _row(rule: str, picks: Sequence[Pick]) -> dict[str, object]:
    found = [pick.lr for pick in picks if isinstance(pick, Suggestion)]
    reasons = [pick.reason for pick in picks if isinstance(pick, NoSuggestion)]
    return {
        "rule": rule,
        "lr": float(np.exp(np.mean(np.log(found)))) if found else None,
        "lowest": min(found, default=None),
        "highest": max(found, default=None),
        "seeds": len(found),
        "no_suggestion": reasons[0] if reasons else "",
    }
