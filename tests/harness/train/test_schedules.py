"""Every schedule against torch's own schedulers, step by step: the same numbers to 1e-9 of the peak, and drops on a plateau."""

import warnings

import numpy as np
import pytest
import torch
from torch.optim.lr_scheduler import ConstantLR, CosineAnnealingLR, LinearLR, LRScheduler, MultiStepLR, SequentialLR

from folklore.harness.declare import Training
from folklore.harness.train.procedures.plateau import PlateauRule
from folklore.harness.train.schedules import learning_rates
from tests.harness.train.contract import GPT, lane, trained

PEAK, STEPS = 0.3, 200


def torch_rates(make: "callable", warmup: int) -> np.ndarray:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=PEAK)
    schedule: LRScheduler = make(optimizer)
    if warmup:
        ramp = LinearLR(optimizer, start_factor=1 / warmup, end_factor=1.0, total_iters=warmup - 1) if warmup > 1 else None
        parts = [ramp or ConstantLR(optimizer, factor=1.0), schedule]
        schedule = SequentialLR(optimizer, parts, milestones=[warmup])
    rates = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(STEPS):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            schedule.step()
    return np.array(rates)


@pytest.mark.parametrize("warmup_fraction", [0.0, 0.005, 0.1, 0.25])
@pytest.mark.parametrize("final_fraction", [0.0, 0.1])
@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine", "step"])
def test_follows_torch(schedule: str, final_fraction: float, warmup_fraction: float) -> None:
    training = Training(
        peak_lr=PEAK, steps=STEPS, schedule=schedule, final_fraction=final_fraction, warmup_fraction=warmup_fraction
    )
    warmup = training.warmup_steps
    rest = STEPS - warmup
    makers = {
        "constant": lambda optimizer: ConstantLR(optimizer, factor=1.0),
        "linear": lambda optimizer: LinearLR(optimizer, 1.0, max(final_fraction, 1e-15), total_iters=rest),
        "cosine": lambda optimizer: CosineAnnealingLR(optimizer, T_max=rest, eta_min=final_fraction * PEAK),
        "step": lambda optimizer: MultiStepLR(optimizer, [int(np.ceil(rest * d)) for d in training.step_drops], gamma=0.1),
    }
    assert np.allclose(learning_rates(training), torch_rates(makers[schedule], warmup), rtol=0, atol=1e-9 * PEAK)


def test_a_held_ramp_is_zero_and_then_what_the_linear_one_comes_to() -> None:
    settings = {"peak_lr": 0.5, "steps": 100, "warmup_fraction": 0.1, "schedule": "cosine"}
    held, linear = (learning_rates(Training(ramp=ramp, **settings)) for ramp in ("held", "linear"))
    assert not held[:10].any()
    assert held[10] == 0.5
    assert np.array_equal(held[10:], linear[10:])
    assert learning_rates(Training(ramp="held", peak_lr=0.5, steps=4, warmup_fraction=0.0))[0] == 0.5


def test_a_positive_warmup_takes_at_least_one_step() -> None:
    assert Training(steps=20, warmup_fraction=0.005).warmup_steps == 1
    assert Training(steps=20, warmup_fraction=0.0).warmup_steps == 0


def test_warmup_stable_decay() -> None:
    """Warmup 10%, flat to 80%, linear to the final fraction over the last 20% of the whole run."""
    rates = learning_rates(
        Training(
            peak_lr=1.0, steps=100, warmup_fraction=0.1, schedule="warmup_stable_decay", decay_fraction=0.2, final_fraction=0.1
        )
    )
    assert np.allclose(rates[9:81], 1.0)
    assert np.allclose(rates[80:], 1.0 - 0.9 * np.arange(20) / 20)


# ---- what follows losses, and the range test's ramp


@pytest.mark.parametrize(("patience", "factor"), [(0, 0.5), (2, 0.1), (4, 0.3)])
def test_drops_are_torchs(patience: int, factor: float) -> None:
    generator = np.random.default_rng(patience)
    losses = np.maximum(2.0, 5.0 - 0.3 * np.arange(40)) + 0.05 * generator.standard_normal(40)
    losses[30] = np.nan
    follows = Training(schedule="reduce_on_plateau", patience=patience, step_factor=factor)
    rule = PlateauRule([follows, Training(schedule="cosine")], torch.device("cpu"))
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=factor, patience=patience, eps=0.0)
    lr = 1.0
    for loss in losses:
        drops = rule.drops(torch.tensor([loss, loss], dtype=torch.float32))
        lr *= float(drops[0])
        assert float(drops[1]) == 1.0, "a lane with a schedule of its own"
        scheduler.step(float(np.float32(loss)))
        assert lr == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-5)
    assert lr < 1.0


def test_a_pack_lowers_its_lr() -> None:
    fields = {"schedule": "reduce_on_plateau", "patience": 0, "peak_lr": 2.0**-1, "steps": 40, "warmup_fraction": 0.0}
    (result,) = trained(lane(GPT, measurement={"evaluations": 20, "curve_points": 40}, **fields)).results()
    lr = result.curves["lr"]
    assert lr[0] == 0.5
    assert lr[-1] < 0.5
    assert sorted(lr, reverse=True) == lr


def test_the_ramp_rises_by_equal_factors() -> None:
    lr = learning_rates(Training(schedule="exponential", ramp_start=1e-8, peak_lr=100.0, steps=300, warmup_fraction=0.0))
    assert lr[0] == pytest.approx(1e-6)
    assert lr[-1] == pytest.approx(100.0)
    assert np.allclose(lr[1:] / lr[:-1], 1e8 ** (1 / 299))
