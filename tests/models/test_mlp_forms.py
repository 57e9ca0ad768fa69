"""Norms, residual streams and gains of MLPs against torch.nn with the same weights: outputs and gradients."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from folklore.harness.spec import Training, Workload
from folklore.harness.training.suitability import lr_multipliers
from folklore.harness.workloads.architectures import architecture_named
from folklore.harness.workloads.data import load
from folklore.harness.workloads.network import PackedNetwork

DIGITS = load("digits")
LANES, BATCH, WIDTH, DEPTH, CLASSES = 2, 5, 8, 4, 10
ACTIVATIONS = {"relu": nn.ReLU(), "tanh": nn.Tanh()}


class PlainMLP(nn.Module):
    """Written out case by case."""

    def __init__(self, named: dict[str, Tensor], activation: str, norm: bool, residual: bool) -> None:
        super().__init__()
        self.activation, self.residual = ACTIVATIONS[activation], residual
        self.hidden = nn.ModuleList(nn.Linear(64 if i == 0 else WIDTH, WIDTH) for i in range(DEPTH))
        self.norm = nn.ModuleList(nn.LayerNorm(WIDTH) if norm else nn.Identity() for _ in range(DEPTH))
        self.readout = nn.Linear(WIDTH, CLASSES)
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                ours = named[name.replace("weight", "gain") if name.startswith("norm") else name]
                parameter.copy_(ours.T if ours.dim() == 2 else ours)

    def forward(self, x: Tensor) -> Tensor:
        if not self.residual:
            for linear, norm in zip(self.hidden, self.norm, strict=True):
                x = self.activation(norm(linear(x)))
            return self.readout(x)
        stream = self.hidden[0](x)
        for index in range(1, DEPTH):
            stream = stream + self.hidden[index](self.activation(self.norm[index - 1](stream)))
        return self.readout(self.activation(self.norm[-1](stream)))


def mlp(**fields: Any) -> PackedNetwork:
    workload = Workload(**{"model": "mlp", "dataset": "digits", "width": WIDTH, "depth": DEPTH, **fields})
    return PackedNetwork(workload, DIGITS.facts, range(LANES), torch.device("cpu"), "fp32")


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("norm", ["none", "layer"])
@pytest.mark.parametrize("residual", [False, True])
def test_an_mlp_is_that_of_torch(norm: str, residual: bool, activation: str) -> None:
    network = mlp(norm=norm, residual=residual, activation=activation)
    generator = torch.Generator().manual_seed(1)
    network.flat_KP += 0.3 * torch.randn(network.flat_KP.shape, generator=generator)  # gains and biases that matter
    inputs = torch.randn(LANES, BATCH, *DIGITS.facts.features, generator=generator)
    targets = torch.randint(0, CLASSES, (LANES, BATCH), generator=generator)
    losses, gradient = network.gradient(inputs, targets)
    for lane in range(LANES):
        named = {name: view[lane].detach() for name, view in network.views.items()}
        plain = PlainMLP(named, activation, norm == "layer", residual)
        loss = nn.functional.cross_entropy(plain(inputs[lane].flatten(1)), targets[lane])
        loss.backward()
        assert float(losses[lane]) == pytest.approx(float(loss), rel=1e-5)
        ours = {name: view[lane] for name, view in network.views_of(gradient).items()}
        for name, parameter in plain.named_parameters():
            found = ours[name.replace("weight", "gain") if name.startswith("norm") else name]
            assert torch.allclose(found.T if found.dim() == 2 else found, parameter.grad, atol=1e-5), name
    assert set(ours) == {n.replace("weight", "gain") if n.startswith("norm") else n for n, _ in plain.named_parameters()}


@pytest.mark.parametrize("residual", [False, True])
def test_every_activation_is_shown_once_and_recomputing_changes_nothing(residual: bool) -> None:
    network = mlp(norm="layer", residual=residual)
    inputs, targets = torch.randn(LANES, BATCH, 8, 8), torch.zeros(LANES, BATCH, dtype=torch.long)
    shown: list[str] = []
    network.losses(inputs, targets, lambda name, x: shown.append(f"{name} {tuple(x.shape)}"))
    of = f"({LANES}, {BATCH}, "
    assert shown == [*(f"hidden.{index} {of}{WIDTH})" for index in range(DEPTH)), f"logits {of}{CLASSES})"]
    kept = network.gradient(inputs, targets)[1]
    network.segments = 2
    assert torch.equal(network.gradient(inputs, targets)[1], kept)


def test_weights_start_with_the_gain_that_is_asked_for() -> None:
    wide: dict[str, Any] = {"width": 256, "activation": "tanh"}
    for gain in (0.5, None):
        weight = mlp(**wide, init_gain=gain).views["hidden.1.weight"].detach()
        expected = (nn.init.calculate_gain("tanh") if gain is None else gain) / 16
        assert float(weight.std()) == pytest.approx(expected, rel=0.02)


def test_a_residual_stream_does_not_grow_with_the_depth() -> None:
    """Its variance at the end over that after the first matrix: each matrix adds as much over how many add."""
    for depth in (4, 32):
        network = mlp(width=256, depth=depth, norm="layer", residual=True, activation="relu")
        first, rest = (
            torch.cat([network.views[f"hidden.{index}.weight"].detach().flatten(1) for index in places], dim=1).var() * fan_in
            for places, fan_in in (([0], 64), (range(1, depth), 256))
        )
        assert float(first) == pytest.approx(2.0, rel=0.03)
        assert float(rest) * (depth - 1) == pytest.approx(2.0, rel=0.03)


def test_hidden_parameters_are_all_but_those_of_input_and_output() -> None:
    for norm in ("none", "layer"):
        network = mlp(norm=norm)
        ends = 64 * WIDTH + WIDTH + WIDTH * CLASSES + CLASSES
        workload = Workload(model="mlp", dataset="digits", width=WIDTH, depth=DEPTH, norm=norm)
        assert architecture_named("mlp").hidden_parameters(workload) == sum(network.sizes) - ends


@pytest.mark.parametrize("fields", [{"norm": "layer"}, {"residual": True}, {"init_gain": 1.5}])
def test_other_models_have_none_of_it(fields: dict[str, Any]) -> None:
    (name, value), *_ = fields.items()
    with pytest.raises(ValueError, match=f"{name} = {value}: is of an mlp, and model = gpt; leave it out"):
        Workload(model="gpt", **fields)
    with pytest.raises(ValueError, match="norm_placement = post: is of a gpt, and model = mlp; leave it out"):
        Workload(model="mlp", norm_placement="post")


def test_mup_knows_norms_and_residuals() -> None:
    """Hidden matrices, and nothing else, learn at an LR over the width under Adam; at the base width nothing changes."""
    fields: dict[str, Any] = {"model": "mlp", "dataset": "digits", "depth": 3, "norm": "layer", "residual": True}
    workload = Workload(**fields, width=32, base_width=8, parametrization="mup")
    network = PackedNetwork(workload, DIGITS.facts, [0], torch.device("cpu"), "fp32")
    found = lr_multipliers(workload, Training(optimizer="adamw"), network.model)
    names = [p.name for p in network.model.parameters]
    assert {n for n, m in zip(names, found, strict=True) if m != 1} == {"hidden.1.weight", "hidden.2.weight"}
    base = {"width": 8, "base_width": 8}
    starts = [
        PackedNetwork(Workload(**fields, **base, parametrization=each), DIGITS.facts, [0], torch.device("cpu"), "fp32").flat_KP
        for each in ("standard", "mup")
    ]
    assert torch.equal(*starts)
