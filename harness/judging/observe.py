"""From a trials table to observations: an estimate and a 95% interval for every observable of the spec.

Interval: estimate +- t(0.975, S-1) * sqrt(S / (S-1)) * (standard deviation over resamples of the S seeds), on the log
axis for ratios. For a mean this is Student's interval; a percentile interval would be too narrow at five seeds (Hesterberg
2015). Shares of runs have exact binomial intervals (Clopper and Pearson 1934) instead. `folklore calibrate --methods` compares
this with other methods; `intervals.py` has them.
"""

import math
from dataclasses import replace

import numpy as np
import scipy  # its parts load when they are first used: seconds, and much that is read here needs none

from folklore.harness.judging.estimators import evaluate
from folklore.harness.judging.estimators.divergence import counts, divergence_edge
from folklore.harness.judging.estimators.range_tests import picks
from folklore.harness.judging.estimators.relative import require_a_zero
from folklore.harness.judging.intervals import Observation, Sampled, bootstrap_bias, bootstrap_error, student
from folklore.harness.judging.range_test_rules import Suggestion
from folklore.harness.judging.trial_arrays import ADD_SEEDS, TrialTable, UndecidableError
from folklore.harness.spec import (
    LEVEL,
    ActivationSlope,
    CureRate,
    CurveDistance,
    DivergenceTime,
    Exact,
    FailureRate,
    FinderPick,
    FinderRegret,
    HyperbolaError,
    Observable,
    RankCorrelation,
    Share,
    Spec,
    SuggestionRate,
    TrajectoryGap,
    UnderflowShare,
    Unmeasured,
    leaves,
)

# An estimate that exists in fewer resamples than this rests on single seeds.
LEAST_DEFINED_SHARE = 0.9
# Maxima of what may be equal in truth: noise alone makes them larger. Estimate and interval are less the bias that resamples
# show. For everything else calibration found no method that covers better at five to twenty seeds (LOG.md).
BIASED = (ActivationSlope,)
# What an observation cannot be beyond; an interval ends there.
BOUNDS: dict[type, tuple[float, float]] = {
    RankCorrelation: (-1.0, 1.0),
    UnderflowShare: (0.0, 1.0),
    CurveDistance: (0.0, math.inf),
    TrajectoryGap: (0.0, math.inf),
    HyperbolaError: (0.0, math.inf),
}


def observe(observable: Observable, table: TrialTable, level: float = LEVEL) -> Observation:
    """Estimate and interval. Raises UndecidableError where there is no number."""
    require_a_zero(observable, table)
    if isinstance(observable, FailureRate | CureRate | SuggestionRate):
        return _binomial(*counts(observable, table), level)
    if isinstance(observable, Unmeasured):
        raise UndecidableError("out of regime", observable.reason)
    if isinstance(observable, Exact):
        return _exact(float(evaluate(observable, table, table.resamples[:1])[0]), table.seeds)
    _require_wholes(observable, table)
    values = evaluate(observable, table, table.resamples)
    if not math.isfinite(values[0]):
        raise UndecidableError("inconclusive", "the estimate does not exist on these trials")
    defined = values[1:][np.isfinite(values[1:])]
    if len(defined) < LEAST_DEFINED_SHARE * table.resample_count:
        share = 1 - len(defined) / table.resample_count
        raise UndecidableError("inconclusive", f"the estimate does not exist in {share:.0%} of the resamples; {ADD_SEEDS}")
    seeds = _contributing_seeds(observable, table)
    sampled = Sampled(float(values[0]), defined, seeds, observable.log_axis)
    bias = bootstrap_bias(sampled) if isinstance(observable, BIASED) else 0.0
    seen = student(sampled, bootstrap_error(sampled), level, bias)
    least, most = BOUNDS.get(type(observable), (-math.inf, math.inf))
    return replace(seen, low=max(seen.low, least), high=min(seen.high, most))


def _exact(value: float, seeds: int) -> Observation:
    """A number without error: inside a closed region or not."""
    return Observation(value, value, value, seeds, lambda low, high: 0.0 if low <= value <= high else 1.0)


def _binomial(successes: int, runs: int, level: float) -> Observation:
    interval = scipy.stats.binomtest(successes, runs).proportion_ci(level, method="exact")

    def p_inside(lower: float, upper: float) -> float:
        """Twice the larger tail; the inversion of the exact interval, so both agree."""
        if upper < 0 or lower > 1:  # a region without a share in it
            return 1.0
        below = scipy.stats.binom.sf(successes - 1, runs, lower) if lower > 0 else 0.0
        above = scipy.stats.binom.cdf(successes, runs, upper) if upper < 1 else 0.0
        return float(min(1.0, 2 * max(below, above)))

    return Observation(successes / runs, float(interval.low), float(interval.high), runs, p_inside)


def _require_wholes(observable: Spec, table: TrialTable) -> None:
    """A share is only taken of an effect that is surely there."""
    if isinstance(observable, Share):
        whole = observe(observable.whole, table)
        if whole.low < observable.whole_at_least:
            raise UndecidableError(
                "out of regime",
                f"the whole effect is {whole.estimate:.2g} [{whole.low:.2g}, {whole.high:.2g}] and not surely above"
                f" {observable.whole_at_least:g}: there is nothing to take a share of",
            )
    for _, part in observable:
        if isinstance(part, Spec):
            _require_wholes(part, table)


def _contributing_seeds(observable: Observable, table: TrialTable) -> int:
    """Seeds behind an observation: the fewest behind any of its parts."""
    return min(_seeds_behind(leaf, table) for leaf in leaves(observable))


def _seeds_behind(leaf: Spec, table: TrialTable) -> int:
    if isinstance(leaf, DivergenceTime):
        return int(table.diverged(leaf.arm, leaf.over)[divergence_edge(leaf.arm, leaf.over, table)].sum())
    if isinstance(leaf, FinderPick | FinderRegret):
        arm = leaf.arm if isinstance(leaf, FinderPick) else leaf.range_test
        return sum(isinstance(pick, Suggestion) for pick in picks(arm, leaf.rule, table))
    return table.seeds
