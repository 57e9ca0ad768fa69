"""A user's module trained by a plain loop over it, as one writes it, beside a lane of a pack."""

import copy
import random
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, SubsetRandomSampler, default_collate

from folklore.harness import OwnWorkload
from folklore.harness.randomness import key
from folklore.harness.train.pack import Pack
from folklore.harness.train.workloads.data import load
from tests.harness.train.own_kinds import Output
from tests.harness.train.single_steps import TORCHS, assert_lane_is_torchs, assert_losses_agree


def taken(split: Any, index: Tensor) -> tuple[Any, Any]:
    """The batch that a plain loop would make of these examples."""
    if isinstance(split, DataLoader):
        if isinstance(split.sampler, SubsetRandomSampler):
            index = torch.tensor(split.sampler.indices)[index]
        return split.collate_fn([split.dataset[int(place)] for place in index])  # type: ignore[no-any-return]
    if isinstance(split, Dataset):
        return default_collate([split[int(place)] for place in index])  # type: ignore[no-any-return]
    if isinstance(split, dict):
        return {name: array[index] for name, array in split.items()}  # type: ignore[return-value]
    inputs, targets = split
    if isinstance(inputs, tuple):
        return tuple(array[index] for array in inputs), targets[index]
    if isinstance(inputs, np.ndarray):
        return torch.from_numpy(inputs).float()[index], torch.from_numpy(targets)[index]
    return inputs[index], {n: e[index] for n, e in targets.items()} if isinstance(targets, dict) else targets[index]


def plain_loss(module: nn.Module, loss: Any, batch: Any) -> Tensor:
    """As one writes it."""
    if isinstance(batch, dict):
        outputs = module(**batch)
        if loss is not None:
            return loss(outputs, batch)  # type: ignore[no-any-return]
        if isinstance(outputs, dict):
            return outputs["loss"]  # type: ignore[no-any-return]
        return outputs.loss if isinstance(outputs, Output) else outputs[0] if isinstance(outputs, tuple) else outputs  # type: ignore[return-value]
    inputs, targets = batch
    losses = loss(module(*inputs) if isinstance(inputs, tuple) else module(inputs), targets)
    return losses.mean()  # type: ignore[no-any-return]


def draw(seed: int, step: int) -> None:
    """From here on all is drawn by the key of a step."""
    drawn = key(seed, f"forward:{step}")
    torch.manual_seed(drawn)
    random.seed(drawn)
    np.random.seed(drawn % 2**32)


class Real:
    """A complex parameter as the pack holds it."""

    def __init__(self, parameter: Tensor):
        self.parameter = parameter

    def copy_(self, value: Tensor) -> None:
        self.parameter.copy_(torch.view_as_complex(value.contiguous()))

    def detach(self) -> Tensor:
        return torch.view_as_real(self.parameter.detach())

    @property
    def grad(self) -> Tensor | None:
        return None if self.parameter.grad is None else torch.view_as_real(self.parameter.grad)

    @grad.setter
    def grad(self, value: Tensor) -> None:
        self.parameter.grad = torch.view_as_complex(value.contiguous())


def assert_own_lane_is_torchs(made: Pack, lane: int, workload: OwnWorkload, summed: bool = False) -> None:
    """Train a pack beside a plain loop over the module itself with torch.optim's optimizer: each step, and the test loss that
    is left. summed: whether the loss is a sum over its examples, of which records show the mean."""
    training, seed, module = made.training, made.seeds[lane], workload.made(made.seeds[lane])
    loss = workload.loss if isinstance(workload.loss, nn.Module) else copy.deepcopy(workload.loss)
    named: dict[str, Any] = dict(module.named_parameters())
    if isinstance(loss, nn.Module):
        named |= {f"(loss).{name}": parameter for name, parameter in loss.named_parameters()}
    named = {name: parameter for name, parameter in named.items() if parameter.requires_grad}
    make = TORCHS.get(training.optimizer, lambda training, weights: [workload.optimizer(weights)])  # type: ignore[misc]
    (optimizer,) = make(training.model_copy(update={"peak_lr": 1.0}), [*named.values()])
    dataset = load(made.lanes[lane].configuration.workload.dataset)
    index = dataset.batch_index(seed, 0, training.batch_size, 0)

    def batch(step: int) -> Any:
        return taken(workload.training, torch.from_numpy(index[step]))

    def mean(loss: Tensor, batch: Any) -> Tensor:
        return loss / len(batch[1]) if summed else loss

    def loss_at(step: int) -> Tensor:
        draw(seed, step)
        return plain_loss(module, loss, batch(step))

    parameters: dict[str, Any] = {
        name: Real(parameter) if parameter.is_complex() else parameter for name, parameter in named.items()
    }
    assert_lane_is_torchs(
        made,
        lane,
        parameters,
        optimizer,
        loss_at,
        training.clip_norm,
        shown=lambda step, network: mean(network, batch(step)),
    )
    module.eval()
    everything = taken(workload.test, torch.arange(len(dataset.arrays("test")[0])))
    with torch.no_grad():
        for name, value in made.network.views_of(made.network.flat_KP).items():
            parameters[name].copy_(value[lane])
        draw(seed, training.steps - 1)
        assert_losses_agree(made.results()[lane].test_loss, mean(plain_loss(module, loss, everything), everything))
