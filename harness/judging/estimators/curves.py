"""What probes saw while runs were trained."""

import math

import numpy as np

from folklore.harness.judging.estimators.common import present, seed_mean, stacked, tuned
from folklore.harness.judging.trial_arrays import Numbers, TrialTable, UndecidableError, in_words
from folklore.harness.spec import ActivationSlope, CurveDistance, CurveMedian, CurveRatio, NoiseScale, Training, UnderflowShare
from folklore.harness.training.noise import noise_parts


def activation_slope(observable: ActivationSlope, table: TrialTable, weights: Numbers) -> Numbers:
    """max over steps t and taps a of |d ln size / d ln width| by least squares, [R], without unit: sizes are logs [W, S, T, A]
    (widths, seeds, steps, taps), averaged over seeds. A maximum of absolute values is biased upwards by noise."""
    sizes = []
    points = present(observable.points, table)
    for _, arm in points:
        (curves,) = table.values(arm, table.only_factor(arm), "curve_probe_layer_activation")
        if not len(curves[0][0]):
            raise UndecidableError("out of regime", f"{table.arm_name(arm)} trains a module that shows no activations")
        sizes.append([np.stack([np.asarray(step, dtype=np.float64) for step in curve[: observable.steps]]) for curve in curves])
    with np.errstate(divide="ignore"):
        logs = np.log(np.array(sizes))
    # A readout that starts at zero has no size yet.
    usable = np.isfinite(logs).all(axis=(0, 1))
    x = np.log([width for width, _ in points])
    centred = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    by_seed = np.einsum("w,wsta->sta", centred, np.where(usable, logs, 0.0))
    slopes = np.einsum("rs,sta->rta", weights, by_seed) / weights.sum(axis=1)[:, None, None]
    return np.asarray(np.abs(slopes).max(axis=(1, 2)))


def curve_ratio(observable: CurveRatio, table: TrialTable, weights: Numbers) -> Numbers:
    """exp of the weighted mean over seeds of ln(mean over the first share of steps / mean over the last), at the tuned LR,
    [R]."""
    arm, over = observable.arm, observable.over
    best = tuned(arm, over, table, weights)
    curves = table.values(arm, over, f"curve_probe_{observable.curve}")
    steps = table.values(arm, over, "curve_probe_step")
    total = _training(arm, over, table).steps

    def log_ratio(curve: Numbers, step: Numbers) -> float:
        early, late = step <= math.ceil(observable.first * total), step > (1 - observable.last) * total
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.log(curve[early].mean() / curve[late].mean()))

    ratios = np.array(
        [
            [log_ratio(np.asarray(curve, dtype=np.float64), np.asarray(step)) for curve, step in zip(*pair, strict=True)]
            for pair in zip(curves, steps, strict=True)
        ]
    )
    return np.asarray(np.exp(np.einsum("rs,rs->r", weights, ratios[best]) / weights.sum(axis=1)))


def _training(arm: str, over: str, table: TrialTable) -> Training:
    """Steps and batch size do not depend on the value of the factor."""
    return table.study.configuration(table.scale, arm, {over: float(table.grid(arm, over)[0])}).training


def curve_median(observable: CurveMedian, table: TrialTable, weights: Numbers) -> Numbers:
    """exp of the weighted mean over seeds of ln(median over probes), at the tuned LR, [R], in the curve's unit."""
    arm, over = observable.arm, observable.over
    best = tuned(arm, over, table, weights)
    curves = stacked(table.values(arm, over, f"curve_probe_{observable.curve}"))
    steps = stacked(table.values(arm, over, "curve_probe_step"))
    late = np.where(steps > observable.after * _training(arm, over, table).steps, curves, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.nanmedian(late, axis=2))
    return np.asarray(np.exp(seed_mean(logs[best], weights)))


def curve_distance(observable: CurveDistance, table: TrialTable, weights: Numbers) -> Numbers:
    """Weighted mean over seeds of median_t |A_t / B_t - 1|, [R], without unit. Undecidable where runs diverge or grids
    differ."""
    over, column = observable.over, f"curve_probe_{observable.curve}"
    best = tuned(observable.reference, over, table, weights)
    grid, reference_grid = table.grid(observable.arm, over), table.grid(observable.reference, over)
    if not np.allclose(grid, reference_grid):
        names = " and ".join(map(table.arm_name, (observable.arm, observable.reference)))
        raise UndecidableError("inconclusive", f"{names} have different grids of the {in_words(over)}, and no pairs of curves")
    curves, reference = (stacked(table.values(arm, over, column)) for arm in (observable.arm, observable.reference))
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.median(np.abs(curves / reference - 1), axis=2)
    if not np.isfinite(distance[best[0]]).all():
        name = table.arm_name(observable.arm)
        raise UndecidableError("inconclusive", f"runs of {name} diverge there, and their curves have no distance")
    return seed_mean(distance[best], weights)


def underflow_share(observable: UnderflowShare, table: TrialTable, weights: Numbers) -> Numbers:
    """Weighted mean over seeds of the mean over probes of the share flushed to zero, in [0, 1], [R]. Invalid where
    unmeasured."""
    arm, over = observable.arm, observable.over
    best = tuned(arm, over, table, weights)
    column = table.values(arm, over, f"curve_probe_layer_underflow_{observable.of}")
    if any(curve is None for curve in column.ravel()):
        raise UndecidableError(
            "invalid", f"underflow was not measured in {table.arm_name(arm)}; the study has to set measurement.underflow"
        )
    shares = np.array([[np.mean([step[observable.scale_exponent] for step in curve]) for curve in row] for row in column])
    return seed_mean(shares[best], weights)


def noise_scale(observable: NoiseScale, table: TrialTable, weights: Numbers) -> Numbers:
    """tr(Sigma) / |G|^2 in examples, [R] (McCandlish et al. 2018, equation 2.9): both parts are means over probes and weighted
    means over seeds, then divided. Undecidable where the squared mean gradient comes out negative."""
    arm, over = observable.arm, observable.over
    best = tuned(arm, over, table, weights)
    share, *parts = _noise_parts(arm, over, table)
    inside = (share > observable.first) & (share <= observable.last)
    trace, signal = (seed_mean(np.nanmean(np.where(inside, part, np.nan), axis=2)[best], weights) for part in parts)
    if signal[0] <= 0:
        raise UndecidableError(
            "inconclusive",
            f"the mean gradient of {table.arm_name(arm)} is lost in its noise; more probes or a larger batch would show it",
        )
    return np.where(signal > 0, trace / np.where(signal > 0, signal, 1.0), np.nan)


def _noise_parts(arm: str, over: str, table: TrialTable) -> tuple[Numbers, Numbers, Numbers]:
    """Share of the run, tr(Sigma) and |G|^2 at every probe, [G, S, probes]."""
    training = _training(arm, over, table)
    steps = stacked(table.values(arm, over, "curve_probe_step"))
    variance = stacked(table.values(arm, over, "curve_probe_gradient_variance"))
    square = stacked(table.values(arm, over, "curve_probe_gradient_norm")) ** 2
    return steps / training.steps, *noise_parts(square, variance, training.batch_size)


# Neighbouring probes that a noise curve averages, each part on its own.
SMOOTHED_PROBES = 5


def noise_curve(arm: str, over: str, table: TrialTable) -> tuple[Numbers, Numbers]:
    """The noise scale over training at the tuned LR, for a figure: share of the run and examples, nan where not positive."""
    best = tuned(arm, over, table, table.resamples[:1])[0]
    share, *parts = (part[best].mean(axis=0) for part in _noise_parts(arm, over, table))
    window = np.ones(SMOOTHED_PROBES) / SMOOTHED_PROBES
    trace, signal = (np.convolve(part, window, mode="valid") for part in parts)
    return np.convolve(share, window, mode="valid"), np.where(signal > 0, trace / np.where(signal > 0, signal, 1.0), np.nan)
