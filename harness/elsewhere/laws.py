"""Does a metric follow a hyperbola of one column, on each task?

hyperbola: y = E (1 + x / x_crit), a straight line in x whose intercept and slope are positive: samples to a loss against the
batch size (McCandlish et al. 2018, equation 2.11). It is judged by the root mean square of the
logarithm's residuals of the means at each x, less what the noise of these means adds.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import scipy  # its parts load when they are first used: seconds, and much that is read here needs none

from ..declare.level import ALPHA
from ..errors import UserError
from ..judge.statistics.intervals import Numbers
from ..judge.statistics.two_samples import Effect, pooled_spread
from .claims import RunClaim
from .comparing import TaskFinding
from .firmness import with_moved_thresholds
from .run_verdict import RunVerdict, together
from .runs import Runs
from .samples import read_values

LEAST_SIZES, LEAST_RUNS = 3, 2
# Variances of means over how their estimate is spread; standard deviations below this share are rounding.
VARIANCES, LEAST_NOISE = 50, 1e-4
# Points of a grid on either side of its centre, and how often a finer one is laid.
GRID, ROUNDS = 30, 5


@dataclass(frozen=True)
class Fit:
    """E and x_crit. residual: root mean square of ln(y / fit)."""

    level: float
    critical: float
    residual: float


def hyperbola(x: Numbers, level: float, critical: float) -> Numbers:
    return np.asarray(level * (1 + x / critical))


def fitted(x: Numbers, y: Numbers) -> Fit:
    """Least squares of the logarithm; x, y [n] above 0."""
    critical = float(np.exp(_log_critical(x, y)))
    residuals = np.log(y) - np.log1p(x / critical)  # [n]
    return Fit(float(np.exp(residuals.mean())), critical, float(np.std(residuals)))


def _log_critical(x: Numbers, y: Numbers) -> float:
    """ln x_crit: the best of a grid, which is laid ever finer about it."""
    low, high = math.log(x.min() / 1e3), math.log(x.max() * 1e4)
    centre, step = (low + high) / 2, (high - low) / (2 * GRID)
    for _ in range(ROUNDS):
        tried = centre + step * np.arange(-GRID, GRID + 1)  # [g]
        residuals = np.log(y) - np.log1p(x / np.exp(tried)[:, None])  # [g, n]
        centre, step = float(tried[np.argmin(np.std(residuals, axis=1))]), 2 * step / GRID
    return centre


def judge_law(runs: Runs, claim: RunClaim) -> RunVerdict:
    """The verdict over tasks with runs at three sizes or more. Raises UserError if none has, or if the column is no size."""
    role = next((role for role, column in runs.roles.items() if column == claim.factor), "step")
    if role != "step":
        raise UserError(f"claim '{claim.text}': '{claim.factor}' is the {role} of these runs and no size; name another column")
    groups = {str(task): _groups(part, claim) for task, part in read_values(runs, claim).groupby("task", sort=False)}
    parts = [_part(task, sizes, claim) for task, sizes in groups.items() if len(sizes) >= LEAST_SIZES]
    if not parts:
        raise UserError(
            f"claim '{claim.text}': no task has runs at {LEAST_SIZES} values of {claim.factor}, two at each; add runs"
        )
    judged = together(claim, parts, ())
    return replace(judged, fragile=(*judged.fragile, *with_moved_thresholds(claim, judged, claim.question)))


def _groups(part: pd.DataFrame, claim: RunClaim) -> dict[float, Numbers]:
    sizes = pd.to_numeric(part[claim.factor], errors="coerce")
    fine = part[(sizes > 0) & (part["value"] > 0)]
    grouped = fine.groupby(sizes[fine.index])["value"]
    return {float(size): values.to_numpy(float) for size, values in grouped if len(values) >= LEAST_RUNS}


def _part(task: str, groups: dict[float, Numbers], claim: RunClaim) -> TaskFinding:
    x, means = np.array(list(groups)), np.array([values.mean() for values in groups.values()])
    fit = fitted(x, means)
    effect = _residual(fit, list(groups.values()))
    runs = sum(int(values.size) for values in groups.values())
    words = f"{claim.metric} = {fit.level:.4g} (1 + {claim.factor} / {fit.critical:.4g})"
    samples = (x, means, np.array([fit.level, fit.critical]))
    return TaskFinding.of(
        claim.question, effect, name=task, panel=task, effect=effect, runs=(runs, runs), method=words, samples=samples
    )


def _residual(fit: Fit, groups: Sequence[Numbers]) -> Effect:
    """The distance between the law and the means of endless runs.

    With S sizes and means whose logarithms have the variance v, S residual^2 / v is a noncentral chi-square with S - 2 degrees
    of freedom and noncentrality S missed^2 / v; v is spread as its estimate is. So without a miss this is the F test for lack
    of fit, and far from it a t test. Without v the noise of few runs would count as a miss.
    """
    sizes, pooled = len(groups), pooled_spread([np.log(values) for values in groups])
    assert pooled is not None
    quantiles = scipy.stats.chi2.ppf((np.arange(VARIANCES) + 0.5) / VARIANCES, pooled.freedom)
    deviation = max(pooled.deviation, LEAST_NOISE)
    noise = deviation**2 * np.mean([1 / values.size for values in groups]) * pooled.freedom / quantiles / sizes

    def below(missed: float) -> float:
        """The probability of a smaller residual."""
        return float(np.mean(scipy.special.chndtr(fit.residual**2 / noise, sizes - 2, missed**2 / noise)))

    def p_inside(lower: float, upper: float) -> float:
        tails = (1 - below(lower) if lower > 0 else 0.0, below(upper) if upper < math.inf else 0.0)
        return min(1.0, 2 * max(tails))

    low, high = (_end(below, share, fit.residual) for share in (1 - ALPHA / 2, ALPHA / 2))
    spread = (high - low) / 4 * math.sqrt(LEAST_RUNS)
    return Effect(fit.residual, min(low, fit.residual), max(high, fit.residual), LEAST_RUNS, p_inside, spread)


def _end(below: Callable[[float], float], share: float, residual: float) -> float:
    """The miss at which the probability of a smaller residual comes down to the share; 0 if it is never above it."""
    if below(0.0) <= share:
        return 0.0
    high = max(residual, 1e-12)
    while below(high) > share:
        high *= 2
    return float(scipy.optimize.brentq(lambda missed: below(missed) - share, 0.0, high))
