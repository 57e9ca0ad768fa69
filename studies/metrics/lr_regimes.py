"""What a quantity that one watches tells about a run whose loss does not fall, and how far changes move a loss."""

from typing import Annotated

import numpy as np
from pydantic import Field

from ...harness.declare.metrics.estimating.evaluation import evaluate
from ...harness.declare.metrics.functions import metric
from ...harness.declare.observed import Observable
from ...harness.declare.trials import Numbers, Trials

FINAL = [{"kind": "final_loss", "arm": arm} for arm in ("low", "high", "middle")]


@metric(
    unit="of its parts",
    of_losses="no zero",
    bounds=(0.0, float("inf")),
    example={"parts": FINAL[:2], "origin": FINAL[2]},
    planted=(
        {"low": {"test_loss": [1.0, 2.0]}, "high": {"test_loss": [3.0, 3.0]}, "middle": {"test_loss": [2.0, 2.0]}},
        0.75,
    ),
)
def mean_distance(
    trials: Trials,
    weights: Numbers,
    parts: Annotated[tuple[Observable, ...], Field(min_length=1, description="the observables whose distances are averaged")],
    origin: Annotated[Observable, Field(description="the observable that they are distances from")],
) -> Numbers:
    """The mean distance of some observables from another: how much changes change it, for better or worse.

    mean_i |part_i - origin|, [R], seeds paired. Of parts that lie at the origin noise makes it larger than zero."""
    middle = evaluate(origin, trials, weights)
    return np.asarray(np.mean([np.abs(evaluate(part, trials, weights) - middle) for part in parts], axis=0))
