"""How far runs differ by chance alone, and which differences can be seen through that.

Runs come in groups that share everything but the seed. Their standard deviation s is pooled over groups, with v degrees of
freedom (the runs less the groups). Two arms of n runs each are compared as they are judged: from two runs an arm on by Welch's
test with the spread of these runs; of one run each with s, v degrees. A difference d is seen with the power of the noncentral t
with noncentrality d / (s sqrt(2 / n)) (Johnson, Kotz and Balakrishnan 1995, section 31.3).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy  # its parts load when they are first used: seconds, and much that is read here needs none

from ...declare.level import ALPHA
from .intervals import Numbers
from .power import POWER, least_seeds
from .two_samples import pooled_spread

# More seeds an arm than this are no advice.
MOST_SEEDS = 100_000
# From more runs an arm on Welch's test is as good as Student's; points at which the shares of variances are taken.
LIKE_STUDENT, SHARES = 50, 400
# A p value below which data are clearly not normal. Larger ones come about too easily where many groups are tested.
CLEARLY = 0.01
# Groups of fewer values have no shape, and no spread that could differ from another's.
LEAST_OF_A_SHAPE = 3


@dataclass(frozen=True)
class NoiseLevel:
    """A standard deviation with its 95% interval. degrees: of freedom of its estimate."""

    deviation: float
    low: float
    high: float
    degrees: int


def noise_level(groups: Sequence[Numbers]) -> NoiseLevel | None:
    """The standard deviation within groups with the chi-square interval, which is exact for normal data of equal spread.

    Groups of one value say nothing; None if no group has two.
    """
    pooled = pooled_spread([group - group[0] for group in groups])  # equal values differ by 0 and not by a rounded mean
    if pooled is None:
        return None
    degrees = int(pooled.freedom)
    low, high = (pooled.deviation / math.sqrt(end) for end in _chi_square_ends(degrees))
    return NoiseLevel(pooled.deviation, low, high, degrees)


@cache
def _chi_square_ends(degrees: int) -> tuple[float, float]:
    """Quantiles of the square of a standard deviation over the true one, the higher first."""
    high, low = (float(scipy.stats.chi2.ppf(share, degrees)) / degrees for share in (1 - ALPHA / 2, ALPHA / 2))
    return high, low


def robust_interval(groups: Sequence[Numbers]) -> tuple[float, float] | None:
    """The 95% interval of the pooled standard deviation without the assumption of normal data (Bonett 2006, "Approximate
    confidence interval for standard deviation of nonnormal distributions", with the kurtosis pooled as in his section 3):

        exp(ln(c s^2) +- z e) ^ (1/2),    c = N / (N - z),    e = c sqrt((k - (n - 3) / n) / v),

    k the kurtosis about trimmed means, N all runs, n runs a group. Not the bootstrap, whose intervals of a variance cover 95%
    only from hundreds of runs on; this one covers 88 to 97% of skewed and heavy-tailed data (exponential, Student's t with 5
    degrees of freedom), for which chi-square's covers 70 to 90%, and it is the same each time. Of tails as heavy as those of t
    with 3 degrees of freedom or of a lognormal it covers 70 to 90%, chi-square's 40 to 85%. None: too few runs.
    """
    several = [group for group in groups if len(group) > 1]
    runs, degrees = sum(map(len, several)), sum(len(group) - 1 for group in several)
    quantile = -float(scipy.special.ndtri(ALPHA / 2))
    squares = float(sum(((group - group.mean()) ** 2).sum() for group in several))
    if degrees < LEAST_OF_A_SHAPE or not squares:
        return None
    fourth = float(sum(((group - _trimmed_mean(group)) ** 4).sum() for group in several))
    size, more = runs / len(several), runs / (runs - quantile)
    error = more * math.sqrt(max(0.0, runs * fourth / squares**2 - (size - 3) / size) / degrees)
    low, high = (math.sqrt(more * squares / degrees * math.exp(sign * quantile * error)) for sign in (-1, 1))
    return low, high


def _trimmed_mean(group: Numbers) -> float:
    """Bonett's: less of each end is left out the more runs there are, and nothing of five or fewer."""
    left_out = int(len(group) / (2 * math.sqrt(len(group) - 4))) if len(group) > 5 else 0
    return float(np.sort(group)[left_out : len(group) - left_out].mean())


def normal_p(groups: Sequence[Numbers]) -> float | None:
    """The p value of "each group is normal": Shapiro and Wilk's of each, combined by Fisher's method. None: no group has a
    shape."""
    shaped = [group for group in groups if len(group) >= LEAST_OF_A_SHAPE and np.ptp(group) > 0]
    if not shaped:
        return None
    return float(scipy.stats.combine_pvalues([scipy.stats.shapiro(group).pvalue for group in shaped]).pvalue)


def equal_spread_p(groups: Sequence[Numbers]) -> float | None:
    """The p value of "all groups have the same spread", by Brown and Forsythe's test (Levene's about medians), which keeps its
    level if data are not normal; Bartlett's does not. None: fewer than two groups have a spread."""
    able = [group for group in groups if len(group) >= LEAST_OF_A_SHAPE]
    if len(able) < 2 or not any(np.ptp(group) > 0 for group in able):
        return None
    p_value = float(scipy.stats.levene(*able, center="median").pvalue)
    return None if math.isnan(p_value) else p_value


@cache
def noncentrality(degrees: int) -> float:
    """The noncentrality of a two-sided t test at 5% with 80% power."""
    critical = float(scipy.stats.t.isf(ALPHA / 2, degrees))

    def missing(value: float) -> float:
        """The power less the wanted one; the other side adds nothing within the digits of a float."""
        return float(scipy.stats.nct.sf(critical, degrees, value)) - POWER

    return float(scipy.optimize.brentq(missing, critical, 1.5 * critical))


@cache
def welch_noncentrality(seeds: int) -> float:
    """The noncentrality of Welch's test of two arms of this many runs and of one spread.

    Its statistic is Student's, with 2 n - 2 degrees. Its critical value is that of (n - 1) / (r^2 + (1 - r)^2) degrees, where
    the share r of the first arm's variance in both is a beta variable and independent of the statistic.
    """
    if seeds > LIKE_STUDENT:
        return noncentrality(2 * seeds - 2)
    shares = scipy.stats.beta.ppf((np.arange(SHARES) + 0.5) / SHARES, (seeds - 1) / 2, (seeds - 1) / 2)
    critical = scipy.stats.t.isf(ALPHA / 2, (seeds - 1) / (shares**2 + (1 - shares) ** 2))

    def missing(value: float) -> float:
        return float(np.mean(scipy.stats.nct.sf(critical, 2 * seeds - 2, value))) - POWER

    return float(scipy.optimize.brentq(missing, 1.0, 30.0))


def visible_difference(deviation: float, seeds: int, degrees: int) -> float:
    """The smallest difference between two arms of this many seeds each that four of five comparisons would show. degrees: of
    the deviation, which one run an arm has to borrow."""
    return (noncentrality(degrees) if seeds == 1 else welch_noncentrality(seeds)) * deviation * math.sqrt(2 / seeds)


def seeds_to_show(difference: float, deviation: float, degrees: int) -> int | None:
    """The least number of seeds an arm that shows a difference with 80% power; None: more than MOST_SEEDS. Not statsmodels'
    TTestIndPower, which counts for Student's test: of two seeds an arm Welch's sees 10.4 deviations, Student's 5.7."""
    difference = abs(difference)
    if visible_difference(deviation, 1, degrees) <= difference:
        return 1
    if not difference:
        return None

    def share(seeds: int) -> float:
        return difference / visible_difference(deviation, seeds, degrees)

    return least_seeds(share, 2, MOST_SEEDS, power=1.0)


def noise_p(difference: float, weight: float, noise: NoiseLevel) -> float:
    """The probability that noise alone makes so large a difference. weight: its variance over that of one run, 2 / n for two
    arms of n runs each."""
    if not noise.deviation:
        return 0.0 if difference else 1.0
    statistic = abs(difference) / (noise.deviation * math.sqrt(weight))
    return float(2 * scipy.special.stdtr(noise.degrees, -statistic))


def settles(deviations: Sequence[float], low: float, high: float) -> int | None:
    """Index of the first of a curve of standard deviations from which on all lie between two bounds, the ends of the last one's
    interval: they cannot be told from the last. None: only the last does."""
    inside = [low <= deviation <= high for deviation in deviations]
    outside = [index for index, held in enumerate(inside) if not held]
    first = outside[-1] + 1 if outside else 0
    return first if first < len(inside) - 1 else None
