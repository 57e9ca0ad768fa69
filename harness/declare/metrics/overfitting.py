"""Where a run's validation loss is lowest, what its test loss is there, and whether it turns up."""

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ..observed import Example, FactorName, Observed, ObservedArm, OfLosses, ShareOfRuns
from ..trials import NotEstimableError, Numbers, Trials
from .estimating.weighted import kept, seed_mean, settings_of, stacked

VALIDATION, TEST, TRAINING = "evaluation_loss", "evaluation_test_loss", "evaluation_training_loss"
TEST_ACCURACY = "evaluation_test_accuracy"
# Evaluations at the end whose mean says where a run ends.
LAST_EVALUATIONS = 5


def curves_of(arm: str, over: str, curve: str, trials: Trials) -> Numbers:
    """A curve of evaluations of an arm that is trained at one point, [S, E]; what is not finite counts with the loss at
    initialization. Raises NotEstimableError where it was not evaluated, or the arm has several points."""
    if len(grid := trials.grid(arm, over)) > 1:
        raise NotEstimableError("open", f"{trials.arm_name(arm)} is trained at {len(grid)} values, and one is read")
    (values,) = stacked(kept(arm, over, curve, trials))
    (initial,) = np.asarray(trials.values(arm, over, "initial_loss"), dtype=np.float64)
    return np.asarray(np.where(np.isfinite(values), values, initial[:, None]))


def turning_points(arm: str, over: str, trials: Trials) -> NDArray[np.int64]:
    """The evaluation at which each seed's validation loss is lowest, the first of several, [S]."""
    return np.asarray(curves_of(arm, over, VALIDATION, trials).argmin(axis=1))


class StoppedLoss(Observed):
    """Test loss, or error, of a run that is stopped early: of each seed where its own validation loss is lowest. Of an arm that
    is trained at one point."""

    kind: Literal["stopped_loss"] = "stopped_loss"
    arm: ObservedArm
    at: Literal["lowest_validation", "lowest_test", "end"] = Field(
        default="lowest_validation",
        description="the evaluation it is read at; lowest_test: what nobody can choose, the best of the run by the test sample"
        " itself",
    )
    of: Literal["test_error"] | None = Field(
        default=None, description="what is read there: the share of test examples that it gets wrong; none: the test loss"
    )
    over: FactorName = "peak_lr"

    OF_LOSSES: ClassVar[OfLosses] = "is one"
    AT_ONE_POINT: ClassVar[bool] = True
    ENDS_REDUCTION: ClassVar[bool] = True
    FIGURE: ClassVar[str] = "curves"
    UNIT: ClassVar[str] = "nats, of a squared error none; an error is a share of examples (0.01 is one point)"
    EXAMPLE: ClassVar[Example] = {"arm": "trained_once"}

    @property
    def settings(self) -> tuple[str, ...]:
        return settings_of(TEST)

    @property
    def of_losses(self) -> OfLosses:
        """An error has a zero of its own."""
        return "no zero" if self.of else self.OF_LOSSES

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """sum_s w_s T_s(e_s) / sum_s w_s, [R]: T_s the seed's test loss at evaluation e_s = argmin_e V_s(e) of its validation
        loss, or of its test loss, or at the last. What ends above its start counts as it is."""
        test = curves_of(self.arm, self.over, TEST, trials)
        if self.of:
            test = 1 - curves_of(self.arm, self.over, TEST_ACCURACY, trials)
        if self.at == "end":
            return seed_mean(test[:, -1], weights)
        if self.at == "lowest_test":
            return seed_mean(test.min(axis=1), weights)
        return seed_mean(test[np.arange(len(test)), turning_points(self.arm, self.over, trials)], weights)


class TurningStep(Observed):
    """The step at which a run's validation loss is lowest; over seeds the geometric mean."""

    kind: Literal["turning_step"] = "turning_step"
    arm: ObservedArm
    over: FactorName = "peak_lr"

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    AT_ONE_POINT: ClassVar[bool] = True
    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    FIGURE: ClassVar[str] = "curves"
    UNIT: ClassVar[str] = "steps"
    EXAMPLE: ClassVar[Example] = {"arm": "trained_once"}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """exp of the weighted mean of ln of the step, [R]."""
        turns = turning_points(self.arm, self.over, trials)
        (steps,) = stacked(trials.values(self.arm, self.over, "curve_evaluation_step"))
        return np.asarray(np.exp(seed_mean(np.log(steps[np.arange(len(turns)), turns]), weights)))


class TurnRate(ShareOfRuns):
    """Share of the seeds whose validation loss turns up while the training loss falls: it ends well above its lowest, and the
    loss of fixed training examples ends below what it was there."""

    kind: Literal["turn_rate"] = "turn_rate"
    arm: ObservedArm
    by: float = Field(
        default=0.02, gt=0, description="how much higher it ends, as a share of what it has fallen by to its lowest"
    )
    over: FactorName = "peak_lr"

    AT_ONE_POINT: ClassVar[bool] = True
    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    COUNTS_EVERY_SEED: ClassVar[bool] = True
    FIGURE: ClassVar[str] = "curves"
    UNIT: ClassVar[str] = "share of the seeds, 0 to 1"
    EXAMPLE: ClassVar[Example] = {"arm": "trained_once"}

    @property
    def settings(self) -> tuple[str, ...]:
        return settings_of(TRAINING)

    def counts(self, trials: Trials) -> tuple[int, int]:
        """Both losses end with the mean of the last five evaluations."""
        validation, training = (curves_of(self.arm, self.over, curve, trials) for curve in (VALIDATION, TRAINING))
        (initial,) = np.asarray(trials.values(self.arm, self.over, "initial_loss"), dtype=np.float64)
        seeds, turns, lowest = np.arange(len(validation)), validation.argmin(axis=1), validation.min(axis=1)
        rises = validation[:, -LAST_EVALUATIONS:].mean(axis=1) - lowest > self.by * (initial - lowest)
        falls = training[:, -LAST_EVALUATIONS:].mean(axis=1) < training[seeds, turns]
        return int((rises & falls).sum()), len(seeds)
