"""One estimator for each observable of the spec: its value under every weighting of the seeds.

weights [R, S]: row 0 is all ones (the estimate), the others multinomial resamples of the S paired seeds. All arms share a
row's weights, so seeds stay paired, and whatever an estimator selects (a tuned LR, the best arm) is selected anew in
every row. nan marks rows in which the observable does not exist.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy  # its parts load when they are first used: seconds, and much that is read here needs none

from folklore.harness.judging import fits
from folklore.harness.judging.estimators import batch_sizes, curves, divergence, losses, numerics, range_tests
from folklore.harness.judging.estimators.common import present
from folklore.harness.judging.trial_arrays import Numbers, TrialTable
from folklore.harness.spec import (
    ActivationSlope,
    CriticalBatch,
    CurveDistance,
    CurveMedian,
    CurveRatio,
    DivergenceTime,
    DoublingGain,
    Exact,
    FinalLoss,
    FinderPick,
    FinderRegret,
    FormGap,
    Gap,
    HyperbolaError,
    Log2,
    LRSensitivity,
    MaxTrainable,
    MemoryRatio,
    NoiseScale,
    Observable,
    OperationError,
    Optimum,
    Quotient,
    RankCorrelation,
    RelativeGap,
    Scaled,
    Share,
    Slope,
    SmallestWithin,
    SpeedUp,
    Spread,
    StepsToTarget,
    TrajectoryGap,
    TransferRegret,
    TunedLoss,
    UnderflowShare,
)


def evaluate(observable: Observable, table: TrialTable, weights: Numbers) -> Numbers:
    """The observable under every weighting of the seeds, [R]; nan where it does not exist.

    Remembered for the table's own resamples: criteria, what is reported and figures ask for the same things.
    """
    estimator = ESTIMATORS[type(observable)]
    if weights is not table.resamples:
        return estimator(observable, table, weights)
    if observable not in table.evaluated:
        table.evaluated[observable] = estimator(observable, table, weights)
    return table.evaluated[observable].copy()


def _quotient(observable: Quotient, table: TrialTable, weights: Numbers) -> Numbers:
    """top / bottom, [R], under equal weights: seeds are paired."""
    return evaluate(observable.top, table, weights) / evaluate(observable.bottom, table, weights)


def _relative_gap(observable: RelativeGap, table: TrialTable, weights: Numbers) -> Numbers:
    right = evaluate(observable.right, table, weights)
    return (evaluate(observable.left, table, weights) - right) / right


def _gap(observable: Gap, table: TrialTable, weights: Numbers) -> Numbers:
    return evaluate(observable.left, table, weights) - evaluate(observable.right, table, weights)


def _slope(observable: Slope, table: TrialTable, weights: Numbers) -> Numbers:
    """Least squares of log2 y on log2 x, [R]: sum (x - mean x) y / sum (x - mean x)^2. All points count alike, however well
    their own y is known; the error is that of the seeds, which move all points at once."""
    points = present(observable.points, table)
    x = np.log2([value for value, _ in points])
    y = np.log2([evaluate(part, table, weights) for _, part in points])
    centred = x - x.mean()
    return np.asarray(centred @ y / (centred**2).sum())


def slope_scatter(observable: Slope, table: TrialTable) -> float:
    """Standard error of the slope from how its points lie beside their line: sqrt(RSS / (n - 2) / sum (x - mean x)^2). Zero for
    what is a power law exactly; it does not fall with more seeds."""
    points = present(observable.points, table)
    x = np.log2([value for value, _ in points])
    y = np.log2([evaluate(part, table, table.resamples)[0] for _, part in points])
    return float(scipy.stats.linregress(x, y).stderr)


def _rank_correlation(observable: RankCorrelation, table: TrialTable, weights: Numbers) -> Numbers:
    """Ties share their mean rank; where all observations are equal there is no correlation (nan)."""
    points = present(observable.points, table)
    x = scipy.stats.rankdata([value for value, _ in points])
    y = scipy.stats.rankdata([evaluate(part, table, weights) for _, part in points], axis=0)
    x, y = x - x.mean(), y - y.mean(axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray(x @ y / np.sqrt((x**2).sum() * (y**2).sum(axis=0)))


def _log2(observable: Log2, table: TrialTable, weights: Numbers) -> Numbers:
    return np.asarray(np.log2(evaluate(observable.of, table, weights)))


def _share(observable: Share, table: TrialTable, weights: Numbers) -> Numbers:
    return evaluate(observable.part, table, weights) / evaluate(observable.whole, table, weights)


def _spread(observable: Spread, table: TrialTable, weights: Numbers) -> Numbers:
    """max / min over the parts, [R]. At least one by definition: of equal parts noise makes it larger."""
    values = np.array([evaluate(part, table, weights) for part in observable.parts])
    return np.asarray(values.max(axis=0) / values.min(axis=0))


def _scaled(observable: Scaled, table: TrialTable, weights: Numbers) -> Numbers:
    return observable.by * evaluate(observable.of, table, weights)


def _form_gap(observable: FormGap, table: TrialTable, weights: Numbers) -> Numbers:
    """AICc of the left form minus that of the right one, [R] (Hurvich and Tsai 1989), of fits to ln y by least squares."""
    points = present(observable.points, table)
    logs = np.log(np.stack([evaluate(part, table, weights) for _, part in points], axis=1))
    defined = np.isfinite(logs).all(axis=1)
    batch = np.array([float(size) for size, _ in points])
    gap = fits.aicc_difference(batch, logs[defined], observable.left, observable.right, observable.exponent)
    found = np.full(len(weights), np.nan)
    found[defined] = gap
    return found


ESTIMATORS: dict[type, Callable[[Any, TrialTable, Numbers], Numbers]] = {
    TunedLoss: losses.tuned_loss,
    FinalLoss: losses.final_loss,
    Optimum: losses.optimum,
    TransferRegret: losses.transfer_regret,
    TrajectoryGap: losses.trajectory_gap,
    SmallestWithin: losses.smallest_within,
    MaxTrainable: losses.max_trainable,
    LRSensitivity: losses.lr_sensitivity,
    ActivationSlope: curves.activation_slope,
    CurveRatio: curves.curve_ratio,
    CurveMedian: curves.curve_median,
    CurveDistance: curves.curve_distance,
    UnderflowShare: curves.underflow_share,
    NoiseScale: curves.noise_scale,
    DivergenceTime: divergence.divergence_time,
    FinderPick: range_tests.finder_pick,
    FinderRegret: range_tests.finder_regret,
    StepsToTarget: batch_sizes.steps_to_target,
    CriticalBatch: batch_sizes.critical_batch,
    HyperbolaError: batch_sizes.hyperbola_error,
    DoublingGain: batch_sizes.doubling_gain,
    OperationError: numerics.operation_error,
    Exact: numerics.exact,
    SpeedUp: numerics.speed_up,
    MemoryRatio: numerics.memory_ratio,
    FormGap: _form_gap,
    Quotient: _quotient,
    RelativeGap: _relative_gap,
    Gap: _gap,
    Slope: _slope,
    RankCorrelation: _rank_correlation,
    Spread: _spread,
    Scaled: _scaled,
    Log2: _log2,
    Share: _share,
}
