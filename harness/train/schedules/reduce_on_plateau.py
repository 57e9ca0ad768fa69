"""The peak, and drops by a factor that are decided as the run goes: procedures/plateau.py."""

import numpy as np

from ...words import counted
from .base import Schedule

SCHEDULE = Schedule(
    shape=lambda training, progress: np.ones_like(progress),
    words=lambda training: (
        f"constant, and times {training.step_factor:g} after {counted(training.patience, 'evaluation')} without improvement"
    ),
    settings=("training.patience",),
)
