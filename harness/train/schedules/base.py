"""The protocol of a schedule."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...declare import Configuration, Training
from ..part import EnginePart

Curve = NDArray[np.float64]


@dataclass(frozen=True)
class Schedule(EnginePart):
    """shape: the LR as a share of the peak, of the progress after warmup, from 0 to just below 1. words: as a recipe tells
    it. settings: its own fields, as "training.ramp_start"."""

    line = "schedule"

    shape: Callable[[Training, Curve], Curve]
    words: Callable[[Training], str]  # type: ignore[assignment]
    settings: tuple[str, ...] = ()  # type: ignore[misc]

    @classmethod
    def check(cls, configuration: Configuration) -> None:
        training = configuration.training
        if training.warmup_steps >= training.nominal_steps:
            share, steps = training.warmup_fraction, training.steps
            raise ValueError(f"warmup_fraction = {share}: leaves no step of {steps} after warmup")


def percent(share: float) -> str:
    return f"{100 * share:.3g}%"


def to_the_end(training: Training) -> str:
    return f"to {percent(training.final_fraction)} of the peak"
