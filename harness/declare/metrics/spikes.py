"""Alarms that rules give by a run's loss and gradient norm, step by step, and where they lie."""

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ..configuration import Training
from ..observed import Example, FactorName, ObservedArm, OfLosses, ShareOfRuns
from ..trials import NotEstimableError, Numbers, Trials
from .detectors import RULES, WORDS, Detector
from .estimating.weighted import settings_of, stacked, training_of

Flags = NDArray[np.bool_]
Where = Literal["at_fault", "after_fault", "elsewhere", "before_explosion", "earlier"]
LOSSES, NORMS = "curve_train_loss", "curve_train_gradient_norm"
# Steps after a fault that an alarm may come late by, and steps before an explosion that a warning may come early by.
LATE, EARLY = 10, 50
# Steps that what happens elsewhere is away from a fault.
AWAY = 50
# A run has learnt something below this share of its first loss, and explodes where it comes back above that loss.
LEARNT = 0.8


class AlarmRate(ShareOfRuns):
    """Share of the seeds in which a rule gives an alarm in a part of the run. Of an arm that is trained at one point."""

    kind: Literal["alarm_rate"] = "alarm_rate"
    arm: ObservedArm
    rule: Detector = Field(description=f"what gives an alarm above its published limit; {WORDS}")
    where: Where = Field(
        description="at_fault: from the first faulty step to the tenth after the last one; after_fault: these ten; elsewhere:"
        " 50 steps and more away from the fault; before_explosion: in the 50 steps before the loss comes back above the one it"
        " began with, or is not finite; earlier: before those"
    )
    over: FactorName = "peak_lr"

    AT_ONE_POINT: ClassVar[bool] = True
    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    COUNTS_EVERY_SEED: ClassVar[bool] = True
    FIGURE: ClassVar[str] = "forest"
    UNIT: ClassVar[str] = "share of the seeds, 0 to 1"
    EXAMPLE: ClassVar[Example] = {"arm": "trained_once", "rule": "loss_ratio", "where": "elsewhere"}

    @property
    def settings(self) -> tuple[str, ...]:
        return settings_of(NORMS.removeprefix("curve_"))

    def counts(self, trials: Trials) -> tuple[int, int]:
        """A run that does not explode has no step before that, and counts as one without an alarm there."""
        losses, norms, training = every_step(self.arm, self.over, trials)
        rule = RULES[self.rule]
        alarmed = (rule.score(losses, norms) > rule.limit) & within(self.where, losses, training)
        return int(alarmed.any(axis=1).sum()), len(alarmed)


def every_step(arm: str, over: str, trials: Trials) -> tuple[Numbers, Numbers, Training]:
    """Losses and gradient norms [S, steps], and what is trained. Raises NotEstimableError where a curve lacks a step."""
    if len(grid := trials.grid(arm, over)) > 1:
        raise NotEstimableError("open", f"{trials.arm_name(arm)} is trained at {len(grid)} values, and one is read")
    training = training_of(arm, over, trials)
    losses, norms = (trials.values(arm, over, column) for column in (LOSSES, NORMS))
    if any(each is None or len(each) != training.steps for each in (*losses[0], *norms[0])):
        raise NotEstimableError(
            "invalid",
            f"not every step of {trials.arm_name(arm)} was kept",
            "the study has to set measurement.curve_points to its steps, and measurement.gradient_norms",
        )
    return stacked(losses)[0], stacked(norms)[0], training


def within(where: Where, losses: Numbers, training: Training) -> Flags:
    """Which steps are of that part of a run, [S, steps]."""
    if where in ("before_explosion", "earlier"):
        return np.array([_about_explosion(where, each) for each in losses])
    steps, faulty = np.arange(losses.shape[1]), training.faulty_steps
    if where == "at_fault":
        found = (steps >= faulty.start) & (steps < faulty.stop + LATE)
    elif where == "after_fault":
        found = (steps >= faulty.stop) & (steps < faulty.stop + LATE)
    else:
        found = (steps < faulty.start - AWAY) | (steps >= faulty.stop + AWAY)
    return np.broadcast_to(found, losses.shape)


def _about_explosion(where: Where, losses: Numbers) -> Flags:
    """Of a run that never explodes all steps are earlier ones."""
    steps, explodes = np.arange(len(losses)), explosion(losses)
    if explodes is None:
        return np.full(len(steps), where == "earlier")
    first = explodes - EARLY
    return np.asarray(steps < first) if where == "earlier" else np.asarray((steps >= first) & (steps < explodes))


def explosion(losses: Numbers) -> int | None:
    """The first step at which a loss that had learnt something is back above its first one, or not finite; None: never."""
    learnt = np.flatnonzero(losses < LEARNT * losses[0])
    if not len(learnt):
        return None
    back = np.flatnonzero(~(losses[learnt[0] :] <= losses[0]))
    return int(learnt[0] + back[0]) if len(back) else None
