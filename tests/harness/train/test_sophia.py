"""Sophia-G: its update against pytorch-optimizer's given the same curvature, its estimates against the exact diagonal of the
Gauss-Newton matrix.

Tolerance of the update: as in test_optimizers.py, relative 2e-5 of the largest weight after 120 steps of FP32.
"""

import pytest
import pytorch_optimizer
import torch

from folklore.harness.declare import Training, Workload
from folklore.harness.train.optimizers import make_optimizer
from folklore.harness.train.optimizers.sophia import Sophia
from folklore.harness.train.pack import Lane, Pack
from folklore.harness.train.procedures.curvature import Curvature
from folklore.harness.train.workloads.data import load
from folklore.harness.train.workloads.data.text import Text
from tests.harness.train import contract

STEPS, SIZE, TOLERANCE = 120, 60, 2e-5
LANES = [
    {"peak_lr": 1e-3, "weight_decay": 0.0, "beta1": 0.96, "beta2": 0.99, "epsilon": 1e-12, "hessian_factor": 0.05},
    {"peak_lr": 1e-2, "weight_decay": 0.2, "beta1": 0.9, "beta2": 0.9, "epsilon": 1e-3, "hessian_factor": 0.01},
    {"peak_lr": 3e-2, "weight_decay": 0.1, "beta1": 0.8, "beta2": 0.95, "epsilon": 1e-8, "hessian_factor": 2.0},
]
EVERY = 4
GPT = Workload(model="gpt", width=16, depth=1, heads=2, context=16)
PAPER = {"optimizer": "sophia", "beta1": 0.96, "beta2": 0.99, "epsilon": 1e-12, "peak_lr": 2.0**-9}


def by_another(
    training: Training, start: torch.Tensor, gradients: list[torch.Tensor], curvatures: list[torch.Tensor]
) -> torch.Tensor:
    """Its form is lr clip(m / max(h, epsilon), p): ours is lr / gamma clip(m / max(h, epsilon / gamma), gamma)."""
    gamma = training.hessian_factor
    weight = torch.nn.Parameter(start.clone())
    theirs = pytorch_optimizer.SophiaH(
        [weight],
        lr=training.peak_lr / gamma,
        betas=(training.beta1, training.beta2),
        weight_decay=training.weight_decay * gamma,
        p=gamma,
        eps=training.epsilon / gamma,
        update_period=10**9,
        foreach=False,
    )
    for step, gradient in enumerate(gradients):
        weight.grad = gradient.clone()
        due = step % EVERY == 0
        theirs.step(hessian=[curvatures[step].clone()] if due else None)
    return weight.detach()


def test_follows_another() -> None:
    trainings = [Training(optimizer="sophia", **lane) for lane in LANES]
    generator = torch.Generator().manual_seed(0)
    sizes = 10 ** torch.randn(SIZE, generator=generator)
    start = 0.3 * torch.randn(len(LANES), SIZE, generator=generator)
    gradients = [torch.randn(len(LANES), SIZE, generator=generator) * sizes for _ in range(STEPS)]
    # Of all sizes beside the gradients', so that entries are clipped, divided and, with no curvature, on epsilon.
    curvatures = [10 * torch.randn(len(LANES), SIZE, generator=generator).square() * sizes for _ in range(STEPS)]
    for curvature in curvatures:
        curvature[:, :5] = 0.0
    packed = start.clone()
    ours = make_optimizer(trainings, packed, torch.ones(SIZE))
    assert isinstance(ours, Sophia)
    lr = torch.tensor([[training.peak_lr] for training in trainings])
    clipped = 0.0
    for step, gradient in enumerate(gradients):
        if step % EVERY == 0:
            ours.estimate(curvatures[step])
        before = packed.clone()
        ours.update(packed, gradient.clone(), lr, torch.full((1, 1), float(step), dtype=torch.float64))
        moved = packed - before + torch.stack([before[i] * t.peak_lr * t.weight_decay for i, t in enumerate(trainings)])
        clipped += float((moved.abs() > 0.99 * lr).float().mean()) / STEPS
    assert 0.05 < clipped < 0.95
    for lane, training in enumerate(trainings):
        expected = by_another(
            training, start[lane], [gradient[lane] for gradient in gradients], [curvature[lane] for curvature in curvatures]
        )
        assert (packed[lane] - expected).abs().max() <= TOLERANCE * max(1.0, float(expected.abs().max()))


def test_an_estimate_that_is_not_finite_is_left_out_of_its_lane() -> None:
    ours = make_optimizer([Training(optimizer="sophia", beta2=0.9)] * 2, torch.zeros(2, 3), torch.zeros(3))
    assert isinstance(ours, Sophia)
    ours.estimate(torch.tensor([[1.0, 2.0, 3.0], [1.0, torch.inf, 3.0]]))
    assert torch.allclose(ours.state["hessian"], torch.tensor([[0.1, 0.2, 0.3], [0.0, 0.0, 0.0]]))


def lanes(*seeds: int, workload: Workload = GPT, **fields: object) -> list[Lane]:
    training = {"steps": 24, "batch_size": 4, **PAPER, **fields}
    return [contract.lane(workload, seed, **training) for seed in seeds]


def curvature_of(pack: Pack) -> Curvature:
    assert isinstance(pack.procedure, Curvature)
    return pack.procedure


def gauss_newton(weights: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
    """Diagonal of mean J^T (diag p - p p^T) J of a softmax over linear logits, by loops; weights [classes, features]."""
    classes = len(weights)
    diagonal = torch.zeros_like(weights)
    for x in features:
        p = (weights @ x).softmax(0)
        hessian = torch.diag(p) - torch.outer(p, p)
        for entry in range(classes):
            jacobian = torch.zeros(classes, *weights.shape, dtype=x.dtype)
            jacobian[torch.arange(classes), torch.arange(classes)] = x
            diagonal[entry] += torch.einsum("cf,cd,df->f", jacobian[:, entry], hessian, jacobian[:, entry]) / len(features)
    return diagonal


def test_estimates_are_the_gauss_newton_diagonal_in_their_mean() -> None:
    """The mean of 400 draws on 16 digits: within four standard errors in all entries but a few, and in the sum within 3%."""
    digits = load("digits")
    pack = Pack(lanes(1, workload=Workload(model="linear", dataset="digits"), batch_size=16), digits)
    with torch.no_grad():  # logits that are neither alike nor sure
        pack.network.flat_KP.copy_(0.15 * torch.randn(pack.network.flat_KP.shape, generator=torch.Generator().manual_seed(2)))
    procedure = curvature_of(pack)
    inputs, targets = procedure.batch(procedure.examples_of(0))
    drawn = torch.stack([procedure.estimate(inputs, targets, step)[0].double() for step in range(400)])
    (view,) = pack.network.views.values()
    matrix = view.detach()[0].double()
    upright = matrix.shape[0] == 10
    exact = gauss_newton(matrix if upright else matrix.t(), inputs[0].flatten(1).double())
    expected = (exact if upright else exact.t()).flatten()
    error = drawn.std(dim=0) / 20
    assert float((drawn.mean(dim=0).sum() / expected.sum() - 1).abs()) < 0.03
    off = (drawn.mean(dim=0) - expected).abs() > 4 * error + 1e-6 * expected.max()
    assert float(off.double().mean()) < 0.01
    assert float((drawn.mean(dim=0) * 1.3 - expected).abs().gt(4 * error + 1e-6 * expected.max()).double().mean()) > 0.1


def test_labels_are_drawn_as_the_softmax_has_them(text: Text) -> None:
    pack = Pack(lanes(1), text)
    procedure = curvature_of(pack)
    with torch.no_grad():
        pack.network.flat_KP.mul_(20.0)  # probabilities far from even
    inputs, targets = procedure.batch(procedure.examples_of(0))
    chances = pack.network.outputs(inputs).detach().double().softmax(-1)[0]
    counts = torch.zeros_like(chances)
    for step in range(300):
        labels = procedure.sampled(inputs, targets, step)
        assert labels.shape == targets.shape
        assert labels.dtype == targets.dtype
        counts.scatter_add_(-1, labels[0].unsqueeze(-1), torch.ones(*labels.shape[1:], 1, dtype=torch.float64))
    error = (chances * (1 - chances) / 300).sqrt()
    assert float(((counts / 300 - chances).abs() > 4 * error + 1 / 150).double().mean()) < 0.01
    assert float(chances.max()) > 0.5


def test_an_estimate_comes_every_so_often_and_first(text: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = []
    right = Curvature.estimate

    def noted(self: Curvature, inputs: torch.Tensor, targets: torch.Tensor, step: int) -> torch.Tensor:
        expected = self.batch(self.examples_of(step))
        assert torch.equal(inputs, expected[0])
        steps.append(step)
        return right(self, inputs, targets, step)

    monkeypatch.setattr(Curvature, "estimate", noted)
    pack = Pack(lanes(1), text)
    pack.advance()
    assert steps == [0, 5, 10, 15, 20]


def test_micro_batches_estimate_as_the_whole_batch(text: Text) -> None:
    estimates = []
    for count in (1, 2, 4):
        procedure = curvature_of(Pack(lanes(1, 2, micro_batches=count), text))
        estimates.append(procedure.estimate(*procedure.batch(procedure.examples_of(0)), 0))
    for other in estimates[1:]:
        assert torch.allclose(other, estimates[0], rtol=1e-3, atol=1e-5 * float(estimates[0].max()))


def test_it_trains_in_narrow_formats(text: Text) -> None:
    formats = ({}, {"precision": "bf16"}, {"precision": "fp16", "loss_scaling": "dynamic"}, {"precision": "fp8"})
    (wide,), *narrow = (contract.trained(*lanes(1, steps=60, **precision), data=text).results() for precision in formats)
    assert wide.test_loss < wide.initial_loss - 0.1
    assert [ours.test_loss for (ours,) in narrow] == pytest.approx([wide.test_loss] * 3, rel=0.05)


def test_where_it_jumps_and_nowhere_else() -> None:
    """Next to no curvature makes a sign of the division; a clipped entry does not move by rounding, nor does a divided one."""
    training = Training.model_validate({**PAPER, "hessian_factor": 1.0, "weight_decay": 0.0})
    ours = make_optimizer([training], torch.zeros(1, 4), torch.zeros(4))
    ours.state["hessian"].copy_(torch.tensor([[0.0, 0.0, 1e-9, 2.0]]))
    ours.state["momentum"].fill_(0.5)
    after_KP = torch.tensor([[0.0, 0.4, 1e-10, 0.4]])
    gradient_KP = (after_KP - 0.5) / (1 - training.beta1) + 0.5
    assert ours.jumps(gradient_KP).tolist() == [[True, False, True, False]]
