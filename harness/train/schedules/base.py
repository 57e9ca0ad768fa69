"""What every schedule is."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...declare import Training

Curve = NDArray[np.float64]


@dataclass(frozen=True)
class Schedule:
    """shape: the LR as a share of the peak, of the progress after warmup, from 0 to just below 1. words: as a recipe tells it.
    waits: whether the LR also falls as the run goes, by the rule of procedures/plateau.py.
    """

    shape: Callable[[Training, Curve], Curve]
    words: Callable[[Training], str]
    waits: bool = False


def percent(share: float) -> str:
    return f"{100 * share:.3g}%"


def to_the_end(training: Training) -> str:
    return f"to {percent(training.final_fraction)} of the peak"
