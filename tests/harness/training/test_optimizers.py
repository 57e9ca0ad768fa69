"""Every packed optimizer against torch.optim on the same gradients, 150 steps, lanes of different hyper-parameters.

Tolerance: relative 2e-5 of the largest weight. Both compute in float32; what differs is the order of operations. As no
gradient depends on the weights, a difference of rounding is kept and not amplified: after 150 steps there are at most 150
times an update's and a weight's own, 2^-24 each, or 9e-6.
"""

import pytest
import torch

from folklore.harness.spec import Training
from folklore.harness.training.clipping import clip_factor, clip_limits
from folklore.harness.training.optimizers import adam, make_optimizer

STEPS, SIZE, TOLERANCE = 150, 40, 2e-5
LANES = [
    {"peak_lr": 1e-3, "weight_decay": 0.0, "beta2": 0.999},
    {"peak_lr": 3e-2, "weight_decay": 0.1, "beta2": 0.95},
    {"peak_lr": 1e-1, "weight_decay": 0.01, "beta2": 0.99, "beta1": 0.8, "epsilon": 1e-5, "momentum": 0.5},
]


def at(step: int) -> torch.Tensor:
    return torch.full((1, 1), float(step), dtype=torch.float64)


def reference(training: Training, weights: torch.nn.Parameter) -> torch.optim.Optimizer:
    adam = {"lr": training.peak_lr, "betas": (training.beta1, training.beta2), "eps": training.epsilon}
    decay = {"weight_decay": training.weight_decay}
    match training.optimizer:
        case "adamw":
            return torch.optim.AdamW([weights], **adam, **decay)
        case "adam":
            return torch.optim.Adam([weights], **adam, **decay)
        case "radam":
            return torch.optim.RAdam([weights], **adam, **decay, decoupled_weight_decay=True)
        case "sgd":
            return torch.optim.SGD(
                [weights], lr=training.peak_lr, momentum=training.momentum, nesterov=training.nesterov, **decay
            )
    raise AssertionError(training.optimizer)


@pytest.fixture(params=[False, True], ids=["packed", "kernel"])
def by_kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether lanes count as wide enough for torch's kernel."""
    monkeypatch.setattr(adam, "KERNEL_FROM", 1 if request.param else 10**9)
    return bool(request.param)


@pytest.mark.usefixtures("by_kernel")
@pytest.mark.parametrize(
    ("optimizer", "nesterov"), [("adamw", False), ("adam", False), ("radam", False), ("sgd", False), ("sgd", True)]
)
def test_follows_torch(optimizer: str, nesterov: bool) -> None:
    trainings = [Training(optimizer=optimizer, nesterov=nesterov, **lane) for lane in LANES]
    generator = torch.Generator().manual_seed(0)
    packed = torch.randn(len(LANES), SIZE, generator=generator)
    alone = [torch.nn.Parameter(row.clone()) for row in packed]
    references = [reference(training, weights) for training, weights in zip(trainings, alone, strict=True)]
    ours = make_optimizer(trainings, packed, torch.ones(SIZE))
    lr = torch.tensor([[training.peak_lr] for training in trainings])
    for step in range(STEPS):
        gradient = torch.randn(len(LANES), SIZE, generator=generator) * 10 ** torch.randn(SIZE, generator=generator)
        ours.update(packed, gradient, lr, at(step))
        for weights, row, theirs in zip(alone, gradient, references, strict=True):
            weights.grad = row.clone()
            theirs.step()
    expected = torch.stack([weights.detach() for weights in alone])
    assert torch.isfinite(expected).all()
    assert (packed - expected).abs().max() <= TOLERANCE * expected.abs().max()


@pytest.mark.parametrize("optimizer", ["adamw", "adam"])
def test_the_kernel_does_what_the_packed_update_does(optimizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With parameters that do not decay between those that do, and a lane whose gradient overflows once."""
    trainings = [Training(optimizer=optimizer, **lane) for lane in LANES]
    generator = torch.Generator().manual_seed(3)
    start = torch.randn(len(LANES), SIZE, generator=generator)
    decays = torch.tensor([1.0] * 7 + [0.0] * 2 + [1.0] * 1 + [0.0] * 10 + [1.0] * 20)
    gradients = torch.randn(20, len(LANES), SIZE, generator=generator)
    gradients[5, 2, 3] = float("inf")
    found = []
    for least in (10**9, 1):
        monkeypatch.setattr(adam, "KERNEL_FROM", least)
        packed = start.clone()
        ours = make_optimizer(trainings, packed, decays)
        assert isinstance(ours, adam.Adam)
        lr = torch.tensor([[training.peak_lr] for training in trainings])
        assert ours.kernel_serves(lr, at(0)) == (least == 1)
        for step, gradient in enumerate(gradients):
            ours.update(packed, gradient, lr, at(step))
        found.append(packed)
    packed, by_kernel = found
    assert packed[2].isnan().any()
    assert torch.equal(packed.isnan(), by_kernel.isnan())
    assert torch.allclose(packed, by_kernel, rtol=1e-5, atol=1e-6, equal_nan=True)


def test_the_kernel_is_left_where_it_would_do_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adam, "KERNEL_FROM", 1)
    plain = Training(optimizer="adamw")
    special = Training(optimizer="adamw", second_moment_start="first_gradient")
    lr = torch.ones(2, 1)

    def serves(trainings: list[Training], lr: torch.Tensor, step: torch.Tensor) -> bool:
        ours = make_optimizer(trainings, torch.zeros(2, SIZE), torch.ones(SIZE))
        assert isinstance(ours, adam.Adam)
        return ours.kernel_serves(lr, step)

    assert serves([plain, plain], lr, at(3))
    assert not serves([plain, special], lr, at(3)), "v0 = g0^2 is none of torch's"
    held = Training(optimizer="adamw", ramp="held", warmup_fraction=0.1)
    assert not serves([plain, held], lr, at(3)), "a first moment that starts late is none of torch's"
    assert not serves([plain, plain], torch.ones(2, SIZE), at(3)), "a rate a parameter"
    assert not serves([plain, plain], lr, torch.zeros(2, 1)), "lanes that skipped updates count their own"
    monkeypatch.setattr(adam, "KERNEL_FROM", SIZE + 1)
    assert not serves([plain, plain], lr, at(3))


def test_second_moment_started_at_the_first_gradient() -> None:
    """v0 = g0^2 with Adam's correction, computed here by hand in float64."""
    training = Training(optimizer="adamw", second_moment_start="first_gradient", weight_decay=0.0, peak_lr=0.01)
    plain = Training(optimizer="adamw", weight_decay=0.0, peak_lr=0.01)
    generator = torch.Generator().manual_seed(1)
    gradients = torch.randn(20, SIZE, generator=generator, dtype=torch.float64)
    weights, first, second = torch.zeros(SIZE, dtype=torch.float64), torch.zeros(SIZE).double(), gradients[0] ** 2
    packed = torch.zeros(2, SIZE)
    ours = make_optimizer([training, plain], packed, torch.ones(SIZE))
    for step, gradient in enumerate(gradients):
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        corrected = second / (1 - 0.999 ** (step + 1))
        weights = weights - 0.01 * first / (1 - 0.9 ** (step + 1)) / (corrected.sqrt() + 1e-8)
        ours.update(packed, gradient.float().expand(2, -1), torch.full((2, 1), 0.01), at(step))
    assert torch.allclose(packed[0].double(), weights, rtol=1e-4, atol=1e-7)
    assert not torch.allclose(packed[1].double(), weights, rtol=1e-2), "the plain lane beside it must not be affected"


def test_of_a_held_ramp_only_the_second_moment_forms() -> None:
    """By hand in float64: the second moment counts every gradient, the first those from the first step at the peak on."""
    held = Training(optimizer="adamw", steps=10, weight_decay=0.0, warmup_fraction=0.4, ramp="held")
    plain = Training(optimizer="adamw", steps=10, weight_decay=0.0, warmup_fraction=0.0)
    gradients = torch.randn(10, SIZE, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    weights, first, second = (torch.zeros(SIZE, dtype=torch.float64) for _ in range(3))
    packed = torch.zeros(2, SIZE)
    ours = make_optimizer([held, plain], packed, torch.ones(SIZE))
    for step, gradient in enumerate(gradients):
        second = held.beta2 * second + (1 - held.beta2) * gradient**2
        rate = 0.01 if step >= 4 else 0.0
        if step >= 4:
            first = held.beta1 * first + (1 - held.beta1) * gradient
            corrected = (second / (1 - held.beta2 ** (step + 1))).sqrt() + held.epsilon
            weights = weights - rate * first / (1 - held.beta1 ** (step - 3)) / corrected
        ours.update(packed, gradient.float().expand(2, -1), torch.tensor([[rate], [0.01]]), at(step))
    assert torch.allclose(packed[0].double(), weights, rtol=1e-4, atol=1e-7)
    assert not torch.allclose(packed[1].double(), weights, rtol=1e-2), "the plain lane beside it counts every gradient"


@pytest.mark.usefixtures("by_kernel")
def test_decay_leaves_unmarked_parameters_alone() -> None:
    training = Training(optimizer="adamw", weight_decay=0.5)
    packed = torch.ones(1, 2)
    make_optimizer([training], packed, torch.tensor([1.0, 0.0])).update(packed, torch.zeros(1, 2), torch.tensor([[0.1]]), at(0))
    assert packed.tolist() == [[pytest.approx(0.95), 1.0]]


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
