"""Half a cosine to the final fraction: Loshchilov and Hutter 2017, equation 5, one period."""

import numpy as np

from .base import Schedule, to_the_end

SCHEDULE = Schedule(
    shape=lambda training, progress: (
        training.final_fraction + (1.0 - training.final_fraction) * 0.5 * (1.0 + np.cos(np.pi * progress))
    ),
    words=lambda training: f"cosine decay {to_the_end(training)}",
)
