"""Comparisons of trainings step by step, each from equal states.

Adam makes whole steps of the rounding of gradients that are nearly zero, so that two curves of a correct training have no
bound. Here every step of a training starts where our lane stands, and one step of each side is compared by the rounding that
is stated in harness/train/agreement.py.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from folklore.harness.declare import Training
from folklore.harness.train.agreement import OF_THE_LANE, UNITS, UPDATE
from folklore.harness.train.pack import Pack
from folklore.harness.train.precisions import precision_named
from folklore.harness.train.schedules import learning_rates

Layout = Callable[[str, Tensor], Tensor]  # name, one lane's parameter -> as torch.nn holds it
Make = Callable[[Training, list[torch.nn.Parameter]], list[torch.optim.Optimizer]]  # optimizers of one model's weights


def groups(weights: Sequence[torch.nn.Parameter], decay: float) -> list[dict[str, Any]]:
    """Vectors do not decay."""
    return [
        {"params": [weight for weight in weights if (weight.ndim > 1) == matrices], "weight_decay": decay * matrices}
        for matrices in (True, False)
    ]


def simple(kind: Callable[..., torch.optim.Optimizer], *names: str, **more: Any) -> Make:
    """With these of our fields by their names in torch."""
    ours = {"betas": lambda t: (t.beta1, t.beta2), "eps": lambda t: t.epsilon, "alpha": lambda t: t.beta2}

    def make(training: Training, weights: list[torch.nn.Parameter]) -> list[torch.optim.Optimizer]:
        fields = {name: ours[name](training) if name in ours else getattr(training, name) for name in names}
        return [kind(groups(weights, training.weight_decay), lr=training.peak_lr, **fields, **more)]

    return make


BETAS = ("betas", "eps")
# Of ours, those that torch has by the same rule.
TORCHS = {
    "adamw": simple(torch.optim.AdamW, *BETAS),
    "adam": simple(torch.optim.Adam, *BETAS),
    "radam": simple(torch.optim.RAdam, *BETAS, decoupled_weight_decay=True),
    "sgd": simple(torch.optim.SGD, "momentum", "nesterov"),
    "rmsprop": simple(torch.optim.RMSprop, "alpha", "eps", "momentum"),
}


def weights_of(pack: Pack, lane: int) -> dict[str, Tensor]:
    """Copies of a lane's weights, to be differentiated by torch alone."""
    return {name: view[lane].detach().clone().requires_grad_() for name, view in pack.network.views.items()}


def relu_mlp(weights: Mapping[str, Tensor], inputs: Tensor) -> Tensor:
    """Logits [N, C] of an MLP of ReLUs by torch alone."""
    x = inputs.flatten(1)
    for index in range(len(weights) // 2 - 1):  # all but the readout's weight and bias
        x = torch.relu(x @ weights[f"hidden.{index}.weight"] + weights[f"hidden.{index}.bias"])
    return x @ weights["readout.weight"] + weights["readout.bias"]


def assert_losses_agree(ours: Tensor | float, theirs: Tensor | float, precision: str = "fp32") -> None:
    """Losses in nats, [...]."""
    ours, theirs = (torch.as_tensor(losses).double() for losses in (ours, theirs))
    assert ((ours - theirs).abs() <= precision_named(precision).loss * theirs.abs().clamp(min=1.0)).all(), (ours, theirs)


def assert_lane_is_torchs(
    pack: Pack,
    lane: int,
    parameters: Mapping[str, Tensor],
    optimizer: torch.optim.Optimizer,
    loss_at: Callable[[int], Tensor],
    clip_norm: float | None = None,
    layout: Layout = lambda name, value: value,
    shown: Callable[[int, Tensor], Tensor] = lambda step, loss: loss,
) -> None:
    """Train a pack to its end and, beside one lane, torch's model and optimizer: losses, gradients and updates of each step.

    parameters: torch's, by our names. The lane's weights are given to torch before each step, and its gradients to torch's
    optimizer, whose moments are its own all along, and whose LR of a group, mostly one, is a multiple of the lane's. loss_at:
    torch's loss of a step, from its parameters as they are. shown: what a training's record has of it.
    """

    def ours(flat_KP: Tensor) -> dict[str, Tensor]:
        return {name: layout(name, view[lane].detach()) for name, view in pack.network.views_of(flat_KP).items()}

    rates, multiples = learning_rates(pack.trainings[lane]), [group["lr"] for group in optimizer.param_groups]
    while not pack.done:
        step, old_KP = pack.step, pack.network.flat_KP.detach().clone()
        pack.advance(0.0)
        assert pack.step == step + 1
        with torch.no_grad():
            for name, value in ours(old_KP).items():
                parameters[name].copy_(value)
        optimizer.zero_grad()
        loss = loss_at(step)
        loss.backward()
        assert_losses_agree(pack.records["train_loss"][step, lane], shown(step, loss.detach()), pack.training.precision)
        if clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(parameters.values(), clip_norm)
        gradients = ours(pack.optimizer.gradient_KP)
        largest = max(float(gradient.abs().max()) for gradient in gradients.values())
        for name, gradient in gradients.items():
            theirs = parameters[name].grad
            off = (gradient - (torch.zeros_like(gradient) if theirs is None else theirs)).abs().max()
            assert off <= precision_named(pack.training.precision).gradient * (gradient.abs().max() + OF_THE_LANE * largest), (
                step,
                name,
            )
            if theirs is not None:
                parameters[name].grad = gradient.clone()
        for group, multiple in zip(optimizer.param_groups, multiples, strict=True):
            group["lr"] = rates[step] * multiple
        optimizer.step()
        for (name, value), old in zip(ours(pack.network.flat_KP).items(), ours(old_KP).values(), strict=True):
            off = (value - parameters[name].detach()).abs()
            assert (off <= UPDATE * (value - old).abs().max() + UNITS * old.abs()).all(), (step, name)
