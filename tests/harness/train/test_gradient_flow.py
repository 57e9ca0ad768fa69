"""Gradients of fixed examples matrix by matrix, and dead units, against plain torch and by planted ones."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from folklore.harness.declare import Workload
from folklore.harness.train.pack import Lane, Pack
from folklore.harness.train.workloads.data import load
from folklore.harness.train.workloads.data.text import Text
from tests.harness.train import contract
from tests.harness.train.contract import trained
from tests.harness.train.single_steps import relu_mlp, weights_of

DIGITS = load("digits")
ALL, DEPTH, WIDTH, STEPS = 1079, 4, 16, 20


def lane(seed: int = 0, workload: dict[str, Any] | None = None, examples: int = ALL, **training: Any) -> Lane:
    fields = {"optimizer": "sgd", "weight_decay": 0.0, "steps": STEPS, "batch_size": 8, "peak_lr": 0.05, **training}
    looks = {"probes": 4, "final_examples": 359, "gradient_flow": True, "dead_units": not workload, "flow_examples": examples}
    shape = {"model": "mlp", "dataset": "digits", "width": WIDTH, "depth": DEPTH, **(workload or {})}
    return contract.lane(Workload.model_validate(shape), seed, measurement=looks, **fields)


def training_set() -> tuple[Tensor, Tensor]:
    inputs, targets = DIGITS.arrays("train")
    return inputs.flatten(1).double(), targets.long()


def plain_gradients(pack: Pack, which: int) -> dict[str, np.ndarray]:
    """Gradients of one lane's current weights, with ReLUs, over all training digits, in FP64."""
    weights = {name: weight.detach().double().requires_grad_() for name, weight in weights_of(pack, which).items()}
    inputs, targets = training_set()
    torch.nn.functional.cross_entropy(relu_mlp(weights, inputs), targets).backward()
    return {name: weight.grad.numpy() for name, weight in weights.items()}


def test_norms_are_those_of_plain_torch() -> None:
    """At the first step, whose weights are those of the start."""
    pack = Pack([lane(0), lane(1)], DIGITS)
    expected = [plain_gradients(pack, which) for which in range(2)]
    pack.advance()
    for result, gradients in zip(pack.results(), expected, strict=True):
        curves = {name.removeprefix("probe_flow_"): values[0] for name, values in result.curves.items()}
        norms = {name: np.linalg.norm(gradient) for name, gradient in gradients.items() if gradient.ndim == 2}
        sizes = {name: np.sqrt(np.mean(np.square(gradient))) for name, gradient in gradients.items() if gradient.ndim == 2}
        hidden = [norms[f"hidden.{index}.weight"] for index in range(1, DEPTH)]
        assert curves["norm"] == pytest.approx(np.sqrt(sum((gradient**2).sum() for gradient in gradients.values())), rel=1e-4)
        assert (curves["least"], curves["most"]) == pytest.approx((min(norms.values()), max(norms.values())), rel=1e-4)
        assert (curves["hidden_least"], curves["hidden_most"]) == pytest.approx((min(hidden), max(hidden)), rel=1e-4)
        assert (curves["rms_least"], curves["rms_most"]) == pytest.approx((min(sizes.values()), max(sizes.values())), rel=1e-4)
        assert curves["first"] == pytest.approx(sizes["hidden.0.weight"], rel=1e-4)
        assert curves["last"] == pytest.approx(sizes[f"hidden.{DEPTH - 1}.weight"], rel=1e-4)


def test_updates_and_movement_by_hand() -> None:
    pack = Pack([lane(3)], DIGITS)
    names = ("hidden.0.weight", f"hidden.{DEPTH - 1}.weight")

    def weights() -> list[Tensor]:
        return [pack.network.views[name][0].detach().clone() for name in names]

    start = weights()
    while not pack.done:
        before = weights()
        pack.advance(0)
    for end, name in enumerate(("first", "last")):
        now, curves = weights()[end], pack.results()[0].curves
        assert curves[f"probe_flow_{name}_update"][-1] == pytest.approx(
            float((now - before[end]).norm() / before[end].norm()), rel=1e-4
        )
        assert curves[f"probe_flow_{name}_moved"][-1] == pytest.approx(
            float((now - start[end]).norm() / start[end].norm()), rel=1e-4
        )


def test_gradients_that_vanish_have_norms_all_the_same() -> None:
    """The squares of numbers below 1e-23 are no FP32 numbers: thirty layers of sigmoids."""
    pack = trained(lane(0, {"activation": "sigmoid", "depth": 32}, steps=2))
    curves = pack.results()[0].curves
    assert 0 < curves["probe_flow_first"][0] < 1e-15 * curves["probe_flow_last"][0]


def test_examples_in_parts_are_the_same_examples(text: Text) -> None:
    """200 sequences of 32 tokens are passed in two parts."""
    gpt = {"model": "gpt", "dataset": "python-docs", "width": 8, "depth": 1, "heads": 2, "context": 32}
    pack = Pack([lane(0, gpt, examples=200)], text)
    inputs, targets = pack.procedure.training_sample(200)
    _, gradient = pack.network.gradient(inputs[None], targets[None])
    pack.advance()
    assert pack.results()[0].curves["probe_flow_norm"][0] == pytest.approx(float(gradient.norm()), rel=1e-4)


def planted(pack: Pack) -> None:
    """In lane 0: units 2 and 5 of the first layer never fire on features that are at least 0, unit 7 of the last is dead by its
    bias. The first layer's unit 9 fires on nothing but what its weight sees."""
    with torch.no_grad():
        views = pack.network.views
        for unit in (2, 5):
            views["hidden.0.weight"][0, :, unit] = -1.0
            views["hidden.0.bias"][0, ..., unit] = -20.0
        views[f"hidden.{DEPTH - 1}.bias"][0, ..., 7] = -1e4


def dead_by_hand(pack: Pack, inputs: Tensor) -> np.ndarray:
    """[layers, units] of lane 0."""
    x, dead = inputs, []
    for index in range(DEPTH):
        weight, bias = (pack.network.views[f"hidden.{index}.{part}"][0].detach().double() for part in ("weight", "bias"))
        x = torch.relu(x @ weight + bias)
        dead.append((x == 0).all(dim=0).numpy())
    return np.stack(dead)


def test_planted_dead_units_are_found_and_have_no_gradient() -> None:
    pack = Pack([lane(0), lane(1)], DIGITS)
    planted(pack)
    expected = dead_by_hand(pack, training_set()[0])
    assert expected[0, [2, 5]].all()
    assert expected[-1, 7]
    assert expected.mean() < 0.5
    gradients = plain_gradients(pack, 0)
    largest = np.stack(
        [
            np.maximum(np.abs(gradients[f"hidden.{i}.weight"]).max(axis=0), np.abs(gradients[f"hidden.{i}.bias"]).ravel())
            for i in range(DEPTH)
        ]
    )
    pack.advance()
    curves = pack.results()[0].curves
    assert curves["probe_dead_units"][0] == pytest.approx(expected.mean())
    assert curves["probe_dead_units_first"][0] == pytest.approx(expected[0].mean())
    assert curves["probe_dead_gradient"][0] == 0.0 == largest[expected].max()
    assert curves["probe_living_gradient"][0] == pytest.approx(largest[~expected].max(), rel=1e-4)


def test_a_unit_that_fires_on_one_example_is_not_dead() -> None:
    """On the digit that lies farthest out in a direction, by a threshold between it and the next."""
    inputs, _ = training_set()
    direction = inputs[17] / inputs[17].norm()
    farthest, second = (inputs @ direction).topk(2).values.tolist()
    shares = []
    for threshold in ((farthest + second) / 2, farthest + 1):
        pack = Pack([lane(0)], DIGITS)
        with torch.no_grad():
            pack.network.views["hidden.0.weight"][0, :, 4] = direction.float()
            pack.network.views["hidden.0.bias"][0, ..., 4] = -threshold
        pack.advance(0)
        shares.append(float(pack.records["probe_dead_units_first"][0, 0]))
    assert shares[1] - shares[0] == pytest.approx(1 / WIDTH)


def test_revived_and_woken_units_by_hand() -> None:
    """Units that are dead half-way, and two of them brought back; of those that are dead at the end, the held-out examples'."""
    pack = Pack([lane(0)], DIGITS)
    planted(pack)
    while pack.step < STEPS // 2:
        pack.advance(0)
    inputs, _ = training_set()
    halfway = dead_by_hand(pack, inputs)
    assert halfway[0, [2, 5]].all()
    with torch.no_grad():
        pack.network.views["hidden.0.bias"][0, ..., 2] = 100.0
    while pack.step < STEPS - 1:
        pack.advance(0)
    now = dead_by_hand(pack, inputs)
    held_out = torch.cat([DIGITS.arrays(split)[0].flatten(1).double() for split in ("validation", "test")])
    awake = ~dead_by_hand(pack, held_out)
    pack.advance()
    curves = pack.results()[0].curves
    assert curves["probe_revived_units"][-1] == pytest.approx((halfway & ~now).sum() / halfway.sum())
    assert curves["probe_revived_units_first"][-1] == pytest.approx((halfway & ~now)[0].sum() / halfway[0].sum())
    assert curves["probe_revived_units_deeper"][-1] == pytest.approx((halfway & ~now)[1:].sum() / halfway[1:].sum())
    assert curves["probe_revived_units"][-1] > 0
    assert curves["probe_awake_units"][-1] == pytest.approx((now & awake).sum() / now.sum())
    assert math.isnan(curves["probe_revived_units"][0])


def test_units_that_are_no_numbers_are_not_dead() -> None:
    curves = trained(lane(0, peak_lr=1e18)).results()[0].curves
    assert math.isnan(curves["probe_dead_units"][-1])
    assert not math.isnan(curves["probe_dead_units"][0])
