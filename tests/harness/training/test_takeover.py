"""SGD that takes over from Adam against torch.optim, one after the other."""

from typing import Any

import pytest
import torch
from pydantic import ValidationError

from folklore.harness.data import load
from folklore.harness.spec import Configuration, Measurement, Training, Workload
from folklore.harness.training.pack import Lane, Pack

MLP = Workload(model="mlp", dataset="digits", width=16, depth=1)
MEASUREMENT = Measurement(probes=2, evaluations=2, evaluation_examples=8, final_examples=8)
STEPS, AT = 40, 24


def lane(**training: Any) -> Lane:
    fields = {"optimizer": "adam", "peak_lr": 2.0**-7, "weight_decay": 0.01, "epsilon": 1e-3, "steps": STEPS, **training}
    return Lane(Configuration(workload=MLP, training=Training(**fields), measurement=MEASUREMENT), 5)


def trained(*chosen: Lane) -> Pack:
    pack = Pack(chosen, load("digits"))
    pack.advance()
    return pack


def by_torch(chosen: Lane) -> torch.Tensor:
    """Weights after Adam or AdamW, and from its step on SGD, of torch."""
    training, pack = chosen.configuration.training, Pack([chosen], load("digits"))
    weights = {name: each[0].detach().clone().requires_grad_() for name, each in pack.network.views.items()}
    groups = [
        {"params": [each for name, each in weights.items() if name.endswith(ending)], "weight_decay": decay}
        for ending, decay in ((".weight", training.weight_decay), (".bias", 0.0))
    ]
    adam = (torch.optim.Adam if training.optimizer == "adam" else torch.optim.AdamW)(groups, eps=training.epsilon)
    sgd = torch.optim.SGD([dict(each) for each in groups], momentum=training.momentum, lr=1.0)
    for step in range(STEPS):
        index = torch.from_numpy(pack.procedure.draw(step // pack.procedure.steps_per_draw))
        inputs, targets = pack.procedure.batch(index[step % pack.procedure.steps_per_draw])
        hidden = torch.relu(inputs[0].flatten(1) @ weights["hidden.0.weight"] + weights["hidden.0.bias"])
        logits = hidden @ weights["readout.weight"] + weights["readout.bias"]
        optimizer, factor = (adam, 1.0) if step < AT else (sgd, training.sgd_lr)
        optimizer.zero_grad()
        torch.autograd.backward(torch.nn.functional.cross_entropy(logits, targets[0]))
        for group in optimizer.param_groups:
            group["lr"] = float(pack.lr_SK[step, 0]) * factor
        optimizer.step()
    return torch.cat([each.detach().flatten() for each in weights.values()])


@pytest.mark.parametrize("optimizer", ["adam", "adamw"])
def test_sgd_goes_on_where_adam_ended(optimizer: str) -> None:
    chosen = lane(optimizer=optimizer, sgd_from=AT / STEPS, sgd_lr=8.0)
    pack = trained(chosen)
    torch.testing.assert_close(pack.network.flat_KP[0].detach(), by_torch(chosen), rtol=1e-4, atol=1e-5)
    without = trained(lane(optimizer=optimizer)).network.flat_KP
    assert (without - pack.network.flat_KP).abs().max() > 1e-3


def test_a_lane_does_not_know_its_neighbours() -> None:
    chosen = (lane(sgd_from=0.5, sgd_lr=4.0), lane(), lane(sgd_from=AT / STEPS))
    together = trained(*chosen).network.flat_KP.detach()
    alone = torch.cat([trained(each).network.flat_KP.detach() for each in chosen])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)


def test_an_interrupted_training_goes_on() -> None:
    chosen = lane(sgd_from=0.5, sgd_lr=4.0)
    first, second = Pack([chosen], load("digits")), Pack([chosen], load("digits"))
    while first.step < 30:
        first.advance(0.0)
    second.load({name: each.clone() for name, each in first.state().items()})
    second.advance()
    assert torch.equal(second.network.flat_KP, trained(chosen).network.flat_KP)


def test_it_takes_over_from_adam_alone() -> None:
    with pytest.raises(ValidationError, match=r"sgd_from = 0.5: SGD takes over from Adam, and optimizer = lion; choose"):
        Training(optimizer="lion", sgd_from=0.5)
