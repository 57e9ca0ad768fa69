"""Which steps of a run are probed or evaluated, and how many at most."""

import math

from ..declare import Measurement, Training

# Products of a Hessian with a vector after which an eigenvalue that has not converged is given up.
MOST_PRODUCTS = 80
# More early probes than this add cost and no information to the first hundredth of a run.
MOST_EARLY_PROBES = 10


def probe_steps(training: Training, measurement: Measurement) -> list[int]:
    """Steps evenly spread over the run's examples, the last one among them, and the first hundredth of the run (from 0)."""
    spread = {training.steps_at(index + 1, measurement.probes) - 1 for index in range(measurement.probes)}
    early = range(min(MOST_EARLY_PROBES, math.ceil(0.01 * training.steps)))
    return sorted({step for step in spread if step >= 0} | set(early))


def evaluation_steps(training: Training, measurement: Measurement) -> list[int]:
    """Steps evenly spread over the run's examples after which the validation sample is evaluated; the last step is one."""
    count = measurement.evaluations
    return sorted({max(0, training.steps_at(index + 1, count) - 1) for index in range(count)})
