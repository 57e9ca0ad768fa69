"""Parameters that learn at a multiple of the LR: as parameter groups of torch.optim, and as lanes whose whole LR is that."""

from functools import partial

import pytest
import torch

from folklore.harness.declare import Training, Workload
from folklore.harness.declare.configuration import OPTIMIZERS
from folklore.harness.plan import cost
from folklore.harness.plan.recipe import trial_recipe
from folklore.harness.train.learner import lr_multipliers
from folklore.harness.train.pack import Pack
from folklore.harness.train.workloads import data, workload_of
from tests.harness.train import contract

GPT = Workload(model="gpt", width=16, depth=1, heads=2, context=16)
MLP = Workload(model="mlp", dataset="digits", width=12, depth=3)
STEPS = 40
lane = partial(contract.lane, seed=3, steps=STEPS, batch_size=4)
# As of optimizers alone (test_optimizers.py): rounding of an update and a weight in each of the steps.
TOLERANCE = 2e-5


def gradients(pack: Pack) -> torch.Tensor:
    """Gradients whose sizes differ by entry, the same for all lanes and independent of weights, [steps, 1, P]."""
    generator = torch.Generator().manual_seed(5)
    size = pack.network.flat_KP.shape[1]
    return torch.randn(STEPS, 1, size, generator=generator) * 10 ** torch.randn(size, generator=generator)


def learned(pack: Pack) -> dict[str, torch.Tensor]:
    """Name -> weights of each lane after updates by `gradients`."""
    for gradient in gradients(pack):
        pack.learner.learn(gradient.expand(len(pack.lanes), -1).clone())
    return {name: view.detach() for name, view in pack.network.views.items()}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_scaled_parameter_learns_as_in_a_lane_of_that_lr_and_the_others_as_in_a_plain_one(optimizer: str) -> None:
    """Bit by bit, in one pack of lanes that differ: the factor is a power of two."""
    lr = {"optimizer": optimizer, "peak_lr": 2.0**-7}
    chosen = [
        lane(MLP, **lr),
        lane(MLP, **lr, scaled_parameter="hidden.*", scaled_lr=0.125),
        lane(MLP, **{**lr, "peak_lr": 2.0**-10}),
        lane(MLP, **lr, scaled_parameter="readout.weight", scaled_lr=0.125),
    ]
    start = contract.pack(*chosen).network.views
    weights = learned(contract.pack(*chosen))
    for name, values in weights.items():
        plain, hidden, slow, readout = values
        assert torch.equal(hidden, slow if name.startswith("hidden.") else plain), name
        assert torch.equal(readout, slow if name == "readout.weight" else plain), name
        assert not torch.equal(plain, slow), name
        assert not torch.equal(plain, start[name][0]), name


def test_independent_decay_follows_neither_the_lr_nor_mups_multiplier() -> None:
    """AdamW's step from a gradient of zero is its decay alone."""
    workload = GPT.model_copy(update={"parametrization": "mup", "base_width": 4})
    fields = {"optimizer": "adamw", "schedule": "constant", "warmup_fraction": 0.0, "weight_decay": 0.25}
    rates = ({"peak_lr": 2.0**-7}, {"peak_lr": 2.0**-5}, {"peak_lr": 2.0**-7})
    lanes = [
        lane(workload, **fields, **rate, independent_decay=own) for rate, own in zip(rates, (True, True, False), strict=True)
    ]
    pack = contract.pack(*lanes)
    before = {name: view.detach().clone() for name, view in pack.network.views.items()}
    pack.learner.learn(torch.zeros_like(pack.network.flat_KP))
    for parameter in pack.network.model.parameters:
        start, end = before[parameter.name], pack.network.views[parameter.name].detach()
        taken = 0.25 * (len(parameter.shape) >= 2)
        assert torch.allclose(end[:2], start[:2] * (1 - taken), atol=1e-7), parameter.name
        of_lr = taken * 2.0**-7 * (4 / workload.width if parameter.growing_sides == 2 else 1)
        assert torch.allclose(end[2], start[2] * (1 - of_lr), atol=1e-7), parameter.name


def test_it_goes_on_top_of_mups_multiplier() -> None:
    workload = GPT.model_copy(update={"parametrization": "mup", "base_width": 4})
    model = workload_of(workload).model(data.DataFacts("x", 50))
    plain = lr_multipliers(workload, Training(), model)
    scaled = lr_multipliers(workload, Training(scaled_parameter="blocks.0.mlp.*.weight", scaled_lr=0.01), model)
    ratios = {p.name: new / old for p, new, old in zip(model.parameters, scaled, plain, strict=True)}
    assert {name for name, ratio in ratios.items() if ratio != 1.0} == {"blocks.0.mlp.up.weight", "blocks.0.mlp.down.weight"}
    assert ratios["blocks.0.mlp.up.weight"] == pytest.approx(0.01)


def test_it_is_told_and_counted() -> None:
    plain, scaled = (
        lane(MLP, **training).configuration for training in ({}, {"scaled_parameter": "hidden.1.weight", "scaled_lr": 0.01})
    )
    assert trial_recipe(scaled)["optimizer"] == trial_recipe(plain)["optimizer"] + ", the LR of hidden.1.weight times 0.01"
    assert plain.pack_key == scaled.pack_key, "they share a pack"
    model = workload_of(MLP).model(data.load("digits").facts)
    assert cost.lane_bytes(scaled, model) > cost.lane_bytes(plain, model)
