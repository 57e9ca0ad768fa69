"""Metrics of what a run takes of the hardware."""

import json
from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ..design import in_words
from ..observed import ArmName, Example, Observed, ObservedArm, OfLosses
from ..trials import NotEstimableError, Numbers, Trials
from .estimating.weighted import seed_mean


class SpeedUp(Observed):
    """Steps a second of `arm` over those of `reference`, medians over steps; both trained alone. Geometric mean over seeds."""

    kind: Literal["speed_up"] = "speed_up"
    arm: ObservedArm
    reference: ArmName = Field(description="the arm it is compared with")

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    FIGURE: ClassVar[str] = "forest"
    UNIT: ClassVar[str] = "none (a ratio)"
    EXAMPLE: ClassVar[Example] = {"arm": "bf16", "reference": "fp32"}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """exp of the weighted mean of ln(reference's median step time / the arm's), [R]; invalid across machines."""
        return 1.0 / ratio(self.arm, self.reference, "step_seconds", trials, weights)


def ratio(arm: str, reference: str, column: str, trials: Trials, weights: Numbers) -> Numbers:
    """exp of the weighted mean of ln(the arm's / the reference's), [R]."""
    own, other = of_one_device((arm, reference), column, trials)
    return np.asarray(np.exp(seed_mean(np.log(own / other), weights)))


def of_one_device(arms: Sequence[str], column: str, trials: Trials) -> list[Numbers]:
    """A number of every seed of each arm, [S]. Raises NotEstimableError where it was not measured, or on several devices."""
    numbers = [trials.values(arm, trials.only_factor(arm), column)[0].astype(np.float64) for arm in arms]
    if not all(np.isfinite(values).all() for values in numbers):
        names = " and ".join(map(trials.arm_name, arms))
        raise NotEstimableError("invalid", f"{in_words(column)} of {names} were not measured, which takes trials trained alone")
    environments = (trials.values(arm, trials.only_factor(arm), "environment").ravel() for arm in arms)
    devices = {json.loads(environment)["device"] for of_arm in environments for environment in of_arm}
    if len(devices) > 1:
        raise NotEstimableError("invalid", f"the arms were trained on different devices ({', '.join(sorted(devices))})")
    return numbers
