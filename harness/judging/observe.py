"""From a trials table to observations: an estimate and a 95% interval for every observable.

Interval: estimate +- t(0.975, S-1) * sqrt(S / (S-1)) * (standard deviation over resamples of the S seeds), on the log
axis for ratios. For a mean this is Student's interval; a percentile interval would be too narrow at five seeds (Hesterberg
2015). Shares of runs have exact binomial intervals (Clopper and Pearson 1934) instead. `folklore calibrate --methods` compares
this with other methods, of which calibration found none that covers better at five to twenty seeds (LOG.md); `intervals.py` has
them.
"""

import math
from dataclasses import replace

import numpy as np
import scipy  # its parts load when they are first used: seconds, and much that is read here needs none

from folklore.harness.judging.intervals import Observation, Sampled, bootstrap_error, student
from folklore.harness.judging.relative import require_a_zero
from folklore.harness.judging.trial_arrays import TrialArrays
from folklore.harness.observables.estimating.evaluation import evaluate
from folklore.harness.spec import LEVEL, Observed, leaves
from folklore.harness.spec.observed import Interval, ShareOfRuns
from folklore.harness.spec.parts import all_parts
from folklore.harness.spec.trials import ADD_SEEDS, UndecidableError

# An estimate that exists in fewer resamples than this rests on single seeds.
LEAST_DEFINED_SHARE = 0.9


def observe(observable: Observed, table: TrialArrays, level: float = LEVEL) -> Observation:
    """Estimate and interval. Raises UndecidableError where there is no number."""
    require_a_zero(observable, table)
    if isinstance(observable, ShareOfRuns):
        return binomial(*observable.counts(table), level)
    if observable.grade != "measured":
        return _computed(float(evaluate(observable, table, table.resamples[:1])[0]), observable, table.seeds)
    _require_parts(observable, table)
    values = evaluate(observable, table, table.resamples)
    if not math.isfinite(values[0]):
        raise UndecidableError("open", "the estimate does not exist on these trials")
    defined = values[1:][np.isfinite(values[1:])]
    if len(defined) < LEAST_DEFINED_SHARE * table.resample_count:
        share = 1 - len(defined) / table.resample_count
        raise UndecidableError("open", f"the estimate does not exist in {share:.0%} of the resamples; {ADD_SEEDS}")
    seeds = min(leaf.seeds_behind(table) for leaf in leaves(observable))
    sampled = Sampled(float(values[0]), defined, seeds, observable.log_axis)
    seen = student(sampled, bootstrap_error(sampled), level)
    least, most = observable.bounds
    return replace(seen, low=max(seen.low, least), high=min(seen.high, most))


def _computed(value: float, observable: Observed, seeds: int) -> Observation:
    """A number without an error: inside a closed region or not, on whatever machine it is computed."""
    margin = observable.margin(value)

    def p_inside(low: float, high: float) -> float:
        return 0.0 if low <= value - margin and value + margin <= high else 1.0

    return Observation(value, value, value, seeds, p_inside)


def binomial(successes: int, runs: int, level: float = LEVEL) -> Observation:
    interval = scipy.stats.binomtest(successes, runs).proportion_ci(level, method="exact")

    def p_inside(lower: float, upper: float) -> float:
        """Twice the larger tail; the inversion of the exact interval, so both agree."""
        if upper < 0 or lower > 1:  # a region without a share in it
            return 1.0
        below = scipy.stats.binom.sf(successes - 1, runs, lower) if lower > 0 else 0.0
        above = scipy.stats.binom.cdf(successes, runs, upper) if upper < 1 else 0.0
        return float(min(1.0, 2 * max(below, above)))

    return Observation(successes / runs, float(interval.low), float(interval.high), runs, p_inside)


def _require_parts(observable: Observed, table: TrialArrays) -> None:
    def interval(part: Observed) -> Interval:
        seen = observe(part, table)
        return seen.estimate, seen.low, seen.high

    for each in all_parts(observable):
        each.require(interval)
