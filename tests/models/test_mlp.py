import math

import pytest
import torch
from torch import nn

from folklore.harness.spec import Workload
from folklore.harness.workloads.data import load
from folklore.harness.workloads.network import PackedNetwork
from folklore.models.layers import View

DIGITS = load("digits")
ACTIVATIONS = {"relu": nn.ReLU(), "gelu": nn.GELU(), "tanh": nn.Tanh(), "sigmoid": nn.Sigmoid()}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_mlp_is_that_of_torch(name: str) -> None:
    workload = Workload(model="mlp", dataset="digits", width=8, depth=3, activation=name)
    network = PackedNetwork(workload, DIGITS.facts, [0, 1], torch.device("cpu"), "fp32")
    inputs = torch.randn(2, 5, *DIGITS.facts.features)
    for lane in range(2):
        layers: list[nn.Module] = [nn.Flatten()]
        named = {each: view[lane].detach() for each, view in network.views.items()}
        for layer in ("hidden.0", "hidden.1", "hidden.2", "readout"):
            weight, bias = named[f"{layer}.weight"], named[f"{layer}.bias"]
            linear = nn.Linear(*weight.shape)
            linear.weight.data, linear.bias.data = weight.T, bias.flatten()
            layers += [linear, ACTIVATIONS[name]]
        expected = nn.Sequential(*layers[:-1])(inputs[lane])
        logits = network.model(View(network.views, network.product), inputs)
        assert torch.allclose(logits[lane], expected, atol=1e-5)


@pytest.mark.parametrize("name", ["tanh", "sigmoid"])
def test_hidden_weights_start_with_the_gain_of_their_activation(name: str) -> None:
    workload = Workload(model="mlp", dataset="digits", width=256, depth=2, activation=name)
    network = PackedNetwork(workload, DIGITS.facts, [0], torch.device("cpu"), "fp32")
    expected = nn.init.calculate_gain(name) / math.sqrt(256)
    assert float(network.views["hidden.1.weight"].detach().std()) == pytest.approx(expected, rel=0.02)


def test_other_models_have_no_activation_to_choose() -> None:
    with pytest.raises(ValueError, match="activation = tanh: is of an mlp, and model = gpt; leave it out"):
        Workload(model="gpt", activation="tanh")
