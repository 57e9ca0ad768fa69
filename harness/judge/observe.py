"""From a trials table to observations: an estimate and a 95% interval for every observable.

Interval: estimate +- t(0.975, S-1) * sqrt(S / (S-1)) * (standard deviation over resamples of the S seeds), on the log axis for
ratios. For a mean this is Student's interval; a percentile interval would be too narrow at five seeds (Hesterberg 2015). Shares
of runs have exact binomial intervals (Clopper and Pearson 1934) instead. None of six other methods covers better at five to
twenty seeds in calibration (reports/log).
"""

import math
from dataclasses import replace

import numpy as np

from ..declare import Observed, arms_of, leaves
from ..declare.level import LEVEL
from ..declare.metrics.estimating.evaluation import evaluate
from ..declare.observed import Interval, ShareOfRuns
from ..declare.parts import all_parts
from ..declare.trials import ADD_SEEDS, NotEstimableError
from .relative import require_a_zero
from .statistics.intervals import LEAST_SEEDS, Observation, Sampled, binomial, bootstrap_error, student, without_error
from .trial_arrays import TrialArrays

# An estimate that exists in fewer resamples than this rests on single seeds.
LEAST_DEFINED_SHARE = 0.9


def observe(observable: Observed, table: TrialArrays, level: float = LEVEL) -> Observation:
    """Estimate and interval. Raises NotEstimableError if there is no number."""
    require_a_zero(observable, table)
    table = table.of_arms(arms_of(observable) & set(table.study.arms_at(table.scale)))
    if isinstance(observable, ShareOfRuns):
        return binomial(*observable.counts(table), level)
    if observable.grade != "measured":
        value = float(evaluate(observable, table, table.resamples[:1])[0])
        return without_error(value, observable.margin(value), table.seeds)
    _require_parts(observable, table)
    values = evaluate(observable, table, table.resamples)
    if not math.isfinite(values[0]):
        raise NotEstimableError("open", "the estimate does not exist on these trials")
    defined = values[1:][np.isfinite(values[1:])]
    if len(defined) < LEAST_DEFINED_SHARE * table.resample_count:
        share = 1 - len(defined) / table.resample_count
        raise NotEstimableError("open", f"the estimate does not exist in {share:.0%} of the resamples", ADD_SEEDS)
    seeds = min(leaf.seeds_behind(table) for leaf in leaves(observable))
    if seeds < LEAST_SEEDS:
        raise NotEstimableError("open", f"rests on {seeds} seeds, and an interval needs {LEAST_SEEDS}", ADD_SEEDS)
    sampled = Sampled(float(values[0]), defined, seeds, observable.log_axis)
    observation = student(sampled, bootstrap_error(sampled), level)
    least, most = observable.bounds
    if observable.is_level and values.min() >= 0:  # what may be negative, as a log density, is so in some resample near zero
        least = 0.0
    return replace(observation, low=max(observation.low, least), high=min(observation.high, most))


def _require_parts(observable: Observed, table: TrialArrays) -> None:
    def interval(part: Observed) -> Interval:
        observation = observe(part, table)
        return observation.estimate, observation.low, observation.high

    for part in all_parts(observable):
        part.require(interval)
