"""Small runs, with and without a watch."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from folklore.harness import Watch


def mlp(width: int = 32, *, seed: int = 0) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 3))


def batches(count: int, size: int = 64, *, seed: int = 1) -> Iterator[tuple[Tensor, Tensor]]:
    """A task that can be learnt: the largest of three numbers."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(count):
        x = torch.randn(size, 8, generator=generator)
        yield x, x[:, :3].argmax(dim=1)


def train(
    model: nn.Module,
    optimizer: Optimizer,
    steps: int,
    watch: Watch | None,
    spoil: Callable[[int, Tensor, Tensor], tuple[Tensor, Tensor]] = lambda step, x, y: (x, y),
) -> None:
    """spoil: what becomes of a step's batch, from 1."""
    for step, batch in enumerate(batches(steps), 1):
        x, y = spoil(step, *batch)
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        if watch:
            watch(loss)
        optimizer.step()
        optimizer.zero_grad()


def sgd(parameters: Any) -> Optimizer:
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9, nesterov=True)


def adamw(parameters: Any) -> Optimizer:
    return torch.optim.AdamW(parameters, lr=3e-3)


def watched_mlp(make: Callable[[Any], Optimizer], **options: Any) -> tuple[nn.Sequential, Optimizer, Watch]:
    model = mlp()
    optimizer = make(model.parameters())
    return model, optimizer, Watch(model, optimizer, **options)
