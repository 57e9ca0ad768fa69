"""One p value of several."""

from collections.abc import Iterable, Sequence


def bonferroni(p_values: Iterable[float]) -> float:
    """The p value of "at least one of these holds", however they depend on each other."""
    several = list(p_values)
    return min(1.0, len(several) * min(several))


def partial_conjunction(p_values: Sequence[float], least: int) -> float:
    """The p value of "at least this many of these hold", u of n, by Simes' inequality (Benjamini and Heller 2008, section 2):

    p = min over i of (n - u + 1) / i * p_(u - 1 + i),    i = 1 ... n - u + 1,    p_(1) <= ... <= p_(n).
    """
    ordered = sorted(p_values)[least - 1 :]
    return min(1.0, *(len(ordered) / (index + 1) * p for index, p in enumerate(ordered)))
