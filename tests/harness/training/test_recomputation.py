"""Activations that are computed again in the backward pass: the same training, to the last bit where nothing is reordered, with
less kept."""

from collections.abc import Sequence

import pytest
import torch

from folklore.harness.data import load
from folklore.harness.data.text import Text
from folklore.harness.errors import UserError
from folklore.harness.spec import Configuration, Measurement, Training, Workload
from folklore.harness.training.pack import Lane, Pack

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


def test_what_a_model_has_no_blocks_for_is_refused(text: Text) -> None:
    with pytest.raises(UserError, match=r"recompute_segments = 6: model 'gpt' has 5 blocks .*; choose at most 5"):
        trained(lanes(GPT, recompute_segments=6), text)
    linear = {"model": "linear", "dataset": "regression:4"}
    with pytest.raises(UserError, match=r"recompute_segments = 1: model 'linear' has 0 blocks .*; leave it at 0"):
        trained(lanes(linear, recompute_segments=1), text)
