"""Weight decay beside L2: the engine's own optimizers on equal gradients, with decay and without."""

from functools import lru_cache
from typing import Any

import numpy as np
import scipy
import torch
from torch import Tensor

from folklore.harness.observables.estimating.exact.base import Check, Curve, Numbers, Plot, Table
from folklore.harness.observables.estimating.exact.memory import engine
from folklore.harness.randomness import torch_generator
from folklore.harness.spec import Training
from folklore.harness.training.optimizers import make_optimizer

# Of decay, what is common with L2, and what is with AdamW.
DECAY, LARGE_DECAY, LR = 1e-3, 0.1, 0.01
STEPS, SIZE = 200, 64
# Of training before the step that is looked at. Weights that are all but zero have no share that they shrink by.
TRAINED, LEAST_WEIGHT = 150, 1e-2


@lru_cache(maxsize=1)
def sgd_distances() -> dict[str, float]:
    """Momentum -> how far SGD with L2 and SGD with decoupled decay are apart after 200 steps on the same gradients of a noisy
    bowl, over how far they moved."""
    rng = torch_generator(0, "exact:decay")
    start, noise = (torch.randn(*shape, generator=rng).double() for shape in ((SIZE,), (STEPS, SIZE)))
    curvature = torch.logspace(-2, 0, SIZE, dtype=torch.float64)

    def path(optimizer: str, momentum: float) -> Tensor:
        training = Training(optimizer=optimizer, momentum=momentum, weight_decay=DECAY, warmup_fraction=0.0)
        weights = start.clone().unsqueeze(0)
        chosen = make_optimizer([training], weights, torch.ones(SIZE, dtype=torch.float64))
        for step in range(STEPS):
            gradient = (curvature * weights[0] + 0.1 * noise[step]).unsqueeze(0)
            chosen.update(weights, gradient, torch.full((1, 1), LR), torch.full((1, 1), step, dtype=torch.float64))
        return weights[0]

    found = {}
    for momentum in (0.0, 0.9):
        inside, outside = path("sgd", momentum), path("sgdw", momentum)
        found[f"{momentum:g}"] = float((inside - outside).norm() / (inside - start).norm())
    return found


def sgd_distance() -> float:
    return sgd_distances()["0"]


def sgd_momentum_distance() -> float:
    return sgd_distances()["0.9"]


def sgd_table() -> Table:
    rows = tuple((momentum, f"{distance:.1e}") for momentum, distance in sgd_distances().items())
    return Table(("momentum", "distance of L2 and decoupled decay after 200 steps, of the way"), rows)


@lru_cache(maxsize=2)
def shrinkage(decay: float = DECAY) -> dict[str, tuple[Numbers, Numbers]]:
    """Optimizer -> roots of second moments, and what share of each weight its decay takes off in one step over LR x decay: a
    small GPT after 150 steps, one more step with decay less the same without."""
    pack, *_ = engine(batch_size=16, steps=TRAINED, optimizer="adamw", beta2=0.99)
    pack.advance()
    inputs, targets = pack.procedure.batch(torch.from_numpy(pack.procedure.draw(1))[0])
    gradient = pack.procedure.gradient(inputs, targets)[1]
    start, decays = pack.network.flat_KP.detach().clone(), pack.network.decays_P
    moments = {name: each.clone() for name, each in pack.optimizer.state.items()}

    def stepped(optimizer: str, coefficient: float) -> Tensor:
        settings: dict[str, Any] = {"optimizer": optimizer, "weight_decay": coefficient, "beta2": 0.99}
        weights = start.clone()
        chosen = make_optimizer([Training(**settings)], weights, decays)
        for name, each in moments.items():
            chosen.state[name].copy_(each)
        # A large rate, so that a difference of weights in FP32 has digits.
        chosen.update(weights, gradient.clone(), torch.ones(1, 1), torch.full((1, 1), TRAINED, dtype=torch.float64))
        return weights.double()

    looked_at = (start.abs() > LEAST_WEIGHT)[0] & (decays > 0)
    root = moments["second"][0].sqrt()
    found = {}
    for optimizer in ("adamw", "adam"):
        taken = (stepped(optimizer, 0.0) - stepped(optimizer, decay))[0] / start[0].double() / decay
        # An embedding of a symbol that was never seen has no second moment.
        chosen = looked_at & (root > 0)
        found[optimizer] = (root[chosen].double().numpy(), taken[chosen].double().numpy())
    return found


def decoupled_spread() -> float:
    """Standard deviation of the shares that decoupled decay takes off, over their mean."""
    _, taken = shrinkage()["adamw"]
    return float(taken.std() / taken.mean())


def l2_rank_correlation() -> float:
    """Spearman's correlation of the shares that L2 inside Adam takes off with the roots of second moments."""
    return float(scipy.stats.spearmanr(*shrinkage()["adam"]).statistic)


def l2_rank_correlation_large() -> float:
    """The same at a hundred times the coefficient, at which L2 adds to small second moments itself."""
    return float(scipy.stats.spearmanr(*shrinkage(LARGE_DECAY)["adam"]).statistic)


def l2_weaker() -> float:
    """Share of the weights that L2 inside Adam shrinks less than decoupled decay does, once the first moment has caught up: a
    tenth of it is in the first step."""
    return float(np.mean(shrinkage()["adam"][1] / (1 - 0.9) < 1.0))


def shrinkage_plot() -> Plot:
    def sorted_of(optimizer: str) -> tuple[Numbers, Numbers]:
        root, taken = shrinkage()[optimizer]
        order = np.argsort(root)
        parts = np.array_split(order, 40)
        return np.array([np.median(root[part]) for part in parts]), np.array([np.median(taken[part]) for part in parts])

    curves = (
        Curve("decoupled (AdamW)", *sorted_of("adamw"), dots=True),
        Curve("L2 inside Adam, first step", *sorted_of("adam"), dots=True),
    )
    return Plot("root of the second moment", "share taken off / (LR x decay)", curves)


CHECKS = {
    "sgd_l2_distance": Check(sgd_distance, None, sgd_table),
    "sgd_momentum_l2_distance": Check(sgd_momentum_distance, None, sgd_table),
    "decoupled_decay_spread": Check(decoupled_spread, shrinkage_plot),
    "l2_rank_correlation": Check(l2_rank_correlation, shrinkage_plot),
    "l2_rank_correlation_at_0.1": Check(l2_rank_correlation_large, shrinkage_plot),
    "l2_weaker_share": Check(l2_weaker, shrinkage_plot),
}
