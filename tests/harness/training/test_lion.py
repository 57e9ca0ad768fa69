"""Lion against algorithm 2 of Chen et al. 2023, lane by lane in plain loops.

Tolerance: where the arithmetic runs in FP32 on gradients that do not depend on the weights, relative 2e-6 of the largest
weight: after 100 steps there are at most 100 roundings of a weight's own, 2^-24 each, or 6e-6, and they do not all point one
way. The sign of a sum that rounding alone tells from zero may be either; gradients of normal numbers have none.
"""

import pytest
import torch

from folklore.harness.spec import Training
from folklore.harness.training.optimizers import make_optimizer

STEPS, SIZE, TOLERANCE = 100, 40, 2e-6
LANES = [
    {"peak_lr": 1e-3, "weight_decay": 0.0, "beta2": 0.99},
    {"peak_lr": 3e-2, "weight_decay": 0.1, "beta2": 0.98, "beta1": 0.95},
    {"peak_lr": 1e-1, "weight_decay": 1.0, "beta2": 0.9, "beta1": 0.5},
]


def algorithm_2(training: Training, weights: torch.Tensor, gradients: list[torch.Tensor]) -> torch.Tensor:
    """Weights after so many steps, as the paper has them: theta - eta (sign(beta1 m + (1 - beta1) g) + lambda theta)."""
    momentum = torch.zeros_like(weights)
    for gradient in gradients:
        update = torch.sign(training.beta1 * momentum + (1 - training.beta1) * gradient)
        weights = weights - training.peak_lr * (update + training.weight_decay * weights)
        momentum = training.beta2 * momentum + (1 - training.beta2) * gradient
    return weights


def test_follows_the_paper() -> None:
    trainings = [Training(optimizer="lion", **lane) for lane in LANES]
    generator = torch.Generator().manual_seed(0)
    packed = torch.randn(len(LANES), SIZE, generator=generator)
    start = packed.double().clone()
    spread = 10 ** torch.randn(SIZE, generator=generator)
    gradients = [torch.randn(len(LANES), SIZE, generator=generator) * spread for _ in range(STEPS)]
    ours = make_optimizer(trainings, packed, torch.ones(SIZE))
    lr = torch.tensor([[training.peak_lr] for training in trainings])
    for step, gradient in enumerate(gradients):
        ours.update(packed, gradient, lr, torch.full((1, 1), float(step), dtype=torch.float64))
    for lane, training in enumerate(trainings):
        expected = algorithm_2(training, start[lane], [gradient[lane].double() for gradient in gradients])
        assert (packed[lane].double() - expected).abs().max() <= TOLERANCE * max(1.0, expected.abs().max())


def test_decay_leaves_unmarked_parameters_alone() -> None:
    packed = torch.ones(1, 2)
    ours = make_optimizer([Training(optimizer="lion", weight_decay=0.5)], packed, torch.tensor([1.0, 0.0]))
    ours.update(packed, torch.zeros(1, 2), torch.tensor([[0.1]]), torch.zeros(1, 1, dtype=torch.float64))
    assert packed.tolist() == [[pytest.approx(0.95), 1.0]]


def test_where_it_jumps_and_nowhere_else() -> None:
    """The sign is taken of 0.9 m + 0.1 g: g = -9 m is on the edge, and a millionth beside it is as rounding has it."""
    training = Training(optimizer="lion", beta1=0.9, beta2=0.99, weight_decay=0.0)
    packed = torch.zeros(1, 4)
    ours = make_optimizer([training], packed, torch.zeros(4))
    ours.state["momentum"].fill_(0.5)
    gradient_KP = 0.5 * torch.tensor([[-9.0, -9.0 * (1 + 1e-7), -9.01, 3.0]])
    assert ours.jumps(gradient_KP).tolist() == [[True, True, False, False]]
