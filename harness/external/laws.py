"""Laws: does a metric follow a curve of one column, on each task?

hyperbola: y = E (1 + x / x_crit), a straight line in x whose intercept and slope are positive: samples to a loss against the
batch size (McCandlish et al. 2018, equation 2.11). power law: y = A x^k. What is judged is the root mean square of the
logarithm's residuals of the means at each x, less what the noise of these means adds.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy  # its parts load when they are first used: seconds, and much that is read here needs none

from folklore.harness.errors import UserError
from folklore.harness.external.claims import RunClaim
from folklore.harness.external.comparing import Part
from folklore.harness.external.judged import QUARTERS, Judged, together
from folklore.harness.external.runs import Runs
from folklore.harness.external.samples import read_values
from folklore.harness.judging.outcomes import outcome, probabilities
from folklore.harness.statistics import ALPHA
from folklore.harness.statistics.intervals import Numbers
from folklore.harness.statistics.two_samples import Effect, pooled_spread

LEAST_SIZES, LEAST_RUNS = 3, 2
# Variances of means over how their estimate is spread; standard deviations below this share are rounding.
VARIANCES, LEAST_NOISE = 50, 1e-4
# Points of a grid on either side of its centre, and how often a finer one is laid.
GRID, ROUNDS = 30, 5


@dataclass(frozen=True)
class Fit:
    """parameters: E and x_crit, or A and k. residual: root mean square of ln(y / fit)."""

    parameters: tuple[float, float]
    residual: float


def fitted(law: str, x: Numbers, y: Numbers) -> Fit:
    """Least squares of the logarithm; x, y [n] above 0."""
    first, second = _parameters(law, x, y[None])
    return Fit((float(first[0]), float(second[0])), float(_missed(law, x, y[None])[0]))


def _parameters(law: str, x: Numbers, y: Numbers) -> tuple[Numbers, Numbers]:
    """Of every row of y [r, n]: two arrays [r]."""
    if law == "power law":
        slope, level = np.polyfit(np.log(x), np.log(y).T, 1)
        return np.exp(level), slope
    critical = np.exp(_log_critical(x, y))
    return np.exp(np.mean(np.log(y) - np.log1p(x / critical[:, None]), axis=1)), critical


def _log_critical(x: Numbers, y: Numbers) -> Numbers:
    """ln x_crit for every row of y [r, n]: the best of a grid, which is laid ever finer about it."""
    low, high = math.log(x.min() / 1e3), math.log(x.max() * 1e4)
    centre, step = np.full((len(y), 1), (low + high) / 2), (high - low) / (2 * GRID)
    for _ in range(ROUNDS):
        tried = centre + step * np.arange(-GRID, GRID + 1)  # [r, g]
        left = np.log(y)[:, None] - np.log1p(x / np.exp(tried)[..., None])  # [r, g, n]
        best = np.argmin(np.std(left, axis=2), axis=1)
        centre, step = np.take_along_axis(tried, best[:, None], axis=1), 2 * step / GRID
    return centre[:, 0]


def _missed(law: str, x: Numbers, y: Numbers) -> Numbers:
    """The root mean square of ln(y / fit) of every row of y [r, n]."""
    first, second = (each[:, None] for each in _parameters(law, x, y))
    fit = first * x**second if law == "power law" else first * (1 + x / second)
    return np.asarray(np.sqrt(np.mean(np.log(y / fit) ** 2, axis=1)))


def curve(law: str, parameters: Numbers, x: Numbers) -> Numbers:
    """The fit at x."""
    first, second = parameters
    return np.asarray(first * x**second if law == "power law" else first * (1 + x / second))


def judge_law(runs: Runs, claim: RunClaim) -> Judged:
    """On each task that has runs at three sizes or more. Raises UserError if none has."""
    values = read_values(runs, claim)
    found = list(_parts(values, claim))
    if not found:
        raise UserError(
            f"claim '{claim.text}': no task has runs at {LEAST_SIZES} values of {claim.factor}, two at each; add runs"
        )
    judged = together(claim, found, ())
    return replace(judged, fragile=(*judged.fragile, *_fragile(claim, judged)))


def _fragile(claim: RunClaim, judged: Judged) -> Iterator[str]:
    for name, by in QUARTERS.items():
        question = claim.question.moved(by)
        seen = [(part, part.effect) for part in judged.parts if part.effect is not None]
        moved = [replace(part, **_named(outcome(question, effect, probabilities(question, effect)))) for part, effect in seen]
        other = together(claim, moved, (), question).verdict
        if other != judged.verdict:
            yield f"{other} with {name}"


def _named(found: tuple[str, str]) -> dict[str, Any]:
    return dict(zip(("verdict", "reading"), found, strict=True))


def _parts(values: pd.DataFrame, claim: RunClaim) -> Iterator[Part]:
    for task, part in values.groupby("task", sort=False):
        groups = _groups(part, claim)
        if len(groups) >= LEAST_SIZES:
            yield _part(str(task), groups, claim)


def _groups(part: pd.DataFrame, claim: RunClaim) -> dict[float, Numbers]:
    sizes = pd.to_numeric(part[claim.factor], errors="coerce")
    fine = part[(sizes > 0) & (part["value"] > 0)]
    grouped = fine.groupby(sizes[fine.index])["value"]
    return {float(size): each.to_numpy(float) for size, each in grouped if len(each) >= LEAST_RUNS}


def _part(task: str, groups: dict[float, Numbers], claim: RunClaim) -> Part:
    assert claim.law is not None
    x = np.array(list(groups))
    fit = fitted(claim.law, x, np.array([each.mean() for each in groups.values()]))
    effect = _residual(fit, list(groups.values()))
    question = claim.question
    verdict, reading = outcome(question, effect, probabilities(question, effect))
    runs = sum(int(each.size) for each in groups.values())
    means = np.array([each.mean() for each in groups.values()])
    samples = (x, means, np.array(fit.parameters))
    return Part(task, verdict, reading, fit.residual, effect, (runs, runs), _in_words(claim, fit), samples)


def _in_words(claim: RunClaim, fit: Fit) -> str:
    first, second = fit.parameters
    curve = (
        f"{first:.4g} (1 + {claim.factor} / {second:.4g})"
        if claim.law == "hyperbola"
        else f"{first:.4g} {claim.factor}^{second:.3g}"
    )
    return f"{claim.metric} = {curve}"


def _residual(fit: Fit, groups: Sequence[Numbers]) -> Effect:
    """How far the law misses the means of endless runs.

    With S sizes and means whose logarithms have the variance v, S residual^2 / v is a noncentral chi-square with S - 2 degrees
    of freedom and noncentrality S missed^2 / v; v is spread as its estimate is. So without a miss this is the F test for lack
    of fit, and far from it a t test. Had v no part in it, the noise of few runs would count as a miss.
    """
    sizes, pooled = len(groups), pooled_spread([np.log(each) for each in groups])
    assert pooled is not None
    quantiles = scipy.stats.chi2.ppf((np.arange(VARIANCES) + 0.5) / VARIANCES, pooled.freedom)
    deviation = max(pooled.deviation, LEAST_NOISE)
    noise = deviation**2 * np.mean([1 / each.size for each in groups]) * pooled.freedom / quantiles / sizes

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
    """Where the probability of a smaller residual comes down to the share; 0 if it is never above it."""
    if below(0.0) <= share:
        return 0.0
    high = max(residual, 1e-12)
    while below(high) > share:
        high *= 2
    return float(scipy.optimize.brentq(lambda missed: below(missed) - share, 0.0, high))
