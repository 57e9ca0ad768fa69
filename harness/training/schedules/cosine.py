"""Half a cosine to the final fraction: Loshchilov and Hutter 2017, equation 5, one period."""

import numpy as np

from folklore.harness.spec import Training
from folklore.harness.training.schedules.base import Curve, Schedule, to_the_end


def _shape(training: Training, progress: Curve) -> Curve:
    return training.final_fraction + (1.0 - training.final_fraction) * 0.5 * (1.0 + np.cos(np.pi * progress))


def _words(training: Training) -> str:
    return f"cosine decay {to_the_end(training)}"


SCHEDULE = Schedule(_shape, _words)
