"""The largest eigenvalue of Hessians against closed forms, brute force, scipy and curvlinops."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor

from folklore import models
from folklore.harness.declare import Workload
from folklore.harness.declare.curves.of_probes import BATCH_SHARPNESS, BATCH_SHARPNESS_POOLED, SHARPNESS, SHARPNESS_RESIDUAL
from folklore.harness.randomness import numpy_generator
from folklore.harness.train import hessian
from folklore.harness.train.hessian import along_gradient, hessian_product, largest_eigenvalue, sharpness
from folklore.harness.train.pack import Pack
from folklore.harness.train.workloads import network as network_of_a_pack
from folklore.harness.train.workloads import workload_of
from folklore.harness.train.workloads.data import Dataset
from folklore.harness.train.workloads.data.examples import digits
from folklore.harness.train.workloads.data.synthetic import quadratic
from folklore.harness.train.workloads.data.text import Text
from folklore.harness.train.workloads.network import PackedNetwork
from tests.harness.train import contract

CPU = torch.device("cpu")
MLP = Workload(model="mlp", dataset="digits", width=4, depth=1)
DEEP = MLP.model_copy(update={"width": 5, "depth": 2})
CNN = Workload(model="cnn", dataset="digits", width=1, depth=1)
GPT = Workload(width=4, depth=1, heads=2, context=4)


def network(workload: Workload, dataset: Dataset, seeds: list[int], precision: str = "fp32") -> PackedNetwork:
    made = workload_of(workload).network(dataset.facts, seeds, CPU, precision)
    # Away from the start, where biases are zero and readouts nearly so.
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        made.flat_KP += 0.3 * torch.randn(made.flat_KP.shape[1], generator=generator)
    return made


def examples(workload: Workload, dataset: Dataset, count: int) -> tuple[Tensor, Tensor]:
    index = torch.from_numpy(dataset.sample_index("train", count, workload.context))
    return dataset.gather(dataset.training_arrays(workload.label_noise), index, workload.context)


def brute_force(made: PackedNetwork, lane: int, inputs: Tensor, targets: Tensor) -> Tensor:
    """The whole Hessian of a lane's loss, [P, P], by torch's own second derivatives in FP64 of the model's forward pass."""

    def loss(flat_P: Tensor) -> Tensor:
        return made.losses(inputs[None], targets[None], views=made.views_of(flat_P[None]))[0]

    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        at_once = not isinstance(made.model, models.CNN)  # of a CNN's products vmap follows no second derivative
        return torch.autograd.functional.hessian(loss, made.flat_KP[lane].clone(), vectorize=at_once)  # type: ignore[no-any-return,no-untyped-call]


SQUARED = DEEP.model_copy(update={"loss": "squared_error", "activation": "tanh", "init_gain": 0.5})


@pytest.mark.parametrize("workload", [MLP, DEEP, SQUARED, CNN, GPT], ids=["mlp", "deep", "squared error", "cnn", "gpt"])
def test_against_the_whole_hessian(workload: Workload, text: Text) -> None:
    """For every lane of a pack, and for products with any vector."""
    dataset = text if workload.model == "gpt" else digits()
    made = network(workload, dataset, [3, 4])
    inputs, targets = examples(workload, dataset, 40)
    wholes = [brute_force(made, lane, inputs, targets) for lane in range(2)]
    vector_KP = torch.randn(made.flat_KP.shape, generator=torch.Generator().manual_seed(0))
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        product_KP = hessian_product(made, inputs, targets)(vector_KP)
    eigenvalue = sharpness(made, inputs, targets, [3, 4])
    for lane, whole in enumerate(wholes):
        expected = whole @ vector_KP[lane]
        assert torch.allclose(product_KP[lane], expected, atol=1e-5 * float(expected.abs().max()))
        largest = float(torch.linalg.eigvalsh(whole.double())[-1])
        assert float(eigenvalue.value[lane]) == pytest.approx(largest, rel=1e-4)
        assert float(eigenvalue.residual[lane]) <= hessian.TOLERANCE


def test_symmetric_matrices_with_known_spectra() -> None:
    """Clustered, negative, zero, of rank one, with a far negative end, and a repeated largest value; a lane each."""
    size = 60
    spectra = [
        torch.linspace(-1.0, 2.0, size),
        torch.linspace(-5.0, -1.0, size),
        torch.zeros(size),
        torch.cat([torch.zeros(size - 1), torch.tensor([3.0])]),
        torch.cat([torch.linspace(0.0, 1.0, size - 1), torch.tensor([-50.0])]),
        torch.cat([torch.linspace(0.0, 1.0, size - 3), torch.full((3,), 7.0)]),
    ]
    generator = torch.Generator().manual_seed(1)
    turns = [torch.linalg.qr(torch.randn(size, size, generator=generator))[0] for _ in spectra]
    matrices = torch.stack([turn @ torch.diag(values) @ turn.T for turn, values in zip(turns, spectra, strict=True)])
    start = torch.randn(len(spectra), size, generator=generator)
    eigenvalue = largest_eigenvalue(lambda v_KP: torch.einsum("kpq,kq->kp", matrices, v_KP), start)
    for lane, values in enumerate(spectra):
        assert float(eigenvalue.value[lane]) == pytest.approx(float(values.max()), rel=1e-4, abs=1e-5), lane


def test_what_does_not_converge_is_no_number() -> None:
    """Two products see little of a thousand close eigenvalues; the residual says how little."""
    values = torch.linspace(0.0, 1.0, 1000)
    start = torch.randn(1, 1000, generator=torch.Generator().manual_seed(0))
    eigenvalue = largest_eigenvalue(lambda v_KP: values * v_KP, start, most=3)
    assert math.isnan(float(eigenvalue.value))
    assert hessian.TOLERANCE < float(eigenvalue.residual) < 1.0


def test_examples_in_parts_give_the_same(text: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    made = network(GPT, text, [1, 2])
    inputs, targets = examples(GPT, text, 31)
    whole = sharpness(made, inputs, targets, [1, 2]).value
    monkeypatch.setattr(network_of_a_pack, "EVALUATION_TARGETS", 7 * GPT.context)
    assert sharpness(made, inputs, targets, [1, 2]).value.tolist() == pytest.approx(whole.tolist(), rel=1e-4)


@pytest.mark.parametrize("precision", ["bf16", "fp16", "fp8"])
def test_in_fp32_whatever_is_trained_in(precision: str, text: Text) -> None:
    inputs, targets = examples(GPT, text, 20)
    narrow, wide = network(GPT, text, [1], precision), network(GPT, text, [1])
    narrow.segments = 1
    assert torch.equal(sharpness(narrow, inputs, targets, [1]).value, sharpness(wide, inputs, targets, [1]).value)
    assert narrow.segments == 1
    assert narrow.dtype != torch.float32 or narrow.product is not torch.bmm, "what it trains in is as it was"


# ---- as a probe


def pack_of(
    sharp: str, dataset: Dataset, workload: Workload = DEEP, seeds: tuple[int, ...] = (1, 2), steps: int = 12, probes: int = 3
) -> Pack:
    looks = {"probes": probes, "evaluations": 1, "sharpness": sharp, "sharpness_examples": 64}
    chosen = partial(contract.lane, workload, measurement=looks, optimizer="sgd", peak_lr=0.1, steps=steps, batch_size=8)
    return contract.pack(*(chosen(seed=seed) for seed in seeds), data=dataset)


def test_it_is_that_of_the_weights_at_the_end_and_of_the_labels_that_are_trained_on() -> None:
    noisy = DEEP.model_copy(update={"label_noise": 0.5})
    for workload in (DEEP, noisy):
        pack = pack_of("end", digits(), workload)
        pack.advance()
        expected = sharpness(pack.network, *examples(workload, digits(), 64), [1, 2]).value
        for lane, result in enumerate(pack.results()):
            curve = result.curves[SHARPNESS.name]
            assert curve[-1] == pytest.approx(float(expected[lane]), rel=1e-5)
            assert np.isnan(curve[:-1]).all()
            assert result.curves[SHARPNESS_RESIDUAL.name][-1] < hessian.TOLERANCE


def test_at_probes_it_is_that_of_the_weights_that_each_leaves() -> None:
    """Again by runs that end there, with a constant LR."""
    pack = pack_of("probes", digits(), steps=12, probes=3)
    pack.advance()
    curves = [result.curves[SHARPNESS.name] for result in pack.results()]
    by_hand = []
    other = pack_of("off", digits(), steps=12, probes=3)
    while not other.done:
        other.advance(seconds=0.0)
        if other.step - 1 in other.probe_steps:
            by_hand.append(sharpness(other.network, *examples(DEEP, digits(), 64), [1, 2]).value.tolist())
    assert np.allclose(curves, np.array(by_hand).T, rtol=1e-4)


def test_it_is_free_when_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hessian, "sharpness", None)
    pack = pack_of("off", digits())
    pack.advance()
    assert SHARPNESS.name not in pack.results()[1].curves


# ---- along the gradients of mini-batches


@pytest.mark.parametrize("workload", [DEEP, SQUARED, CNN, GPT], ids=["mlp", "squared error", "cnn", "gpt"])
def test_along_the_gradient_of_own_batches(workload: Workload, text: Text) -> None:
    """Lanes that see other examples, against the gradient by autograd and the whole Hessian."""
    dataset = text if workload.model == "gpt" else digits()
    made = network(workload, dataset, [3, 4])
    inputs, targets = examples(workload, dataset, 20)
    halves = [slice(0, 10), slice(10, 20)]
    curvature_K, square_K = along_gradient(
        made, *(torch.stack([values[half] for half in halves]) for values in (inputs, targets))
    )
    for lane, half in enumerate(halves):
        own = made.flat_KP[lane].clone().requires_grad_()
        loss = made.losses(inputs[None, half], targets[None, half], views=made.views_of(own[None]))[0]
        (gradient,) = torch.autograd.grad(loss, own)
        whole = brute_force(made, lane, inputs[half], targets[half])
        assert float(square_K[lane]) == pytest.approx(float(gradient @ gradient), rel=1e-4)
        assert float(curvature_K[lane]) == pytest.approx(float(gradient @ whole @ gradient), rel=1e-3)


def test_batch_sharpness_of_a_quadratic() -> None:
    """Curvatures h, batches of 8 examples z ~ N(0, I) and weights w: g = h (w - mean z), so that the ratio of the means of
    g'Hg and |g|^2 is sum h^3 (w^2 + 1/8) over sum h^2 (w^2 + 1/8), with the drawn examples' own mean and variance."""
    size, count = 6, 512
    looks = {"probes": 2, "evaluations": 1, "batch_sharpness": 4000, "sharpness_examples": count}
    bowl = Workload(model="quadratic", dataset=f"quadratic:{size}")
    settings = {"optimizer": "sgd", "momentum": 0.0, "weight_decay": 0.0, "peak_lr": 0.3, "steps": 2, "batch_size": 8}
    pack = contract.pack(*(contract.lane(bowl, seed, measurement=looks, **settings) for seed in (1, 2)), data=quadratic(size))
    pack.advance()
    z, _ = examples(bowl, quadratic(size), count)
    h = (torch.arange(size, dtype=torch.float64) + 1) / size
    for lane, result in enumerate(pack.results()):
        apart = (pack.network.flat_KP[lane].double() - z.mean(dim=0)) ** 2 + z.double().var(dim=0, correction=0) / 8
        expected = float((h**3 * apart).sum() / (h**2 * apart).sum())
        assert result.curves[BATCH_SHARPNESS_POOLED.name][-1] == pytest.approx(expected, rel=0.02)
        mean = result.curves[BATCH_SHARPNESS.name]
        assert 1 / size < mean[-1] < 1, "between its curvatures"
        assert mean[0] != mean[-1]


def test_batch_sharpness_is_the_mean_over_batches_of_the_training() -> None:
    """Drawn again, and the curvature along each one's gradient by autograd."""
    looks = {"probes": 2, "evaluations": 1, "batch_sharpness": 3, "sharpness_examples": 64}
    chosen = {"optimizer": "sgd", "peak_lr": 0.1, "steps": 4, "batch_size": 8}
    pack = contract.pack(*(contract.lane(SQUARED, seed, measurement=looks, **chosen) for seed in (1, 2)), data=digits())
    pack.advance()
    inputs, targets = examples(SQUARED, digits(), 64)
    for lane, result in enumerate(pack.results()):
        curvatures = []
        for rows in numpy_generator(lane + 1, "batch sharpness", 3).integers(64, size=(3, 8)):
            whole = brute_force(pack.network, lane, inputs[rows], targets[rows])
            own = pack.network.flat_KP[lane].clone().requires_grad_()
            losses = pack.network.losses(inputs[None, rows], targets[None, rows], views=pack.network.views_of(own[None]))
            (gradient,) = torch.autograd.grad(losses[0], own)
            curvatures.append(float(gradient @ whole @ gradient / (gradient @ gradient)))
        assert result.curves[BATCH_SHARPNESS.name][-1] == pytest.approx(np.mean(curvatures), rel=1e-3)


# ---- preconditioned, and near the last probe's


def adam_pack(workload: Workload = DEEP, steps: int = 12, probes: int = 3, **training: object) -> Pack:
    looks = {"probes": probes, "sharpness": "probes", "sharpness_examples": 64, "preconditioned_sharpness": True}
    chosen = {"optimizer": "adam", "weight_decay": 0.0, "peak_lr": 0.01, "steps": steps, "batch_size": 8, **training}
    return contract.pack(*(contract.lane(workload, seed, measurement=looks, **chosen) for seed in (1, 2)))


@pytest.mark.parametrize("corrects", [True, False])
def test_preconditioned_against_the_whole_hessian(corrects: bool) -> None:
    """P is written out from moments that are averaged by hand, gradient by gradient; the matrix as P^-1 H, which is not
    symmetric and has the same eigenvalues."""
    pack = adam_pack(steps=6, epsilon=1e-3, beta1=0.8, beta2=0.95, bias_correction=corrects)
    second, taken = torch.zeros_like(pack.network.flat_KP, dtype=torch.float64), 0
    while not pack.done:
        gradient = pack.procedure.gradient(*pack.procedure.batch(pack._draws[pack.step]))[1].double()
        pack.advance(seconds=0.0)
        second, taken = 0.95 * second + 0.05 * gradient**2, taken + 1
    correction1, correction2 = (1 - 0.8**taken, 1 - 0.95**taken) if corrects else (1.0, 1.0)
    by_hand = correction1 * ((second / correction2).sqrt() + 1e-3)
    assert torch.allclose(pack.learner.preconditioner().double(), by_hand, rtol=1e-4)
    for lane, result in enumerate(pack.results()):
        whole = brute_force(pack.network, lane, *examples(DEEP, digits(), 64)).double()
        eigenvalues = torch.linalg.eigvals(whole / by_hand[lane][:, None]).real
        eigenvalue = result.curves["probe_preconditioned_sharpness"][-1]
        assert eigenvalue == pytest.approx(float(eigenvalues.max()), rel=1e-3)
        assert eigenvalue != pytest.approx(result.curves[SHARPNESS.name][-1], rel=0.1)
        assert result.curves["probe_preconditioned_sharpness_residual"][-1] <= hessian.TOLERANCE


def test_starting_near_the_last_eigenvector_gives_the_same() -> None:
    """Its own, any other, one of which another eigenvector has become the largest, and none at all."""
    made = network(DEEP, digits(), [1, 2])
    inputs, targets = examples(DEEP, digits(), 64)
    cold = sharpness(made, inputs, targets, [1, 2])
    assert torch.allclose(cold.vector.norm(dim=1), torch.ones(2), atol=1e-5)
    product = hessian_product(made, inputs, targets)(cold.vector)
    assert torch.allclose(product, cold.value[:, None] * cold.vector, atol=2e-3 * float(cold.value.max()))
    for near in (cold.vector, cold.vector.flip(0), torch.zeros_like(cold.vector)):
        warm = sharpness(made, inputs, targets, [1, 2], near)
        assert warm.value.tolist() == pytest.approx(cold.value.tolist(), rel=1e-4)
    assert sharpness(made, inputs, targets, [1, 2], cold.vector).products < cold.products


def test_an_eigenvector_that_is_no_longer_the_largest_is_left() -> None:
    """Exactly the second eigenvector of a hundred: alone it would be found again with no residual at all."""
    values = torch.cat([torch.linspace(0.0, 1.0, 98), torch.tensor([2.0, 2.5])])
    start = hessian.ASIDE * hessian._unit(torch.randn(1, 100, generator=torch.Generator().manual_seed(3)))
    start[0, 98] += 1.0
    assert float(largest_eigenvalue(lambda v_KP: values * v_KP, start).value) == pytest.approx(2.5, rel=1e-4)
    alone = torch.zeros(1, 100)
    alone[0, 98] = 1.0
    assert float(largest_eigenvalue(lambda v_KP: values * v_KP, alone).value) == pytest.approx(2.0)
