"""How large Adam's steps are: the engine's own optimizers, in float64, on weights whose gradients are given.

The weight stays at zero, so that a step is the update over the LR, and nothing decays.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...harness.declare import Training
from ...harness.declare.computed import Curve, Plot, Table, Worked
from ...harness.declare.trials import Numbers
from ...harness.randomness import numpy_generator
from ...harness.train.optimizers import make_optimizer

EPSILON = 1e-8
# Until the steps that no correction makes too large are right to a few percent.
STEPS = 3000
# An outlier and smaller ones, and this many ordinary gradients before it; steps that are computed after it, by β2.
OUTLIER, BEFORE = 1000.0, 60
OUTLIERS = (10.0, 100.0, OUTLIER)
AFTER = {0.95: 400, 0.99: 2000, 0.999: 10_000}
SETTINGS: dict[str, Any] = {"weight_decay": 0.0, "warmup_fraction": 0.0, "epsilon": EPSILON}


def trained(lanes: Sequence[Training], gradients_TK: torch.Tensor) -> tuple[Numbers, Numbers]:
    """Updates over the LR and second moments, [T, K] each, of one weight a lane that is put back to zero after every step."""
    weights_K1 = torch.zeros(len(lanes), 1, dtype=torch.float64)
    optimizer = make_optimizer(lanes, weights_K1, torch.zeros(1, dtype=torch.float64))
    lr_K1 = torch.ones_like(weights_K1)
    updates, moments = [], []
    for step, gradient_K in enumerate(gradients_TK.double()):
        weights_K1.zero_()
        optimizer.update(weights_K1, gradient_K.unsqueeze(1).clone(), lr_K1, torch.full((1, 1), step, dtype=torch.float64))
        updates.append(-weights_K1[:, 0].clone())
        moments.append(optimizer.state["second"][:, 0].clone())
    return torch.stack(updates).numpy(), torch.stack(moments).numpy()


def uncorrected() -> Worked:
    """At a constant gradient, steps without bias correction over steps with it: the first one, the largest and its step (from
    1), and the last that is wrong by more than 10%; and the steps in which each moment comes to 1 - 1/e of what it ends at."""
    lanes = [
        Training(optimizer="adam", bias_correction=False, **SETTINGS),
        Training(optimizer="adam", **SETTINGS),
        # A second moment that is at once what it comes to leaves the first alone.
        Training(optimizer="adam", bias_correction=False, second_moment_start="first_gradient", **SETTINGS),
    ]
    updates, moments = trained(lanes, torch.ones(STEPS, len(lanes)))
    ratio, first, second = updates[:, 0] / updates[:, 1], updates[:, 2], moments[:, 0]
    steps = np.arange(1.0, STEPS + 1)
    curves = (
        Curve("step without correction / with it", steps, ratio),
        Curve("first moment / gradient", steps, first),
        Curve("second moment / gradient²", steps, second),
    )
    return Worked(
        {
            "first_step": ratio[0],
            "largest_step": ratio.max(),
            "largest_at": float(ratio.argmax() + 1),
            "wrong_until": _last(np.abs(ratio - 1) > 0.1),
            "first_moment_steps": _steps_to(first),
            "second_moment_steps": _steps_to(second),
        },
        plots=(Plot("training step", "ratio at a constant gradient", curves, levels=((1.0, ""),)),),
    )


def _steps_to(moment: Numbers) -> int:
    return int(np.argmax(moment >= 1 - np.exp(-1))) + 1


def small_gradients() -> Worked:
    """Adam's step at constant gradients g of 1e-14 to 1. error: the largest relative error of LR x g / epsilon as the step,
    for g up to a hundredth of epsilon; cap: the largest step over g, over LR / epsilon; tiny_step: step / LR at 1e-12."""
    gradients = np.logspace(-14, 0, 57)
    lanes = [Training(optimizer="adam", **SETTINGS)] * len(gradients)
    steps = trained(lanes, torch.tensor(gradients).repeat(20, 1))[0][-1]
    far, near = gradients <= EPSILON / 100, gradients <= 10 * EPSILON
    curves = (
        Curve("Adam's step / LR", gradients, steps),
        Curve("gradient / epsilon", gradients[near], gradients[near] / EPSILON),
    )
    return Worked(
        {
            "error": np.abs(steps[far] / (gradients[far] / EPSILON) - 1).max(),
            "cap": (steps / gradients).max() * EPSILON,
            "tiny_step": steps[np.abs(np.log10(gradients) + 12).argmin()],
        },
        plots=(Plot("root of the second moment", "step / LR", curves, places=((EPSILON, "epsilon"),)),),
    )


def outlier() -> Worked:
    """The effect of one gradient of 1,000 among gradients of 1 on Adam's steps, at a β2 of 0.999; kick_095: at 0.95."""
    runs = {beta2: _after_an_outlier(beta2) for beta2 in AFTER}
    largest = {beta2: (steps[:, -1], moments[:, -1]) for beta2, (steps, moments) in runs.items()}
    curves = tuple(Curve(f"β2 = {beta2:g}", np.arange(1.0, len(steps) + 1), steps) for beta2, (steps, _) in largest.items())
    words = f"steps since a gradient {OUTLIER:g} times the others"
    rows = tuple(
        (
            f"{beta2:g}",
            f"{_half_life(largest[beta2][1]):.1f}",
            *(f"{_recovery(steps):,.0f}" for steps in runs[beta2][0].T),
            f"{_kick(*largest[beta2]):.1f}",
        )
        for beta2 in runs
    )
    columns = (
        *("β2", "half-life in the second moment, steps"),
        *(f"steps until steps are within 10%, outlier of {size:g}x" for size in OUTLIERS),
        "moves its weight by, LRs",
    )
    return Worked(
        {
            "half_life": _half_life(largest[0.999][1]),
            "recovery": _recovery(largest[0.999][0]),
            "kick": _kick(*largest[0.999]),
            "kick_095": _kick(*largest[0.95]),
        },
        plots=(Plot(words, "step / LR", curves, levels=((1.0, "before the outlier"),)),),
        tables=(Table(columns, rows),),
    )


def _after_an_outlier(beta2: float) -> tuple[Numbers, Numbers]:
    """Steps over the LR and second moments from an outlier of each size on, [T, sizes]: gradients of 1, but for that one."""
    full = Training(optimizer="adam", beta2=beta2, second_moment_start="first_gradient", bias_correction=False, **SETTINGS)
    gradients = torch.ones(BEFORE + AFTER[beta2], len(OUTLIERS))
    gradients[BEFORE] = torch.tensor(OUTLIERS)
    updates, moments = trained([full] * len(OUTLIERS), gradients)
    return updates[BEFORE:], moments[BEFORE:]


def _half_life(moments: Numbers) -> float:
    """Steps in which what an outlier added to the second moment halves, by the first hundred after it."""
    return float(100 * np.log(2) / np.log((moments[0] - 1) / (moments[100] - 1)))


def _recovery(steps: Numbers) -> int:
    """Steps from an outlier on until no step of Adam is smaller than what it was by more than 10%; 0 if none ever is."""
    return _last(steps < 0.9)


def _last(where: NDArray[np.bool_]) -> int:
    """The last step, from 1, at which something is so; 0 if it never is."""
    steps = np.flatnonzero(where)
    return int(steps[-1]) + 1 if len(steps) else 0


def _kick(steps: Numbers, moments: Numbers) -> float:
    """How far an outlier moves its weight, in LRs: the steps that its part of the first moment makes, all together.

    Summed until nothing of it is left; the steps that ordinary gradients make meanwhile are taken off.
    """
    return float((steps[:200] - 1 / np.sqrt(moments[:200])).sum())


def beside_rmsprop() -> Worked:
    """How far Adam and RMSProp are apart after 200 steps on the same gradients of a noisy bowl, over how far they moved.
    distance: of Adam without momentum and bias correction; the table has Adam with each of these two put back, too."""
    other = end_on_the_bowl(optimizer="rmsprop")
    adams: dict[str, dict[str, Any]] = {
        "without either": {"beta1": 0.0, "bias_correction": False},
        "with bias correction": {"beta1": 0.0},
        "with momentum": {"bias_correction": False},
        "as it is": {},
    }
    moved = (other - noisy_bowl()[0]).norm()
    apart = {
        name: float((end_on_the_bowl(optimizer="adam", **settings) - other).norm() / moved) for name, settings in adams.items()
    }
    rows = tuple((name, f"{value:.1e}") for name, value in apart.items())
    table = Table(("Adam", "distance from RMSProp after 200 steps, of the way"), rows)
    return Worked({"distance": apart["without either"]}, tables=(table,))


def noisy_bowl(steps: int = 200, size: int = 64) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Where descent starts, [P], its curvatures, [P], and the noise of its gradients, [T, P], float64."""
    rng = numpy_generator(0, "computed:bowl", 0)
    start, noise = (torch.from_numpy(rng.standard_normal(shape)) for shape in (size, (steps, size)))
    return start, torch.logspace(-2, 0, size, dtype=torch.float64), 0.1 * noise


def end_on_the_bowl(**settings: Any) -> torch.Tensor:
    """Weights after 200 steps at an LR of 0.01, [P], all of them decayed if anything is."""
    start, curvature, noise = noisy_bowl()
    training = Training.model_validate({**SETTINGS, "epsilon": 1e-6, "beta2": 0.99, "momentum": 0.0, **settings})
    weights, lr = start.clone().unsqueeze(0), torch.full((1, 1), 0.01, dtype=torch.float64)
    optimizer = make_optimizer([training], weights, torch.ones_like(start))
    for step, draw in enumerate(noise):
        gradient = (curvature * weights[0] + draw).unsqueeze(0)
        optimizer.update(weights, gradient, lr, torch.full((1, 1), step, dtype=torch.float64))
    return weights[0]
