"""Metrics of a precision: memory, the curve of the gradient norm, and the gradients that it flushes to zero."""

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from ...harness.declare.design import in_words
from ...harness.declare.metrics.estimating.weighted import kept, seed_mean, settings_of, stacked, tuned
from ...harness.declare.metrics.functions import metric
from ...harness.declare.metrics.hardware import ratio
from ...harness.declare.observed import ArmName, FactorName, ObservedArm
from ...harness.declare.trials import NotEstimableError, Numbers, Trials

COMPARED = {"arm": "bf16", "reference": "fp32"}


@metric(
    unit="none (a ratio)",
    of_losses="no zero",
    log_axis=True,
    no_effect=1.0,
    figure="forest",
    example=COMPARED,
    planted=(
        {
            "bf16": {"peak_memory_bytes": [1.0, 8.0]},
            "fp32": {"peak_memory_bytes": [2.0, 4.0]},
        },
        1.0,
    ),
)
def memory_ratio(
    trials: Trials,
    weights: Numbers,
    arm: ObservedArm,
    reference: Annotated[ArmName, Field(description="the arm it is compared with")],
) -> Numbers:
    """Peak memory of `arm` over that of `reference`; both trained alone. Geometric mean over seeds.

    exp of the weighted mean of ln(the arm's peak bytes / the reference's), [R]; invalid across machines."""
    return ratio(arm, reference, "peak_memory_bytes", trials, weights)


@metric(
    unit="relative",
    of_losses="no zero",
    at_one_point=True,
    bounds=(0.0, math.inf),
    figure="curves",
    example=COMPARED,
    planted=(
        {
            "bf16": {"curve_probe_gradient_norm": [[1.0, 1.2, 9.0], [1.0, 1.0, 1.0]]},
            "fp32": {"curve_probe_gradient_norm": [[1.0, 1.0, 1.0], [1.0, 2.0, 2.0]]},
        },
        0.35,
    ),
)
def curve_distance(
    trials: Trials,
    weights: Numbers,
    arm: ObservedArm,
    reference: Annotated[ArmName, Field(description="the arm whose curve it is compared with")],
    curve: Annotated[Literal["gradient_norm"], Field(description="the curve that is compared")] = "gradient_norm",
    over: FactorName = "peak_lr",
) -> Numbers:
    """Median over probes of |curve / curve of `reference` - 1|, both at the LR tuned for `reference`, seeds paired.

    Weighted mean over seeds of median_t |A_t / B_t - 1|, [R], without unit. Not estimable if runs diverge or grids differ."""
    best = tuned(reference, over, trials, weights)
    if not np.allclose(trials.grid(arm, over), trials.grid(reference, over)):
        names = " and ".join(map(trials.arm_name, (arm, reference)))
        raise NotEstimableError("open", f"{names} have different grids of the {in_words(over)}, and no pairs of curves")
    own, other = (stacked(trials.values(name, over, f"curve_probe_{curve}")) for name in (arm, reference))
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.median(np.abs(own / other - 1), axis=2)
    if not np.isfinite(distance[best[0]]).all():
        name = trials.arm_name(arm)
        raise NotEstimableError("open", f"runs of {name} diverge there, and their curves have no distance")
    return seed_mean(distance[best], weights)


@metric(
    unit="share of the entries, 0 to 1",
    of_losses="no zero",
    at_one_point=True,
    bounds=(0.0, 1.0),
    figure="values",
    settings=lambda metric: settings_of(f"probe_layer_underflow_{metric.of}"),
    example={"arm": "fp16", "of": "activation", "scale_exponent": 1},
    planted=({"fp16": {"curve_probe_layer_underflow_activation": [[[0.9, 0.1], [0.9, 0.3]]] * 2}}, 0.2),
)
def underflow_share(
    trials: Trials,
    weights: Numbers,
    arm: ObservedArm,
    of: Annotated[Literal["activation", "logits", "weight"], Field(description="activation: before the logits, all together")],
    scale_exponent: Annotated[int, Field(ge=0, le=16, description="the loss scale is 2 to this")] = 0,
    over: FactorName = "peak_lr",
) -> Numbers:
    """Share of non-zero gradient entries that FP16 would flush to zero at a loss scale, mean over an arm's probes.

    At the tuned LR. The arm measures underflow. Weighted mean over seeds of the mean over probes of the share flushed to zero,
    in [0, 1], [R]. Invalid where unmeasured."""
    best = tuned(arm, over, trials, weights)
    column = kept(arm, over, f"probe_layer_underflow_{of}", trials)
    shares = np.array([[np.mean([step[scale_exponent] for step in curve]) for curve in row] for row in column])
    return seed_mean(shares[best], weights)
