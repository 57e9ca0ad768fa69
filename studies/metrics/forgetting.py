"""Metrics of how much is left of earlier tasks once others have been trained."""

import math
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...harness.declare.metrics.estimating.weighted import kept, mean, position, seed_mean, settings_of, stacked
from ...harness.declare.metrics.functions import metric
from ...harness.declare.observed import FactorName, ObservedArm
from ...harness.declare.trials import NotEstimableError, Numbers, Trials

# Share of the runs that have to come to a level for their mean to be read there.
LEAST_SHARE = 0.9
# Where planted runs are evaluated: once in their first half, on one of their two tasks.
EVALUATED, TWO_TASKS = [10, 60, 80, 100], {"trained_once": {"tasks": 2}}
Measure = Literal["accuracy", "loss"]
At = Annotated[float | None, Field(gt=0, description="the value of the factor at which an arm with several is read")]


def all_at_the_end(metric: Any) -> Any:
    if metric.tasks == "all" and metric.new_accuracy is not None:
        raise ValueError(f"new_accuracy = {metric.new_accuracy:g}: on all tasks it is read at the end; leave it out")
    return metric


@metric(
    unit="nats",
    of_losses="is one",
    at_one_point=True,
    figure="forest",
    searches=lambda metric: metric.at is None,
    settings=lambda metric: settings_of("evaluation_old_loss"),
    example={"arm": "trained_once", "new_loss": 1.0},
    planted=(
        {
            "trained_once": {
                "curve_evaluation_step": [EVALUATED] * 2,
                "curve_evaluation_old_loss": [[math.nan, 1.0, 2.0, 4.0], [math.nan, 1.0, 2.0, 4.0]],
                "curve_evaluation_new_loss": [[0.5, 3.0, 2.0, 0.0], [0.5, 3.0, 1.0, 1.0]],
            }
        },
        2.5,
        TWO_TASKS,
    ),
)
def task_loss(
    trials: Trials,
    weights: Numbers,
    arm: ObservedArm,
    over: FactorName = "peak_lr",
    at: At = None,
    tasks: Annotated[Literal["old", "new"], Field(description="the tasks before the last one, or the last one")] = "old",
    new_loss: Annotated[
        float | None, Field(gt=0, description="the loss on the last task, in nats, at which it is read; none: at the end")
    ] = None,
) -> Numbers:
    """Loss on the test examples of all earlier tasks, or of the last one: at the end of the run, or where the loss on the last
    one first falls to a level, so that what learns as much is compared.

    Of an arm with several values, none of which is named, the one of the lowest mean validation loss over all tasks is read,
    of those with which the level is come to.

    sum_s w_s l_s / sum_s w_s, [R], at the value chosen under every weighting; l_s is interpolated linearly in the loss on the
    last task between its first evaluation at the level or below and the one before it. Not estimable where fewer than nine in
    ten runs come to it."""
    what = "its end" if new_loss is None else f"a loss of {new_loss:g}"
    values = [_at_level(arm, over, "loss", tasks, new_loss, place, trials) for place in range(len(trials.grid(arm, over)))]
    return _read(np.stack(values), what, "loss", arm, over, at, trials, weights)


@metric(
    unit="share of the test examples, 0 to 1",
    of_losses="no zero",
    at_one_point=True,
    bounds=(0.0, 1.0),
    figure="values",
    searches=lambda metric: metric.at is None,
    settings=lambda metric: settings_of("evaluation_old_accuracy"),
    check=all_at_the_end,
    example={"arm": "trained_once", "new_accuracy": 0.5},
    planted=(
        {
            "trained_once": {
                "validation_accuracy": [0.5, 0.5],
                "curve_evaluation_step": [EVALUATED] * 2,
                "curve_evaluation_old_accuracy": [[math.nan, 0.9, 0.8, 0.4], [math.nan, 0.9, 0.8, 0.4]],
                "curve_evaluation_new_accuracy": [[0.9, 0.1, 0.3, 0.7], [0.9, 0.1, 0.2, 0.5]],
            }
        },
        0.5,
        TWO_TASKS,
    ),
)
def task_accuracy(
    trials: Trials,
    weights: Numbers,
    arm: ObservedArm,
    over: FactorName = "peak_lr",
    at: At = None,
    tasks: Annotated[
        Literal["old", "new", "all"],
        Field(description="the tasks before the last one, the last one, or all of them, at the end"),
    ] = "old",
    new_accuracy: Annotated[
        float | None, Field(gt=0, lt=1, description="the accuracy on the last task at which it is read; none: at the end")
    ] = None,
) -> Numbers:
    """Accuracy on the test examples of all earlier tasks, of the last one, or of all: at the end of the run, or where the
    accuracy on the last one first comes to a level, so that what learns as much is compared.

    Of an arm with several values, none of which is named, the one of the highest mean validation accuracy over all tasks is
    read, of those with which the level is come to; it may lie at the edge of its grid, as none and infinitely much of a remedy
    do.

    sum_s w_s a_s / sum_s w_s, [R], at the value chosen under every weighting; a_s is interpolated linearly in the accuracy on
    the last task between its first evaluation at the level or above and the one before it. Not estimable where fewer than nine
    in ten runs come to the level."""
    places = range(len(trials.grid(arm, over)))
    if tasks == "all":
        values = np.asarray(trials.values(arm, over, "test_accuracy"), dtype=np.float64)
    else:
        values = np.stack([_at_level(arm, over, "accuracy", tasks, new_accuracy, place, trials) for place in places])
    what = "its end" if new_accuracy is None else f"an accuracy of {new_accuracy:g}"
    return _read(values, what, "accuracy", arm, over, at, trials, weights)


def _read(
    values: Numbers, what: str, measure: Measure, arm: str, over: str, at: float | None, trials: Trials, weights: Numbers
) -> Numbers:
    """Means over seeds, [R], of values of each factor value and seed, [F, S], at the value that is chosen."""
    reached = np.isfinite(values).mean(axis=1) >= LEAST_SHARE
    chosen = _chosen(arm, over, at, measure, reached, trials, weights)
    _require_reached(values[chosen[0]], what, arm, trials)
    means = np.stack([seed_mean(by_seed, weights) for by_seed in values], axis=1)
    return means[np.arange(len(weights)), chosen]


def _chosen(
    arm: str, over: str, at: float | None, measure: Measure, reached: NDArray[np.bool_], trials: Trials, weights: Numbers
) -> NDArray[np.int64]:
    """Index of the value that is read, [R]: the named one, or the best on the validation examples of all tasks among those
    whose runs come to the level, if any do."""
    if at is not None:
        return np.full(len(weights), position(trials, arm, over, at))
    if measure == "loss":
        good = -trials.losses(arm, over, "validation_loss")
    else:
        good = np.nan_to_num(trials.values(arm, over, "validation_accuracy").astype(np.float64))
    best = np.asarray(np.where(reached | ~reached.any(), mean(good, weights), -np.inf).argmax(axis=1))
    trials.chosen.add((arm, over, int(best[0])))
    return best


def _at_level(arm: str, over: str, measure: Measure, tasks: str, level: float | None, place: int, trials: Trials) -> Numbers:
    """The measure of each seed at one value, [S], at its end or at a level of the last task; nan if it does not come to
    that."""
    old, new = last_task(arm, over, place, trials, measure)
    values = old if tasks == "old" else new
    if level is None:
        return values[:, -1]
    sign = 1 if measure == "accuracy" else -1
    return np.array([_at(sign * level, sign * own, other) for own, other in zip(new, values, strict=True)])


def _require_reached(values: Numbers, what: str, arm: str, trials: Trials) -> None:
    """values: of each seed, [S]. Raises NotEstimableError where fewer than nine in ten runs come to the level."""
    if (reached := np.isfinite(values).mean()) < LEAST_SHARE:
        raise NotEstimableError(
            "open",
            f"{reached:.0%} of the runs of {trials.arm_name(arm)} come to {what} on the last task, fewer than"
            f" {LEAST_SHARE:.0%}",
            "longer runs or a level that is easier to reach would settle it",
        )


def last_task(arm: str, over: str, place: int, trials: Trials, measure: Measure = "accuracy") -> tuple[Numbers, Numbers]:
    """Accuracies, or losses, on the old tasks and on the new one at the evaluations while the last task was trained, [S, E]
    each. Raises NotEstimableError where there is one task alone."""
    curves = []
    for tasks in ("old", "new"):
        curves.append(stacked(kept(arm, over, f"evaluation_{tasks}_{measure}", trials)[place][None])[0])
    steps = stacked(trials.values(arm, over, "curve_evaluation_step")[place][None])[0]
    # As declared: of a whole number a grid makes another kind of number.
    point = {over: trials.study.factors_at(trials.scale, arm).get(over, trials.grid(arm, over))[place]}
    setting = trials.study.configuration(trials.scale, arm, point)
    start = round((1 - 1 / setting.workload.tasks) * setting.training.steps)
    late = steps[0] > start
    return curves[0][:, late], curves[1][:, late]


def _at(level: float, new: Numbers, wanted: Numbers) -> float:
    """The value of one run's curve where its accuracy on the new task first comes to the level."""
    there = np.flatnonzero(new >= level)
    if not len(there):
        return float("nan")
    after = int(there[0])
    if not after:
        return float(wanted[0])
    part = (level - new[after - 1]) / (new[after] - new[after - 1])
    return float(wanted[after - 1] + part * (wanted[after] - wanted[after - 1]))
