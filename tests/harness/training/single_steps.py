"""Comparisons of trainings step by step, each from equal states.

Adam makes whole steps of the rounding of gradients that are nearly zero, so that two curves of a correct training have no
bound. Here every step of a training starts where our lane stands, and one step of each side is compared by the rounding that
is stated in harness/training/agreement.py.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from folklore.harness.training.agreement import OF_THE_LANE, UNITS, UPDATE, Step
from folklore.harness.training.number_formats import format_named
from folklore.harness.training.pack import Pack

Layout = Callable[[str, Tensor], Tensor]  # name, one lane's parameter -> as torch.nn holds it


def assert_losses_agree(ours: Tensor | float, theirs: Tensor | float, precision: str = "fp32") -> None:
    """Losses in nats, [...]."""
    ours, theirs = (torch.as_tensor(each).double() for each in (ours, theirs))
    assert ((ours - theirs).abs() <= format_named(precision).loss * theirs.abs().clamp(min=1.0)).all(), (ours, theirs)


def elsewhere(pack: Pack, parts: Sequence[tuple[Pack, Sequence[int]]]) -> Step:
    """A plain step of some lanes of a pack as other packs make it; each of these holds the lanes with the numbers beside it.

    Lanes that no other pack holds are trained by the pack itself.
    """

    def step() -> None:
        held = [_lanes(pack, numbers) for _, numbers in parts]
        if {number for _, numbers in parts for number in numbers} != set(range(len(pack.lanes))):
            pack._plain_step()
        pack.clock.fill_(pack.step + 1)
        for (part, numbers), before in zip(parts, held, strict=True):
            for name, value in _tensors(part).items():
                value.copy_(before[name])
            part.step = pack.step
            part.clock.fill_(pack.step)
            part._draw()
            part._plain_step()
            after = _tensors(part)
            for name, value in _tensors(pack).items():
                value.index_copy_(_axis(name), torch.tensor(numbers), after[name].detach())

    return step


def _tensors(pack: Pack) -> dict[str, Tensor]:
    """What has lanes and changes in a plain step, or decides it."""
    return {name: each for name, each in pack.state().items() if name.startswith(("optimizer.", "scaler.", "plateau."))} | {
        "weights": pack.network.flat_KP.detach(), "gradient": pack.optimizer.gradient_KP, "lr": pack.lr_SK,
        "train_loss": pack.records["train_loss"],
    }  # fmt: skip


def _axis(name: str) -> int:
    return 1 if name in ("lr", "train_loss") else 0


def _lanes(pack: Pack, numbers: Sequence[int]) -> dict[str, Tensor]:
    return {name: each.index_select(_axis(name), torch.tensor(numbers)) for name, each in _tensors(pack).items()}


def assert_parts_agree(pack: Pack, parts: Sequence[tuple[Pack, Sequence[int]]]) -> None:
    """At every step of the pack's training, and in the evaluation of what it leaves."""
    check = pack._step_check()
    while not pack.done:
        pack._draw()
        assert check(pack._plain_step, elsewhere(pack, parts)).difference == "", pack.step
        pack.step += 1
    sample = pack._sample("test", pack.measurement.final_examples)
    losses_K = pack.network.evaluate(*sample)
    for part, numbers in parts:
        part.network.flat_KP.copy_(pack.network.flat_KP[list(numbers)])
        assert_losses_agree(part.network.evaluate(*sample), losses_K[list(numbers)])


def assert_lane_is_torchs(
    pack: Pack,
    lane: int,
    parameters: Mapping[str, Tensor],
    optimizer: torch.optim.Optimizer,
    loss_at: Callable[[int], Tensor],
    set_rates: Callable[[int], None],
    clip_norm: float | None = None,
    layout: Layout = lambda name, value: value,
) -> None:
    """Train a pack to its end and, beside one lane, torch's model and optimizer: losses, gradients and updates of each step.

    parameters: torch's, by our names. The lane's weights are given to torch before each step, and its gradients to torch's
    optimizer, whose moments are its own all along. loss_at: torch's loss of a step, from its parameters as they are.
    """

    def ours(flat_KP: Tensor) -> dict[str, Tensor]:
        return {name: layout(name, each[lane].detach()) for name, each in pack.network.views_of(flat_KP).items()}

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
        assert_losses_agree(pack.records["train_loss"][step, lane], loss.detach())
        if clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(parameters.values(), clip_norm)
        gradients = ours(pack.optimizer.gradient_KP)
        largest = max(float(each.abs().max()) for each in gradients.values())
        for name, gradient in gradients.items():
            theirs = parameters[name].grad
            off = (gradient - (torch.zeros_like(gradient) if theirs is None else theirs)).abs().max()
            assert off <= format_named("fp32").gradient * (gradient.abs().max() + OF_THE_LANE * largest), (step, name)
            parameters[name].grad = gradient.clone()
        set_rates(step)
        optimizer.step()
        for (name, value), old in zip(ours(pack.network.flat_KP).items(), ours(old_KP).values(), strict=True):
            off = (value - parameters[name].detach()).abs()
            assert (off <= UPDATE * (value - old).abs().max() + UNITS * old.abs()).all(), (step, name)
