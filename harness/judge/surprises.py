"""How far an observation lies from what theory or a publication led one to expect."""

import math

from ..declare import Criterion
from .statistics.intervals import Observation


def surprise(criterion: Criterion, observation: Observation, scale: str) -> float | None:
    """Distance of the estimate from the expected value, on the axis, as a multiple of the expected effect: of the distance of
    the expected value from the null, or if none is expected, from the margin. 0 if the interval holds the expected value; None
    if nothing was expected, or there is no effect to measure by.
    """
    expected = criterion.expected
    if expected is None or (expected.scales is not None and scale not in expected.scales) or criterion.null is None:
        return None
    if observation.low <= expected.value <= observation.high:
        return 0.0

    def axis(value: float) -> float:
        return math.log(max(value, 1e-300)) if criterion.observe.log_axis else value

    effect = abs(axis(expected.value) - axis(criterion.null))
    if not effect and criterion.negligible is not None:
        effect = abs(axis(criterion.negligible[1]) - axis(criterion.null))
    return abs(axis(observation.estimate) - axis(expected.value)) / effect if effect else None
