"""Weight decay beside L2: the engine's own optimizers on equal gradients, with decay and without."""

from functools import lru_cache
from typing import Any

import numpy as np
import scipy
import torch
from torch import Tensor

from ...harness.declare import Training
from ...harness.declare.computed import Curve, Plot, Table, Worked
from ...harness.declare.trials import Numbers
from ...harness.train.optimizers import make_optimizer
from .adam import end_on_the_bowl, noisy_bowl
from .small_gpt import engine

DECAY = 1e-3
# Steps of training before the one that is compared. Weights that are all but zero have no share that they shrink by.
TRAINED, LEAST_WEIGHT = 150, 1e-2


def sgd() -> Worked:
    """How far SGD with L2 and SGD with decoupled decay are apart after 200 steps on the same gradients of a noisy bowl, over
    how far they moved: without momentum, and with a momentum of 0.9."""
    apart = {momentum: _distance(momentum) for momentum in (0.0, 0.9)}
    rows = tuple((f"{momentum:g}", f"{distance:.1e}") for momentum, distance in apart.items())
    table = Table(("momentum", "distance of L2 and decoupled decay after 200 steps, of the way"), rows)
    return Worked({"distance": apart[0.0], "momentum_distance": apart[0.9]}, tables=(table,))


def _distance(momentum: float) -> float:
    inside, outside = (
        end_on_the_bowl(optimizer=optimizer, momentum=momentum, weight_decay=DECAY) for optimizer in ("sgd", "sgdw")
    )
    return float((inside - outside).norm() / (inside - noisy_bowl()[0]).norm())


def shrinkage(seed: int, decay: float = DECAY) -> Worked:
    """The share of each weight that its decay takes off in one step, over LR x decay: a small GPT after 150 steps, one more
    step with decay less the same without.

    spread: standard deviation of these shares over their mean, decoupled. rank_correlation: Spearman's, of the shares that L2
    inside Adam takes off with the roots of second moments. weaker: share of the weights that L2 shrinks less than decoupled
    decay does, once the first moment has caught up (a tenth of it is in the first step)."""
    taken = _shares_taken(seed, decay)
    decoupled = taken["adamw"][1]
    curves = (
        Curve("decoupled (AdamW)", *_medians(*taken["adamw"]), dots=True),
        Curve("L2 inside Adam, first step", *_medians(*taken["adam"]), dots=True),
    )
    return Worked(
        {
            "spread": decoupled.std() / decoupled.mean(),
            "rank_correlation": scipy.stats.spearmanr(*taken["adam"]).statistic,
            "weaker": float(np.mean(taken["adam"][1] / (1 - 0.9) < 1.0)),
        },
        plots=(Plot("root of the second moment", "share taken off / (LR x decay)", curves),),
    )


@lru_cache(maxsize=1)
def _trained(seed: int) -> tuple[Tensor, Tensor, Tensor, dict[str, Tensor]]:
    """Weights of the GPT, the gradient of its next batch, [1, P], which weights decay, [P], and the state of its optimizer."""
    pack = engine(seed, batch_size=16, steps=TRAINED, optimizer="adamw", beta2=0.99)[0]
    pack.advance()
    inputs, targets = pack.procedure.batch(torch.from_numpy(pack.procedure.draw(1))[0])
    gradient = pack.procedure.gradient(inputs, targets)[1].double()
    moments = {name: moment.double() for name, moment in pack.optimizer.state.items()}
    return pack.network.flat_KP.detach().double(), gradient, pack.network.decays_P.double(), moments


def _shares_taken(seed: int, decay: float) -> dict[str, tuple[Numbers, Numbers]]:
    """Optimizer -> roots of second moments, and the shares."""
    start, gradient, decays, moments = _trained(seed)

    def stepped(optimizer: str, coefficient: float) -> Tensor:
        settings: dict[str, Any] = {"optimizer": optimizer, "weight_decay": coefficient, "beta2": 0.99}
        weights = start.clone()
        chosen = make_optimizer([Training(**settings)], weights, decays)
        for name, moment in moments.items():
            chosen.state[name].copy_(moment)
        step = torch.full((1, 1), TRAINED, dtype=torch.float64)
        chosen.update(weights, gradient.clone(), torch.ones_like(step), step)
        return weights

    root = moments["second"][0].sqrt()
    # An embedding of a symbol that was never seen has no second moment.
    chosen = (start.abs() > LEAST_WEIGHT)[0] & (decays > 0) & (root > 0)
    shares = {}
    for optimizer in ("adamw", "adam"):
        taken = (stepped(optimizer, 0.0) - stepped(optimizer, decay))[0] / start[0] / decay
        shares[optimizer] = (root[chosen].numpy(), taken[chosen].numpy())
    return shares


def _medians(root: Numbers, taken: Numbers) -> tuple[Numbers, Numbers]:
    """The medians of 40 equal parts of the weights, by their second moments."""
    parts = np.array_split(np.argsort(root), 40)
    return np.array([np.median(root[part]) for part in parts]), np.array([np.median(taken[part]) for part in parts])
