"""The losses of a range test, and the LR that each published rule reads off them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..declare.metrics.estimating.range_test_rules import (
    PUBLISHED,
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
# As study lr_finder reads them. A tenth of divergence is too high for some of its workloads and the steepest point too low for
# others: whole runs lose up to 15% and 13% of the loss reduction there, and at most 4% half-way between the two.
TENTH, STEEPEST, SMOOTHING = "tenth_of_halfway", "steepest_centred", 0.9
# On either side of the start. The best LR of each workload of lr_finder lies within.
OCTAVES = 3


@dataclass(frozen=True)
class PickedLR:
    """A rule's pick: the geometric mean over seeds, the smallest and the largest, or why there is none."""

    rule: str
    lr: float | None
    lowest: float | None
    highest: float | None
    seeds: int
    no_suggestion: str


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

    def summary(self) -> list[PickedLR]:
        """The pick of each rule."""
        return [_picked(rule, picks) for rule, picks in self.picks.items()]

    @property
    def start(self) -> float | None:
        """An LR to start at, a power of two: half-way, on the log axis, between a tenth of where the test diverges and where
        its loss falls fastest; None if no seed diverges."""
        exponents = [at for loss in self.losses if (at := _log_start(self.lr, loss)) is not None]
        return 2.0 ** round(float(np.mean(exponents))) if exponents else None

    @property
    def grid(self) -> list[float]:
        """LRs to try, around the start; empty if there is none."""
        return [] if self.start is None else [self.start * 2.0**octave for octave in range(-OCTAVES, OCTAVES + 1)]

    def advice(self) -> str:
        """Where to start, a grid around it, and how far published rules lie apart, in a line."""
        text = "no start: no seed's loss diverged; raise --to, or the LR by hand"
        if grid := self.grid:
            powers = ",".join(f"2^{round(np.log2(lr))}" for lr in grid)
            text = f"start at {self.start:.2g}; grid {grid[0]:.2g} to {grid[-1]:.2g} (--set peak_lr={powers})"
        lrs = [row.lr for row in self.summary() if row.rule in PUBLISHED and row.lr is not None]
        if len(lrs) > 1:
            text += f"; {len(lrs)} published rules range over {min(lrs):.2g} to {max(lrs):.2g}"
        return text

    @classmethod
    def of(cls, lr: Curve, losses: Curve, squares: bool = False) -> "RangeTest":
        """A range test with the picks of every rule."""
        picks = {DIVERGENCE: tuple(divergence(lr, loss) for loss in losses)}
        picks |= {rule: tuple(suggest(rule, lr, loss) for loss in losses) for rule in RULES}
        return cls(lr, losses, picks, squares)


def _log_start(lr: Curve, loss: Curve) -> float | None:
    """The start by one seed, as an exponent of two."""
    tenth, steepest = suggest(TENTH, lr, loss, SMOOTHING, delag=True), suggest(STEEPEST, lr, loss)
    if not isinstance(tenth, Suggestion):
        return None
    lrs = [pick.lr for pick in (tenth, steepest) if isinstance(pick, Suggestion)]
    return float(np.mean(np.log2(lrs)))


def _picked(rule: str, picks: Sequence[Pick]) -> PickedLR:
    lrs = [pick.lr for pick in picks if isinstance(pick, Suggestion)]
    reasons = [pick.reason for pick in picks if isinstance(pick, NoSuggestion)]
    lr = float(np.exp(np.mean(np.log(lrs)))) if lrs else None
    ends = min(lrs, default=None), max(lrs, default=None)
    return PickedLR(rule, lr, *ends, len(lrs), reasons[0] if reasons else "")
