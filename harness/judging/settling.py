"""How many more seeds would decide an open criterion."""

import math
from functools import cache

import numpy as np
import scipy  # its parts load when they are first used: seconds, and much that is read here needs none
from numpy.typing import NDArray

from folklore.harness.judging.intervals import Observation
from folklore.harness.judging.outcomes import ALPHA, Regions, deciding_regions, favours
from folklore.harness.spec import Criterion

# Beyond this many seeds "add seeds" is no advice.
MOST_ADVISED_SEEDS = 1000


def what_would_settle(seen: Observation, criterion: Criterion, alpha: float, parts: int = 1, refuted: bool = False) -> str:
    """How many more seeds would decide if estimate and spread stay as they are, or why none would. parts: so many are tested
    on its workload, and one alone refutes the claim at alpha over all of them. refuted: it does so at alpha already."""
    regions = [each for each in deciding_regions(criterion) if not (refuted and favours(criterion, each))]
    if not any(low <= seen.estimate <= high for low, high in regions):
        return "the estimate is in no region that decides"
    level = 2 * alpha if criterion.one_sided else alpha
    by_piece = [seeds_needed(seen, (each,), level if favours(criterion, each) else level / parts) for each in regions]
    needed = min((each for each in by_piece if each is not None), default=None)
    if needed is None:
        return f"not even {MOST_ADVISED_SEEDS} seeds would settle it if estimate and spread stay as they are"
    more = needed - seen.seeds
    return f"about {more} more seed{'s' * (more != 1)} would settle it if estimate and spread stay as they are"


def seeds_needed(seen: Observation, regions: Regions, alpha: float = ALPHA) -> int | None:
    """The least number of seeds whose interval would lie inside one of the regions; None where none would.

    Assumes that the estimate and the spread between seeds stay as they are.
    """
    found = [needed for low, high in regions if (needed := _seeds_for(seen, low, high, alpha)) is not None]
    return min(found, default=None)


def _seeds_for(seen: Observation, low: float, high: float, alpha: float) -> int | None:
    if not (low <= seen.estimate <= high and seen.seeds <= MOST_ADVISED_SEEDS):
        return None
    seeds = np.arange(seen.seeds, MOST_ADVISED_SEEDS + 1)
    enough = np.flatnonzero(_would_decide(seen, low, high, seeds, alpha))
    return int(seeds[enough[0]]) if len(enough) else None


def _would_decide(seen: Observation, low: float, high: float, seeds: NDArray[np.int64], alpha: float) -> NDArray[np.bool_]:
    if seen.spread is None:  # a share of runs: Clopper and Pearson's interval
        successes = np.rint(seen.estimate * seeds)
        least = np.where(successes > 0, scipy.stats.beta.ppf(alpha / 2, np.maximum(successes, 1), seeds - successes + 1), 0.0)
        failures = seeds - successes
        most = np.where(failures > 0, scipy.stats.beta.ppf(1 - alpha / 2, successes + 1, np.maximum(failures, 1)), 1.0)
        return np.asarray((low <= least) & (most <= high))
    if not seen.spread:  # all seeds alike: on the edge itself nothing is ever decided
        return np.full(len(np.atleast_1d(seeds)), low < seen.estimate < high)
    axis = (lambda value: math.log(value) if value > 0 else -math.inf) if seen.log_axis else float
    centre = axis(seen.estimate)
    half = _t_quantiles(alpha)[seeds - 2] * seen.spread / np.sqrt(seeds)
    return np.asarray((axis(low) <= centre - half) & (centre + half <= axis(high)))


@cache
def _t_quantiles(alpha: float) -> NDArray[np.float64]:
    """Of 2, 3, … seeds."""
    return np.asarray(scipy.stats.t.ppf(1 - alpha / 2, np.arange(1, MOST_ADVISED_SEEDS)))
