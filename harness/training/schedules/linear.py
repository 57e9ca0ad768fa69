"""A straight line to the final fraction."""

from folklore.harness.spec import Training
from folklore.harness.training.schedules.base import Curve, Schedule, to_the_end


def _shape(training: Training, progress: Curve) -> Curve:
    return 1.0 - (1.0 - training.final_fraction) * progress


def _words(training: Training) -> str:
    return f"linear decay {to_the_end(training)}"


SCHEDULE = Schedule(_shape, _words)
