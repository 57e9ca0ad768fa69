"""The peak, and drops by a factor that are decided as the run goes: plateau.py."""

import numpy as np

from folklore.harness.spec import Training
from folklore.harness.training.schedules.base import Curve, Schedule


def _shape(training: Training, progress: Curve) -> Curve:
    return np.ones_like(progress)


def _words(training: Training) -> str:
    return (
        f"constant, and times {training.step_factor:g} after {training.patience:,} evaluation{'s' * (training.patience != 1)}"
        " without improvement"
    )


SCHEDULE = Schedule(_shape, _words, waits=True)
