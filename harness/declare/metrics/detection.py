"""Detectors of loss spikes at equal false alarms: each with the limit at which it gives a chosen number of alarms in a thousand
steps of sound runs of other seeds."""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ..observed import Example, FactorName, Observed, ObservedArm, OfLosses, ShareOfRuns
from ..trials import ADD_SEEDS, NotEstimableError, Numbers, Trials
from .detectors import RULES, WORDS, Detector
from .estimating.weighted import seed_mean
from .spikes import Flags, Where, every_step, explosion, within

# From this step on every detector has the steps before that it needs, and alarms count.
FIRST = 128
# Where alarms are false, by where they are right.
FALSE: dict[str, Where] = {"at_fault": "elsewhere", "before_explosion": "earlier"}
EXAMPLE: Example = {"arm": "hit", "sound": "trained_once", "rule": "zclip", "where": "at_fault"}


def limits(scores_ST: Numbers, weights_RS: Numbers, per_thousand: float) -> Numbers:
    """[R]: what no more than this many in a thousand steps score above, each run's counted as often as its weight says."""
    steps = scores_ST.shape[1]
    order = np.argsort(-scores_ST, axis=None)
    allowed_R1 = per_thousand / 1000 * steps * weights_RS.sum(axis=1, keepdims=True)
    count = 2 * int(allowed_R1.max()) + steps
    # Only the highest scores are ranked; more of them where a resample has few of their runs.
    while True:
        counted_RC = np.cumsum(weights_RS[:, order[:count] // steps], axis=1)
        if count >= len(order) or (counted_RC[:, -1:] > allowed_R1).all():
            return np.asarray(scores_ST.ravel()[order[(counted_RC <= allowed_R1).sum(axis=1)]])
        count *= 2


def sound_scores(sound: str, over: str, rule: Detector, trials: Trials) -> Numbers:
    """Of runs without a fault, [S, steps from FIRST on]."""
    losses, norms, training = every_step(sound, over, trials)
    if training.steps <= FIRST:
        raise NotEstimableError("out of regime", f"detectors are compared from step {FIRST} on, and no run is as long")
    return RULES[rule].score(losses, norms)[:, FIRST:]


class _Detection(Observed):
    """Alarms in runs with a fault, or that explode. A run's limit is that of the sound runs of the other seeds."""

    arm: ObservedArm
    sound: ObservedArm = Field(description="the arm without a fault that limits are set by")
    rule: Detector = Field(description=f"what is scored; {WORDS}")
    where: Literal["at_fault", "before_explosion"] = Field(
        description="where an alarm is right; at_fault: from the first faulty step to the tenth after the last one;"
        " before_explosion: in the 50 steps before the loss comes back above the one it began with, or is not finite"
    )
    per_thousand: float = Field(default=1.0, gt=0, lt=1000, description="false alarms in a thousand steps of sound runs")
    over: FactorName = "peak_lr"

    AT_ONE_POINT: ClassVar[bool] = True
    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    EXAMPLE: ClassVar[Example] = EXAMPLE

    @property
    def of_losses(self) -> OfLosses:
        return "divides" if self.rule == "loss_ratio" else "no zero"

    def alarms(self, rule: Detector, trials: Trials) -> Flags:
        """[S, steps]"""
        sound = sound_scores(self.sound, self.over, rule, trials)
        limits_S = limits(sound, 1.0 - np.eye(trials.seeds), self.per_thousand)
        losses, norms, _ = every_step(self.arm, self.over, trials)
        return np.asarray(RULES[rule].score(losses, norms) > limits_S[:, None])

    def right(self, rule: Detector, trials: Trials) -> Flags:
        """Alarms where they are right, [S, steps]."""
        losses, _, training = every_step(self.arm, self.over, trials)
        return self.alarms(rule, trials) & within(self.where, losses, training)


class DetectedShare(_Detection, ShareOfRuns):
    """Share of the runs that a detector gives a right alarm in: its recall. but_not: of the runs in which only one of two
    detectors does, the share in which it is this one (as McNemar 1947 tests)."""

    kind: Literal["detected_share"] = "detected_share"
    but_not: Detector | None = Field(
        default=None, description="a second detector, and only runs that one of the two finds count"
    )

    FIGURE: ClassVar[str] = "detectors"
    UNIT: ClassVar[str] = "share of the seeds, 0 to 1"

    def counts(self, trials: Trials) -> tuple[int, int]:
        found = self.right(self.rule, trials).any(axis=1)
        if self.but_not is None:
            return int(found.sum()), trials.seeds
        other = self.right(self.but_not, trials).any(axis=1)
        if not (found ^ other).any():
            raise NotEstimableError("open", "both detectors find the same runs", ADD_SEEDS)
        return int((found & ~other).sum()), int((found ^ other).sum())


class AlarmPrecision(_Detection, ShareOfRuns):
    """Share of the alarms that are right, where a run's right ones count as one."""

    kind: Literal["alarm_precision"] = "alarm_precision"

    FIGURE: ClassVar[str] = "forest"
    UNIT: ClassVar[str] = "share of the alarms, 0 to 1"

    def counts(self, trials: Trials) -> tuple[int, int]:
        losses, _, training = every_step(self.arm, self.over, trials)
        right = int(self.right(self.rule, trials).any(axis=1).sum())
        false = self.alarms(self.rule, trials) & within(FALSE[self.where], losses, training)
        if not (count := right + int(false[:, FIRST:].sum())):
            raise NotEstimableError("open", "there is no alarm", ADD_SEEDS)
        return right, count


class AlarmLead(_Detection):
    """Steps from the first alarm of the last 50 steps before an explosion to the explosion; mean of the runs with one."""

    kind: Literal["alarm_lead"] = "alarm_lead"
    where: Literal["before_explosion"] = Field(default="before_explosion", description="where an alarm has a lead")

    FIGURE: ClassVar[str] = "forest"
    UNIT: ClassVar[str] = "steps"
    EXAMPLE: ClassVar[Example] = {**EXAMPLE, "where": "before_explosion"}

    def _leads(self, trials: Trials) -> Numbers:
        losses, _, _ = every_step(self.arm, self.over, trials)
        right = self.right(self.rule, trials)
        ends = [explosion(each) for each in losses]
        return np.array([end - row.argmax() if end and row.any() else np.nan for end, row in zip(ends, right, strict=True)])

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """Limits stay those of all seeds."""
        leads = self._leads(trials)
        if not np.isfinite(leads).any():
            raise NotEstimableError("open", "there is no alarm before an explosion", ADD_SEEDS)
        return seed_mean(leads, weights)

    def seeds_behind(self, trials: Trials) -> int:
        return int(np.isfinite(self._leads(trials)).sum())


class AlarmLimit(Observed):
    """The limit at which a detector gives this many alarms in a thousand steps of sound runs: what it has to be set to."""

    kind: Literal["alarm_limit"] = "alarm_limit"
    sound: ObservedArm
    rule: Detector = Field(description=f"what is scored; {WORDS}")
    per_thousand: float = Field(default=1.0, gt=0, lt=1000, description="false alarms in a thousand steps of sound runs")
    over: FactorName = "peak_lr"

    AT_ONE_POINT: ClassVar[bool] = True
    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    FIGURE: ClassVar[str] = "forest"
    UNIT: ClassVar[str] = "what the detector scores: a ratio, or deviations"
    EXAMPLE: ClassVar[Example] = {"sound": "trained_once", "rule": "loss_ratio"}

    @property
    def of_losses(self) -> OfLosses:
        return "divides" if self.rule == "loss_ratio" else "no zero"

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        return limits(sound_scores(self.sound, self.over, self.rule, trials), weights, self.per_thousand)
