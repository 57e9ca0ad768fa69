"""Every packed optimizer on the same gradients against another's code (torch.optim's where it has one, pytorch-optimizer's) or
the paper's algorithm in float64: 120 steps, lanes of different hyper-parameters.

Tolerance: relative 2e-5 of the largest weight. No gradient depends on the weights, so a difference of rounding is kept and not
amplified: after 120 steps there are at most 120 times an update's and a weight's own, 2^-24 each, or 7e-6. LAMB's and LARS's
rates are quotients of norms, whose roundings are a few more of the same size. torch's Muon multiplies in bfloat16, with 8 bits
where ours has 24: each of its steps errs by about 2^-8 of the step, at random, which over 120 steps of LR x 1 each is far below
a tenth of the way. The sign of a sum that rounding alone tells from zero may be either; gradients of normal numbers have none.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import pytorch_optimizer
import torch
from torch import Tensor

from folklore.harness.declare import Training
from folklore.harness.declare.configuration import OPTIMIZERS
from folklore.harness.train.clipping import clip_factor, clip_limits
from folklore.harness.train.optimizers import adam, make_optimizer, muon
from folklore.harness.train.optimizers.base import Part
from tests.harness.train.single_steps import TORCHS, Make, groups, simple

STEPS, TOLERANCE = 120, 2e-5
SHAPES = ((6, 5), (5,), (5, 7), (7, 4))
PARTS = [Part(start, shape, hidden=shape in SHAPES[2:3]) for start, shape in zip((0, 30, 35, 70), SHAPES, strict=True)]
SIZE = 98
DECAYS = torch.cat([torch.full((math.prod(shape),), float(len(shape) > 1)) for shape in SHAPES])
HIDDEN = PARTS[2].slice
LANES = [
    {"peak_lr": 1e-3, "weight_decay": 0.0, "beta2": 0.999, "trust_coefficient": 0.02},
    {"peak_lr": 1e-2, "weight_decay": 0.1, "beta2": 0.95, "momentum": 0.95},
    {"peak_lr": 3e-2, "weight_decay": 0.01, "beta2": 0.99, "beta1": 0.8, "epsilon": 1e-5, "momentum": 0.5},
]
Oracle = Callable[[Training, Tensor, Sequence[Tensor]], Tensor]  # training, start [P], gradients -> the weights at the end


def at(step: int) -> Tensor:
    return torch.full((1, 1), float(step), dtype=torch.float64)


def gradients(lanes: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    sizes = 10 ** torch.randn(SIZE, generator=generator)
    return [torch.randn(lanes, SIZE, generator=generator) * sizes for _ in range(STEPS)]


def started(lanes: int = len(LANES)) -> Tensor:
    return 0.3 * torch.randn(lanes, SIZE, generator=torch.Generator().manual_seed(1))


def trained(trainings: Sequence[Training], start: Tensor, gradients: Sequence[Tensor]) -> Tensor:
    """By our optimizer. A ramp that is held has no LR while it lasts."""
    packed = start.clone()
    ours = make_optimizer(trainings, packed, DECAYS, PARTS)
    for step, gradient in enumerate(gradients):
        rates = [
            0.0 if training.ramp == "held" and step < training.warmup_steps else training.peak_lr for training in trainings
        ]
        ours.update(packed, gradient.clone(), torch.tensor(rates)[:, None], at(step))
    return packed


# ---- others' code


def by(make: Make) -> Oracle:
    """By optimizers of one model's weights."""

    def weights_of(training: Training, start: Tensor, gradients: Sequence[Tensor]) -> Tensor:
        weights = [torch.nn.Parameter(start[part.slice].view(part.shape).clone()) for part in PARTS]
        theirs = make(training, weights)
        for gradient in gradients:
            for part, weight in zip(PARTS, weights, strict=True):
                weight.grad = gradient[part.slice].view(part.shape).clone()
            for optimizer in theirs:
                optimizer.step()
        return torch.cat([weight.detach().flatten() for weight in weights])

    return weights_of


def lars(training: Training, weights: list[torch.nn.Parameter]) -> list[torch.optim.Optimizer]:
    """pytorch-optimizer leaves vectors alone by itself; the LR stands outside its momentum, which is the same at one LR."""
    fields = {name: getattr(training, name) for name in ("weight_decay", "momentum", "trust_coefficient")}
    return [pytorch_optimizer.LARS(weights, lr=training.peak_lr, **fields, foreach=False)]


def lamb(training: Training, weights: list[torch.nn.Parameter]) -> list[torch.optim.Optimizer]:
    """Without bias correction (`adam_debias` leaves it out); decay inside the update; of vectors plain Adam, as ours.

    It adds epsilon to norms, and takes norms of weights as 10 at the most, which these do not reach."""
    fields = {"lr": training.peak_lr, "betas": (training.beta1, training.beta2), "eps": training.epsilon}
    fields |= {"weight_decouple": False, "max_grad_norm": 0.0, "adam_debias": True, "foreach": False}
    matrices, vectors = ([weight for weight in weights if (weight.ndim > 1) == matrix] for matrix in (True, False))
    decayed = pytorch_optimizer.Lamb(matrices, weight_decay=training.weight_decay, **fields)
    return [decayed, pytorch_optimizer.Lamb(vectors, weight_decay=0.0, adam=True, **fields)]


def muon_and_adamw(training: Training, weights: list[torch.nn.Parameter]) -> list[torch.optim.Optimizer]:
    """The hidden matrix goes by torch.optim.Muon, the rest by torch.optim.AdamW."""
    fields = {name: getattr(training, name) for name in ("weight_decay", "momentum", "nesterov")}
    hidden = torch.optim.Muon([weights[2]], lr=training.peak_lr, adjust_lr_fn="match_rms_adamw", **fields)
    rest = groups([weights[0], weights[1], weights[3]], training.weight_decay)
    betas = (training.beta1, training.beta2)
    return [hidden, torch.optim.AdamW(rest, lr=training.peak_lr, betas=betas, eps=training.epsilon)]


# ---- papers' algorithms, in float64


def lion_algorithm_2(training: Training, start: Tensor, gradients: Sequence[Tensor]) -> Tensor:
    """Chen et al. 2023: theta - eta (sign(beta1 m + (1 - beta1) g) + lambda theta)."""
    weights, momentum = start.double(), torch.zeros(SIZE).double()
    for gradient in gradients:
        update = torch.sign(training.beta1 * momentum + (1 - training.beta1) * gradient.double())
        weights = weights - training.peak_lr * (update + training.weight_decay * DECAYS * weights)
        momentum = training.beta2 * momentum + (1 - training.beta2) * gradient.double()
    return weights


def adam_by_hand(training: Training, start: Tensor, gradients: Sequence[Tensor]) -> Tensor:
    """Adam, AdamW and LAMB's algorithm 2, with their corrections or without. The second moment may start at the first squared
    gradient; under a held ramp it counts every gradient, and the first moment those from the first step at the peak on."""
    weights, first, decay = start.double(), torch.zeros(SIZE).double(), training.weight_decay * DECAYS.double()
    second = gradients[0].double() ** 2 * (training.second_moment_start == "first_gradient")
    held = training.warmup_steps if training.ramp == "held" else 0
    for step, gradient in enumerate(gradients, start=1):
        used = gradient.double() + decay * weights * (training.optimizer == "adam")
        second = training.beta2 * second + (1 - training.beta2) * used**2
        if step <= held:
            continue
        first = training.beta1 * first + (1 - training.beta1) * used
        corrections = (
            (1 - training.beta1 ** (step - held), 1 - training.beta2**step) if training.bias_correction else (1.0, 1.0)
        )
        direction = first / corrections[0] / ((second / corrections[1]).sqrt() + training.epsilon)
        direction = direction + decay * weights * (training.optimizer != "adam")
        for part in PARTS if training.optimizer == "lamb" else ():
            if part.is_matrix:
                direction[part.slice] *= weights[part.slice].norm() / direction[part.slice].norm()
        weights = weights - training.peak_lr * direction
    return weights


def decay_apart(training: Training, start: Tensor, gradients: Sequence[Tensor]) -> Tensor:
    """Weights shrink by the decay itself: AdamW, whose decay is multiplied by the LR, with a decay that is divided by it."""
    fields = {"weight_decay": training.weight_decay / training.peak_lr, "independent_decay": False}
    return adam_by_hand(training.model_copy(update=fields), start, gradients)


NOT_EACH = {"foreach": False}
# Optimizer, fields beside those of LANES, oracle, and the tolerance in units of TOLERANCE.
REFERENCES: dict[str, tuple[str, dict[str, Any], Oracle, float]] = {
    **{name: (name, {}, by(make), 1 + (name == "rmsprop")) for name, make in TORCHS.items()},
    "sgd, nesterov": ("sgd", {"nesterov": True}, by(TORCHS["sgd"]), 1),
    "sgdw": ("sgdw", {}, by(simple(pytorch_optimizer.SGDW, "momentum", weight_decouple=True, **NOT_EACH)), 2),
    "sgdw, nesterov": (
        "sgdw",
        {"nesterov": True},
        by(simple(pytorch_optimizer.SGDW, "momentum", "nesterov", weight_decouple=True, **NOT_EACH)),
        2,
    ),
    "lars": ("lars", {}, by(lars), 2),
    "lamb, uncorrected": ("lamb", {"bias_correction": False}, by(lamb), 2),
    "muon": ("muon", {}, by(muon_and_adamw), 1),
    "muon, nesterov": ("muon", {"nesterov": True}, by(muon_and_adamw), 1),
    "lion of the paper": ("lion", {}, lion_algorithm_2, 0.1),
    "lamb of the paper": ("lamb", {}, adam_by_hand, 1),
    "lamb of the paper, uncorrected": ("lamb", {"bias_correction": False}, adam_by_hand, 1),
    "adam, uncorrected": ("adam", {"bias_correction": False}, adam_by_hand, 1),
    "adamw, uncorrected": ("adamw", {"bias_correction": False}, adam_by_hand, 1),
    "adamw from the first gradient": ("adamw", {"second_moment_start": "first_gradient"}, adam_by_hand, 1),
    "adamw, decay apart from the LR": ("adamw", {"independent_decay": True, "weight_decay": 0.01}, decay_apart, 1),
    "adamw, held": ("adamw", {"steps": STEPS, "ramp": "held", "warmup_fraction": 0.3}, adam_by_hand, 1),
}
# Held to its paper by test_sophia.py.
ELSEWHERE = {"sophia"}
BY_KERNEL = [pytest.param(name, 1, id=f"{name} by torch's kernel") for name in ("adamw", "adam")]


@pytest.mark.parametrize(("name", "kernel_from"), [*(pytest.param(name, 10**9, id=name) for name in REFERENCES), *BY_KERNEL])
def test_follows_another(name: str, kernel_from: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adam, "KERNEL_FROM", kernel_from)
    optimizer, fields, oracle, times = REFERENCES[name]
    trainings = [Training(optimizer=optimizer, **{**lane, **fields}) for lane in LANES]
    start, drawn = started(), gradients(len(LANES))
    weights = trained(trainings, start, drawn).double()
    each_lane = enumerate(trainings)
    expected = torch.stack(
        [oracle(training, start[lane], [row[lane] for row in drawn]) for lane, training in each_lane]
    ).double()
    assert torch.isfinite(expected).all()
    assert max(expected[:, part.slice].norm(dim=1).max() for part in PARTS) < 10 or "lamb" not in name
    assert (expected - start).abs().amax(dim=1).min() > 0.01, "a lane has hardly moved: give it a larger peak_lr"
    if optimizer == "muon":
        way = (expected - start)[:, HIDDEN].norm(dim=1)
        assert way.min() > 0.02
        assert ((weights - expected)[:, HIDDEN].norm(dim=1) <= 0.03 * way).all()
        weights[:, HIDDEN] = expected[:, HIDDEN]
    off, largest = (difference.abs().amax(dim=1) for difference in (weights - expected, expected))
    assert (off <= times * TOLERANCE * largest.clamp(min=1.0)).all()


def test_every_optimizer_follows_another() -> None:
    unheld = {*OPTIMIZERS} - ELSEWHERE - {optimizer for optimizer, *_ in REFERENCES.values()}
    assert not unheld, f"give {unheld} a row in REFERENCES, or in TORCHS (single_steps.py) if torch.optim has the same rule"


# ---- torch's kernel


def test_the_kernel_passes_an_overflow_on_and_leaves_what_does_not_decay(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the packed update does: parameters that do not decay between those that do, a lane whose gradient overflows once."""
    trainings = [Training(optimizer="adamw", **lane) for lane in LANES]
    start, drawn = started(), gradients(len(LANES))[:20]
    drawn[5][2, 3] = float("inf")
    weights = []
    for least in (10**9, 1):
        monkeypatch.setattr(adam, "KERNEL_FROM", least)
        weights.append(trained(trainings, start, drawn))
    packed, by_kernel = weights
    assert packed[2].isnan().any()
    assert torch.equal(packed.isnan(), by_kernel.isnan())
    assert torch.allclose(packed, by_kernel, rtol=1e-5, atol=1e-6, equal_nan=True)


def test_the_kernel_is_left_where_it_would_do_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adam, "KERNEL_FROM", 1)
    plain, lr = Training(optimizer="adamw"), torch.ones(2, 1)

    def serves(lr: Tensor = lr, step: Tensor | None = None, **second: Any) -> bool:
        ours = make_optimizer([plain, Training(optimizer="adamw", **second)], torch.zeros(2, SIZE), torch.ones(SIZE))
        assert isinstance(ours, adam.Adam)
        return ours.kernel_serves(lr, at(3) if step is None else step)

    assert serves()
    assert not serves(second_moment_start="first_gradient"), "v0 = g0^2 is none of torch's"
    assert not serves(bias_correction=False)
    assert not serves(ramp="held", warmup_fraction=0.1), "a first moment that starts late is none of torch's"
    assert not serves(torch.ones(2, SIZE)), "a rate a parameter"
    assert not serves(step=torch.zeros(2, 1)), "lanes that skipped updates count their own"
    monkeypatch.setattr(adam, "KERNEL_FROM", SIZE + 1)
    assert not serves()


# ---- what single optimizers promise


def test_rmsprop_is_adam_without_a_first_moment() -> None:
    """beta1 = 0 and no correction: the claim adam.rmsprop, on the engine's own optimizers."""
    fields = {"peak_lr": 0.01, "beta1": 0.0, "beta2": 0.99, "weight_decay": 0.1, "bias_correction": False, "momentum": 0.0}
    adam, rms = (trained([Training(optimizer=name, **fields)], started(1), gradients(1)) for name in ("adam", "rmsprop"))
    assert torch.allclose(adam, rms, rtol=1e-6, atol=1e-7)


def test_where_lion_jumps_and_nowhere_else() -> None:
    """The sign is taken of 0.9 m + 0.1 g: g = -9 m is on the edge, and a millionth beside it is as rounding has it."""
    training = Training(optimizer="lion", beta1=0.9, beta2=0.99, weight_decay=0.0)
    ours = make_optimizer([training], torch.zeros(1, 4), torch.zeros(4))
    ours.state["momentum"].fill_(0.5)
    gradient_KP = 0.5 * torch.tensor([[-9.0, -9.0 * (1 + 1e-7), -9.01, 3.0]])
    assert ours.jumps(gradient_KP).tolist() == [[True, True, False, False]]


@pytest.mark.parametrize("shape", [(4, 9), (9, 4), (6, 6)])
def test_orthogonal_keeps_singular_vectors_and_levels_singular_values(shape: tuple[int, int]) -> None:
    matrices = torch.randn(3, *shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    for before, after in zip(matrices, muon.orthogonal(matrices), strict=True):
        left, _, right = torch.linalg.svd(before, full_matrices=False)
        levelled = left.T @ after @ right.T
        assert (levelled - levelled.diag().diag()).abs().max() < 1e-9, "the same singular vectors"
        assert levelled.diag().min() > 0.3
        assert levelled.diag().max() < 1.3


@pytest.mark.parametrize(("optimizer", "plain"), [("lars", "sgd"), ("lamb", "adamw")])
def test_a_matrix_of_zeros_moves_by_its_plain_update(optimizer: str, plain: str) -> None:
    """A readout may start at zero: no norm to take a share of."""
    trainings = (Training(optimizer=name, peak_lr=0.01, weight_decay=0.0) for name in (optimizer, plain))
    ours, theirs = (trained([training], torch.zeros(1, SIZE), gradients(1)[:1]) for training in trainings)
    assert torch.allclose(ours, theirs, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_an_update_leaves_its_gradient_as_it_is(optimizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of programs reads there what a step has used; also of torch's kernel, which takes over from wide lanes on."""
    for kernel_from in (adam.KERNEL_FROM, 1):
        monkeypatch.setattr(adam, "KERNEL_FROM", kernel_from)
        packed = started()
        ours = make_optimizer([Training(optimizer=optimizer, **lane) for lane in LANES], packed, DECAYS, PARTS)
        gradient = gradients(len(LANES))[0]
        used = ours.gradient_KP.copy_(gradient)
        ours.update(packed, used, torch.full((len(LANES), 1), 1e-3), at(0))
        assert torch.equal(used, gradient)


def test_clipping_follows_torch_lane_by_lane() -> None:
    gradient = torch.randn(3, SIZE, generator=torch.Generator().manual_seed(2)) * torch.tensor([[0.01], [1.0], [100.0]])
    lanes = [Training(clip_norm=1.0), Training(clip_norm=None), Training(clip_norm=0.5)]
    limits = clip_limits(lanes, gradient.device)
    assert limits is not None
    factor = clip_factor(gradient.norm(dim=1), limits)
    for lane, row, clipped in zip(lanes, gradient, gradient * factor, strict=True):
        weights = torch.nn.Parameter(torch.zeros(SIZE))
        weights.grad = row.clone()
        if lane.clip_norm is not None:
            torch.nn.utils.clip_grad_norm_([weights], lane.clip_norm)
        assert torch.allclose(clipped, weights.grad, rtol=1e-6)
    assert clip_limits([Training(), Training(), Training()], gradient.device) is None
