"""Where a run is stopped: at its lowest validation loss."""

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...harness.declare.metrics.estimating.weighted import kept, seed_mean, settings_of, stacked
from ...harness.declare.metrics.functions import metric, share_of_runs
from ...harness.declare.observed import FactorName, ObservedArm
from ...harness.declare.trials import NotEstimableError, Numbers, Trials

VALIDATION, TEST, TRAINING = "evaluation_loss", "evaluation_test_loss", "evaluation_training_loss"
TEST_ACCURACY = "evaluation_test_accuracy"
# Evaluations at the end whose mean says where a run ends.
LAST_EVALUATIONS = 5
# Curves of seeds that turn after 10 and after 40 steps.
TURNS = {"curve_evaluation_step": [[10, 20, 40]] * 2, "curve_evaluation_loss": [[1.0, 2.0, 2.0], [2.0, 2.0, 1.0]]}


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


@metric(
    unit="nats, of a squared error none; an error is a share of examples (0.01 is one point)",
    of_losses=lambda metric: "no zero" if metric.of else "is one",  # an error has a zero of its own
    at_one_point=True,
    ends_reduction=True,
    figure="curves",
    settings=lambda metric: settings_of(TEST),
    example={"arm": "trained_once"},
    planted=({"trained_once": {**TURNS, "curve_evaluation_test_loss": [[3.0, 0.0, 0.0], [0.0, 0.0, 5.0]]}}, 4.0),
)
def stopped_loss(
    trials: Trials,
    weights: Numbers,
    arm: ObservedArm,
    at: Annotated[
        Literal["lowest_validation", "lowest_test", "end"],
        Field(
            description="the evaluation it is read at; lowest_test: what nobody can choose, the best of the run by the test"
            " sample itself"
        ),
    ] = "lowest_validation",
    of: Annotated[
        Literal["test_error"] | None,
        Field(description="what is read there: the share of test examples that it gets wrong; none: the test loss"),
    ] = None,
    over: FactorName = "peak_lr",
) -> Numbers:
    """Test loss, or error, of a run that is stopped early: of each seed where its own validation loss is lowest. Of an arm that
    is trained at one point.

    sum_s w_s T_s(e_s) / sum_s w_s, [R]: T_s the seed's test loss at evaluation e_s = argmin_e V_s(e) of its validation loss, or
    of its test loss, or at the last. What ends above its start counts as it is."""
    test = curves_of(arm, over, TEST, trials)
    if of:
        test = 1 - curves_of(arm, over, TEST_ACCURACY, trials)
    if at == "end":
        return seed_mean(test[:, -1], weights)
    if at == "lowest_test":
        return seed_mean(test.min(axis=1), weights)
    return seed_mean(test[np.arange(len(test)), turning_points(arm, over, trials)], weights)


@metric(
    unit="steps",
    of_losses="no zero",
    log_axis=True,
    no_effect=1.0,
    at_one_point=True,
    figure="curves",
    example={"arm": "trained_once"},
    planted=({"trained_once": TURNS}, 20.0),
)
def turning_step(trials: Trials, weights: Numbers, arm: ObservedArm, over: FactorName = "peak_lr") -> Numbers:
    """The step at which a run's validation loss is lowest; over seeds the geometric mean."""
    turns = turning_points(arm, over, trials)
    (steps,) = stacked(trials.values(arm, over, "curve_evaluation_step"))
    return np.asarray(np.exp(seed_mean(np.log(steps[np.arange(len(turns)), turns]), weights)))


@share_of_runs(
    unit="share of the seeds, 0 to 1",
    of_losses="no zero",
    at_one_point=True,
    counts_every_seed=True,
    figure="curves",
    settings=lambda metric: settings_of(TRAINING),
    example={"arm": "trained_once"},
    planted=({"trained_once": {**TURNS, "curve_evaluation_training_loss": [[3.0, 2.0, 1.0]] * 2}}, 0.5),
)
def turn_rate(
    trials: Trials,
    arm: ObservedArm,
    by: Annotated[
        float, Field(gt=0, description="how much higher it ends, as a share of what it has fallen by to its lowest")
    ] = 0.02,
    over: FactorName = "peak_lr",
) -> tuple[int, int]:
    """Share of the seeds whose validation loss turns up while the training loss falls: it ends well above its lowest, and the
    loss of fixed training examples ends below what it was there. Both losses end with the mean of the last five evaluations."""
    validation, training = (curves_of(arm, over, curve, trials) for curve in (VALIDATION, TRAINING))
    (initial,) = np.asarray(trials.values(arm, over, "initial_loss"), dtype=np.float64)
    seeds, turns, lowest = np.arange(len(validation)), validation.argmin(axis=1), validation.min(axis=1)
    rises = validation[:, -LAST_EVALUATIONS:].mean(axis=1) - lowest > by * (initial - lowest)
    falls = training[:, -LAST_EVALUATIONS:].mean(axis=1) < training[seeds, turns]
    return int((rises & falls).sum()), len(seeds)
