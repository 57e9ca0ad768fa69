"""The learning rate of every step, as a table for each lane.

The ramp gives step i (from 0) the peak times (i + 1) / warmup_steps: a warmup of w steps reaches the peak on its w-th
step. Afterwards progress p = (i - w) / (steps - w) runs from 0 to just below 1, as in torch's schedulers: the final
fraction is what would follow the last step, so none is wasted on an LR of zero.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from folklore.harness.spec import Training

Curve = NDArray[np.float64]


def learning_rates(training: Training) -> Curve:
    """The LR of each step, [steps]."""
    step = np.arange(training.steps, dtype=np.float64)
    warmup = training.warmup_steps
    progress = np.clip((step - warmup) / max(1, training.steps - warmup), 0.0, 1.0)
    shape = SHAPES[training.schedule](training, progress)
    ramp = np.minimum(1.0, (step + 1) / warmup) if warmup else np.ones_like(step)
    return training.peak_lr * np.where(step < warmup, ramp, shape)


def learning_rate_table(lanes: Sequence[Training]) -> Curve:
    """The LR of each step and lane, [steps, K]."""
    return np.stack([learning_rates(lane) for lane in lanes], axis=1)


def _constant(training: Training, progress: Curve) -> Curve:
    return np.ones_like(progress)


def _linear(training: Training, progress: Curve) -> Curve:
    return 1.0 - (1.0 - training.final_fraction) * progress


def _cosine(training: Training, progress: Curve) -> Curve:
    """Loshchilov and Hutter 2017, equation 5, one period."""
    return training.final_fraction + (1.0 - training.final_fraction) * 0.5 * (1.0 + np.cos(np.pi * progress))


def _step(training: Training, progress: Curve) -> Curve:
    drops = sum((progress >= drop).astype(np.float64) for drop in training.step_drops)
    return np.power(training.step_factor, drops)


def _warmup_stable_decay(training: Training, progress: Curve) -> Curve:
    """Constant, then linear to the final fraction over the last `decay_fraction` of the whole run."""
    share = training.decay_fraction * training.steps / (training.steps - training.warmup_steps)
    decayed = np.clip((progress - (1.0 - share)) / share, 0.0, 1.0)
    return 1.0 - (1.0 - training.final_fraction) * decayed


def _exponential(training: Training, progress: Curve) -> Curve:
    """A range test's ramp: from `ramp_start` of the peak up to it, by equal factors; the last step is at the peak."""
    last = progress[-1]
    way = progress / last if last > 0 else np.ones_like(progress)  # a single step is at the peak
    return np.asarray(training.ramp_start ** (1.0 - way))


SHAPES: dict[str, Callable[[Training, Curve], Curve]] = {
    "constant": _constant,
    "linear": _linear,
    "cosine": _cosine,
    "step": _step,
    "warmup_stable_decay": _warmup_stable_decay,
    "exponential": _exponential,
    "reduce_on_plateau": _constant,  # what falls is decided as the run goes: plateau.py
}
