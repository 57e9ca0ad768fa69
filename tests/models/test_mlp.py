"""MLPs, their activations, norms, residual streams and gains, against torch.nn with the same weights: outputs and gradients."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from folklore.harness.declare import Training, Workload
from folklore.harness.train.learner import lr_multipliers
from folklore.harness.train.workloads import workload_of
from folklore.harness.train.workloads.architectures import architecture_named
from folklore.harness.train.workloads.data import load
from folklore.harness.train.workloads.network import PackedNetwork

DIGITS = load("digits")
LANES, BATCH, WIDTH, DEPTH, CLASSES = 2, 5, 8, 4, 10
ACTIVATIONS = {"relu": nn.ReLU(), "gelu": nn.GELU(), "tanh": nn.Tanh(), "sigmoid": nn.Sigmoid()}


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
                ours = named[in_ours(name)]
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


def in_ours(name: str) -> str:
    return name.replace("weight", "gain") if name.startswith("norm") else name


def mlp(lanes: int = LANES, **fields: Any) -> PackedNetwork:
    workload = Workload(**{"model": "mlp", "dataset": "digits", "width": WIDTH, "depth": DEPTH, **fields})
    return workload_of(workload).network(DIGITS.facts, range(lanes), torch.device("cpu"), "fp32")


# Each pair of an activation, a norm and a residual stream, but for two activations.
FORMS = [
    ("relu", "none", False), ("relu", "layer", True), ("gelu", "layer", False), ("gelu", "none", True),
    ("tanh", "none", False), ("tanh", "layer", True), ("sigmoid", "layer", False), ("sigmoid", "none", True),
]  # fmt: skip


@pytest.mark.parametrize(("activation", "norm", "residual"), FORMS)
def test_an_mlp_is_that_of_torch(activation: str, norm: str, residual: bool) -> None:
    network = mlp(norm=norm, residual=residual, activation=activation)
    generator = torch.Generator().manual_seed(1)
    network.flat_KP += 0.3 * torch.randn(network.flat_KP.shape, generator=generator)  # gains and biases that matter
    inputs = torch.randn(LANES, BATCH, *DIGITS.facts.features, generator=generator)
    targets = torch.randint(0, CLASSES, (LANES, BATCH), generator=generator)
    losses, gradient = network.gradient(inputs, targets)
    for lane in range(LANES):
        plain = PlainMLP(
            {name: view[lane].detach() for name, view in network.views.items()}, activation, norm == "layer", residual
        )
        loss = nn.functional.cross_entropy(plain(inputs[lane].flatten(1)), targets[lane])
        loss.backward()
        assert float(losses[lane]) == pytest.approx(float(loss), rel=1e-5)
        ours = {name: view[lane] for name, view in network.views_of(gradient).items()}
        assert set(ours) == {in_ours(name) for name, _ in plain.named_parameters()}
        for name, parameter in plain.named_parameters():
            packed_gradient = ours[in_ours(name)]
            assert torch.allclose(
                packed_gradient.T if packed_gradient.dim() == 2 else packed_gradient, parameter.grad, atol=1e-5
            ), name


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


@pytest.mark.parametrize(
    ("activation", "gain"), [("tanh", None), ("tanh", 0.5), ("sigmoid", None), ("relu", None), ("relu", 1.5)]
)
def test_weights_start_with_the_gain_of_their_activation_or_the_one_that_is_asked_for(
    activation: str, gain: float | None
) -> None:
    wide = {"width": 256, "depth": 2, "activation": activation}
    scaled, usual = mlp(1, **wide, init_gain=gain), mlp(1, **wide)
    expected = (nn.init.calculate_gain(activation) if gain is None else gain) / 16
    assert float(scaled.views["hidden.1.weight"].detach().std()) == pytest.approx(expected, rel=0.02)
    assert torch.equal(scaled.views["readout.weight"], usual.views["readout.weight"])


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


@pytest.mark.parametrize("norm", ["none", "layer"])
def test_hidden_parameters_are_all_but_those_of_input_and_output(norm: str) -> None:
    ends = 64 * WIDTH + WIDTH + WIDTH * CLASSES + CLASSES
    workload = Workload(model="mlp", dataset="digits", width=WIDTH, depth=DEPTH, norm=norm)
    assert architecture_named("mlp").hidden_parameters(workload) == sum(mlp(norm=norm).sizes) - ends


@pytest.mark.parametrize(
    ("model", "fields", "of"),
    [
        ("gpt", {"activation": "tanh"}, "mlp"),
        ("gpt", {"norm": "layer"}, "mlp"),
        ("gpt", {"residual": True}, "mlp"),
        ("gpt", {"init_gain": 1.5}, "mlp"),
        ("cnn", {"init_gain": 0.5, "dataset": "digits"}, "mlp"),
        ("mlp", {"norm_placement": "post"}, "gpt"),
    ],
)
def test_other_models_have_none_of_it(model: str, fields: dict[str, Any], of: str) -> None:
    (name, value), *_ = fields.items()
    with pytest.raises(ValueError, match=f"{name} = {value}: is of {of}, and model = {model}; leave it out"):
        Workload(model=model, **fields)


def test_mup_knows_norms_and_residuals() -> None:
    """Hidden matrices, and nothing else, learn at an LR over the width under Adam; at the base width nothing changes."""
    fields: dict[str, Any] = {"model": "mlp", "dataset": "digits", "depth": 3, "norm": "layer", "residual": True}
    workload = Workload(**fields, width=32, base_width=8, parametrization="mup")
    network = mlp(1, **workload.model_dump())
    multipliers = lr_multipliers(workload, Training(optimizer="adamw"), network.model)
    names = [p.name for p in network.model.parameters]
    assert {n for n, m in zip(names, multipliers, strict=True) if m != 1} == {"hidden.1.weight", "hidden.2.weight"}
    at_base = (mlp(1, **fields, width=8, base_width=8, parametrization=rule).flat_KP for rule in ("standard", "mup"))
    assert torch.equal(*at_base)
