"""Fits against the table they were published with, against scipy on random tables, and against planted truths."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize, special

from folklore.harness.declare.metrics.estimating.fits import (
    Hyperbola,
    fit_hyperbola,
)
from folklore.harness.declare.trials import Numbers

# Zhang et al. 2024, steps to a target loss at 64, 128, ..., 16384 sequences.
BATCH = 2.0 ** np.arange(6, 15)
MODELS = np.array([85, 151, 302, 604, 1200]) * 1e6
STEPS = np.array(
    [
        [46000, 23000, 13282, 7000, 3840, 2528, 1917, 1600, 1600],
        [96000, 49000, 24000, 12000, 7128, 4350, 2940, 2400, 2300],
        [196000, 90000, 46000, 23400, 13300, 7224, 4980, 3400, 2879],
        [311000, 166000, 81000, 37440, 21320, 11400, 7199, 4700, 3800],
        [642000, 331000, 176000, 94000, 46500, 25000, 15360, 8900, 6500],
    ],
    dtype=np.float64,
)
KNEES = [2191, 3240, 5433, 7907, 11131]
CRITICAL_BATCHES = [745, 955, 1394, 1889, 2533]


def published() -> Hyperbola:
    return fit_hyperbola(BATCH, np.log(STEPS), np.ones_like(STEPS))


def planted(batch: Numbers, knee: float = 2000.0) -> Numbers:
    return np.asarray(np.log(1000.0) + np.log1p(knee / batch))


def exponent(critical: Numbers) -> float:
    return float(np.polyfit(np.log(MODELS), np.log(critical), 1)[0])


def test_the_published_table_gives_the_published_knees() -> None:
    fit = published()
    assert fit.critical_batch == pytest.approx(KNEES, rel=0.03)
    assert fit.at_overhead(256, 0.2) == pytest.approx(CRITICAL_BATCHES, rel=0.03)
    assert exponent(fit.critical_batch) == pytest.approx(0.619, abs=0.03)
    assert exponent(fit.at_overhead(256, 0.2)) == pytest.approx(0.468, abs=0.03)
    rms = np.sqrt(((np.log(STEPS) - fit.log_steps(BATCH)) ** 2).mean(axis=1))
    assert ((rms > 0.038) & (rms < 0.055)).all()


def scipy_knee(batch: Numbers, log_steps: Numbers, weights: Numbers) -> tuple[float, float]:
    """Smin and B_crit by least squares in two dimensions."""

    def residuals(point: Numbers) -> Numbers:
        return np.asarray(np.sqrt(weights) * (log_steps - point[0] - np.log1p(np.exp(point[1]) / batch)))

    starts = [[log_steps.min(), np.log(knee)] for knee in (50, 1000, 20000)]
    fits = [optimize.least_squares(residuals, start, xtol=1e-14, ftol=1e-14, gtol=1e-14) for start in starts]
    best = min(fits, key=lambda fit: fit.cost)
    return float(np.exp(best.x[0])), float(np.exp(best.x[1]))


def test_equals_scipy_on_random_tables() -> None:
    """Weighted, with several runs at a batch size, batch sizes in no order, and weights of zero."""
    generator = np.random.default_rng(1)
    batch = generator.permutation(np.repeat(BATCH[:7], 3))
    log_steps = planted(batch, 700) + generator.normal(0, 0.2, (20, len(batch)))
    weights = generator.multinomial(len(batch), np.full(len(batch), 1 / len(batch)), size=20).astype(np.float64)
    fit = fit_hyperbola(batch, log_steps, weights)
    expected = [scipy_knee(batch, *row) for row in zip(log_steps, weights, strict=True)]
    assert np.stack([fit.smallest_steps, fit.critical_batch], axis=1) == pytest.approx(np.array(expected), rel=1e-4)


def test_a_knee_out_of_sight_ends_at_the_ends_of_the_range() -> None:
    """Steps that fall as 1 / B, and steps that do not fall at all."""
    log_steps = np.stack([-np.log(BATCH), np.zeros_like(BATCH)])
    fit = fit_hyperbola(BATCH, log_steps, np.ones_like(log_steps))
    assert fit.critical_batch == pytest.approx([16384e4, 64e-4])
    assert fit.log_steps(BATCH) == pytest.approx(log_steps, abs=1e-4)


def capped(worlds: int, deviation: float, knee: float = 2000.0) -> tuple[Numbers, Numbers, NDArray[np.bool_]]:
    """Batch sizes [M], ln S [R, M] with the largest third cut off at ln cap, and where."""
    batch = np.repeat(BATCH[2:8], 15)
    truth = planted(batch, knee) + np.random.default_rng(3).normal(0, deviation, (worlds, len(batch)))
    cap = np.quantile(truth, 2 / 3)
    return batch, np.minimum(truth, cap), truth > cap


def tobit_loss(point: Numbers, batch: Numbers, log_steps: Numbers, weights: Numbers, censored: NDArray[np.bool_]) -> float:
    z = (log_steps - point[0] - np.log1p(np.exp(point[1]) / batch)) / np.exp(point[2])
    at, beyond = -(z**2) / 2 - point[2] - np.log(2 * np.pi) / 2, special.log_ndtr(-z)
    return -float(weights @ np.where(censored, beyond, at))


@pytest.mark.parametrize("deviation", [0.05, 0.3])
def test_em_finds_the_largest_tobit_likelihood(deviation: float) -> None:
    """Bootstrap weights; at a deviation of 0.05 whole batch sizes are censored."""
    batch, log_steps, censored = capped(6, deviation)
    weights = np.random.default_rng(4).multinomial(len(batch), np.full(len(batch), 1 / len(batch)), size=6).astype(np.float64)
    fit = fit_hyperbola(batch, log_steps, weights, censored)
    for row in range(6):
        sample = (batch, log_steps[row], weights[row], censored[row])
        options = {"xatol": 1e-8, "fatol": 1e-11, "maxiter": 5000}
        best = optimize.minimize(tobit_loss, [7.0, 7.5, -1.0], sample, method="Nelder-Mead", options=options)
        assert np.log(fit.smallest_steps[row]) == pytest.approx(best.x[0], abs=1e-3)
        assert np.log(fit.critical_batch[row]) == pytest.approx(best.x[1], abs=1e-3)


def test_the_largest_likelihood_is_found_where_few_runs_reached_the_target() -> None:
    """Half of the batch sizes censored throughout: the runs that reached the target show hardly a slope."""
    generator = np.random.default_rng(5)
    batch = np.repeat(BATCH, 3)
    truth = planted(batch) + generator.normal(0, 0.3, (30, len(batch)))
    cap = np.quantile(truth, 0.3)
    log_steps, censored = np.minimum(truth, cap), truth > cap
    weights = np.ones_like(log_steps)
    fit = fit_hyperbola(batch, log_steps, weights, censored)
    rows = np.flatnonzero(np.isfinite(fit.critical_batch))
    assert len(rows) > 20
    for row in rows:
        sample = (batch, log_steps[row], weights[row], censored[row])
        start = [np.log(fit.smallest_steps[row]), np.log(fit.critical_batch[row])]
        own = min(tobit_loss(np.array([*start, deviation]), *sample) for deviation in np.linspace(-5, 1, 601))
        starts = ([7, 7.6, -1], [6, 9, -1], [7, 5, -1])
        fits = [optimize.minimize(tobit_loss, start, sample, method="Nelder-Mead") for start in starts]
        assert own < min(fit.fun for fit in fits) + 1e-3


def test_no_fit_below_three_batch_sizes() -> None:
    log_steps = np.tile(planted(BATCH), (3, 1))
    weights = np.ones_like(log_steps)
    weights[1, 2:] = 0
    censored = np.zeros(log_steps.shape, dtype=bool)
    censored[2, :7] = True
    knee = fit_hyperbola(BATCH, log_steps, weights, censored).critical_batch
    assert knee[0] == pytest.approx(2000, rel=1e-4)
    assert np.isnan(knee[1:]).all()


def test_a_missing_value_is_a_missing_fit() -> None:
    log_steps = np.log(STEPS)
    log_steps[1, 3] = np.nan
    fit = fit_hyperbola(BATCH, log_steps, np.ones_like(log_steps))
    assert np.isnan([fit.critical_batch[1], fit.smallest_steps[1]]).all()
    assert np.delete(fit.critical_batch, 1) == pytest.approx(np.delete(KNEES, 1), rel=0.03)
