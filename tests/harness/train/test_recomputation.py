"""Activations that are computed again in the backward pass: the same training, to the last bit where nothing is reordered, with
less kept."""

from typing import Any

import pytest
import torch

from folklore.harness.declare import Workload
from folklore.harness.train.allocations import Allocations
from folklore.harness.train.pack import Lane
from folklore.harness.train.programs import Program
from tests.harness.train import contract
from tests.harness.train.contract import trained

GPT = Workload(width=16, depth=5, heads=2, context=16)
MODELS = {
    "gpt": GPT,
    "mlp": Workload(model="mlp", dataset="digits", width=24, depth=4),
    "cnn": Workload(model="cnn", dataset="digits", width=8, depth=3),
}


def lanes(workload: Workload, **training: object) -> list[Lane]:
    return [contract.lane(workload, seed, **{"steps": 3, "batch_size": 8, **training}) for seed in (0, 1)]


@pytest.mark.parametrize(
    ("model", "segments", "fields"),
    [
        ("gpt", 1, {}), ("gpt", 2, {"precision": "bf16"}), ("gpt", 3, {"dropout": 0.3}), ("gpt", 5, {"micro_batches": 4}),
        ("mlp", 2, {"dropout": 0.3}), ("mlp", 3, {"precision": "bf16"}),
        ("cnn", 2, {"dropout": 0.3}), ("cnn", 3, {"precision": "bf16"}),
    ],
)  # fmt: skip
def test_it_changes_no_training(model: str, segments: int, fields: dict[str, Any]) -> None:
    """The same operations on the same numbers."""
    kept, recomputed = (trained(*lanes(MODELS[model], recompute_segments=count, **fields)) for count in (0, segments))
    assert torch.equal(kept.network.flat_KP, recomputed.network.flat_KP)
    assert [result.test_loss for result in kept.results()] == [result.test_loss for result in recomputed.results()]


@pytest.mark.parametrize("model", MODELS)
def test_less_is_kept(model: str) -> None:
    """Tensors that a plain step's forward pass keeps for the backward pass, of the very networks that packs train."""
    kept = []
    for segments in (0, 1):
        pack = contract.pack(*lanes(MODELS[model], recompute_segments=segments))
        pack._draw()
        batch = pack._batch()
        with Allocations() as memory:
            memory.hold(pack.network.flat_KP, *batch)
            before = memory.live
            losses_K = pack.network.losses(*batch)
            kept.append(memory.live - before)
            del losses_K
    assert kept[1] < 0.5 * kept[0]


def test_a_step_that_recomputes_is_not_compiled() -> None:
    """A compiler's trace of it fails, and leaves torch.func's state behind, so that nothing in the process trains any more."""
    for program in (Program(compiled=True), Program()):
        pack = contract.pack(*lanes(GPT, recompute_segments=2), program=program)
        pack.advance()
        assert {result.program for result in pack.results()} == {"eager"}
