"""What the hardware took."""

import json
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from ..design import in_words
from ..observed import ARM, ArmName, Example, Observed, ObservedArm, OfLosses
from ..trials import NotEstimableError, Numbers, Trials
from .estimating.weighted import present, seed_mean


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


class OverheadBatch(Observed):
    """The batch size at which half of a step's time does not depend on the batch: a / b of step times a + b B.

    Step times are medians over steps of runs trained alone, fitted by least squares of relative errors.
    """

    kind: Literal["overhead_batch"] = "overhead_batch"
    points: Annotated[tuple[tuple[int, str], ...], ARM] = Field(
        min_length=3, description="pairs of the batch size and an arm of that batch size, trained at one LR"
    )

    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    UNIT: ClassVar[str] = "sequences or examples"
    EXAMPLE: ClassVar[Example] = {"points": [[8, "batch_8"], [32, "batch_32"], [128, "batch_128"]]}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """a / b, [R], of the weighted mean step times t by least squares of (t - a - b B) / t; nan where time does not grow.
        Below zero where it grows faster than the batch. Invalid across machines."""
        points = present(self.points, trials)
        seconds = [seed_mean(own, weights) for own in _of_one_device([arm for _, arm in points], "step_seconds", trials)]
        time_RM, batch_M = np.stack(seconds, axis=1), np.array([float(batch) for batch, _ in points])
        design_RM2 = np.stack([1 / time_RM, batch_M / time_RM], axis=2)
        fitted_R2 = np.linalg.pinv(design_RM2) @ np.ones((*time_RM.shape, 1))
        constant, slope = fitted_R2[:, 0, 0], fitted_R2[:, 1, 0]
        return np.asarray(np.divide(constant, slope, out=np.full_like(slope, np.nan), where=slope > 0))


def _ratio(arm: str, reference: str, column: str, trials: Trials, weights: Numbers) -> Numbers:
    """exp of the weighted mean of ln(the arm's / the reference's), [R]."""
    own, other = _of_one_device((arm, reference), column, trials)
    return np.asarray(np.exp(seed_mean(np.log(own / other), weights)))


def _of_one_device(arms: Sequence[str], column: str, trials: Trials) -> list[Numbers]:
    """A number of every seed of each arm, [S]. Raises NotEstimableError where it was not measured, or on several devices."""
    found = [trials.values(arm, trials.only_factor(arm), column)[0].astype(np.float64) for arm in arms]
    if not all(np.isfinite(each).all() for each in found):
        names = " and ".join(map(trials.arm_name, arms))
        raise NotEstimableError("invalid", f"{in_words(column)} of {names} were not measured, which takes trials trained alone")
    environments = (trials.values(arm, trials.only_factor(arm), "environment").ravel() for arm in arms)
    devices = {json.loads(environment)["device"] for of_arm in environments for environment in of_arm}
    if len(devices) > 1:
        raise NotEstimableError("invalid", f"the arms were trained on different devices ({', '.join(sorted(devices))})")
    return found
