"""The learning rate of every step, as a table for each lane. A schedule is a module, which calls it SCHEDULE: to add one is to
add a module.

The ramp gives step i (from 0) the peak times (i + 1) / warmup_steps: a warmup of w steps reaches the peak on its w-th
step. A held ramp is zero instead: parameters stay, and the optimizer's moments form. Afterwards progress
p = (i - w) / (steps - w) runs from 0 to just below 1, as in torch's schedulers: the final fraction is what would follow the
last step, so none is wasted on an LR of zero.

Where the batch is ramped up, i and steps count examples, in batches of the first size: the LR is a function of the examples
that were seen before a step.
"""

from collections.abc import Sequence

import numpy as np

from ...declare import Training
from ...declare.registry import registered
from .base import Curve, Schedule


def schedule_named(name: str) -> Schedule:
    """Raises UserError for an unknown name."""
    schedule: Schedule = registered("schedule", "train/schedules", "SCHEDULE", name)
    return schedule


def learning_rates(training: Training) -> Curve:
    """The LR of each step, [steps]."""
    step = _nominal_step(training)
    warmup = training.warmup_steps
    progress = np.clip((step - warmup) / max(1, training.nominal_steps - warmup), 0.0, 1.0)
    shape = schedule_named(training.schedule).shape(training, progress)
    rises = warmup > 0 and training.ramp == "linear"
    ramp = np.minimum(1.0, (step + 1) / warmup) if rises else np.zeros_like(step)
    return training.peak_lr * np.where(step < warmup, ramp, shape)


def _nominal_step(training: Training) -> Curve:
    """Examples seen before each step, in batches of the first size, [steps]: without a ramp of the batch its number."""
    batches = [np.full(end - first, batch / training.batch_size) for first, end, batch in training.batch_segments]
    sizes = np.concatenate(batches)
    return np.asarray(np.cumsum(sizes) - sizes)


def learning_rate_table(lanes: Sequence[Training]) -> Curve:
    """The LR of each step and lane, [steps, K]."""
    return np.stack([learning_rates(lane) for lane in lanes], axis=1)
