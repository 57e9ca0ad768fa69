"""What is left of earlier tasks once others have been trained."""

from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from ..observed import Example, FactorName, Observed, ObservedArm, OfLosses
from ..trials import NotEstimableError, Numbers, Trials
from .estimating.weighted import kept, mean, position, seed_mean, settings_of, stacked

# Share of the runs that have to come to a level for their mean to be read there.
LEAST_SHARE = 0.9


class _OfLastTask(Observed):
    """What is read on earlier tasks or on the last one, at the end of the run or where the last one comes to a level."""

    arm: ObservedArm
    over: FactorName = "peak_lr"
    at: Annotated[float | None, Field(gt=0, description="the value of the factor at which an arm with several is read")] = None

    MEASURE: ClassVar[str]
    AT_ONE_POINT: ClassVar[bool] = True

    @property
    def searches(self) -> bool:
        return self.at is None

    @property
    def settings(self) -> tuple[str, ...]:
        return settings_of(f"evaluation_old_{self.MEASURE}")

    def _at_level(self, wanted: str, level: float | None, place: int, trials: Trials) -> Numbers:
        """Of each seed at one value, [S]; nan where the last task does not come to the level."""
        old, new = last_task(self.arm, self.over, place, trials, self.MEASURE)
        values = old if wanted == "old" else new
        if level is None:
            return values[:, -1]
        sign = 1 if self.MEASURE == "accuracy" else -1
        return np.array([_at(sign * level, sign * own, other) for own, other in zip(new, values, strict=True)])

    def _require_reached(self, values: Numbers, what: str, trials: Trials) -> None:
        """values: of each seed, [S]. Raises NotEstimableError where fewer than nine in ten runs come to the level."""
        if (reached := np.isfinite(values).mean()) < LEAST_SHARE:
            raise NotEstimableError(
                "open",
                f"{reached:.0%} of the runs of {trials.arm_name(self.arm)} come to {what} on the last task, fewer than"
                f" {LEAST_SHARE:.0%}",
                "longer runs or a level that is easier to reach would settle it",
            )


class TaskLoss(_OfLastTask):
    """Loss on the test examples of all earlier tasks, or of the last one: at the end of the run, or where the loss on the last
    one first falls to a level, so that what learns as much is compared. Of an arm with one value, or at one of several."""

    kind: Literal["task_loss"] = "task_loss"
    tasks: Literal["old", "new"] = Field(default="old", description="the tasks before the last one, or the last one")
    new_loss: Annotated[
        float | None, Field(gt=0, description="the loss on the last task, in nats, at which it is read; none: at the end")
    ] = None

    MEASURE: ClassVar[str] = "loss"
    OF_LOSSES: ClassVar[OfLosses] = "is one"
    FIGURE: ClassVar[str] = "forest"
    UNIT: ClassVar[str] = "nats"
    EXAMPLE: ClassVar[Example] = {"arm": "trained_once"}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """sum_s w_s l_s / sum_s w_s, [R]; l_s is interpolated linearly in the loss on the last task between its first
        evaluation at the level or below and the one before it. Not estimable where fewer than nine in ten runs come to it."""
        place = 0 if self.at is None else position(trials, self.arm, self.over, self.at)
        values = self._at_level(self.tasks, self.new_loss, place, trials)
        self._require_reached(values, "its end" if self.new_loss is None else f"a loss of {self.new_loss:g}", trials)
        return seed_mean(values, weights)


class TaskAccuracy(_OfLastTask):
    """Accuracy on the test examples of all earlier tasks, of the last one, or of all: at the end of the run, or where the
    accuracy on the last one first comes to a level, so that what learns as much is compared.

    Of an arm with several values, none of which is named, the one of the highest mean validation accuracy over all tasks is
    read; it may lie at the edge of its grid, as none and infinitely much of a remedy do.
    """

    kind: Literal["task_accuracy"] = "task_accuracy"
    tasks: Literal["old", "new", "all"] = Field(
        default="old", description="the tasks before the last one, the last one, or all of them, at the end"
    )
    new_accuracy: Annotated[
        float | None, Field(gt=0, lt=1, description="the accuracy on the last task at which it is read; none: at the end")
    ] = None

    MEASURE: ClassVar[str] = "accuracy"
    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    BOUNDS: ClassVar[tuple[float, float]] = (0.0, 1.0)
    FIGURE: ClassVar[str] = "values"
    UNIT: ClassVar[str] = "share of the test examples, 0 to 1"
    EXAMPLE: ClassVar[Example] = {"arm": "trained_once"}

    @model_validator(mode="after")
    def _all_at_the_end(self) -> Self:
        if self.tasks == "all" and self.new_accuracy is not None:
            raise ValueError(f"new_accuracy = {self.new_accuracy:g}: on all tasks it is read at the end; leave it out")
        return self

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """sum_s w_s a_s / sum_s w_s, [R], at the value chosen under every weighting; a_s is interpolated linearly in the
        accuracy on the last task between its first evaluation at the level or above and the one before it. Not estimable where
        fewer than nine in ten runs come to the level."""
        values = np.stack([self._of_runs(place, trials) for place in range(len(trials.grid(self.arm, self.over)))])
        chosen = self._chosen(trials, weights)
        what = "its end" if self.new_accuracy is None else f"an accuracy of {self.new_accuracy:g}"
        self._require_reached(values[chosen[0]], what, trials)
        found = np.stack([seed_mean(each, weights) for each in values], axis=1)
        return found[np.arange(len(weights)), chosen]

    def _chosen(self, trials: Trials, weights: Numbers) -> NDArray[np.int64]:
        """Index of the value that is read, the named one or that of the highest mean validation accuracy, [R]."""
        if self.at is not None:
            return np.full(len(weights), position(trials, self.arm, self.over, self.at))
        accuracies = trials.values(self.arm, self.over, "validation_accuracy").astype(np.float64)
        return np.asarray(mean(np.nan_to_num(accuracies), weights).argmax(axis=1))

    def _of_runs(self, place: int, trials: Trials) -> Numbers:
        """Of each seed at one value, [S]; nan where the last task does not come to the level."""
        if self.tasks == "all":
            return np.asarray(trials.values(self.arm, self.over, "test_accuracy")[place], dtype=np.float64)
        return self._at_level(self.tasks, self.new_accuracy, place, trials)


def last_task(arm: str, over: str, place: int, trials: Trials, measure: str = "accuracy") -> tuple[Numbers, Numbers]:
    """Accuracies, or losses, on the old tasks and on the new one at the evaluations while the last task was trained, [S, E]
    each. Raises NotEstimableError where there is one task alone."""
    found = []
    for tasks in ("old", "new"):
        found.append(stacked(kept(arm, over, f"evaluation_{tasks}_{measure}", trials)[place][None])[0])
    steps = stacked(trials.values(arm, over, "curve_evaluation_step")[place][None])[0]
    # As declared: of a whole number a grid makes another kind of number.
    point = {over: trials.study.factors_at(trials.scale, arm).get(over, trials.grid(arm, over))[place]}
    setting = trials.study.configuration(trials.scale, arm, point)
    start = round((1 - 1 / setting.workload.tasks) * setting.training.steps)
    late = steps[0] > start
    return found[0][:, late], found[1][:, late]


def _at(level: float, new: Numbers, wanted: Numbers) -> float:
    """What one run's curve is where its accuracy on the new task first comes to the level."""
    there = np.flatnonzero(new >= level)
    if not len(there):
        return float("nan")
    after = int(there[0])
    if not after:
        return float(wanted[0])
    part = (level - new[after - 1]) / (new[after] - new[after - 1])
    return float(wanted[after - 1] + part * (wanted[after] - wanted[after - 1]))
