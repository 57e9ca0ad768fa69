"""Procedures behind the pack loop: the batches as they were, epochs, full batches and accumulation.

What all of them are held to stands in test_contract.py.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from folklore.harness.declare import Workload
from folklore.harness.train.pack import Lane, Pack
from folklore.harness.train.workloads.data import STEPS_PER_DRAW, load
from folklore.harness.train.workloads.data.text import Text
from folklore.harness.train.workloads.network import PackedNetwork
from folklore.harness.train.workloads.own import network as own_network
from tests.harness.train import contract
from tests.harness.train.contract import GPT, MLP, assert_parts_agree

MEASUREMENT = {"probes": 2, "evaluations": 3, "evaluation_examples": 16, "final_examples": 32}
DIGITS = 1079


lane = partial(contract.lane, measurement=MEASUREMENT, steps=20)


def lanes(workload: Workload, count: int = 3, **training: Any) -> list[Lane]:
    """Lanes of several seeds and LRs."""
    return [lane(workload, seed=index // 2, peak_lr=2.0 ** -(5 + index), **training) for index in range(count)]


def test_batches_are_those_that_they_were() -> None:
    """The draws that stored trials were trained on, at the start and at the end of a block."""
    made = Pack([lane(MLP, seed=seed, steps=12) for seed in (3, 4)], load("digits"))
    assert made._draws[0].tolist() == [[870, 156, 877, 973, 921, 919], [717, 961, 710, 1043, 742, 210]]
    assert made._draws[255, 0].tolist() == [252, 886, 635, 589, 938, 800]


def drawn(made: Pack, lane: int, steps: int) -> np.ndarray:
    """The training examples that a lane sees in so many steps, one after another."""
    draws = []
    for made.step in range(steps):
        made._draw()
        draws.append(made._draws[made.step % len(made._draws), lane].clone())
    return torch.cat(draws).numpy()


def test_epochs_see_every_example_once() -> None:
    made = Pack(lanes(MLP, sampling="epochs", steps=1000), load("digits"))
    streams = {number: drawn(made, number, 3 * STEPS_PER_DRAW) for number in range(3)}
    assert np.array_equal(streams[0], streams[1]), "lanes of one seed"
    epochs = [streams[number][start : start + DIGITS] for number in (0, 2) for start in range(0, 4 * DIGITS, DIGITS)]
    for epoch in epochs:
        assert sorted(epoch) == list(range(DIGITS))
    for index, epoch in enumerate(epochs):
        for other in epochs[:index]:
            assert (epoch == other).mean() < 0.01, "an order of its own"


@pytest.mark.parametrize("sampling", ["replacement", "epochs", "full"])
def test_each_seed_may_draw_a_training_set(sampling: str) -> None:
    """Ten of all examples, the same ones in all lanes of a seed, and no others; and no loss of training examples is evaluated,
    which the lanes do not share."""
    few = Workload.model_validate({**MLP.model_dump(), "training_set": "drawn", "training_set_size": 10})
    of_a_seed = [
        contract.lane(
            few, seed=seed, measurement={**MEASUREMENT, "test_examples": 8}, sampling=sampling, batch_size=10, steps=40
        )
        for seed in (0, 0, 1, 2)
    ]
    made = Pack(of_a_seed, load("digits"))
    assert not any(evaluation.split == "train" for evaluation in made.evaluations)
    sets = [set(drawn(made, number, 40)) for number in range(4)]
    assert [len(examples) for examples in sets] == [10] * 4
    assert sets[0] == sets[1]
    together = sets[0] | sets[2] | sets[3]
    assert len(together) > 25
    assert max(together) > DIGITS // 2


def test_a_full_batchs_halves_are_random_samples() -> None:
    """Examples that come class by class: the variance that a probe finds is still near that of batches that are drawn."""
    dataset = load("digits")
    features, labels = dataset.splits["train"]
    order = np.argsort(labels, kind="stable")
    sorted_by_class = replace(dataset, splits={**dataset.splits, "train": (features[order], labels[order])})
    variances = {}
    for sampling, chosen in (("full", sorted_by_class), ("replacement", dataset)):
        made = Pack(lanes(MLP, sampling=sampling, batch_size=DIGITS, optimizer="sgd"), chosen)
        made.advance(0.0)
        variances[sampling] = made.records["probe_gradient_variance"][0].mean().item()
    assert 0.5 < variances["full"] / variances["replacement"] < 2


def test_a_full_batch_is_all_examples_at_every_step() -> None:
    dataset = load("digits")
    made = Pack(lanes(MLP, sampling="full", batch_size=DIGITS, optimizer="sgd", schedule="constant"), dataset)
    assert made._draws.shape == (1, 3, DIGITS), "once for all steps"
    made.advance(0.0)
    everything = [array[None].expand(3, *array.shape) for array in dataset.arrays("train")]
    for step in range(1, 20):
        losses_K = made.network.losses(*everything).detach()
        made.advance(0.0)
        torch.testing.assert_close(made.records["train_loss"][step], losses_K)
    assert made.records["train_loss"][:, 0].diff().max() < 0, "no noise: a small LR always descends"


def test_a_text_sampled_by_epochs_and_whole(text: Text) -> None:
    windows = (len(text.splits["train"]) - 8) // 8
    made = Pack(lanes(GPT, sampling="epochs", batch_size=1000, steps=30), text)
    stream = drawn(made, 0, 30)
    starts = set()
    for epoch in range(3):
        positions = np.sort(stream[epoch * windows : (epoch + 1) * windows])
        assert (np.diff(positions) == 8).all(), "side by side"
        starts.add(int(positions[0]))
    assert len(starts) > 1
    assert max(starts) < 8
    whole = Pack([lane(GPT, sampling="full", batch_size=windows, micro_batches=1, steps=2)], text)
    assert sorted(whole._draws.flatten().tolist()) == list(range(0, 8 * windows, 8))


@pytest.mark.parametrize(
    ("micro_batches", "training"),
    [
        (2, {"optimizer": "sgd"}),
        (3, {"optimizer": "adamw", "clip_norm": 0.5}),
        (2, {"dropout": 0.3}),
        (2, {"precision": "bf16"}),
        (3, {"precision": "fp16", "loss_scaling": "static", "loss_scale": 2.0**6}),
        (2, {"precision": "fp16", "loss_scaling": "dynamic", "loss_scale": 2.0**30}),
    ],
)
def test_micro_batches_make_the_whole_batchs_step(micro_batches: int, training: dict[str, Any], text: Text) -> None:
    """Each of 20 steps from equal states, half of them probed, by the rounding that is stated in agreement.py."""
    looks = MEASUREMENT | {"probes": 10, "underflow": True}
    whole, parts = (Pack(lanes(GPT, measurement=looks, micro_batches=count, **training), text) for count in (1, micro_batches))
    assert_parts_agree(whole, [(parts, range(3))])
    assert float(whole.network.flat_KP.diff(dim=0).abs().max()) > 0


def test_a_step_holds_one_micro_batch_at_a_time(text: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    """Probed steps too, whose half batch is three quarters of two micro-batches here."""
    sizes: list[int] = []
    genuine = PackedNetwork.losses

    def watched(self: PackedNetwork, inputs: Tensor, targets: Tensor, *rest: Any, **more: Any) -> Tensor:
        if torch.is_grad_enabled():
            sizes.append(targets.shape[1])
        return genuine(self, inputs, targets, *rest, **more)

    monkeypatch.setattr(PackedNetwork, "losses", watched)
    made = Pack([lane(GPT, batch_size=12, micro_batches=3, steps=4)], text)
    made.advance()
    probed, plain = [4, 4, 4, 4, 2], [4, 4, 4]
    assert made.probe_steps == [0, 1, 3]
    assert sizes == probed + probed + plain + probed


def test_micro_batches_of_an_own_module_draw_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal masks in all parts of a batch would be a dropout of fewer examples."""
    uses: list[str] = []
    genuine = own_network.key
    monkeypatch.setattr(own_network, "key", lambda seed, use: uses.append(use) or genuine(seed, use))
    made = contract.pack(lane(contract.own("dropout"), micro_batches=3, steps=8))
    made.advance(0.0)
    uses.clear()
    made.network.step = 5
    made._plain_step()
    assert uses == ["forward:5", "forward:5:1", "forward:5:2"]
    made.network.evaluate(*made._sample("test", 4))
    assert uses[3:] == ["forward:5"]
