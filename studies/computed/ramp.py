"""Counts what a ramp of the batch saves."""

from ...harness.declare import Training
from ...harness.declare.computed import Table, Worked

# The LR would be divided, or the batch is multiplied, by the factor after each of these shares of the examples.
CHANGES, FACTOR, STEPS = (0.5, 0.75), 4.0, 4096


def updates() -> Worked:
    """Steps of the run with a ramp over those of one without that sees as many examples."""
    start = Training(warmup_fraction=0.0, batch_ramp=CHANGES, batch_ramp_factor=FACTOR, batch_size=4)
    ramped = start.model_copy(update={"steps": start.steps_for(STEPS * start.batch_size)})
    assert ramped.examples == STEPS * ramped.batch_size, "they see as many examples"
    rows = tuple((f"{batch}", f"{end - first:,}", f"{(end - first) * batch:,}") for first, end, batch in ramped.batch_segments)
    return Worked({"ratio": ramped.steps / STEPS}, tables=(Table(("batch size", "updates", "examples"), rows),))
