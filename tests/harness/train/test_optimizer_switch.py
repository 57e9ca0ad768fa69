"""SGD that takes over from Adam against torch.optim, one after the other."""

from functools import partial

import pytest
import torch

from folklore.harness.declare import Workload
from folklore.harness.train.pack import Lane
from tests.harness.train import contract
from tests.harness.train.contract import trained
from tests.harness.train.single_steps import relu_mlp, weights_of

MLP = Workload(model="mlp", dataset="digits", width=16, depth=1)
STEPS, AT = 40, 24
lane = partial(
    contract.lane, MLP, 5, optimizer="adam", peak_lr=2.0**-7, batch_size=8, weight_decay=0.01, epsilon=1e-3, steps=STEPS
)


def by_torch(chosen: Lane) -> torch.Tensor:
    """Weights after Adam or AdamW, and from its step on SGD, of torch."""
    training, pack = chosen.configuration.training, contract.pack(chosen)
    weights = weights_of(pack, 0)
    groups = [
        {"params": [weight for name, weight in weights.items() if name.endswith(ending)], "weight_decay": decay}
        for ending, decay in ((".weight", training.weight_decay), (".bias", 0.0))
    ]
    adam = (torch.optim.Adam if training.optimizer == "adam" else torch.optim.AdamW)(groups, eps=training.epsilon)
    sgd = torch.optim.SGD([dict(group) for group in groups], momentum=training.momentum, lr=1.0)
    for step in range(STEPS):
        inputs, targets = pack.procedure.batch(pack.procedure.examples_of(step))
        optimizer, factor = (adam, 1.0) if step < AT else (sgd, training.sgd_lr)
        optimizer.zero_grad()
        torch.autograd.backward(torch.nn.functional.cross_entropy(relu_mlp(weights, inputs[0]), targets[0]))
        for group in optimizer.param_groups:
            group["lr"] = float(pack.lr_SK[step, 0]) * factor
        optimizer.step()
    return torch.cat([weight.detach().flatten() for weight in weights.values()])


@pytest.mark.parametrize("optimizer", ["adam", "adamw"])
def test_sgd_goes_on_where_adam_ended(optimizer: str) -> None:
    chosen = lane(optimizer=optimizer, sgd_from=AT / STEPS, sgd_lr=8.0)
    pack = trained(chosen)
    torch.testing.assert_close(pack.network.flat_KP[0].detach(), by_torch(chosen), rtol=1e-4, atol=1e-5)
    without = trained(lane(optimizer=optimizer)).network.flat_KP
    assert (without - pack.network.flat_KP).abs().max() > 1e-3
