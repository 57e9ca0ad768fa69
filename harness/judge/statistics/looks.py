"""Judging more than once at an error rate that stays what it is: alpha spending.

Each look may spend a share of the 5%, on either side by the spending function of O'Brien and Fleming's type for 2.5% (Lan and
DeMets 1983, section 2)

    spent(t) = 2 (1 - Phi(z_0.9875 / sqrt(t))),    t = seeds so far / most seeds,

and the level of a look keeps the total at that, for a statistic that moves like Brownian motion: sqrt(t_k) Z_k (Armitage,
McPherson and Rowe 1969, by numerical integration). The levels are used with the p values of the tests at each look, as Jennison
and Turnbull (2000, section 4.4) advise for t tests.
"""

import math
from functools import lru_cache

import numpy as np
import scipy  # its parts load when they are first used: seconds, and much that is read here needs none
from numpy.typing import NDArray

from ...declare.level import ALPHA

Numbers = NDArray[np.float64]

# Points of the integration, and how many deviations it goes beyond the boundary.
POINTS, BEYOND = 2001, 8.0


def spent(share: float, alpha: float = ALPHA) -> float:
    """Error spent on both sides together at this share of the information."""
    return float(4 * scipy.stats.norm.sf(scipy.stats.norm.isf(alpha / 4) / math.sqrt(share)))


@lru_cache(maxsize=64)
def levels(looks: tuple[int, ...], alpha: float = ALPHA) -> tuple[float, ...]:
    """The two-sided level of each look.

    A grid carries the density of the sum so far, of tests that crossed no boundary, from look to look; each boundary lets as
    much mass cross as may be spent.
    """
    shares = [look / looks[-1] for look in looks]
    nominal_levels: list[float] = []
    grid: Numbers = np.zeros(1)
    mass: Numbers = np.ones(1)  # probability at each point, of not having stopped
    before = 0.0
    for share, last in zip(shares, (0.0, *shares[:-1]), strict=True):
        allowed = spent(share, alpha) - before
        step = math.sqrt(share - last)
        boundary = _boundary(grid, mass, step, allowed)
        nominal_levels.append(float(2 * scipy.stats.norm.sf(boundary / math.sqrt(share))))
        grid, mass = _carried(grid, mass, step, boundary)
        before = spent(share, alpha)
    return tuple(nominal_levels)


def _boundary(grid: Numbers, mass: Numbers, step: float, allowed: float) -> float:
    """The boundary beyond which, on both sides, lies the allowed mass: by bisection."""
    low, high = 0.0, BEYOND * 2
    for _ in range(80):
        middle = (low + high) / 2
        outside = mass @ (scipy.special.ndtr((grid - middle) / step) + scipy.special.ndtr((-middle - grid) / step))
        low, high = (middle, high) if outside > allowed else (low, middle)
    return (low + high) / 2


def _carried(grid: Numbers, mass: Numbers, step: float, boundary: float) -> tuple[Numbers, Numbers]:
    """The mass inside the boundary after one more step, on a grid of its own."""
    inside = np.linspace(-boundary, boundary, POINTS)
    width = inside[1] - inside[0]
    density = np.exp(-(((inside[:, None] - grid[None, :]) / step) ** 2) / 2) / (math.sqrt(2 * math.pi) * step)
    weights = np.full(POINTS, width)
    weights[[0, -1]] /= 2
    return inside, (density @ mass) * weights
