"""Dropout against plain torch with the same masks, masks against a hash in plain Python, and nothing else changed."""

from functools import reduce
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from folklore.harness.declare import Workload
from folklore.harness.randomness import key
from folklore.harness.train.pack import Lane
from tests.harness.train import contract
from tests.harness.train.contract import pack as packed

MODELS = {
    "gpt": Workload(width=16, depth=2, heads=2, context=16),
    "mlp": Workload(model="mlp", dataset="digits", width=24, depth=2),
    "cnn": Workload(model="cnn", dataset="digits", width=8, depth=2),
}


def lane(model: str, seed: int = 0, **training: Any) -> Lane:
    return contract.lane(MODELS[model], seed, **{"optimizer": "sgd", "peak_lr": 0.02, "batch_size": 8, **training})


def bits(seed: int, step: int, place: str, number: int) -> int:
    """The hash of one activation, in unbounded integers."""

    def hashed(x: int) -> int:
        x ^= x >> 16
        x = x * 0x21F0AAAD % 2**32
        x ^= x >> 15
        x = x * 0x735A2D97 % 2**32
        return x ^ x >> 15

    both, named = key(seed, "dropout"), reduce(lambda x, byte: (x ^ byte) * 16777619 % 2**32, place.encode(), 2166136261)
    at = hashed(hashed(both % 2**32 ^ step) ^ named)
    return hashed(((number ^ at) + hashed(at ^ (both >> 31) % 2**32)) % 2**32)


def test_masks_are_those_of_the_hash() -> None:
    pack = packed(lane("mlp", 3, dropout=0.3), lane("mlp", 4, dropout=0.6))
    pack.clock.fill_(7)
    drop = pack.network.drop
    assert drop is not None
    outputs = drop("hidden.1", torch.ones(2, 8, 24))
    for index, (seed, chance) in enumerate(((3, 0.3), (4, 0.6))):
        kept = [bits(seed, 7, "hidden.1", number) >= round(chance * 2**32) for number in range(8 * 24)]
        expected = torch.tensor(kept).view(8, 24) / (1 - chance)
        torch.testing.assert_close(outputs[index], expected)


def test_an_mlp_learns_as_in_plain_torch_with_the_same_masks() -> None:
    pack = packed(lane("mlp", 0, dropout=0.5), lane("mlp", 1, dropout=0.2))
    pack._draw()
    inputs, targets = pack._batch()
    losses, gradients = pack.procedure.gradient(inputs, targets)
    drop = pack.network.drop
    assert drop is not None
    masks = [drop(f"hidden.{index}", torch.ones(2, 8, 24)) for index in range(2)]
    for index in range(2):
        weights = {name: weight[index].detach().clone().requires_grad_() for name, weight in pack.network.views.items()}
        x = inputs[index].flatten(1)
        for layer in range(2):
            x = torch.relu(x @ weights[f"hidden.{layer}.weight"] + weights[f"hidden.{layer}.bias"]) * masks[layer][index]
        loss = F.cross_entropy(x @ weights["readout.weight"] + weights["readout.bias"], targets[index])
        torch.testing.assert_close(losses[index], loss.detach())
        expected = torch.autograd.grad(loss, list(weights.values()))
        torch.testing.assert_close(
            gradients[index], torch.cat([gradient.flatten() for gradient in expected]), rtol=1e-4, atol=1e-6
        )


@pytest.mark.parametrize(
    ("model", "places"),
    [
        ("mlp", ["hidden.0", "hidden.1"]),
        ("cnn", ["blocks.0", "blocks.1"]),
        ("gpt", ["embedding", *(f"blocks.{index}.{part}" for index in range(2) for part in ("attention", "mlp"))]),
    ],
)
def test_it_is_of_the_places_that_are_declared_once_each(model: str, places: list[str]) -> None:
    pack = packed(lane(model, dropout=0.5))
    asked = []

    def noted(place: str, x: torch.Tensor) -> torch.Tensor:
        asked.append(place)
        return x

    pack.network.drop = noted
    pack._draw()
    pack.procedure.gradient(*pack._batch())
    assert asked == places


def test_evaluations_and_curvature_are_of_the_whole_network() -> None:
    dropping, plain = packed(lane("mlp", dropout=0.5)), packed(lane("mlp"))
    sample = plain._sample("validation", 50)
    assert torch.equal(dropping.network.evaluate(*sample), plain.network.evaluate(*sample))
    inputs, targets = (array[None] for array in sample)
    assert torch.equal(dropping.network.losses(inputs, targets), plain.network.losses(inputs, targets))
