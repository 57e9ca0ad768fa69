"""How far Adam moves a weight whose gradient is there in few steps only, as a row of an embedding: the engine's own Adam, long
after bias corrections have come to one, so without them."""

from functools import lru_cache

import numpy as np
import torch

from folklore.harness.observables.estimating.exact.adam import SETTINGS, trained
from folklore.harness.observables.estimating.exact.base import Check, Curve, Numbers, Plot, Table
from folklore.harness.spec import Training

BETAS2 = (0.95, 0.99, 0.999)
# Sizes of the one gradient: what is far above epsilon is all alike.
SIZES = (1e-4, 1e-2, 1.0, 1e2, 1e4)
# Steps from a gradient to the next, and steps in all: the second moment has come to what it comes to after half of them.
EVERY = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
STEPS = 20_000


def _lane(beta2: float) -> Training:
    return Training(optimizer="adam", beta2=beta2, bias_correction=False, **SETTINGS)


@lru_cache(maxsize=1)
def alone() -> dict[float, Numbers]:
    """β2 -> how far one gradient of each size moves its weight in all, over the LR, [sizes]."""
    gradients = torch.zeros(500, len(BETAS2) * len(SIZES))
    gradients[0] = torch.tensor(SIZES).repeat(len(BETAS2))
    updates, _ = trained([_lane(beta2) for beta2 in BETAS2 for _ in SIZES], gradients)
    return dict(zip(BETAS2, np.split(updates.sum(axis=0), len(BETAS2)), strict=True))


@lru_cache(maxsize=1)
def repeated() -> dict[float, Numbers]:
    """β2 -> movement per gradient over the LR, of equal gradients so many steps apart, [EVERY]."""
    gradients = torch.zeros(STEPS, len(BETAS2) * len(EVERY))
    for lane, every in enumerate(EVERY * len(BETAS2)):
        gradients[::every, lane] = 1.0
    updates, _ = trained([_lane(beta2) for beta2 in BETAS2 for _ in EVERY], gradients)
    late = updates[STEPS // 2 :].sum(axis=0) * np.tile(EVERY, len(BETAS2)) / (STEPS // 2)
    return dict(zip(BETAS2, np.split(late, len(BETAS2)), strict=True))


def moves(beta2: float) -> float:
    """Of one gradient of 1."""
    return float(alone()[beta2][SIZES.index(1.0)])


def spread() -> float:
    """The farthest that gradients of SIZES move a weight over the least far, at a β2 of 0.999."""
    return float(alone()[0.999].max() / alone()[0.999].min())


def steady() -> float:
    """Movement per gradient, over the LR, if there is one at every step, at a β2 of 0.999."""
    return float(repeated()[0.999][0])


def occurrence_plot() -> Plot:
    every = np.array(EVERY, dtype=np.float64)
    curves = tuple(Curve(f"β2 = {beta2:g}", every, moved, dots=True) for beta2, moved in repeated().items())
    return Plot("steps from a gradient to the next", "movement per gradient / LR", curves, levels=((1.0, "one at every step"),))


def occurrence_table() -> Table:
    columns = ("β2", *(f"a gradient of {size:g} moves its weight by, LRs" for size in SIZES))
    return Table(columns, tuple((f"{beta2:g}", *(f"{each:.2f}" for each in moved)) for beta2, moved in alone().items()))


CHECKS = {
    "lone_gradient": Check(lambda: moves(0.999), occurrence_plot, occurrence_table),
    "lone_gradient_099": Check(lambda: moves(0.99), occurrence_plot, occurrence_table),
    "lone_gradient_095": Check(lambda: moves(0.95), occurrence_plot, occurrence_table),
    "lone_gradient_spread": Check(spread, occurrence_plot, occurrence_table),
    "steady_gradient": Check(steady, occurrence_plot, occurrence_table),
}
