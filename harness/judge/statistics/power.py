"""The probability of deciding, with this many seeds.

The estimate of n seeds is taken as normal about the true value with the deviation s / sqrt(n), and s estimated by n - 1
degrees of freedom, so that an end of the interval passes an edge at distance d with the probability of the noncentral t
(Johnson, Kotz and Balakrishnan 1995, section 31.3)

    P(T > t_0.975),    T noncentral with n - 1 degrees of freedom and noncentrality d sqrt(n) / s.
"""

import math
from collections.abc import Callable

import numpy as np
import scipy  # its parts load when they are first used: seconds, and much that is read here needs none

from ...declare.level import ALPHA

POWER = 0.8


def power_inside(value: float, region: tuple[float, ...], spread: float, seeds: int, alpha: float = ALPHA) -> float:
    """Probability that the interval lies inside a region: of both its ends, at least (Bonferroni's inequality). All on the
    axis on which the interval is symmetric."""
    from statsmodels.stats.power import TTestPower  # brings pandas

    missed = 0.0
    for edge in region:
        distance = abs(value - edge)
        if math.isfinite(distance) and not spread:
            missed += float(not distance)  # seeds that all agree decide all but an edge itself
        elif math.isfinite(distance):
            power = float(TTestPower().power(distance / spread, seeds, alpha / 2, alternative="larger"))
            # Beyond a noncentrality of 36 SciPy's series is NaN here and there, and the power is 1.
            missed += 0.0 if math.isnan(power) else 1.0 - power
    return max(0.0, 1.0 - missed)


def decided_distance(spread: float, seeds: int, power: float = POWER) -> float:
    """How far inside a region, on the axis of the interval, a value is decided with that power: (t_0.975 + t_0.8) s / sqrt(n),
    the usual approximation to the noncentral t (Chow et al. 2008, section 3.1). statsmodels' solve_power warns at one seed."""
    quantiles = np.sum(scipy.special.stdtrit(seeds - 1, [1 - ALPHA / 2, power]))
    return float(quantiles) * spread / math.sqrt(seeds)


def least_seeds(power_of: Callable[[int], float], first: int, most: int, power: float = POWER) -> int | None:
    """The least number of seeds from `first` on that has the power, which grows with them; None if none up to `most` has."""
    low, high = first - 1, first
    while power_of(high) < power:
        low, high = high, 2 * high
        if low >= most:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_of(middle) >= power else (middle, high)
    return high if high <= most else None
