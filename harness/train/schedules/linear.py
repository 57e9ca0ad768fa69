"""A straight line to the final fraction."""

from .base import Schedule, to_the_end

SCHEDULE = Schedule(
    shape=lambda training, progress: 1.0 - (1.0 - training.final_fraction) * progress,
    words=lambda training: f"linear decay {to_the_end(training)}",
)
