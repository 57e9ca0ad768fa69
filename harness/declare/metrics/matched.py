"""A metric that reads runs where they have come equally far: not at equal steps, which one of them may use better."""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ..design import in_words
from ..observed import Example, FactorName, Observed, ObservedArm, OfLosses, PlantedTruth
from ..trials import NotEstimableError, Numbers, Trials
from .curve import STEPS_OF, CurveName
from .estimating.weighted import kept, position, seed_mean, settings_of, stacked, tuned_index

# Share of the runs that have to come to a level for their mean to be read there.
LEAST_SHARE = 0.9


class Matched(Observed):
    """One curve of a run where another of its curves first comes to a level: a validation loss at equal training loss, or what
    is left of an old task at equal accuracy on the new one."""

    kind: Literal["matched"] = "matched"
    arm: ObservedArm
    of: CurveName = Field(description="the curve that is read")
    where: CurveName = Field(description="the curve that has to come to the level: down to it, or of an accuracy up to it")
    level: float = Field(description="in the unit of that curve")
    value: float | None = Field(default=None, gt=0, description="a declared value of the factor; none: the arm's tuned one")
    over: FactorName = "peak_lr"

    AT_ONE_POINT: ClassVar[bool] = True
    OF_LOSSES: ClassVar[OfLosses] = "is one"
    FIGURE: ClassVar[str] = "forest"
    UNIT: ClassVar[str] = "of the curve that is read"
    EXAMPLE: ClassVar[Example] = {"arm": "trained_once", "of": "evaluation_loss", "where": "train_loss", "level": 1.5}
    # The training loss comes to 1.5 at step 20 and at step 40; the validation loss is 2.0 and 1.0 there.
    PLANTED: ClassVar[PlantedTruth] = (
        {
            "trained_once": {
                "curve_step": [[10, 30, 50], [10, 30, 50]],
                "curve_train_loss": [[2.0, 1.0, 0.5], [3.0, 2.0, 1.0]],
                "curve_evaluation_step": [[10, 30, 50], [10, 30, 50]],
                "curve_evaluation_loss": [[2.5, 1.5, 1.4], [2.0, 1.2, 0.8]],
            }
        },
        1.5,
    )

    @property
    def of_losses(self) -> OfLosses:
        return "is one" if self.of.endswith("_loss") else "no zero"

    @property
    def settings(self) -> tuple[str, ...]:
        return settings_of(self.of, self.where)

    @property
    def searches(self) -> bool:
        return self.value is None

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """sum_s w_s y_s / sum_s w_s, [R]; y_s is linear in the step between its points, at the step at which the other curve
        first reaches the level, likewise. Not estimable where fewer than nine in ten runs come to it."""
        place = self._place(trials)
        steps, reached = self._points(self.where, place, trials)
        read_at, values = self._points(self.of, place, trials)
        sign = 1 if self.where.endswith("_accuracy") else -1
        at = [_first(own, sign * curve, sign * self.level) for own, curve in zip(steps, reached, strict=True)]
        readings = np.array([np.interp(step, own, curve) for step, own, curve in zip(at, read_at, values, strict=True)])
        if (share := np.isfinite(at).mean()) < LEAST_SHARE:
            raise NotEstimableError(
                "open",
                f"{share:.0%} of the runs of {trials.arm_name(self.arm)} come to a {in_words(self.where)} of {self.level:g},"
                f" fewer than {LEAST_SHARE:.0%}",
                "longer runs or a level that is easier to reach would settle it",
            )
        return seed_mean(np.where(np.isfinite(at), readings, np.nan), weights)

    def _place(self, trials: Trials) -> int:
        if self.value is not None:
            return position(trials, self.arm, self.over, self.value)
        return tuned_index(self.arm, self.over, trials) if len(trials.grid(self.arm, self.over)) > 1 else 0

    def _points(self, curve: str, place: int, trials: Trials) -> tuple[Numbers, Numbers]:
        """Steps and values of every seed, [S, points] each."""
        steps, values = (stacked(kept(self.arm, self.over, name, trials)[place][None])[0] for name in (STEPS_OF[curve], curve))
        return steps, values


def _first(steps: Numbers, curve: Numbers, level: float) -> float:
    """The step at which a curve first rises to a level, linear between its points; nan if it never does."""
    there = np.flatnonzero(curve >= level)
    if not len(there) or not there[0]:
        return float(steps[0]) if len(there) else float("nan")
    before, after = int(there[0]) - 1, int(there[0])
    part = (level - curve[before]) / (curve[after] - curve[before])
    return float(steps[before] + part * (steps[after] - steps[before]))
