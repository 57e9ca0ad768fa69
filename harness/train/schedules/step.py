"""Drops by a factor, at shares of the run after warmup."""

import numpy as np

from .base import Schedule, percent

SCHEDULE = Schedule(
    shape=lambda training, progress: np.power(training.step_factor, sum(progress >= drop for drop in training.step_drops)),
    words=lambda training: f"times {training.step_factor:g} at {' and '.join(map(percent, training.step_drops))} of the run",
)
