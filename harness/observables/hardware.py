"""What the hardware took."""

import json
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from folklore.harness.observables.estimating.weighted import seed_mean
from folklore.harness.spec.observed import ArmName, Example, Observed, ObservedArm, OfLosses
from folklore.harness.spec.trials import Numbers, Trials, UndecidableError, in_words


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
        return 1.0 / _ratio(self.arm, self.reference, "step_seconds", trials, weights)


class MemoryRatio(Observed):
    """Peak memory of `arm` over that of `reference`; both trained alone. Geometric mean over seeds."""

    kind: Literal["memory_ratio"] = "memory_ratio"
    arm: ObservedArm
    reference: ArmName = Field(description="the arm it is compared with")

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    FIGURE: ClassVar[str] = "forest"
    UNIT: ClassVar[str] = "none (a ratio)"
    EXAMPLE: ClassVar[Example] = {"arm": "bf16", "reference": "fp32"}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """exp of the weighted mean of ln(the arm's peak bytes / the reference's), [R]; invalid across machines."""
        return _ratio(self.arm, self.reference, "peak_memory_bytes", trials, weights)


def _ratio(arm: str, reference: str, column: str, trials: Trials, weights: Numbers) -> Numbers:
    """exp of the weighted mean of ln(the arm's / the reference's), [R]."""
    pair = (arm, reference)
    (own,), (other,) = (trials.values(name, trials.only_factor(name), column).astype(np.float64) for name in pair)
    if not (np.isfinite(own).all() and np.isfinite(other).all()):
        names = " and ".join(map(trials.arm_name, pair))
        raise UndecidableError("invalid", f"{in_words(column)} of {names} were not measured, which takes trials trained alone")
    found = (trials.values(name, trials.only_factor(name), "environment").ravel() for name in pair)
    devices = {json.loads(environment)["device"] for environments in found for environment in environments}
    if len(devices) > 1:
        raise UndecidableError("invalid", f"the arms were trained on different devices ({', '.join(sorted(devices))})")
    return np.asarray(np.exp(seed_mean(np.log(own / other), weights)))
