"""Conditions that make worlds hard: how the noise of seeds is shaped, shared and spoilt."""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Shape = Literal["normal", "heavy tails", "skewed"]


@dataclass(frozen=True)
class Condition:
    """shape: of all noise (heavy tails: Student's t with 3 degrees of freedom; skewed: exponential), each of mean 0 and
    deviation 1. unequal: what the own noise of every second arm is multiplied by. diverging: share of the runs from the best LR
    on that diverge. censored: share of runs that stop before their target. edge: the optimum lies next to the last point but
    one of its grid. flat: what curvatures are multiplied by.
    """

    name: str
    shape: Shape = "normal"
    unequal: float = 1.0
    diverging: float = 0.0
    censored: float = 0.0
    edge: bool = False
    flat: float = 1.0

    def noise(self, generator: np.random.Generator, *size: int) -> Numbers:
        if self.shape == "heavy tails":
            return np.asarray(generator.standard_t(3, size) / math.sqrt(3))
        if self.shape == "skewed":
            return np.asarray(generator.exponential(1.0, size) - 1.0)
        return generator.standard_normal(size)

    def own(self, arm_index: int) -> float:
        """The factor of an arm's own noise."""
        return self.unequal if arm_index % 2 else 1.0


PLAIN = Condition("plain")
HEAVY_TAILS = replace(PLAIN, name="heavy tails", shape="heavy tails")
SKEWED = replace(PLAIN, name="skewed", shape="skewed")
UNEQUAL = replace(PLAIN, name="unequal noise", unequal=4.0)
DIVERGING = replace(PLAIN, name="diverging runs", diverging=0.1)
CENSORED = replace(PLAIN, name="censored runs", censored=0.1)
NEAR_EDGE = replace(PLAIN, name="optimum near the edge", edge=True)
FLAT = replace(PLAIN, name="flat curve", flat=0.25)
