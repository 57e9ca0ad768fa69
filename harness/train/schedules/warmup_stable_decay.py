"""Constant, then linear to the final fraction over the last `decay_fraction` of the whole run."""

import numpy as np

from ...declare import Configuration, Training
from .base import Curve, Schedule, percent, to_the_end


def _shape(training: Training, progress: Curve) -> Curve:
    share = training.decay_fraction * training.nominal_steps / (training.nominal_steps - training.warmup_steps)
    decayed = np.clip((progress - (1.0 - share)) / share, 0.0, 1.0)
    return 1.0 - (1.0 - training.final_fraction) * decayed


def _words(training: Training) -> str:
    return f"constant, and a linear decay {to_the_end(training)} over the last {percent(training.decay_fraction)}"


class WarmupStableDecay(Schedule):
    @classmethod
    def check(cls, configuration: Configuration) -> None:
        super().check(configuration)
        warmup, decay = configuration.training.warmup_fraction, configuration.training.decay_fraction
        if warmup + decay > 1:
            raise ValueError(f"decay_fraction = {decay}: with warmup_fraction = {warmup} must not exceed 1")


SCHEDULE = WarmupStableDecay(_shape, _words, ("training.decay_fraction",))
