"""What a ramp of the batch saves, counted."""

from folklore.harness.observables.estimating.exact.base import Check, Table
from folklore.harness.spec import Training

# The LR would be divided, or the batch is multiplied, by the factor after each of these shares of the examples.
CHANGES, FACTOR, STEPS = (0.5, 0.75), 4.0, 4096


def _ramped() -> Training:
    start = Training(warmup_fraction=0.0, batch_ramp=CHANGES, batch_ramp_factor=FACTOR, batch_size=4)
    return start.model_copy(update={"steps": start.steps_for(STEPS * start.batch_size)})


def updates() -> float:
    """Steps of the run with a ramp over those of one without that sees as many examples."""
    ramped = _ramped()
    assert ramped.examples == STEPS * ramped.batch_size, "they see as many examples"
    return ramped.steps / STEPS


def _table() -> Table:
    rows = tuple(
        (f"{batch}", f"{end - first:,}", f"{(end - first) * batch:,}") for first, end, batch in _ramped().batch_segments
    )
    return Table(("batch size", "updates", "examples"), rows)


CHECKS = {"batch_ramp_updates": Check(updates, table=_table)}
