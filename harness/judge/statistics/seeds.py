"""How many seeds it takes."""

import math
from functools import cache

import numpy as np
import scipy  # its parts load when they are first used: seconds, and much that is read here needs none
from numpy.typing import NDArray

from ...declare.level import ALPHA
from .intervals import Observation, Regions

# Beyond this many seeds "add seeds" is no advice.
MOST_ADVISED_SEEDS = 1000


def seeds_needed(observation: Observation, regions: Regions, alpha: float = ALPHA) -> int | None:
    """The least number of seeds whose interval would lie inside one of the regions; None if none would.

    Assumes that the estimate and the spread between seeds stay as they are.
    """
    seeds = np.arange(observation.seeds, MOST_ADVISED_SEEDS + 1)
    around = [(low, high) for low, high in regions if len(seeds) and low <= observation.estimate <= high]
    enough = [seeds[_would_decide(observation, low, high, seeds, alpha)] for low, high in around]
    return min((int(counts[0]) for counts in enough if len(counts)), default=None)


def _would_decide(
    observation: Observation, low: float, high: float, seeds: NDArray[np.int64], alpha: float
) -> NDArray[np.bool_]:
    if observation.spread is None:  # a share of runs: Clopper and Pearson's interval
        successes = np.rint(observation.estimate * seeds)
        least = np.where(successes > 0, scipy.stats.beta.ppf(alpha / 2, np.maximum(successes, 1), seeds - successes + 1), 0.0)
        failures = seeds - successes
        most = np.where(failures > 0, scipy.stats.beta.ppf(1 - alpha / 2, successes + 1, np.maximum(failures, 1)), 1.0)
        return np.asarray((low <= least) & (most <= high))
    if not observation.spread:  # all seeds alike: on the edge itself nothing is ever decided
        return np.full(len(np.atleast_1d(seeds)), low < observation.estimate < high)
    axis = (lambda value: math.log(value) if value > 0 else -math.inf) if observation.log_axis else float
    centre = axis(observation.estimate)
    half = _t_quantiles(alpha)[seeds - 2] * observation.spread / np.sqrt(seeds)
    return np.asarray((axis(low) <= centre - half) & (centre + half <= axis(high)))


@cache
def _t_quantiles(alpha: float) -> NDArray[np.float64]:
    """Quantiles for 2, 3, … seeds."""
    return np.asarray(scipy.stats.t.ppf(1 - alpha / 2, np.arange(1, MOST_ADVISED_SEEDS)))
