"""Anyone's nn.Module with a lane axis, through torch.func: the module stays as it is, and is called with the lanes' values.

Lanes share one program, by torch.func.vmap over the forward pass alone, where some steps show that they come out as each module
by itself does in plain PyTorch (module_itself.py). Else each lane is a module by itself. Gradients are ordinary autograd's,
outside of vmap: torch.func.grad inside it has no rules for some attention kernels.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.func import functional_call, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from folklore.models.layers import Parameter, Tap, View
from folklore.models.module_itself import ModuleItself, attributes, changed, modes, set_modes

Make = Callable[[int], nn.Module]  # seed -> the module as its trial starts
Loss = Callable[[Tensor, Tensor], Tensor]  # outputs, targets -> a loss an example, or their mean
# What two orders of the same sums in FP32 may differ by, relative to the largest value.
ROUNDING = 1e-4
# By which packed lanes are held against modules by themselves. Seed 0 is the seed of the structure that is called with others'
# values: what it keeps to itself would look right.
PROOF_SEEDS = (1, 2)
PROOF_STEPS = 4
# How far a step of the proof moves each parameter, relative to its size.
PROOF_STEP_SIZE = 0.02
LONGEST_REASON = 200
# What torch's errors about vmap begin to say -> what that means to somebody who wrote a module.
WORDS = {
    "called random operation": "it draws random numbers as it trains (dropout and its like)",
    "calling .item()": "it calls .item(), or turns a tensor into a number in another way",
    "escaped from inside a function being vmapped": "its backward pass computes again (activation checkpointing)",
    "data-dependent control flow": "its control flow depends on its data",
}


class OwnModule:
    """Maps examples [K, B, ...] to outputs [K, B, ...]. The view holds its trainable parameters and its `state`.

    state: names of buffers, and of parameters that are not trained. Weight decay acts on parameters of two or more dimensions,
    as for all models here. Raises ValueError for a module that cannot be trained at all.
    """

    # Which of its parts follow each other is not known.
    blocks = ()

    def __init__(self, make: Make, loss: Loss, inputs: Tensor, targets: Tensor, device: str = "cpu"):
        """inputs, targets: a few examples, [B, ...], by which the module is tried on the device it is to train on."""
        self.make, self.loss, self.device = make, loss, device
        self.inputs, self.targets = inputs.to(device), targets.to(device)
        # Holds the structure; its own values are never looked at.
        self.module = make(0).to(device)
        self.modes = modes(self.module)
        named = list(self.module.named_parameters())
        self.parameters = tuple(Parameter(name, tuple(each.shape)) for name, each in named if each.requires_grad)
        self.state = tuple(name for name, each in named if not each.requires_grad) + tuple(dict(self.module.named_buffers()))
        for name, each in named:
            if each.dtype != torch.float32:
                raise ValueError(f"parameter {name} is {each.dtype}: must be float32; call .float() in the module's factory")
        if not self.parameters:
            raise ValueError("the module has no trainable parameters: there is nothing to train")
        self._require_seeded()
        self._require_trainable()

    def start(self, seed: int) -> tuple[Tensor, dict[str, Tensor]]:
        """Where a lane starts: its parameters, flat [P], and its state. Both depend on the seed alone."""
        module = self.make(seed)
        held = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        flat = torch.cat([held[each.name].detach().flatten() for each in self.parameters])
        return flat, {name: held[name].detach().clone() for name in self.state}

    def __call__(self, view: View, x_KB: Tensor, tap: Tap | None = None) -> Tensor:
        """Outputs of lanes that share a program; no activation is shown to a tap."""
        with sdpa_kernel(SDPBackend.MATH):  # the one kernel of attention that vmap has rules for
            return vmap(self._outputs, randomness="error")(dict(view), x_KB)

    def losses(self, outputs_KB: Tensor, targets_KB: Tensor) -> Tensor:
        """Each lane's mean loss, [K]."""
        return vmap(self._mean_loss, randomness="error")(outputs_KB, targets_KB)

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """The module's eval mode: no dropout, running statistics as they are, and no fused layers that vmap does not know."""
        fused = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)
        self.module.eval()
        try:
            yield
        finally:
            self._train()
            torch.backends.mha.set_fastpath_enabled(fused)

    def _train(self) -> None:
        """As its factory leaves it: a frozen backbone may be kept in eval mode."""
        self.module.train()
        set_modes(self.module, self.modes)

    def _outputs(self, values: dict[str, Tensor], x_B: Tensor) -> Tensor:
        return _one_tensor(functional_call(self.module, values, (x_B,)))

    @contextmanager
    def keyed(self, key: int) -> Iterator[None]:
        """Not torch.manual_seed, which formats and keeps a stack for every kind of device that is not used."""
        with torch.random.fork_rng(devices=[self.device] if self.device != "cpu" else []):
            torch.default_generator.manual_seed(key)
            if self.device != "cpu":
                torch.cuda.manual_seed(key)
            yield

    def mean_loss(self, outputs_B: Tensor, targets_B: Tensor) -> Tensor:
        """One lane's, a number."""
        return self._mean_loss(_one_tensor(outputs_B), targets_B)

    def _mean_loss(self, outputs_B: Tensor, targets_B: Tensor) -> Tensor:
        loss = self.loss(outputs_B, targets_B)
        if not isinstance(loss, Tensor) or loss.shape not in ((), targets_B.shape[:1]):
            given = f"tensor {list(loss.shape)}" if isinstance(loss, Tensor) else type(loss).__name__
            raise ValueError(f"the loss is a {given}: must be one number, or one for each of the {len(targets_B)} examples")
        return loss.float().mean()

    def _require_seeded(self) -> None:
        first, again = (
            {**dict(each.named_parameters()), **dict(each.named_buffers())} for each in (self.make(0), self.make(0))
        )
        for name, value in first.items():
            if not torch.equal(value, again[name]):
                raise ValueError(f"{name} starts differently for the same seed: draw it by torch's own generator")

    def _require_trainable(self) -> None:
        """One forward and backward pass over the examples, as plain PyTorch makes it."""
        made = self._itself(0)
        try:
            loss, gradients = self._gradient_of(made)
        except ValueError:
            raise
        except Exception as error:  # whatever a user's code raises
            raise ValueError(f"it fails on {len(self.inputs)} training examples ({_reason(error)})") from error
        if not bool(loss.isfinite()):
            raise ValueError(f"the loss at its start is {loss.item()}: must be finite")
        if not any(bool(each.any()) for each in gradients):
            raise ValueError("its loss has no gradient at its start: must depend on the parameters, and not be detached")
        self._require_mean(made)

    def _require_mean(self, made: ModuleItself) -> None:
        """Steps, parts of a batch and chunks of an evaluation take a loss to be a mean: the same of a batch twice over."""
        try:
            with torch.no_grad(), made.evaluating(), self.keyed(0):
                outputs = made.module(self.inputs)
                once = self.mean_loss(outputs, self.targets)
            with torch.no_grad(), self.keyed(0):
                twice = self.mean_loss(torch.cat([outputs] * 2), torch.cat([self.targets] * 2))
        except RuntimeError:  # a loss of batches of one size cannot be asked
            return
        if bool(once.abs() > ROUNDING) and _near(twice, 2 * once):
            raise ValueError(
                f"its loss of {len(self.inputs)} examples is {float(once):.4g} and of the same twice over {float(twice):.4g}:"
                " it is a sum, and must be a mean; give it reduction='mean', or 'none' for a loss of each example"
            )

    def _gradient_of(self, made: ModuleItself) -> tuple[Tensor, list[Tensor]]:
        """Loss and gradients of the examples."""
        with torch.enable_grad(), self.keyed(0):
            return made.gradient(lambda module: self.mean_loss(module(self.inputs), self.targets))

    def _itself(self, seed: int) -> ModuleItself:
        return ModuleItself(self.make(seed).to(self.device), self.parameters, self.state)

    @cached_property
    def alone(self) -> str:
        """Why its lanes cannot share a program; '' where they can. Found once, whatever it is that is first asked of it."""
        before = modes(self.module)
        try:
            with torch.enable_grad():
                self._train()
                return self._found_apart()
        finally:
            set_modes(self.module, before)

    def _found_apart(self) -> str:
        if changing := self._changing_state():
            shown = ", ".join(changing[:3]) + (" …" if len(changing) > 3 else "")
            return f"it changes {shown} as it trains"
        try:
            return self._differing()
        except Exception as error:  # whatever vmap and a user's code raise
            return _cannot_share(error)

    def _changing_state(self) -> list[str]:
        """Torch has vmap rules for batch norm's running statistics. That holds for no other module that keeps a state, and
        only what was compared is packed: so each that does trains alone. What a module keeps in Python is no lane's at all."""
        made = self._itself(0)
        before = {name: value.detach().clone() for name, value in made.held().items() if name in self.state}
        self._gradient_of(made)
        return [name for name, value in before.items() if not torch.equal(made.held()[name], value)] + list(self.remembered)

    @cached_property
    def remembered(self) -> tuple[str, ...]:
        """Python attributes that a step of training changes."""
        made = self._itself(0)
        before = attributes(made.module)
        self._gradient_of(made)
        return changed(before, attributes(made.module))

    def _differing(self) -> str:
        """What packed lanes do otherwise than modules by themselves; '' if nothing. Each step starts from equal states; other
        seeds and examples in each lane show lanes that mix."""
        lanes = [self._itself(seed) for seed in PROOF_SEEDS]
        inputs, targets = self._examples(len(lanes))
        for step in range(PROOF_STEPS):
            view = self._view_of(lanes)
            losses = self.losses(self(view, inputs), targets)
            found = zip(self._gradients(losses, view), strict=True)
            expected = [self._step_alone(lane, *pair) for lane, *pair in zip(lanes, inputs, targets, strict=True)]
            if not _near(losses, torch.stack([loss for loss, _ in expected])):
                return f"the loss of packed lanes is not a lane's own at step {step + 1}"
            for parameter, (ours,), *theirs in zip(self.parameters, found, *(each for _, each in expected), strict=True):
                if not _near(ours, torch.stack(theirs)):
                    return f"the gradient of {parameter.name} in a pack is not a lane's own at step {step + 1}"
        return self._differing_in_eval_mode(lanes, inputs, targets)

    def _step_alone(self, lane: ModuleItself, inputs: Tensor, targets: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Loss and gradients where the lane was, which then moves on."""
        loss, gradients = lane.gradient(lambda module: self.mean_loss(module(inputs), targets))
        with torch.no_grad():
            for value, gradient in zip(lane.trained, gradients, strict=True):
                # A parameter of zeros moves, too.
                length = PROOF_STEP_SIZE * (value.norm() + 1.0) / (gradient.norm() + 1e-12)
                value.sub_(length * gradient)
        return loss, gradients

    def _differing_in_eval_mode(self, lanes: Sequence[ModuleItself], inputs: Tensor, targets: Tensor) -> str:
        view = self._view_of(lanes)
        expected = []
        with torch.no_grad():
            with self.evaluating():
                ours = self.losses(self(view, inputs), targets)
            for lane, *(x_B, t_B) in zip(lanes, inputs, targets, strict=True):
                with lane.evaluating():
                    expected.append(self.mean_loss(lane.module(x_B), t_B))
        return (
            "" if _near(ours, torch.stack(expected)) else "packed lanes in eval mode do not come out as each module by itself"
        )

    def _view_of(self, lanes: Sequence[ModuleItself]) -> View:
        trained = {each.name for each in self.parameters}
        held = [lane.held() for lane in lanes]
        stacked = {name: torch.stack([each[name].detach() for each in held]) for name in held[0]}
        return View({name: value.requires_grad_(name in trained) for name, value in stacked.items()})

    def _examples(self, lanes: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets, [lanes, B, ...], each lane seeing them in another order."""
        inputs = torch.stack([self.inputs.roll(lane, 0) for lane in range(lanes)])
        return inputs, torch.stack([self.targets.roll(lane, 0) for lane in range(lanes)])

    def _gradients(self, losses: Tensor, view: View) -> list[Tensor]:
        trained = [view[each.name] for each in self.parameters]
        return list(torch.autograd.grad(losses.sum(), trained, materialize_grads=True))

    @cached_property
    def flops_per_example(self) -> float:
        """Of a forward pass, as torch counts matrix products, convolutions and attention; at least two for each parameter."""
        made = self._itself(0)
        with self.keyed(0), self.evaluating(), made.evaluating(), torch.no_grad(), FlopCounterMode(display=False) as counter:
            made.module(self.inputs)
        least = 2.0 * sum(each.numel() for each in self.module.parameters())
        return max(float(counter.get_total_flops()) / len(self.inputs), least)

    @cached_property
    def activations_per_example(self) -> int:
        """Numbers that a forward pass keeps for the backward pass."""
        made, kept = self._itself(0), 0
        own = {value.untyped_storage().data_ptr() for value in made.held().values()}

        def count(tensor: Tensor) -> Tensor:
            nonlocal kept
            if tensor.untyped_storage().data_ptr() not in own:
                kept += tensor.numel()
            return tensor

        with torch.enable_grad(), self.keyed(0), saved_tensors_hooks(count, lambda tensor: tensor):
            self.mean_loss(made.module(self.inputs), self.targets)
        return max(1, kept // len(self.inputs))


def _one_tensor(outputs: object) -> Tensor:
    if not isinstance(outputs, Tensor):
        raise ValueError(f"the module gives a {type(outputs).__name__}: must give one tensor; wrap it in a module that does")
    return outputs


def _near(ours: Tensor, theirs: Tensor) -> bool:
    """Up to the rounding of sums in another order."""
    difference = float((ours - theirs).detach().abs().max())
    return difference <= ROUNDING * float(theirs.detach().abs().max()) + 1e-6


def _cannot_share(error: Exception) -> str:
    """Why vmap refused a module."""
    text = str(error)
    rule = re.search(r"Batching rule not implemented for (\S+?)\.? ", text)
    if rule:
        return f"torch's vmap has no rule for {rule[1]}"
    return next((words for sign, words in WORDS.items() if sign in text), _reason(error))


def _reason(error: Exception) -> str:
    """What an error says, short and on one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 1] + "…"
