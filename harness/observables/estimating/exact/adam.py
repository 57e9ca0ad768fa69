"""How large Adam's steps are: the engine's own optimizers on one weight whose gradients are given.

The weight stays at zero, so that a step is the update over the LR, and nothing decays.
"""

from functools import lru_cache
from typing import Any

import numpy as np
import torch

from folklore.harness.observables.estimating.exact.base import Check, Curve, Numbers, Plot, Table
from folklore.harness.randomness import torch_generator
from folklore.harness.spec import Training
from folklore.harness.training.optimizers import make_optimizer

EPSILON = 1e-8
# Until the steps that no correction makes too large are right to a few percent.
STEPS = 3000
# An outlier and smaller ones, and so many ordinary gradients before it.
OUTLIER, BEFORE = 1000.0, 60
OUTLIERS = (10.0, 100.0, OUTLIER)
SETTINGS: dict[str, Any] = {"weight_decay": 0.0, "warmup_fraction": 0.0, "epsilon": EPSILON}


def trained(lanes: list[Training], gradients_TK: torch.Tensor) -> tuple[Numbers, Numbers]:
    """Updates over the LR and second moments, [T, K] each, of one weight a lane that is put back to zero after every step."""
    weights_K1 = torch.zeros(len(lanes), 1)
    optimizer = make_optimizer(lanes, weights_K1, torch.zeros(1))
    lr_K1 = torch.ones(len(lanes), 1)
    updates, moments = [], []
    for step, gradient_K in enumerate(gradients_TK):
        weights_K1.zero_()
        optimizer.update(weights_K1, gradient_K.unsqueeze(1).clone(), lr_K1, torch.full((1, 1), step, dtype=torch.float64))
        updates.append(-weights_K1[:, 0].clone())
        moments.append(optimizer.state["second"][:, 0].clone())
    return torch.stack(updates).double().numpy(), torch.stack(moments).double().numpy()


@lru_cache(maxsize=1)
def uncorrected() -> tuple[Numbers, Numbers, Numbers]:
    """At a constant gradient, at steps 1, 2, …: steps without bias correction over steps with it, [T], and the first and the
    second moment over what they come to, [T] each."""
    lanes = [
        Training(optimizer="adam", bias_correction=False, **SETTINGS),
        Training(optimizer="adam", **SETTINGS),
        # A second moment that is at once what it comes to leaves the first alone.
        Training(optimizer="adam", bias_correction=False, second_moment_start="first_gradient", **SETTINGS),
    ]
    updates, moments = trained(lanes, torch.ones(STEPS, len(lanes)))
    return updates[:, 0] / updates[:, 1], updates[:, 2], moments[:, 0]


def first_step() -> float:
    """Adam's first step without bias correction over the first step with it."""
    return float(uncorrected()[0][0])


def largest_step() -> float:
    """The largest of those ratios, over all steps."""
    return float(uncorrected()[0].max())


def largest_at() -> float:
    """The step, from 1, at which that is."""
    return float(uncorrected()[0].argmax() + 1)


def wrong_until() -> float:
    """The last step, from 1, at which a step without correction is wrong by more than 10%."""
    return float(np.flatnonzero(np.abs(uncorrected()[0] - 1) > 0.1)[-1] + 1)


def first_moment_steps() -> float:
    """Steps until Adam's uncorrected first moment has come to 1 - 1/e of a constant gradient: its time constant."""
    return _steps_to(uncorrected()[1])


def second_moment_steps() -> float:
    """The same of the second moment and the gradient's square."""
    return _steps_to(uncorrected()[2])


def _steps_to(moment: Numbers) -> float:
    return float(np.argmax(moment >= 1 - np.exp(-1)) + 1)


def uncorrected_plot() -> Plot:
    ratio, first, second = uncorrected()
    steps = np.arange(1.0, STEPS + 1)
    curves = (
        Curve("step without correction / with it", steps, ratio),
        Curve("first moment / gradient", steps, first),
        Curve("second moment / gradient²", steps, second),
    )
    return Plot("training step", "ratio at a constant gradient", curves, levels=((1.0, ""),))


@lru_cache(maxsize=1)
def by_gradient() -> tuple[Numbers, Numbers]:
    """Constant gradients from 1e-14 to 1, which are the roots of their second moments, and Adam's step over the LR at each."""
    gradients = np.logspace(-14, 0, 57)
    lanes = [Training(optimizer="adam", **SETTINGS)] * len(gradients)
    updates, _ = trained(lanes, torch.tensor(gradients, dtype=torch.float32).repeat(20, 1))
    return gradients, updates[-1]


def epsilon_error() -> float:
    """The largest relative error of LR x gradient / epsilon as Adam's step, where the root of the second moment is at most a
    hundredth of epsilon."""
    gradients, steps = by_gradient()
    far = gradients <= EPSILON / 100
    return float(np.abs(steps[far] / (gradients[far] / EPSILON) - 1).max())


def epsilon_cap() -> float:
    """The largest step over gradient there is, over LR / epsilon."""
    gradients, steps = by_gradient()
    return float((steps / gradients).max() * EPSILON)


def tiny_step() -> float:
    """Adam's step over the LR for gradients of 1e-12."""
    gradients, steps = by_gradient()
    return float(steps[np.abs(np.log10(gradients) + 12).argmin()])


def epsilon_plot() -> Plot:
    gradients, steps = by_gradient()
    curves = (
        Curve("Adam's step / LR", gradients, steps),
        Curve("gradient / epsilon", gradients[gradients <= 10 * EPSILON], gradients[gradients <= 10 * EPSILON] / EPSILON),
    )
    return Plot("root of the second moment", "step / LR", curves, places=((EPSILON, "epsilon"),))


@lru_cache(maxsize=1)
def after_an_outlier() -> dict[tuple[float, float], tuple[Numbers, Numbers]]:
    """β2 and size of the outlier -> steps over the LR and second moments from it on: gradients of 1, but for that one."""
    found = {}
    for beta2, after in ((0.95, 400), (0.99, 2000), (0.999, 10_000)):
        full = Training(optimizer="adam", beta2=beta2, second_moment_start="first_gradient", bias_correction=False, **SETTINGS)
        gradients = torch.ones(BEFORE + after, len(OUTLIERS))
        gradients[BEFORE] = torch.tensor(OUTLIERS)
        updates, moments = trained([full] * len(OUTLIERS), gradients)
        for lane, size in enumerate(OUTLIERS):
            found[beta2, size] = (updates[BEFORE:, lane], moments[BEFORE:, lane])
    return found


def half_life(beta2: float) -> float:
    """Steps in which what an outlier added to the second moment halves, by the first hundred after it."""
    excess = after_an_outlier()[beta2, OUTLIER][1] - 1
    return float(100 * np.log(2) / np.log(excess[0] / excess[100]))


def recovery(beta2: float, size: float = OUTLIER) -> float:
    """Steps from an outlier on until no step of Adam is smaller than what it was by more than 10%; 0 if none ever is."""
    steps = after_an_outlier()[beta2, size][0]
    small = np.flatnonzero(steps < 0.9)
    return float(small[-1] + 1) if len(small) else 0.0


def kick(beta2: float) -> float:
    """How far an outlier moves its weight, in LRs: the steps that its part of the first moment makes, all together.

    Summed until nothing of it is left; the steps that ordinary gradients make meanwhile are taken off.
    """
    moved, second = (each[:200] for each in after_an_outlier()[beta2, OUTLIER])
    return float((moved - 1 / np.sqrt(second)).sum())


def outlier_plot() -> Plot:
    curves = tuple(
        Curve(f"β2 = {beta2:g}", np.arange(1.0, len(steps) + 1), steps)
        for (beta2, size), (steps, _) in after_an_outlier().items()
        if size == OUTLIER
    )
    words = f"steps since a gradient {OUTLIER:g} times the others"
    return Plot(words, "step / LR", curves, levels=((1.0, "before the outlier"),))


def outlier_table() -> Table:
    rows = tuple(
        (f"{beta2:g}", f"{half_life(beta2):.1f}", *(f"{recovery(beta2, size):,.0f}" for size in OUTLIERS), f"{kick(beta2):.1f}")
        for beta2 in dict.fromkeys(beta2 for beta2, _ in after_an_outlier())
    )
    columns = (
        *("β2", "half-life in the second moment, steps"),
        *(f"steps until steps are within 10%, outlier of {size:g}x" for size in OUTLIERS),
        "moves its weight by, LRs",
    )
    return Table(columns, rows)


@lru_cache(maxsize=1)
def rmsprop_distances() -> dict[str, float]:
    """How far Adam and RMSProp are apart after 200 steps on the same gradients of a noisy bowl, over how far they moved: as
    they are said to be the same, and with each of Adam's two parts put back."""
    steps, size = 200, 64
    torch_rng = torch_generator(0, "exact:rmsprop")
    start, noise = torch.randn(size, generator=torch_rng), torch.randn(steps, size, generator=torch_rng)
    curvature = torch.logspace(-2, 0, size)

    def path(**settings: object) -> torch.Tensor:
        training = Training.model_validate({**SETTINGS, "epsilon": 1e-6, "beta2": 0.99, "momentum": 0.0, **settings})
        weights = start.clone().unsqueeze(0)
        optimizer = make_optimizer([training], weights, torch.zeros(size))
        for step in range(steps):
            gradient = (curvature * weights[0] + 0.1 * noise[step]).unsqueeze(0)
            optimizer.update(weights, gradient, torch.full((1, 1), 0.01), torch.full((1, 1), step, dtype=torch.float64))
        return weights[0]

    other = path(optimizer="rmsprop")
    adams: dict[str, dict[str, Any]] = {
        "without either": {"beta1": 0.0, "bias_correction": False},
        "with bias correction": {"beta1": 0.0},
        "with momentum": {"bias_correction": False},
        "as it is": {},
    }
    moved = (other - start).norm()
    return {name: float((path(optimizer="adam", **each) - other).norm() / moved) for name, each in adams.items()}


def rmsprop_distance() -> float:
    """Of Adam without momentum and without bias correction."""
    return rmsprop_distances()["without either"]


def rmsprop_table() -> Table:
    rows = tuple((name, f"{value:.1e}") for name, value in rmsprop_distances().items())
    return Table(("Adam", "distance from RMSProp after 200 steps, of the way"), rows)


CHECKS = {
    "adam_uncorrected_first_step": Check(first_step, uncorrected_plot),
    "adam_uncorrected_largest_step": Check(largest_step, uncorrected_plot),
    "adam_uncorrected_largest_at": Check(largest_at, uncorrected_plot),
    "adam_uncorrected_wrong_until": Check(wrong_until, uncorrected_plot),
    "adam_first_moment_steps": Check(first_moment_steps, uncorrected_plot),
    "adam_second_moment_steps": Check(second_moment_steps, uncorrected_plot),
    "adam_epsilon_error": Check(epsilon_error, epsilon_plot),
    "adam_epsilon_cap": Check(epsilon_cap, epsilon_plot),
    "adam_tiny_step": Check(tiny_step, epsilon_plot),
    "second_moment_half_life": Check(lambda: half_life(0.999), outlier_plot, outlier_table),
    "outlier_recovery": Check(lambda: recovery(0.999), outlier_plot, outlier_table),
    "outlier_kick": Check(lambda: kick(0.999), outlier_plot, outlier_table),
    "outlier_kick_095": Check(lambda: kick(0.95), outlier_plot, outlier_table),
    "adam_rmsprop_distance": Check(rmsprop_distance, None, rmsprop_table),
}
