"""Answers that must be found in the planted studies, worked out from recursions and formulas and not by training.

Noisy bowl: curvatures h_i = i / D, examples z ~ N(0, I), theta_0 = 1. Of theta and the velocity v, SGD with momentum beta,
LR eta and batch B gives v' = beta v + h theta + h e / sqrt(B) and theta' = theta - eta v', so that the second moments
E theta^2, E theta v, E v^2 follow a linear recursion, exactly. The expected loss is (sum_i h_i (E theta_i^2 + 1)) / 2.

Linear regression on Gaussian inputs without noise: at a constant LR E|w - w*|^2 shrinks in each step by
1 - 2 eta + eta^2 (B + D + 1) / B, so that the best LR is B / (B + D + 1) at any number of steps.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from folklore.harness.declare.metrics.estimating import fits

Numbers = NDArray[np.float64]


def curvatures(size: int) -> Numbers:
    return np.arange(1, size + 1) / size


def squares(size: int, lr: Numbers, batch: int, momentum: float) -> Numbers:
    """E theta_i^2 after each step of a schedule [T], [T + 1, D]."""
    h = curvatures(size)
    square, mixed, velocity = np.ones(size), np.zeros(size), np.zeros(size)
    moments = [square]
    for eta in lr:
        new_velocity = momentum**2 * velocity + 2 * momentum * h * mixed + h**2 * (square + 1 / batch)
        new_mixed = momentum * mixed + h * square  # E theta v'
        square, mixed, velocity = (
            square - 2 * eta * new_mixed + eta**2 * new_velocity,
            new_mixed - eta * new_velocity,
            new_velocity,
        )
        moments.append(square)
    return np.array(moments)


def bowl_losses(size: int, lr: float, steps: int, batch: int, momentum: float = 0.0, warmup: int = 0) -> Numbers:
    """Expected loss after each step, [T + 1]."""
    ramp = np.minimum(1.0, np.arange(1, steps + 1) / warmup) if warmup else np.ones(steps)
    return (squares(size, lr * ramp, batch, momentum) + 1) @ curvatures(size) / 2


def noise_scale(size: int, lr: float, steps: int, batch: int, share: float) -> float:
    """tr(Sigma) / |G|^2 over the first share of the steps, each part averaged: Sigma_ii = h_i^2, G_i = h_i theta_i."""
    h = curvatures(size)
    signal = squares(size, np.full(steps, lr), batch, 0.0)[: round(share * steps)] @ h**2
    return float((h**2).sum() / signal.mean())


def steps_to(losses: Numbers, target: float) -> float:
    """Steps until the loss reaches the target, interpolated; infinite where it does not."""
    first = np.flatnonzero(losses <= target)
    if not len(first):
        return np.inf
    at = int(first[0])
    return float(at - (target - losses[at]) / (losses[at - 1] - losses[at])) if at else 0.0


def critical_batch(size: int, batches: tuple[int, ...], grid: tuple[float, ...], steps: int, target: float) -> float:
    """B_crit of the hyperbola through the least steps to the target at every batch size."""
    least = [min(steps_to(bowl_losses(size, lr, steps, batch), target) for lr in grid) for batch in batches]
    sizes = np.array([float(batch) for batch in batches])
    weights, reached = np.ones((1, len(sizes))), np.zeros((1, len(sizes)), dtype=bool)
    return float(fits.fit_hyperbola(sizes, np.log([least]), weights, reached).critical_batch[0])


def best_regression_lr(features: int, batch: int) -> float:
    return batch / (batch + features + 1)


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    return float(np.polyfit(np.log2(x), np.log2(y), 1)[0])
