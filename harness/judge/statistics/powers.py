"""Power laws of two arms in one size: y = A x^k, with a factor A an arm. Do the arms share the exponent k?"""

from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when they are first used: seconds, and much that is read here needs none

from ...declare.level import LEVEL
from .intervals import Numbers


@dataclass(frozen=True)
class Powers:
    """What two arms' power laws have in common.

    exponents: of the arm and of the other, each fitted alone; p: against a shared one, by the F test; shared: that one; ratio,
    low, high: of the arm's factor to the other's, under it.
    """

    exponents: tuple[float, float]
    p: float
    shared: float
    ratio: float
    low: float
    high: float


def powers(x: Numbers, y: Numbers, is_arm: Numbers) -> Powers:
    """Least squares of ln y on ln x; x, y [n] above 0, is_arm [n] 1 for the arm and 0 for the other; n from 5 on."""
    arm, size, ones = np.asarray(is_arm, float), np.log(x), np.ones(len(x))
    together = np.stack([ones, arm, size], axis=1)
    apart = np.stack([ones, arm, size, arm * size], axis=1)
    (_, factor, shared), missed, errors = _fitted(together, np.log(y))
    (_, _, slope, more), missed_apart, _ = _fitted(apart, np.log(y))
    freedom = len(x) - 4
    f = max(0.0, missed - missed_apart) / (missed_apart / freedom) if missed_apart > 0 else 0.0
    half = float(errors[1] * scipy.stats.t.ppf(0.5 + LEVEL / 2, len(x) - 3))
    ends = (float(np.exp(factor + sign * half)) for sign in (-1, 0, 1))
    low, ratio, high = ends
    return Powers((float(slope + more), float(slope)), float(scipy.stats.f.sf(f, 1, freedom)), float(shared), ratio, low, high)


def _fitted(design: Numbers, values: Numbers) -> tuple[Numbers, float, Numbers]:
    """Coefficients, the sum of squares that is left, and the coefficients' standard errors."""
    found, *_ = np.linalg.lstsq(design, values, rcond=None)
    missed = float(np.sum((values - design @ found) ** 2))
    variance = missed / (len(values) - design.shape[1])
    errors = np.sqrt(variance * np.diag(np.linalg.inv(design.T @ design)))
    return np.asarray(found, np.float64), missed, np.asarray(errors, np.float64)
