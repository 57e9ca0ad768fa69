"""By which factor something grows from layer to layer."""

import math
from typing import Annotated

import numpy as np
from pydantic import Field

from ...harness.declare.metrics.estimating.evaluation import evaluate
from ...harness.declare.metrics.estimating.weighted import present
from ...harness.declare.metrics.functions import metric
from ...harness.declare.observed import Observable
from ...harness.declare.trials import Numbers, Trials


@metric(
    unit="none (a factor for each unit of x)",
    of_losses="divides",
    log_axis=True,
    no_effect=1.0,
    figure="fit",
    example={"points": [[depth, {"kind": "final_loss", "arm": f"depth_{depth}"}] for depth in (2, 4, 8)]},
    planted=({"depth_2": {"test_loss": [0.5]}, "depth_4": {"test_loss": [1.0]}, "depth_8": {"test_loss": [4.0]}}, math.sqrt(2)),
)
def growth_factor(
    trials: Trials,
    weights: Numbers,
    points: Annotated[
        tuple[tuple[float, Observable], ...], Field(min_length=3, description="pairs of x and an observable there")
    ],
) -> Numbers:
    """The factor by which something changes with each further unit of x: of an exponential, fitted by least squares to the
    logarithms of observables at `points`, pairs of x and an observable.

    exp of the least-squares slope of ln y on x, [R]: sum (x - mean x) ln y / sum (x - mean x)^2. All points count alike."""
    trained = present(points, trials)
    x = np.array([value for value, _ in trained])
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.log([evaluate(part, trials, weights) for _, part in trained])
    centred = x - x.mean()
    return np.asarray(np.exp(centred @ y / (centred**2).sum()))
