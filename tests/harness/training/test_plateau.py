"""The plateau rule against torch.optim.lr_scheduler.ReduceLROnPlateau, and the range test's ramp."""

import numpy as np
import pytest
import torch

from folklore.harness.spec import Training
from folklore.harness.training.plateau import PlateauRule
from folklore.harness.training.schedules import learning_rates
from tests.harness.training.contract import GPT, lane, trained


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
