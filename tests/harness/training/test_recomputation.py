"""Activations that are computed again in the backward pass: the same training, to the last bit where nothing is reordered, with
less kept."""

from collections.abc import Sequence

import pytest
import torch

from folklore.harness.data import load
from folklore.harness.data.text import Text
from folklore.harness.errors import UserError
from folklore.harness.spec import Configuration, Measurement, Training, Workload
from folklore.harness.training.allocations import Allocations
from folklore.harness.training.pack import Lane, Pack
from folklore.harness.training.programs import Program

GPT = {"model": "gpt", "width": 16, "depth": 5, "heads": 2, "context": 16}
MODELS = {
    "gpt": GPT,
    "mlp": {"model": "mlp", "dataset": "digits", "width": 24, "depth": 4},
    "cnn": {"model": "cnn", "dataset": "digits", "width": 8, "depth": 3},
}


def lanes(workload: dict, **training: object) -> list[Lane]:
    fields = {"optimizer": "adamw", "steps": 12, "batch_size": 8, **training}
    configuration = Configuration(
        workload=Workload.model_validate(workload),
        training=Training.model_validate(fields),
        measurement=Measurement(probes=3, evaluations=2, evaluation_examples=8, final_examples=8),
    )
    return [Lane(configuration, seed) for seed in (0, 1)]


def trained(chosen: Sequence[Lane], text: Text) -> Pack:
    workload = chosen[0].configuration.workload
    pack = Pack(chosen, text if workload.model == "gpt" else load(workload.dataset))
    pack.advance()
    return pack


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("segments", [1, 2, 3])
def test_it_changes_no_training(model: str, segments: int, precision: str, text: Text) -> None:
    """The same operations on the same numbers."""
    kept, recomputed = (
        trained(lanes(MODELS[model], recompute_segments=count, precision=precision), text) for count in (0, segments)
    )
    assert torch.equal(kept.network.flat_KP, recomputed.network.flat_KP)
    assert [each.test_loss for each in kept.results()] == [each.test_loss for each in recomputed.results()]


def test_it_goes_with_micro_batches(text: Text) -> None:
    fields = {"micro_batches": 4}
    kept, recomputed = (trained(lanes(GPT, recompute_segments=count, **fields), text) for count in (0, 5))
    assert torch.equal(kept.network.flat_KP, recomputed.network.flat_KP)


@pytest.mark.parametrize("model", MODELS)
def test_less_is_kept(model: str, text: Text) -> None:
    """What a plain step's forward pass leaves alive for the backward pass, of the very networks that packs train."""
    kept = []
    for segments in (0, 1):
        workload = lanes(MODELS[model])[0].configuration.workload
        pack = Pack(lanes(MODELS[model], recompute_segments=segments), text if model == "gpt" else load(workload.dataset))
        pack._draw()
        batch = pack._batch()
        with Allocations() as memory:
            memory.hold(pack.network.flat_KP, *batch)
            before = memory.live
            losses_K = pack.network.losses(*batch)
            kept.append(memory.live - before)
            del losses_K
    assert kept[1] < 0.5 * kept[0]


def test_a_step_that_recomputes_is_not_compiled(text: Text) -> None:
    """A compiler's trace of it fails, and leaves torch.func's state behind, so that nothing in the process trains any more."""
    for program in (Program(compiled=True), Program()):
        pack = Pack(lanes(GPT, recompute_segments=2), text, program=program)
        pack.advance()
        assert {result.program for result in pack.results()} == {"eager"}


def test_what_a_model_has_no_blocks_for_is_refused(text: Text) -> None:
    with pytest.raises(UserError, match=r"recompute_segments = 6: model 'gpt' has 5 blocks .*; choose at most 5"):
        trained(lanes(GPT, recompute_segments=6), text)
    linear = {"model": "linear", "dataset": "regression:4"}
    with pytest.raises(UserError, match=r"recompute_segments = 1: model 'linear' has 0 blocks .*; leave it at 0"):
        trained(lanes(linear, recompute_segments=1), text)
