"""How far Adam moves a weight whose gradient is there in few steps only, as a row of an embedding: the engine's own Adam, long
after bias corrections have come to one, so without them."""

import numpy as np
import torch

from ...harness.declare import Training
from ...harness.declare.computed import Curve, Plot, Table, Worked
from ...harness.declare.trials import Numbers
from .adam import SETTINGS, trained

BETAS2 = (0.95, 0.99, 0.999)
# Sizes of the one gradient: what is far above epsilon is all alike.
SIZES = (1e-4, 1e-2, 1.0, 1e2, 1e4)
# Steps from a gradient to the next, and steps in all: the second moment has come to what it comes to after half of them.
EVERY = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
STEPS = 20_000


def lone_gradients() -> Worked:
    """How far one gradient of 1 moves its weight in all, in LRs, at each β2; spread: the farthest that gradients of SIZES move
    it over the least far, at 0.999; steady: movement per gradient if there is one at every step, at 0.999."""
    alone, repeated = _alone(), _repeated()
    curves = tuple(Curve(f"β2 = {beta2:g}", np.array(EVERY, float), moved, dots=True) for beta2, moved in repeated.items())
    levels = ((1.0, "one at every step"),)
    columns = ("β2", *(f"a gradient of {size:g} moves its weight by, LRs" for size in SIZES))
    rows = tuple((f"{beta2:g}", *(f"{distance:.2f}" for distance in moved)) for beta2, moved in alone.items())
    of_one = {beta2: moved[SIZES.index(1.0)] for beta2, moved in alone.items()}
    return Worked(
        {
            "at_0999": of_one[0.999],
            "at_099": of_one[0.99],
            "at_095": of_one[0.95],
            "spread": alone[0.999].max() / alone[0.999].min(),
            "steady": repeated[0.999][0],
        },
        plots=(Plot("steps from a gradient to the next", "movement per gradient / LR", curves, levels=levels),),
        tables=(Table(columns, rows),),
    )


def _lanes(beta2: float, count: int) -> list[Training]:
    return [Training(optimizer="adam", beta2=beta2, bias_correction=False, **SETTINGS)] * count


def _alone() -> dict[float, Numbers]:
    """β2 -> how far one gradient of each size moves its weight in all, over the LR, [sizes]."""
    gradients = torch.zeros(500, len(BETAS2) * len(SIZES))
    gradients[0] = torch.tensor(SIZES).repeat(len(BETAS2))
    updates, _ = trained([lane for beta2 in BETAS2 for lane in _lanes(beta2, len(SIZES))], gradients)
    return dict(zip(BETAS2, np.split(updates.sum(axis=0), len(BETAS2)), strict=True))


def _repeated() -> dict[float, Numbers]:
    """β2 -> movement per gradient over the LR, of equal gradients this many steps apart, [EVERY]."""
    gradients = torch.zeros(STEPS, len(BETAS2) * len(EVERY))
    for lane, every in enumerate(EVERY * len(BETAS2)):
        gradients[::every, lane] = 1.0
    updates, _ = trained([lane for beta2 in BETAS2 for lane in _lanes(beta2, len(EVERY))], gradients)
    late = updates[STEPS // 2 :].sum(axis=0) * np.tile(EVERY, len(BETAS2)) / (STEPS // 2)
    return dict(zip(BETAS2, np.split(late, len(BETAS2)), strict=True))
