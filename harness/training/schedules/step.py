"""Drops by a factor, at shares of the run after warmup."""

import numpy as np

from folklore.harness.spec import Training
from folklore.harness.training.schedules.base import Curve, Schedule, percent


def _shape(training: Training, progress: Curve) -> Curve:
    drops = sum((progress >= drop).astype(np.float64) for drop in training.step_drops)
    return np.power(training.step_factor, drops)


def _words(training: Training) -> str:
    return f"times {training.step_factor:g} at {' and '.join(map(percent, training.step_drops))} of the run"


SCHEDULE = Schedule(_shape, _words)
