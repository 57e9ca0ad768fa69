"""An outlier put into Adam's moments against a loop of torch.optim whose gradient is multiplied at that step, and against
moments that are changed by hand."""

from collections.abc import Callable

import pytest
import torch

from folklore.harness.declare import Training, Workload
from folklore.harness.train.pack import Lane
from folklore.harness.train.procedures.outlier import outlier_step
from tests.harness.train import contract
from tests.harness.train.contract import trained

GPT = Workload(model="gpt", width=16, depth=1, heads=2, context=16)
STEPS, AT, SIZE = 80, 20, 50.0


def lanes(*kinds: str, **fields: object) -> list[Lane]:
    # With an epsilon of 1e-8 rounding alone parts two Adams by 1% in so many steps, where gradients are next to zero.
    training = {"steps": STEPS, "batch_size": 4, "peak_lr": 2.0**-8, "beta2": 0.99, "epsilon": 1e-3, **fields}
    return [contract.lane(GPT, 3, outlier=kind, **training) for kind in kinds]


def by_torch(change: Callable[[int, torch.Tensor, dict], None], **fields: object) -> torch.Tensor:
    """Weights that torch.optim.AdamW trains on the same batches; change: called with step, gradient and Adam's state."""
    (lane,) = lanes("none", **fields)
    pack = contract.pack(lane)
    training = lane.configuration.training
    weights = pack.network.flat_KP.clone()
    parameter = torch.nn.Parameter(weights[0].clone())
    betas = (training.beta1, training.beta2)
    optimizer = torch.optim.AdamW([parameter], betas=betas, eps=training.epsilon, weight_decay=0.0)
    for step in range(STEPS):
        batch = pack.procedure.batch(pack.procedure.examples_of(step))
        with torch.no_grad():
            pack.network.flat_KP[0] = parameter
        gradient = pack.procedure.gradient(*batch)[1][0].clone()
        optimizer.param_groups[0]["lr"] = float(pack.lr_SK[step, 0])
        change(step, gradient, optimizer.state[parameter])
        parameter.grad = gradient
        optimizer.step()
    return parameter.detach()


def whole(step: int, gradient: torch.Tensor, state: dict) -> None:
    """A gradient that counts so many times."""
    if step == AT:
        gradient.mul_(SIZE)


def memory(step: int, gradient: torch.Tensor, state: dict) -> None:
    """Its memory alone, which leaves the first moment: v <- beta2 v + (1 - beta2) g^2 follows."""
    if step == AT:
        state["exp_avg_sq"].add_(gradient.square(), alpha=(SIZE**2 - 1) * 0.01 / 0.99)


@pytest.mark.parametrize("kind", [whole, memory], ids=lambda kind: kind.__name__)
def test_an_outlier_is_what_torchs_adam_makes_of_it(kind: Callable[[int, torch.Tensor, dict], None]) -> None:
    weights = trained(*lanes(kind.__name__, weight_decay=0.0)).network.flat_KP[0]
    expected = by_torch(kind, weight_decay=0.0)
    start = contract.pack(*lanes("none")).network.flat_KP[0]
    assert (weights - expected).norm() < 1e-3 * (expected - start).norm()


def test_after_its_kick_the_moments_are_as_if_it_had_not_been() -> None:
    """Up to what the gradients since then say, which differ because the weights do: of lanes whose LR is next to nothing they
    do not."""
    moments = trained(*lanes("none", "kick", "whole", peak_lr=1e-12)).optimizer.state
    none, kick, whole = moments["second"]
    assert torch.allclose(kick, none, rtol=2e-2, atol=1e-4 * float(none.max()))
    assert float(whole.sum()) > 20 * float(none.sum())
    none, kick, whole = moments["first"]
    assert (kick - none).norm() < 0.05 * (whole - none).norm()


def test_never_the_first_step() -> None:
    assert outlier_step(Training(outlier="whole", steps=2)) == 1
