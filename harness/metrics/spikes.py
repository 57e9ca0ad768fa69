"""Alarms that rules give by a run's loss and gradient norm, step by step, and where they lie."""

from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from folklore.harness.metrics.estimating.weighted import stacked
from folklore.harness.spec import Training
from folklore.harness.spec.observed import Example, FactorName, ObservedArm, OfLosses, ShareOfRuns
from folklore.harness.spec.trials import NotEstimableError, Numbers, Trials
from folklore.harness.training.roughness import spikes

Flags = NDArray[np.bool_]
LOSSES, NORMS = "curve_train_loss", "curve_train_gradient_norm"
# Steps after a fault that an alarm may come late by, and steps before an explosion that a warning may come early by.
LATE, EARLY = 10, 50
# Steps that what happens elsewhere is away from a fault.
AWAY = 50
# A run has learnt something below this share of its first loss, and explodes where it comes back above that loss.
LEARNT = 0.8


def _above(values: Numbers, window: int, limit: Callable[[Numbers], Numbers]) -> Flags:
    """Whether each value exceeds a limit by those of the window before it; the first ones do not. What is not finite does."""
    found = np.zeros(len(values), dtype=np.bool_)
    before = np.lib.stride_tricks.sliding_window_view(values, window)[:-1]
    with np.errstate(invalid="ignore", over="ignore"):
        found[window:] = ~(values[window:] <= limit(before))
    return found


def loss_ratio(losses: Numbers, norms: Numbers) -> Flags:
    """A loss above twice the mean of the nine before it."""
    return _above(losses, 9, lambda before: 2.0 * before.mean(axis=1))


def deviations(losses: Numbers, norms: Numbers) -> Flags:
    """A loss or gradient norm above its mean of 128 steps before by six standard deviations (OLMo team 2025, skip step)."""

    def limit(before: Numbers) -> Numbers:
        return np.asarray(before.mean(axis=1) + 6.0 * before.std(axis=1, ddof=1))

    return _above(losses, 128, limit) | _above(norms, 128, limit)


def norm_ratio(losses: Numbers, norms: Numbers) -> Flags:
    """A gradient norm above three times its median of 50 steps before."""
    return _above(norms, 50, lambda before: 3.0 * np.median(before, axis=1))


def spike(losses: Numbers, norms: Numbers) -> Flags:
    """A loss above its median of 50 steps before by six robust deviations; what is not finite is one."""
    return np.asarray(np.nan_to_num(spikes(losses), nan=1.0) > 0)


RULES: dict[str, Callable[[Numbers, Numbers], Flags]] = {
    rule.__name__: rule for rule in (loss_ratio, deviations, norm_ratio, spike)
}


class AlarmRate(ShareOfRuns):
    """Share of the seeds in which a rule gives an alarm in a part of the run. Of an arm that is trained at one point."""

    kind: Literal["alarm_rate"] = "alarm_rate"
    arm: ObservedArm
    rule: Literal["loss_ratio", "deviations", "norm_ratio", "spike"] = Field(
        description="what gives an alarm; loss_ratio: a loss above twice the mean of nine before; deviations: a loss or norm of"
        " the gradient above its mean of 128 steps before by six standard deviations; norm_ratio: a gradient norm above three"
        " times its median of 50 steps before; spike: a loss above its median of 50 steps before by six robust deviations"
    )
    where: Literal["at_fault", "after_fault", "elsewhere", "before_explosion", "earlier"] = Field(
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

    def counts(self, trials: Trials) -> tuple[int, int]:
        """A run that does not explode has no step before that, and counts as one without an alarm there."""
        if len(grid := trials.grid(self.arm, self.over)) > 1:
            raise NotEstimableError("open", f"{trials.arm_name(self.arm)} is trained at {len(grid)} values, and one is read")
        point = {self.over: float(trials.grid(self.arm, self.over)[0])}
        training = trials.study.configuration(trials.scale, self.arm, point).training
        losses, norms = (_every_step(self.arm, self.over, column, training.steps, trials) for column in (LOSSES, NORMS))
        alarmed = [
            bool((RULES[self.rule](loss, norm) & _within(self.where, loss, training)).any())
            for loss, norm in zip(losses, norms, strict=True)
        ]
        return sum(alarmed), len(alarmed)


def _every_step(arm: str, over: str, column: str, steps: int, trials: Trials) -> Numbers:
    """[S, steps]. Raises NotEstimableError where a curve has not a point for every step."""
    (values,) = trials.values(arm, over, column)
    if any(each is None or len(each) != steps for each in values):
        raise NotEstimableError(
            "invalid",
            f"not every step of {trials.arm_name(arm)} was kept",
            "the study has to set measurement.curve_points to its steps, and measurement.gradient_norms",
        )
    (found,) = stacked(values[None])
    return np.asarray(found)


def _within(where: str, losses: Numbers, training: Training) -> Flags:
    """Which steps are of that part of a run."""
    steps, faulty = np.arange(len(losses)), training.faulty_steps
    if where == "at_fault":
        return np.asarray((steps >= faulty.start) & (steps < faulty.stop + LATE))
    if where == "after_fault":
        return np.asarray((steps >= faulty.stop) & (steps < faulty.stop + LATE))
    if where == "elsewhere":
        return np.asarray((steps < faulty.start - AWAY) | (steps >= faulty.stop + AWAY))
    explodes = explosion(losses)
    if explodes is None:
        return np.full(len(losses), where == "earlier")
    first = explodes - EARLY
    return np.asarray(steps < first) if where == "earlier" else np.asarray((steps >= first) & (steps < explodes))


def explosion(losses: Numbers) -> int | None:
    """The first step at which a loss that had learnt something is back above its first one, or not finite; None: never."""
    learnt = np.flatnonzero(losses < LEARNT * losses[0])
    if not len(learnt):
        return None
    back = np.flatnonzero(~(losses[learnt[0] :] <= losses[0]))
    return int(learnt[0] + back[0]) if len(back) else None
