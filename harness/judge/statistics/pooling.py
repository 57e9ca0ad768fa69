"""Several independent estimates of one number as one: a fixed effect, each weighted by the inverse of its variance."""

from collections.abc import Sequence

import numpy as np

# Estimate, low, high.
Interval = tuple[float, float, float]


def pooled(intervals: Sequence[Interval], ratio: bool = False) -> Interval:
    """The pooled estimate with an interval of the same level. ratio: on the logarithmic axis. An interval that is not symmetric
    counts with its whole length. Borenstein et al. 2009, chapter 11."""
    values = np.log(intervals) if ratio else np.asarray(intervals, dtype=float)
    half = (values[:, 2] - values[:, 1]) / 2
    weights = 1 / half**2
    estimate, reach = float(np.average(values[:, 0], weights=weights)), float(1 / np.sqrt(weights.sum()))
    found = np.array([estimate, estimate - reach, estimate + reach])
    estimate, low, high = (np.exp(found) if ratio else found).tolist()
    return estimate, low, high
