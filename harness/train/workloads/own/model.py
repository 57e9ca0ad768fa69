"""Anyone's nn.Module with a lane axis: lanes share one program through torch.func where that is proved to train as plain
PyTorch does; else each is a module by itself.

Before anything is trained both ways are tried: some steps and an evaluation of lanes, packed and by themselves, beside the same
modules each in a plain PyTorch loop. Lanes share a program by torch.func.vmap over the forward pass alone. Gradients are
ordinary autograd's, outside of vmap: torch.func.grad inside it has no rules for some attention kernels.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.func import functional_call, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.modules.batchnorm import _NormBase
from torch.utils._pytree import tree_map
from torch.utils.flop_counter import FlopCounterMode

from .....models import Parameter, Tap, View
from ..network import joined
from .itself import ModuleItself, as_complex, as_real, attributes, changed, modes, of_classes, python_state
from .keyed import keyed
from .objective import Objective, Tree, full_name, length
from .reduction import EXAMPLES, NEITHER, Counts, Reduction, candidates, find

Parted = Callable[[Sequence[int]], tuple[Tree, Tree]]  # which of some examples -> these as a batch
Make = Callable[[int], Objective]  # seed -> the module, with its loss, as its trial starts
# Two orders of the same sums in FP32 may differ by this, relative to the largest value; products in 16 bits by more.
ROUNDING = 1e-4
# Seed 0 is the seed of the structure that is called with others' values: what it keeps to itself would look right.
PROOF_SEEDS = (1, 2)
PROOF_STEPS = 4
# Weights are multiplied by this, so that the losses of examples differ.
APART = 3.0
# How far a step of the proof moves the parameters, relative to their size.
PROOF_STEP_SIZE = 0.02
LONGEST_REASON = 200
# For state that cannot be pickled, or has no name.
UNSEEN = "what is beside its tensors, as far as can be seen,"
MIXED = "its precision is torch's autocast, which packed lanes do not follow"
# Part of a torch error about vmap -> its meaning to somebody who wrote a module.
WORDS = {
    "called random operation": "it draws random numbers as it trains (dropout and its like)",
    "calling .item()": "it calls .item(), or turns a tensor into a number in another way",
    "escaped from inside a function being vmapped": "its backward pass computes again (activation checkpointing)",
    "not have been used in the graph": "some of its parameters take no part in its loss",
    "data-dependent control flow": "its control flow depends on its data",
}


@dataclass(frozen=True)
class Proof:
    """The comparison before training. steps: of all seeds. difference: the largest, relative to the largest entry of what
    was compared. reduction: of a batch's loss, in words. seconds: taken. apart: why lanes cannot share a program; '' where
    they can."""

    steps: int
    difference: float
    reduction: str
    seconds: float
    apart: str

    def __str__(self) -> str:
        apart = f"{self.difference:.0e}" if self.difference else "equal to the bit"
        return f"proved against plain PyTorch: {self.steps} steps, {apart}; its loss is {self.reduction}"


class Course:
    """The course of a lane's first steps: losses, last gradients, and the final values and loss in eval mode."""

    gradients: list[Tensor]
    held: dict[str, Tensor]
    evaluated: Tensor

    def __init__(self) -> None:
        self.losses = list[Tensor]()

    def note(self, loss: Tensor, gradients: Iterable[Tensor]) -> None:
        self.losses.append(loss.detach())
        self.gradients = [gradient.clone() for gradient in gradients]

    def differing(self, other: Course, names: Sequence[str]) -> Iterator[str]:
        """Differences of more than rounding, earliest first, in words."""
        losses = enumerate(zip(self.losses, other.losses, strict=True), start=1)
        yield from (f"the loss at step {step}" for step, pair in losses if not _near(*pair))
        gradients = zip(names, self.gradients, other.gradients, strict=True)
        yield from (f"the gradient of {name}" for name, *pair in gradients if not _near(*pair))
        apart = {name: _apart(value, other.held[name]) for name, value in self.held.items()}
        yield from (f"{name} after {PROOF_STEPS} steps" for name, difference in apart.items() if difference > ROUNDING)
        if not _near(self.evaluated, other.evaluated):
            yield "the loss in eval mode"


class OwnModule:
    """Losses of lanes, [K], from batches that are trees of tensors [K, B, ...]. The view holds its trainable parameters and its
    `state`: names of buffers, and of parameters that are not trained. Weight decay acts on parameters of two or more
    dimensions, as for all models here.

    Raises ValueError for a module that cannot be trained, or does not train as it does in plain PyTorch.
    """

    # Which of its parts follow each other is not known.
    blocks = ()

    def __init__(
        self,
        make: Make,
        inputs: Tree,
        targets: Tree,
        more: tuple[int, Parted],
        device: str = "cpu",
        dtype: torch.dtype = torch.float32,
        counts: Counts | None = None,
        apart: str = "",
    ):
        """inputs, targets: some examples, [B, ...], by which the module is tried on the device it is to train on. more: how
        many examples it takes to find out what the loss is a mean of, and some of them. dtype: of its products. counts: what
        the user says that an example counts in the loss. apart: why its lanes cannot share a program whatever it is."""
        self.make, self.device, self.dtype, self.counts, self.apart = make, device, dtype, counts, apart
        self.inputs, self.targets = self._moved(inputs), self._moved(targets)
        self.more = more
        # Holds the structure; its own values are never read.
        self.objective = make(0).to(device)
        held = self.objective.held()
        trained = {name for name, tensor in held.items() if isinstance(tensor, nn.Parameter) and tensor.requires_grad}
        self.parameters = _parameters({name: value for name, value in held.items() if name in trained})
        self.state = tuple(name for name in held if name not in trained)
        for name, tensor in held.items():
            if isinstance(tensor, nn.Parameter) and tensor.dtype not in (torch.float32, torch.complex64):
                raise ValueError(f"parameter {name} is {tensor.dtype}: must be float32; call .float() in the module's factory")
        if not self.parameters:
            raise ValueError("the module has no trainable parameters: there is nothing to train")
        self.structure = ModuleItself(self.objective, self.parameters, self.state)
        self._require_apart(held)
        self._require_seeded()
        try:
            self._require_trainable()
        except ValueError:
            raise
        except Exception as error:  # whatever a user's code raises
            raise ValueError(f"it fails on {length(self.inputs)} training examples ({_reason(error)})") from error

    def _moved(self, tree: Tree) -> Tree:
        return tree_map(lambda tensor: tensor.to(self.device), tree)

    def _require_apart(self, held: Mapping[str, Tensor]) -> None:
        """Raises ValueError for parameters of two names over one memory."""
        memory: dict[int, str] = {}
        for name, value in held.items():
            other = memory.setdefault(value.untyped_storage().data_ptr(), name) if value.numel() else name
            if other != name and isinstance(value, nn.Parameter) and _overlap(value, held[other]):
                raise ValueError(f"{other} and {name} share their memory: tie them by making them one parameter")

    def start(self, seed: int) -> tuple[Tensor, dict[str, Tensor]]:
        """Where a lane starts: its parameters, flat [P], and its state. Both depend on the seed alone."""
        held = self.make(seed).held()
        rows = joined(self.parameters, [as_real(held[parameter.name].detach()).unsqueeze(0) for parameter in self.parameters])
        return rows[0], {name: held[name].detach().clone() for name in self.state}

    @cached_property
    def statistics(self) -> tuple[str, ...]:
        """Names of the buffers that normalization keeps of activations."""
        kept = [(name, layer) for name, layer in self.objective.named_modules() if isinstance(layer, _NormBase)]
        theirs = {f"{name}.{buffer}" for name, layer in kept for buffer, _ in layer.named_buffers(recurse=False)}
        return tuple(name for name in self.state if full_name(name) in theirs)

    def losses(self, view: Mapping[str, Tensor], inputs: Tree, targets: Tree) -> Tensor:
        """Losses of lanes that share a program, [K]."""

        def loss(values: dict[str, Tensor], x_B: Tree, t_B: Tree) -> Tensor:
            loss: Tensor = functional_call(self.objective, values, (x_B, t_B))
            return loss

        complexes = {parameter.name for parameter in self.parameters if parameter.is_complex}
        values = {full_name(name): as_complex(value) if name in complexes else value for name, value in view.items()}
        with sdpa_kernel(SDPBackend.MATH):  # the one kernel of attention that vmap has rules for
            return vmap(loss, randomness="error")(values, inputs, targets)

    def __call__(self, view: View, x_KB: Tensor, tap: Tap | None = None) -> Tensor:
        raise AssertionError("an own module gives losses, not outputs")

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """The module's eval mode: no dropout, running statistics as they are, and no fused layers that vmap does not know."""
        fused = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)  # of packed lanes alone
        try:
            with self.structure.evaluating():
                yield
        finally:
            torch.backends.mha.set_fastpath_enabled(fused)

    def keyed(self, key: int) -> AbstractContextManager[None]:
        """Random draws inside depend on this key alone."""
        return keyed(key, self.device)

    def precision(self, dtype: torch.dtype | None = None) -> AbstractContextManager[object]:
        """Autocast to the format of its products; of single precision nothing."""
        dtype = self.dtype if dtype is None else dtype
        return nullcontext() if dtype == torch.float32 else torch.autocast(torch.device(self.device).type, dtype)

    def itself(self, seed: int) -> ModuleItself:
        return ModuleItself(self.make(seed).to(self.device), self.parameters, self.state)

    def _loss_of(self, made: ModuleItself, key: int, inputs: Tree, targets: Tree) -> Tensor:
        with self.keyed(key), self.precision():
            loss: Tensor = made.objective(*_fresh((inputs, targets)))
            return loss

    def _require_seeded(self) -> None:
        first, again = (self.make(0).held() for _ in range(2))
        for name, value in first.items():
            if not torch.equal(*(as_real(tensor.detach()).nan_to_num() for tensor in (value, again[name]))):
                raise ValueError(
                    f"{name} starts differently for the same seed: draw it by the generators of torch, random or numpy.random"
                )

    def _require_trainable(self) -> None:
        """One forward and backward pass over the examples, as plain PyTorch makes it."""
        loss, gradients = self._gradient_of(self.itself(0))
        if not bool(loss.isfinite()):
            raise ValueError(f"the loss at its start is {loss.item()}: must be finite")
        if not any(bool(gradient.any()) for gradient in gradients):
            raise ValueError("its loss has no gradient at its start: must depend on the parameters, and not be detached")

    def _gradient_of(self, made: ModuleItself) -> tuple[Tensor, list[Tensor]]:
        """Loss and gradients of the examples."""
        with torch.enable_grad(), self.keyed(0), self.precision():
            return made.gradient(lambda objective: objective(*_fresh((self.inputs, self.targets))))

    @cached_property
    def draws(self) -> bool:
        """Whether its loss in eval mode depends on what it draws."""
        with torch.no_grad(), (made := self.itself(0)).evaluating():
            first, other = (self._loss_of(made, key, self.inputs, self.targets) for key in (0, 1))
        return not torch.equal(first, other)

    @cached_property
    def reduction(self) -> Reduction:
        """How the loss of a batch follows from those of its examples."""
        (examples, part), made = self.more, self.itself(0)
        if examples < 2:
            return EXAMPLES
        inputs, targets = map(self._moved, part(range(examples)))

        with torch.no_grad():
            for value in made.trained:  # at their start all examples are about as far from right
                value.mul_(APART)
            if not bool(self._loss_of(made, 0, inputs, targets).isfinite()):
                made = self.itself(0)

        def loss_of(which: Sequence[int], key: int) -> float:
            return float(self._loss_of(made, key, *map(self._moved, part(which))))

        proposed = candidates(self.objective.loss, inputs, targets, examples, self.counts)
        among = [(candidate, candidate.counts_of(inputs, targets, examples)) for candidate in proposed]
        with torch.no_grad(), made.evaluating():
            try:
                return find(loss_of, examples, among, self.draws)
            except Exception:  # a batch that cannot be parted, or whose parts fail
                return NEITHER

    @cached_property
    def proof(self) -> Proof:
        """Raises ValueError, with the name of what differs, for a module that in the engine is not what it is in plain
        PyTorch."""
        started = time.perf_counter()
        try:
            with torch.enable_grad():
                plain = [self._plain(seed, number) for number, seed in enumerate(PROOF_SEEDS)]
                beside = self._by_themselves()
            self._require_same(beside, plain)
            remembered = self.remembered  # or it says what is kept where all modules share it
        except ValueError:
            raise
        except Exception as error:  # whatever a user's code raises
            raise ValueError(f"it fails in its first {PROOF_STEPS} steps ({_reason(error)})") from error
        apart = self._changing(remembered) or self.apart or self._packed_differs(plain)
        pairs = ((us.held[name], them.held[name]) for us, them in zip(beside, plain, strict=True) for name in us.held)
        difference = max(_apart(*pair) for pair in pairs)
        reduction = self.reduction.words
        return Proof(PROOF_STEPS * len(PROOF_SEEDS), difference, reduction, time.perf_counter() - started, apart)

    def _plain(self, seed: int, number: int) -> Course:
        """A plain PyTorch loop as one writes it: no lanes, no rows."""
        made, course = self.itself(seed), Course()
        for step in range(PROOF_STEPS):
            for parameter in made.trained:
                parameter.grad = None
            loss = self._loss_of(made, step, *self._examples_of(step, number))
            loss.backward()  # type: ignore[no-untyped-call]
            gradients = [
                torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.to_dense()
                for parameter in made.trained
            ]
            course.note(loss, map(as_real, gradients))
            _descend(made.trained, gradients)
        self._end(course, made, number)
        return course

    def _by_themselves(self) -> list[Course]:
        """The courses of modules trained side by side as the engine trains them, their values in a pack's buffers."""
        lanes, courses = [self.itself(seed) for seed in PROOF_SEEDS], [Course() for _ in PROOF_SEEDS]
        for lane in lanes:
            lane.lies_in({name: value.clone() for name, value in self._real(lane.held()).items()})
        for step in range(PROOF_STEPS):
            for number, (lane, course) in enumerate(zip(lanes, courses, strict=True)):
                with self.keyed(step), self.precision():
                    loss, gradients = lane.gradient(lambda objective: objective(*self._examples_of(step, number)))  # noqa: B023
                lane.settle()
                course.note(loss, gradients)
                _descend([lane.rows[parameter.name] for parameter in self.parameters], gradients)
                lane.settle()
        for number, (lane, course) in enumerate(zip(lanes, courses, strict=True)):
            if wrong := [name for name, mode in modes(lane.objective).items() if lane.modes[name] != mode]:
                raise ValueError(f"{_shown(wrong[0])} is in another mode than in plain PyTorch after {PROOF_STEPS} steps")
            self._end(course, lane, number)
        return courses

    def _packed(self) -> list[Course]:
        """The courses of lanes that share a program."""
        held, courses = [self._real(self.itself(seed).held()) for seed in PROOF_SEEDS], [Course() for _ in PROOF_SEEDS]
        view = {name: torch.stack([lane[name] for lane in held]) for name in held[0]}
        leaves = [view[parameter.name].requires_grad_() for parameter in self.parameters]
        for step in range(PROOF_STEPS):
            losses = self.losses(view, *self._stacked(step))
            gradients = torch.autograd.grad(losses.sum(), leaves)
            for lane, course in enumerate(courses):
                course.note(losses[lane], [gradient[lane] for gradient in gradients])
                _descend([leaf.detach()[lane] for leaf in leaves], course.gradients)
        with torch.no_grad(), self.evaluating():
            losses = self.losses(view, *self._stacked(0))
        for lane, course in enumerate(courses):
            course.held, course.evaluated = {name: value.detach()[lane] for name, value in view.items()}, losses[lane]
        return courses

    def _end(self, course: Course, made: ModuleItself, number: int) -> None:
        course.held = {name: value.clone() for name, value in self._real(made.held()).items()}
        with torch.no_grad(), made.evaluating():
            course.evaluated = self._loss_of(made, 0, *self._examples_of(0, number))

    def _real(self, held: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Values as a pack holds them: complex parameters with a last side of two, untrained ones unchanged."""
        return {name: value.detach() if name in self.state else as_real(value.detach()) for name, value in held.items()}

    def _examples_of(self, step: int, number: int) -> tuple[Tree, Tree]:
        """The examples in another order for each lane and step, so that anything shared shows."""
        if self.apart:  # batches that are put together as a whole
            return _fresh((self.inputs, self.targets))
        moved: tuple[Tree, Tree] = tree_map(lambda values: values.roll(step + number, 0), (self.inputs, self.targets))
        return moved

    def _stacked(self, step: int) -> tuple[Tree, Tree]:
        """Inputs and targets, [lanes, B, ...]."""
        batch: tuple[Tree, Tree] = tree_map(
            lambda *tensors: torch.stack(tensors), *(self._examples_of(step, number) for number in range(len(PROOF_SEEDS)))
        )
        return batch

    def _differing(self, ours: Sequence[Course], plain: Sequence[Course]) -> str:
        """The first difference from plain PyTorch beyond rounding, in words; '' if there is none."""
        names = [parameter.name for parameter in self.parameters]
        return next((what for us, them in zip(ours, plain, strict=True) for what in us.differing(them, names)), "")

    def _require_same(self, beside: Sequence[Course], plain: Sequence[Course]) -> None:
        if what := self._differing(beside, plain):
            raise ValueError(
                f"beside another lane {what} is not that of plain PyTorch: keep what changes in training in the module itself,"
                " not in its class, a global or a file, and draw by the generators of torch, random or numpy.random that seeds"
                " are set for"
            )

    def _packed_differs(self, plain: Sequence[Course]) -> str:
        """Why lanes cannot share a program."""
        if self.dtype != torch.float32:
            return MIXED
        try:
            with torch.enable_grad():
                what = self._differing(self._packed(), plain)
        except Exception as error:  # whatever vmap and a user's code raise
            return _cannot_share(error)
        return f"in a pack {what} is not a lane's own" if what else ""

    def _changing(self, remembered: Sequence[str]) -> str:
        """The state that changes in training, in words, or ''. Torch has vmap rules for batch norm's running statistics and no
        other state; so a module that keeps a state trains alone. State kept in Python belongs to no lane."""
        made = self.itself(0)
        before = {name: value.detach().clone() for name, value in made.held().items() if name in self.state}
        self._gradient_of(made)
        changing = [*(name for name, value in before.items() if not torch.equal(made.held()[name], value)), *remembered]
        shown = ", ".join(changing[:3]) + (" …" if len(changing) > 3 else "")
        return f"it changes {shown} as it trains" if changing else ""

    @cached_property
    def remembered(self) -> tuple[str, ...]:
        """Names of what a training step or an evaluation changes beside its tensors: attributes, their contents, closures."""
        made = self.itself(0)
        try:
            before, names = python_state(made.objective, made.names), attributes(made.objective)
        except Exception:  # what cannot be pickled
            return (UNSEEN,)
        self._gradient_of(made)
        with torch.no_grad(), made.evaluating():
            self._loss_of(made, 0, self.inputs, self.targets)
        if python_state(made.objective, made.names) == before:
            return ()
        now = attributes(made.objective)
        if shared := sorted(of_classes(made.objective).keys() & set(changed(names, now))):
            raise ValueError(
                f"{shared[0]} changes as it trains, which all modules of that class have in common: keep it in the module"
            )
        return tuple(map(_shown, changed(names, now))) or (UNSEEN,)

    @cached_property
    def flops_per_example(self) -> float:
        """A forward pass's operations by torch's count (matrix products, convolutions, attention); at least two a parameter."""
        made = self.itself(0)
        with self.keyed(0), self.evaluating(), made.evaluating(), torch.no_grad(), FlopCounterMode(display=False) as counter:
            made.objective(*_fresh((self.inputs, self.targets)))
        least = 2.0 * sum(parameter.numel() for parameter in self.objective.parameters())
        return max(float(counter.get_total_flops()) / length(self.inputs), least)

    @cached_property
    def activations_per_example(self) -> int:
        """Numbers that a forward pass keeps for the backward pass."""
        made, kept = self.itself(0), 0
        own = {value.untyped_storage().data_ptr() for value in made.held().values()}

        def count(tensor: Tensor) -> Tensor:
            nonlocal kept
            if tensor.untyped_storage().data_ptr() not in own:
                kept += tensor.numel()
            return tensor

        with torch.enable_grad(), self.keyed(0), saved_tensors_hooks(count, lambda tensor: tensor):
            made.objective(*_fresh((self.inputs, self.targets)))
        return max(1, kept // length(self.inputs))


def _parameters(trained: Mapping[str, Tensor]) -> tuple[Parameter, ...]:
    """The trained parameters; beside complex ones, each is padded to an even number of entries."""
    odd = any(value.is_complex() for value in trained.values())
    shapes = {name: tuple(as_real(value).shape) for name, value in trained.items()}
    return tuple(
        Parameter(name, shape, is_complex=trained[name].is_complex(), padding=math.prod(shape) % 2 * odd)
        for name, shape in shapes.items()
    )


@torch.no_grad()
def _descend(values: Sequence[Tensor], gradients: Sequence[Tensor]) -> None:
    """A step of one length for all parameters together: a gradient that is rounding alone stays one."""
    size = sum(float(tensor.abs().square().sum()) for tensor in values) ** 0.5
    steepness = sum(float(gradient.abs().square().sum()) for gradient in gradients) ** 0.5
    for value, gradient in zip(values, gradients, strict=True):
        value.sub_(PROOF_STEP_SIZE * (size + 1.0) / (steepness + 1e-12) * gradient)


def _apart(ours: Tensor, theirs: Tensor) -> float:
    """The largest difference, relative to the largest entry."""
    if ours.shape != theirs.shape:
        return float("inf")
    if not ours.numel() or torch.equal(ours, theirs):
        return 0.0
    ours, theirs = (tensor.detach().to(torch.complex128 if tensor.is_complex() else torch.float64) for tensor in (ours, theirs))
    return float((ours - theirs).abs().max() / theirs.abs().max().clamp(min=1e-12))


def _fresh(batch: tuple[Tree, Tree]) -> tuple[Tree, Tree]:
    """A batch that a module may write into, or take things out of."""
    copies: tuple[Tree, Tree] = tree_map(torch.clone, batch)
    return copies


def _overlap(one: Tensor, other: Tensor) -> bool:
    """Whether two views of one storage have an entry in common, by where they begin and end."""
    (first, last), (start, end) = (
        (tensor.storage_offset(), tensor.storage_offset() + tensor.numel()) for tensor in (one, other)
    )
    return first < end and start < last


def _near(ours: Tensor, theirs: Tensor) -> bool:
    """Whether two tensors are equal up to the rounding of sums in another order."""
    difference = float((ours - theirs).detach().abs().max())
    return difference <= ROUNDING * float(theirs.detach().abs().max()) + 1e-6


def _shown(name: str) -> str:
    """A name within the objective as its writer knows it."""
    return name.removeprefix("module.")


def _cannot_share(error: Exception) -> str:
    """Why vmap refused a module."""
    text = str(error)
    rule = re.search(r"Batching rule not implemented for (\S+?)\.? ", text)
    if rule:
        return f"torch's vmap has no rule for {rule[1]}"
    return next((words for sign, words in WORDS.items() if sign in text), _reason(error))


def _reason(error: Exception) -> str:
    """An error's message, short and on one line."""
    named = isinstance(error, KeyError | IndexError)
    text = f"{type(error).__name__}: " * named + " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 1] + "…"
