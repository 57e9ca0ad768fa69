"""Gradient descent on quadratics, by the engine's SGD, and Newton's method beside it."""

import math
from functools import lru_cache

import numpy as np
import torch

from folklore.harness.data import load
from folklore.harness.observables.estimating.exact.base import Check, Curve, Numbers, Plot, Table
from folklore.harness.spec import Training
from folklore.harness.training.optimizers import make_optimizer

# LR times the largest curvature, around where descent should cease to converge.
AROUND_TWO = (1.9, 1.99, 1.999, 2.001, 2.01, 2.1)
CONDITIONS = (2.0, 10.0, 100.0)
L2 = 1e-2


def contractions(lr_K: Numbers, curvatures: Numbers, steps: int = 40) -> Numbers:
    """By how much the slowest coordinate shrinks a step, [K], for each LR: the engine's SGD without momentum on the sum of
    h x²/2, from where every coordinate is 1."""
    lanes = [Training(optimizer="sgd", momentum=0.0, weight_decay=0.0, warmup_fraction=0.0)] * len(lr_K)
    weights, h = torch.ones(len(lr_K), len(curvatures), dtype=torch.float64), torch.tensor(curvatures)
    lr_K1 = torch.tensor(lr_K).unsqueeze(1)
    optimizer = make_optimizer(lanes, weights, torch.zeros(len(curvatures), dtype=torch.float64))
    before = weights.clone()
    for step in range(steps):
        before = weights.clone()
        optimizer.update(weights, h * weights, lr_K1, torch.full((1, 1), step, dtype=torch.float64))
    # Where a coordinate is solved exactly nothing is left to shrink.
    ratios = torch.where(before.abs() > 1e-250, weights.abs() / before.abs(), 0.0)
    return np.asarray(ratios.max(dim=1).values)


def spectrum(condition: float) -> Numbers:
    return np.linspace(1 / condition, 1.0, 16)


def threshold() -> float:
    """Share of LRs around 2 over the largest curvature at which descent converges if they are below it and does not above."""
    shrinks = contractions(np.array(AROUND_TWO), spectrum(16.0)) < 1
    return float(np.mean(shrinks == (np.array(AROUND_TWO) < 2)))


@lru_cache(maxsize=1)
def by_lr() -> dict[float, tuple[Numbers, Numbers]]:
    """Condition number -> LRs, and how much of the error is left a step."""
    rates = np.linspace(0.5, 2.2, 3401)
    return {condition: (rates, contractions(rates, spectrum(condition))) for condition in CONDITIONS}


def best_lr() -> float:
    """The fastest LR over 2 / (λmax + λmin): that of the condition number at which it is furthest off."""
    found = [rates[left.argmin()] * (1 + 1 / condition) / 2 for condition, (rates, left) in by_lr().items()]
    return float(max(found, key=lambda each: abs(each - 1)))


def best_rate() -> float:
    """What is left a step at the fastest LR, over (κ - 1) / (κ + 1): that of the condition number at which it is furthest
    off."""
    found = [left.min() * (condition + 1) / (condition - 1) for condition, (_, left) in by_lr().items()]
    return float(max(found, key=lambda each: abs(each - 1)))


def quadratic_plot() -> Plot:
    curves = tuple(Curve(f"κ = {condition:g}", rates, left) for condition, (rates, left) in by_lr().items())
    return Plot(
        "LR x λmax",
        "error left after a step",
        curves,
        log_x=False,
        log_y=False,
        levels=((1.0, "no progress"),),
        places=((2.0, "2"),),
    )


def quadratic_table() -> Table:
    rows = []
    for condition, (rates, left) in by_lr().items():
        rows.append(
            (
                f"{condition:g}",
                f"{rates[left.argmin()]:.4f}",
                f"{2 / (1 + 1 / condition):.4f}",
                f"{left.min():.4f}",
                f"{(condition - 1) / (condition + 1):.4f}",
            )
        )
    return Table(("κ", "fastest LR x λmax", "2κ / (κ + 1)", "error left", "(κ - 1) / (κ + 1)"), tuple(rows))


@lru_cache(maxsize=1)
def near_a_minimum() -> tuple[Numbers, Numbers, float]:
    """Errors of Newton's method from zero, of gradient descent at 2 / (λmax + λmin) from close by, and the condition number:
    logistic regression, zeros against ones of the digits, float64, L2 of 1e-2."""
    inputs, labels = load("digits").splits["train"]  # type: ignore[attr-defined]
    chosen = labels < 2
    x = np.asarray(inputs, dtype=np.float64).reshape(len(labels), -1)[chosen]
    y = np.asarray(labels, dtype=np.float64)[chosen]

    def gradient(w: Numbers) -> Numbers:
        return np.asarray(x.T @ (_sigmoid(x @ w) - y) / len(y) + L2 * w)

    def hessian(w: Numbers) -> Numbers:
        p = _sigmoid(x @ w)
        return np.asarray((x.T * (p * (1 - p))) @ x / len(y) + L2 * np.eye(x.shape[1]))

    path = [np.zeros(x.shape[1])]
    for _ in range(30):
        path.append(path[-1] - np.linalg.solve(hessian(path[-1]), gradient(path[-1])))
    minimum = path[-1]
    newton = np.array([np.linalg.norm(each - minimum) for each in path])
    values, vectors = np.linalg.eigh(hessian(minimum))
    lr = 2 / (values[0] + values[-1])
    w, descent = minimum + 1e-4 * vectors.sum(axis=1), []
    for _ in range(600):
        descent.append(np.linalg.norm(w - minimum))
        w = w - lr * gradient(w)
    return newton, np.array(descent), float(values[-1] / values[0])


def _sigmoid(x: Numbers) -> Numbers:
    return np.asarray(1 / (1 + np.exp(-x)))


def newton_order() -> float:
    """The order of Newton's method: ln(e(t+1) / e(t)) / ln(e(t) / e(t-1)) at the last errors above 1e-12 (float64's own)."""
    return _order(near_a_minimum()[0])


def descent_order() -> float:
    """The same of gradient descent."""
    return _order(near_a_minimum()[1])


def _order(errors: Numbers) -> float:
    before, now, after = errors[errors > 1e-12][-3:]
    return math.log(after / now) / math.log(now / before)


def descent_rate() -> float:
    """What gradient descent leaves of the error in a step, over (κ - 1) / (κ + 1)."""
    _, errors, condition = near_a_minimum()
    seen = errors[errors > 1e-12]
    return float((seen[-1] / seen[-21]) ** (1 / 20) * (condition + 1) / (condition - 1))


def newton_plot() -> Plot:
    newton, descent, condition = near_a_minimum()
    seen = newton[newton > 1e-14]
    curves = (
        Curve("Newton", np.arange(len(seen), dtype=float), seen, dots=True),
        Curve(f"gradient descent, κ = {condition:.0f}", np.arange(60.0), descent[:60]),
    )
    return Plot("step", "distance from the minimum", curves, log_x=False)


CHECKS = {
    "quadratic_threshold": Check(threshold, quadratic_plot, quadratic_table),
    "quadratic_best_lr": Check(best_lr, quadratic_plot, quadratic_table),
    "quadratic_best_rate": Check(best_rate, quadratic_plot, quadratic_table),
    "newton_order": Check(newton_order, newton_plot),
    "descent_order": Check(descent_order, newton_plot),
    "descent_rate": Check(descent_rate, newton_plot),
}
