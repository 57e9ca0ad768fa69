"""Optimizers that look at whole weights, and those that came with them, each against another's code: torch.optim's where it has
one, pytorch-optimizer's, and the paper's algorithm in float64.

Tolerance: as in test_optimizers.py, relative 2e-5 of the largest weight after 120 steps, where both compute in float32. LAMB's
and LARS's rates are quotients of norms, whose roundings are a few more of the same size. torch's Muon multiplies in bfloat16,
with 8 bits where ours has 24: each of its steps errs by about 2^-8 of the step, at random, which over 120 steps of LR x 1 each
is far below a tenth of the way.
"""

import math
from collections.abc import Sequence

import pytest
import pytorch_optimizer
import torch

from folklore.harness.errors import UserError
from folklore.harness.spec import Training
from folklore.harness.spec.configuration import OPTIMIZERS
from folklore.harness.training.optimizers import adam, make_optimizer, muon
from folklore.harness.training.optimizers.base import Part
from tests.harness.training.contract import DEEP, MLP, lane, pack

STEPS, TOLERANCE = 120, 2e-5
SHAPES = ((6, 5), (5,), (5, 7), (7, 4))
PARTS = [Part(start, shape, hidden=shape in SHAPES[2:3]) for start, shape in zip((0, 30, 35, 70), SHAPES, strict=True)]
SIZE = 98
DECAYS = torch.cat([torch.full((math.prod(shape),), float(len(shape) > 1)) for shape in SHAPES])
LANES = [
    {"peak_lr": 1e-3, "weight_decay": 0.0, "beta2": 0.999, "trust_coefficient": 0.02},
    {"peak_lr": 1e-2, "weight_decay": 0.1, "beta2": 0.95, "momentum": 0.95},
    {"peak_lr": 3e-2, "weight_decay": 0.01, "beta2": 0.99, "beta1": 0.8, "epsilon": 1e-5, "momentum": 0.5},
]


def gradients(lanes: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    sizes = 10 ** torch.randn(SIZE, generator=generator)
    return [torch.randn(lanes, SIZE, generator=generator) * sizes for _ in range(STEPS)]


def trained(trainings: Sequence[Training], start: torch.Tensor, seen: Sequence[torch.Tensor]) -> torch.Tensor:
    packed = start.clone()
    ours = make_optimizer(trainings, packed, DECAYS, PARTS)
    lr = torch.tensor([[training.peak_lr] for training in trainings])
    for step, gradient in enumerate(seen):
        ours.update(packed, gradient.clone(), lr, torch.full((1, 1), float(step), dtype=torch.float64))
    return packed


def alone(training: Training, start: torch.Tensor, seen: Sequence[torch.Tensor], make) -> torch.Tensor:
    """One lane by an optimizer of one model's weights. make: of weights that decay, and of those that do not."""
    weights = [torch.nn.Parameter(start[part.slice].view(part.shape).clone()) for part in PARTS]
    theirs = make(weights)
    for gradient in seen:
        for part, weight in zip(PARTS, weights, strict=True):
            weight.grad = gradient[part.slice].view(part.shape).clone()
        for each in theirs:
            each.step()
    return torch.cat([weight.detach().flatten() for weight in weights])


def groups(weights: Sequence[torch.nn.Parameter], decay: float) -> list[dict]:
    return [
        {"params": [each for each in weights if (each.ndim > 1) == matrices], "weight_decay": decay * matrices}
        for matrices in (True, False)
    ]


def rmsprop(training: Training):
    fields = {"lr": training.peak_lr, "alpha": training.beta2, "eps": training.epsilon, "momentum": training.momentum}
    return lambda weights: [torch.optim.RMSprop(groups(weights, training.weight_decay), **fields)]


def sgdw(training: Training):
    fields = {"lr": training.peak_lr, "momentum": training.momentum, "nesterov": training.nesterov}
    return lambda weights: [
        pytorch_optimizer.SGDW(groups(weights, training.weight_decay), **fields, weight_decouple=True, foreach=False)
    ]


def lars(training: Training):
    """pytorch-optimizer leaves vectors alone by itself; the LR stands outside its momentum, which is the same at one LR."""
    fields = {name: getattr(training, name) for name in ("weight_decay", "momentum", "trust_coefficient")}
    return lambda weights: [pytorch_optimizer.LARS(weights, lr=training.peak_lr, **fields, foreach=False)]


def lamb(training: Training):
    """Without bias correction (`adam_debias` leaves it out); decay inside the update; of vectors plain Adam, as ours.

    It adds epsilon to norms, and takes norms of weights as 10 at the most, which these do not reach."""
    fields = {"lr": training.peak_lr, "betas": (training.beta1, training.beta2), "eps": training.epsilon}
    fields |= {"weight_decouple": False, "max_grad_norm": 0.0, "adam_debias": True, "foreach": False}

    def make(weights: Sequence[torch.nn.Parameter]) -> list[torch.optim.Optimizer]:
        matrices, vectors = ([each for each in weights if (each.ndim > 1) == matrix] for matrix in (True, False))
        decayed = pytorch_optimizer.Lamb(matrices, weight_decay=training.weight_decay, **fields)
        return [decayed, pytorch_optimizer.Lamb(vectors, weight_decay=0.0, adam=True, **fields)]

    return make


@pytest.mark.parametrize(
    ("optimizer", "oracle", "fields"),
    [
        ("rmsprop", rmsprop, {}),
        ("sgdw", sgdw, {}),
        ("sgdw", sgdw, {"nesterov": True}),
        ("lars", lars, {}),
        ("lamb", lamb, {"bias_correction": False}),
    ],
    ids=["rmsprop", "sgdw", "sgdw_nesterov", "lars", "lamb"],
)
def test_follows_another(optimizer: str, oracle, fields: dict) -> None:
    trainings = [Training(optimizer=optimizer, **{**fields, **lane}) for lane in LANES]
    start = 0.3 * torch.randn(len(LANES), SIZE, generator=torch.Generator().manual_seed(1))
    seen = gradients(len(LANES))
    found = trained(trainings, start, seen)
    expected = torch.stack(
        [alone(each, start[lane], [gradient[lane] for gradient in seen], oracle(each)) for lane, each in enumerate(trainings)]
    )
    assert torch.isfinite(expected).all()
    assert max(expected[:, part.slice].norm(dim=1).max() for part in PARTS) < 10 or optimizer != "lamb"
    assert (expected - start).abs().amax(dim=1).min() > 0.01, "every lane has gone somewhere"
    assert (found - expected).abs().max() <= 2 * TOLERANCE * expected.abs().max()


@pytest.mark.parametrize("corrected", [True, False])
def test_lamb_is_algorithm_2(corrected: bool) -> None:
    """In float64, with the corrections of the paper's algorithm and without."""
    training = Training(optimizer="lamb", peak_lr=0.01, weight_decay=0.1, beta2=0.99, bias_correction=corrected)
    start = torch.randn(1, SIZE, generator=torch.Generator().manual_seed(1))
    seen = gradients(1)
    weights, first, second = start[0].double(), torch.zeros(SIZE).double(), torch.zeros(SIZE).double()
    for step, gradient in enumerate(seen, start=1):
        first = 0.9 * first + 0.1 * gradient[0].double()
        second = 0.99 * second + 0.01 * gradient[0].double() ** 2
        left = (1 - 0.9**step, 1 - 0.99**step) if corrected else (1.0, 1.0)
        ratio = (first / left[0]) / ((second / left[1]).sqrt() + 1e-8) + 0.1 * DECAYS.double() * weights
        for part in PARTS:
            trust = weights[part.slice].norm() / ratio[part.slice].norm() if part.is_matrix else 1.0
            weights[part.slice] = weights[part.slice] - 0.01 * trust * ratio[part.slice]
    found = trained([training], start, seen)
    assert (found[0].double() - weights).abs().max() <= TOLERANCE * weights.abs().max()


@pytest.mark.parametrize("optimizer", ["adam", "adamw"])
def test_adam_without_its_corrections(optimizer: str) -> None:
    """In float64, beside a lane that has them and must not be touched; and by torch's kernel no more."""
    fields = {"optimizer": optimizer, "peak_lr": 0.01, "weight_decay": 0.1}
    trainings = [Training(**fields, bias_correction=False), Training(**fields)]
    start = torch.randn(2, SIZE, generator=torch.Generator().manual_seed(1))
    seen = gradients(2)
    found = trained(trainings, start, seen)
    weights, first, second = start[0].double(), torch.zeros(SIZE).double(), torch.zeros(SIZE).double()
    for gradient in seen:
        used = gradient[0].double() + (optimizer == "adam") * 0.1 * DECAYS.double() * weights
        weights = weights * (1 - (optimizer == "adamw") * 0.01 * 0.1 * DECAYS.double())
        first, second = 0.9 * first + 0.1 * used, 0.999 * second + 0.001 * used**2
        weights = weights - 0.01 * first / (second.sqrt() + 1e-8)
    assert (found[0].double() - weights).abs().max() <= TOLERANCE * weights.abs().max()
    plain = trained([Training(**fields)], start[1:], [gradient[1:] for gradient in seen])
    assert torch.allclose(found[1], plain[0], rtol=1e-5, atol=1e-6)
    ours = make_optimizer(trainings, start.clone(), DECAYS, PARTS)
    assert not ours.all_correct
    with pytest.raises(
        ValueError, match=r"bias_correction = False: radam's rectification is built on it; choose adam, adamw, lamb or muon"
    ):
        Training(optimizer="radam", bias_correction=False)


def test_rmsprop_is_adam_without_a_first_moment() -> None:
    """beta1 = 0 and no correction: the claim adam.rmsprop, on the engine's own optimizers."""
    fields = {"peak_lr": 0.01, "beta1": 0.0, "beta2": 0.99, "weight_decay": 0.1, "bias_correction": False, "momentum": 0.0}
    start = torch.randn(1, SIZE, generator=torch.Generator().manual_seed(1))
    seen = gradients(1)
    adam, rms = (trained([Training(optimizer=name, **fields)], start, seen) for name in ("adam", "rmsprop"))
    assert torch.allclose(adam, rms, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("nesterov", [False, True])
def test_muon_follows_torch(nesterov: bool) -> None:
    """The hidden matrix goes by torch.optim.Muon, the rest by torch.optim.AdamW."""
    trainings = [Training(optimizer="muon", nesterov=nesterov, **lane) for lane in LANES]
    start = torch.randn(len(LANES), SIZE, generator=torch.Generator().manual_seed(1))
    seen = gradients(len(LANES))
    found = trained(trainings, start, seen)

    def oracle(training: Training):
        def make(weights: Sequence[torch.nn.Parameter]) -> list[torch.optim.Optimizer]:
            fields = {"lr": training.peak_lr, "weight_decay": training.weight_decay, "momentum": training.momentum}
            hidden = torch.optim.Muon([weights[2]], nesterov=nesterov, adjust_lr_fn="match_rms_adamw", **fields)
            rest = groups([weights[0], weights[1], weights[3]], training.weight_decay)
            betas = (training.beta1, training.beta2)
            return [hidden, torch.optim.AdamW(rest, lr=training.peak_lr, betas=betas, eps=training.epsilon)]

        return make

    hidden = PARTS[2].slice
    for number, training in enumerate(trainings):
        expected = alone(training, start[number], [gradient[number] for gradient in seen], oracle(training))
        rest = torch.ones(SIZE, dtype=torch.bool)
        rest[hidden] = False
        assert (found[number] - expected)[rest].abs().max() <= TOLERANCE * expected.abs().max()
        way = (expected - start[number])[hidden].norm()
        assert way > 0.02
        assert (found[number] - expected)[hidden].norm() <= 0.03 * way


@pytest.mark.parametrize("shape", [(4, 9), (9, 4), (6, 6)])
def test_orthogonal_keeps_singular_vectors_and_levels_singular_values(shape: tuple[int, int]) -> None:
    matrices = torch.randn(3, *shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    found = muon.orthogonal(matrices)
    for before, after in zip(matrices, found, strict=True):
        left, _, right = torch.linalg.svd(before, full_matrices=False)
        levelled = left.T @ after @ right.T
        assert (levelled - levelled.diag().diag()).abs().max() < 1e-9, "the same singular vectors"
        assert levelled.diag().min() > 0.3
        assert levelled.diag().max() < 1.3


def test_a_matrix_of_zeros_moves_by_its_plain_update() -> None:
    """A readout may start at zero: no norm to take a share of."""
    seen = gradients(1)[:1]
    for optimizer, plain in (("lars", "sgd"), ("lamb", "adamw")):
        fields = {"peak_lr": 0.01, "weight_decay": 0.0}
        zero = torch.zeros(1, SIZE)
        assert torch.allclose(
            trained([Training(optimizer=optimizer, **fields)], zero, seen),
            trained([Training(optimizer=plain, **fields)], zero, seen),
            rtol=1e-5,
            atol=1e-7,
        )


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_an_update_leaves_its_gradient_as_it_is(optimizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of programs reads there what a step has used; also of torch's kernel, which takes over from wide lanes on."""
    for kernel_from in (adam.KERNEL_FROM, 1):
        monkeypatch.setattr(adam, "KERNEL_FROM", kernel_from)
        packed = torch.randn(len(LANES), SIZE, generator=torch.Generator().manual_seed(1))
        ours = make_optimizer([Training(optimizer=optimizer, **lane) for lane in LANES], packed, DECAYS, PARTS)
        gradient = gradients(len(LANES))[0]
        used = ours.gradient_KP.copy_(gradient)
        ours.update(packed, used, torch.full((len(LANES), 1), 1e-3), torch.zeros(1, 1, dtype=torch.float64))
        assert torch.equal(used, gradient)


def test_muon_is_refused_where_it_would_be_adamw() -> None:
    with pytest.raises(UserError, match=r"'muon': model 'mlp' of depth 1 has no hidden matrix, .* adamw; choose that"):
        pack(lane(MLP, optimizer="muon"))
    assert isinstance(pack(lane(DEEP, optimizer="muon")).optimizer, muon.Muon)
