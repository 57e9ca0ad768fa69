"""At which steps of a run it is looked at, and how much at once."""

import math

from folklore.harness.spec import Measurement

# Targets a lane that an evaluation holds at once: bounds its memory without changing its result beyond rounding.
EVALUATION_TARGETS = 4096
# Products of a Hessian with a vector after which an eigenvalue that has not converged is given up.
MOST_PRODUCTS = 80
# More early probes than this add cost and no information to the first hundredth of a run.
MOST_EARLY_PROBES = 10


def probe_steps(steps: int, measurement: Measurement) -> list[int]:
    """Evenly spread steps, the last one among them, and the first hundredth of the run (from 0)."""
    spread = {round((index + 1) * steps / measurement.probes) - 1 for index in range(measurement.probes)}
    early = range(min(MOST_EARLY_PROBES, math.ceil(0.01 * steps)))
    return sorted({step for step in spread if step >= 0} | set(early))


def evaluation_steps(steps: int, measurement: Measurement) -> list[int]:
    """Evenly spread steps after which the validation sample is evaluated; the last step is one."""
    return sorted(
        {max(0, round((index + 1) * steps / measurement.evaluations) - 1) for index in range(measurement.evaluations)}
    )
