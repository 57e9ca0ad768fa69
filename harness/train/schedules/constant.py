"""The peak to the end."""

import numpy as np

from .base import Schedule

SCHEDULE = Schedule(
    shape=lambda training, progress: np.ones_like(progress),
    words=lambda training: "constant",
)
