"""What a range test saw, and what each published rule reads off it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from folklore.harness.metrics.estimating.range_test_rules import (
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
# So far below its divergence an LR is a usable pick (study lr_finder), and so far on either side of it a grid goes.
BELOW, OCTAVES = 10.0, 3


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

    @property
    def start(self) -> float | None:
        """An LR to start at, a power of two: a tenth of where the test diverges, over the seeds; None where none does."""
        found = [pick.lr for pick in self.picks[DIVERGENCE] if isinstance(pick, Suggestion)]
        return 2.0 ** round(float(np.log2(np.exp(np.mean(np.log(found))) / BELOW))) if found else None

    def advice(self) -> str:
        """Where to start, and a grid around it, in a line."""
        if self.start is None:
            return "no start: no seed's loss diverged; raise --to, or the LR by hand"
        low, high = self.start * 2.0**-OCTAVES, self.start * 2.0**OCTAVES
        grid = ",".join(f"2^{round(np.log2(self.start)) + octave}" for octave in range(-OCTAVES, OCTAVES + 1))
        return f"start at {self.start:.3g}; grid {low:.3g} to {high:.3g}: --set peak_lr={grid}"

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
