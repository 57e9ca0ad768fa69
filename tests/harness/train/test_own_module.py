"""A user's module in the engine: what is planned, measured and refused; how it trains is in test_own_kinds.py."""

from typing import Any

import numpy as np
import pytest
import torch

from folklore.harness.declare import Workload
from folklore.harness.errors import UserError
from folklore.harness.plan.lanes import Choice, Packing, Shape
from folklore.harness.plan.store.store import Store
from folklore.harness.train.hessian import sharpness
from folklore.harness.train.machine.description import Device
from folklore.harness.train.pack import Pack
from folklore.harness.train.parts import require_model
from folklore.harness.train.workloads import workload_of
from folklore.harness.train.workloads.data import load
from folklore.models import Model
from folklore.studies.metrics.mup_transfer import mean_activation_slope
from tests.harness.train import contract, own_workloads
from tests.harness.train.contract import own


def pack(name: str, *seeds: int) -> Pack:
    return contract.pack(*(contract.lane(own(name), seed) for seed in seeds))


def test_it_is_proved_once_a_process() -> None:
    workload = workload_of(own("perceptron"))
    first = workload.model(None)  # type: ignore[arg-type]
    assert workload.model(None, "cpu") is workload.model(None, precision="fp32") is first  # type: ignore[arg-type]


def test_probes_see_layers_and_no_activations() -> None:
    (result,) = contract.trained(contract.lane(own("perceptron"))).results()
    assert result.layers == ("0", "2")
    assert result.taps == ()
    probed = len(result.curves["probe_step"])
    for name in ("gradient_norm", "gradient_variance", "update_ratio", "weight_norm", "median_update_ratio"):
        assert np.isfinite(result.curves[f"probe_{name}"]).all(), name
    assert np.shape(result.layer_curves["probe_layer_gradient_norm"]) == (probed, 2)
    assert result.layer_curves["probe_layer_activation"] == [[]] * probed


def test_a_claim_about_activations_is_out_of_regime() -> None:
    from types import SimpleNamespace

    from folklore.harness.declare.trials import NotEstimableError

    empty = np.empty(1, dtype=object)
    empty[0] = [[], []]
    table = SimpleNamespace(
        only_factor=lambda arm: "peak_lr",
        arm_name=lambda arm: f"'{arm}'",
        values=lambda *names: (empty,),
        study=SimpleNamespace(arms={}),
        scale="laptop",
    )
    observable = mean_activation_slope(points=((8.0, "a"), (16.0, "b"), (32.0, "c")))
    table.study.arms_at = lambda scale: ["a", "b", "c"]
    with pytest.raises(NotEstimableError, match="shows no activations"):
        observable.estimate(table, np.ones((1, 1)))  # type: ignore[arg-type]


def test_the_plan_packs_what_can_be_packed(tmp_path: object) -> None:
    def model(workload: Workload) -> Model:
        return workload_of(workload).model(load(workload.dataset).facts)

    packing = Packing(Store(str(tmp_path)), Device("cpu", "c", 2, 8 << 30), model, given=8)

    def choice(name: str) -> Choice:
        chosen = contract.lane(own(name)).configuration
        shape = Shape(chosen, chosen.workload.dataset, 20, 40, 1 << 30)
        assert packing.worth_measuring({"x": shape}) == {}
        return packing.choices({"x": shape})["x"]

    assert choice("perceptron") == Choice(8, "eager", "given")
    assert (alone := choice("dropout")).source.startswith("alone: it draws random numbers")
    assert alone.lanes == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"precision": "fp8"},
            "precision fp8: an own workload trains in bf16, bf16_weights, bf16_weights_stochastic, fp16, fp32, tf32",
        ),
        ({"augmentation": "shift", "shift_pixels": 1}, "in the __getitem__ of its own Dataset"),
    ],
)
def test_what_an_own_module_does_not_have_is_refused(fields: dict[str, object], message: str) -> None:
    plain = contract.lane(own("perceptron")).configuration
    workload = workload_of(plain.workload)
    workload.require_trainable(plain)
    with pytest.raises(UserError, match=message):
        workload.require_trainable(plain.model_copy(update={"training": plain.training.model_copy(update=fields)}))


def test_an_optimizer_that_samples_from_a_softmax_is_refused() -> None:
    workload = own("perceptron")
    asked = contract.lane(workload, optimizer="sophia").configuration
    with pytest.raises(UserError, match="an own workload has a loss of its own; choose another optimizer, such as adamw"):
        require_model(asked, workload_of(workload).model(None))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["perceptron", "batch_norm", "dropout"])
def test_the_largest_eigenvalue_of_its_hessian(name: str) -> None:
    """Against the whole Hessian of the module itself in eval mode; state and random draws are as without the measurement."""
    seeds = [1, 3] if name == "perceptron" else [3]
    looked_at, plain = pack(name, *seeds).network, pack(name, *seeds)
    workload = getattr(own_workloads, name)
    inputs, targets = (array[:20] for array in workload.training)
    eigenvalues = sharpness(looked_at, torch.arange(20), torch.arange(20), seeds).value
    for lane, seed in enumerate(seeds):
        module = workload.made(seed).eval()
        named = {parameter: value.detach() for parameter, value in module.named_parameters()}
        sizes = [value.numel() for value in named.values()]

        def loss(flat: torch.Tensor, module: Any = module, named: Any = named, sizes: Any = sizes) -> torch.Tensor:
            pieces = zip(named, torch.split(flat, sizes), strict=True)
            values = {name: piece.view(named[name].shape) for name, piece in pieces}
            return workload.loss(torch.func.functional_call(module, values, (inputs,)), targets).mean()  # type: ignore[no-any-return]

        flat = torch.cat([value.flatten() for value in named.values()])
        whole = torch.autograd.functional.hessian(loss, flat)  # type: ignore[no-untyped-call]
        assert float(eigenvalues[lane]) == pytest.approx(float(torch.linalg.eigvalsh(whole.double())[-1]), rel=1e-3)
    for buffer, value in plain.network.buffers.items():
        assert torch.equal(looked_at.buffers[buffer], value)


def test_a_module_without_second_derivatives_is_refused() -> None:
    class Once(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        @staticmethod
        def backward(context: Any, *gradients: torch.Tensor) -> torch.Tensor:
            raise NotImplementedError("derivative is not implemented")

    made = pack("perceptron", 1)
    right = made.network.losses
    made.network.losses = lambda *arguments, **named: Once.apply(right(*arguments, **named))  # type: ignore[method-assign]
    with pytest.raises(UserError, match="measurement sharpness: derivative is not implemented; a module has to be"):
        sharpness(made.network, torch.arange(5), torch.arange(5), [1])
