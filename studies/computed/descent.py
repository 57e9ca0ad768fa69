"""Gradient descent on quadratics, by the engine's SGD, and Newton's method beside it, in float64."""

import math
from collections.abc import Sequence

import numpy as np
import torch

from ...harness.declare import Training
from ...harness.declare.computed import Curve, Plot, Table, Worked
from ...harness.declare.trials import Numbers
from ...harness.train.optimizers import make_optimizer
from ...harness.train.workloads.data import load

# LR times the largest curvature, around where descent should cease to converge.
AROUND_TWO = (1.9, 1.99, 1.999, 2.001, 2.01, 2.1)
CONDITIONS = (2.0, 10.0, 100.0)
L2 = 1e-2
# An error nearer to a minimum than this is rounding in its last digits: orders of convergence are read above it.
LEAST_ERROR = 1e-9


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


def _spectrum(condition: float) -> Numbers:
    return np.linspace(1 / condition, 1.0, 16)


def quadratic() -> Worked:
    """threshold: share of LRs around 2 over the largest curvature at which descent converges if they are below it and does not
    above. best_lr: the fastest LR over 2 / (λmax + λmin); best_rate: what is left a step there, over (κ - 1) / (κ + 1); both of
    the condition number κ at which they are furthest off."""
    rates = np.linspace(0.5, 2.2, 3401)
    errors = {condition: contractions(rates, _spectrum(condition)) for condition in CONDITIONS}
    best = {condition: rates[error.argmin()] * (1 + 1 / condition) / 2 for condition, error in errors.items()}
    least = {condition: error.min() * (condition + 1) / (condition - 1) for condition, error in errors.items()}
    converges = contractions(np.array(AROUND_TWO), _spectrum(16.0)) < 1
    rows = tuple(
        (
            f"{condition:g}",
            f"{rates[error.argmin()]:.4f}",
            f"{2 / (1 + 1 / condition):.4f}",
            f"{error.min():.4f}",
            f"{(condition - 1) / (condition + 1):.4f}",
        )
        for condition, error in errors.items()
    )
    plot = Plot(
        "LR x λmax",
        "error left after a step",
        tuple(Curve(f"κ = {condition:g}", rates, error) for condition, error in errors.items()),
        log_x=False,
        log_y=False,
        levels=((1.0, "no progress"),),
        places=((2.0, "2"),),
    )
    return Worked(
        {
            "threshold": np.mean(converges == (np.array(AROUND_TWO) < 2)),
            "best_lr": _furthest_from_1(list(best.values())),
            "best_rate": _furthest_from_1(list(least.values())),
        },
        plots=(plot,),
        tables=(Table(("κ", "fastest LR x λmax", "2κ / (κ + 1)", "error left", "(κ - 1) / (κ + 1)"), rows),),
    )


def _furthest_from_1(values: Sequence[float]) -> float:
    return float(max(values, key=lambda value: abs(value - 1)))


def near_a_minimum() -> Worked:
    """Newton's method from zero and gradient descent at 2 / (λmax + λmin) from close by, on logistic regression: zeros against
    ones of the digits, L2 of 1e-2. Orders: ln(e(t+1) / e(t)) / ln(e(t) / e(t-1)) at the last errors above LEAST_ERROR.
    descent_rate: what gradient descent leaves of the error in a step, over (κ - 1) / (κ + 1)."""
    newton, descent, condition = _errors()
    errors, shown = descent[descent > LEAST_ERROR], newton[newton > 1e-14]
    curves = (
        Curve("Newton", np.arange(len(shown), dtype=float), shown, dots=True),
        Curve(f"gradient descent, κ = {condition:.0f}", np.arange(60.0), descent[:60]),
    )
    return Worked(
        {
            "newton_order": _order(newton),
            "descent_order": _order(descent),
            "descent_rate": (errors[-1] / errors[-21]) ** (1 / 20) * (condition + 1) / (condition - 1),
        },
        plots=(Plot("step", "distance from the minimum", curves, log_x=False),),
    )


def _errors() -> tuple[Numbers, Numbers, float]:
    """The errors of Newton's method and of gradient descent, step by step, and the condition number."""
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
    newton = np.array([np.linalg.norm(point - minimum) for point in path])
    values = np.linalg.eigvalsh(hessian(minimum))
    lr = 2 / (values[0] + values[-1])
    # Every weight as far off: eigenvectors of equal curvatures are a library's choice.
    w, descent = minimum + 1e-4, []
    for _ in range(600):
        descent.append(np.linalg.norm(w - minimum))
        w = w - lr * gradient(w)
    return newton, np.array(descent), float(values[-1] / values[0])


def _sigmoid(x: Numbers) -> Numbers:
    return np.asarray(1 / (1 + np.exp(-x)))


def _order(errors: Numbers) -> float:
    before, now, after = errors[errors > LEAST_ERROR][-3:]
    return math.log(after / now) / math.log(now / before)
