"""A range test's ramp: from `ramp_start` of the peak up to it, by equal factors; the last step is at the peak."""

import numpy as np

from ...declare import Training
from .base import Curve, Schedule


def _shape(training: Training, progress: Curve) -> Curve:
    last = progress[-1]
    way = progress / last if last > 0 else np.ones_like(progress)  # a single step is at the peak
    return np.asarray(training.ramp_start ** (1.0 - way))


def _words(training: Training) -> str:
    return f"a range test, from {training.ramp_start:g} of the peak up to it by equal factors"


SCHEDULE = Schedule(_shape, _words, ("training.ramp_start",))
