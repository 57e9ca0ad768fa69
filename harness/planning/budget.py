"""What training a model takes in memory: weights, gradients, optimizer state and activations, counted and not guessed.

Of plain training in PyTorch, one model: weights, gradients and state in FP32, products in FP32 or in BF16. A step's activations
and gradients are counted operation by operation (allocations.py) on tensors without numbers, so that no size is too large.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from folklore.harness.data import DataFacts
from folklore.harness.errors import UserError, one_line
from folklore.harness.own.workload import OwnWorkload
from folklore.harness.spec import Workload
from folklore.harness.training.allocations import Allocations, pretended
from folklore.harness.training.network import build
from folklore.harness.training.optimizers import optimizer_kind
from folklore.models import View

# Of products; weights, gradients and state are FP32.
PRECISIONS = ("fp32", "bf16")
FLOAT_BYTES = 4
LARGEST_BATCH = 1 << 24


@dataclass(frozen=True)
class Prepared:
    """A model and a batch: what holds its weights, what of them is trained, and the loss."""

    held: Sequence[Tensor]
    trained: Sequence[Tensor]
    loss: Callable[[], Tensor]


# Makes a model and a batch of so many examples; whether its blocks are computed again in the backward pass.
Make = Callable[[int, bool], Prepared]


@dataclass(frozen=True)
class Subject:
    """A model to be counted. blocks: how many of its parts can be recomputed apart; recomputed: in words, '' if none can."""

    make: Make
    blocks: int
    recomputed: str


@dataclass(frozen=True)
class Step:
    """Bytes of a step. weights: with buffers. gradients: of all that is trained. kept: for the backward pass, at the end of the
    forward pass, the batch left out. peak: the most of batch, activations and gradients at any moment."""

    parameters: int
    weights: int
    gradients: int
    kept: int
    peak: int


@dataclass(frozen=True)
class Budget:
    """Bytes. state: of the optimizer. total: at the worst moment of a step. largest: the largest batch that fits, None where
    no size is given."""

    batch: int
    step: Step
    state: int
    largest: int | None = None

    @property
    def total(self) -> int:
        return self.step.weights + self.state + self.step.peak


def built_in(workload: Workload, facts: DataFacts, precision: str) -> Subject:
    """A model that a study may name, for data of these facts. Raises UserError where the two do not fit."""
    model = build(workload, facts)
    segments = round(math.sqrt(len(model.blocks)))
    narrow = torch.bfloat16 if precision == "bf16" else torch.float32

    def make(batch: int, recompute: bool) -> Prepared:
        weights = {each.name: torch.zeros(1, *each.shape, requires_grad=True) for each in model.parameters}
        shape = facts.features or (workload.context,)
        inputs = torch.zeros(1, batch, *shape, dtype=torch.float32 if facts.features else torch.int64)

        def loss() -> Tensor:
            view = View({name: each.to(narrow) for name, each in weights.items()}, segments=segments * recompute)
            outputs = model(view, inputs.to(narrow) if facts.features else inputs).float()
            if not facts.classes:
                return outputs.square().mean()
            return F.cross_entropy(outputs.flatten(0, -2), torch.zeros(outputs.shape[:-1].numel(), dtype=torch.int64))

        return Prepared(list(weights.values()), list(weights.values()), loss)

    return Subject(make, len(model.blocks), f"in {segments} segments of its {len(model.blocks)} blocks" if segments else "")


def own(workload: OwnWorkload, precision: str) -> Subject:
    """A user's module with a batch of its training data's shape."""
    blocks = len(_blocks(workload.made(0)))

    def make(batch: int, recompute: bool) -> Prepared:
        module = workload.module()
        if recompute:
            for block in _blocks(module):
                block.forward = _again(block.forward)
        inputs, targets = (torch.zeros(batch, *each.shape[1:], dtype=each.dtype) for each in workload.training)

        def loss() -> Tensor:
            with torch.autocast("cpu", torch.bfloat16) if precision == "bf16" else nullcontext():
                outputs = module(inputs)
            return workload.loss(outputs.float(), targets).mean()

        trained = [each for each in module.parameters() if each.requires_grad]
        return Prepared([*module.parameters(), *module.buffers()], trained, loss)

    return Subject(make, blocks, f"block by block, {blocks} of them" if blocks else "")


def _blocks(module: nn.Module) -> list[nn.Module]:
    """The longest list or sequence of modules in it, as that of a transformer's layers is; none where it has none of two."""
    lists = [list(each) for each in module.modules() if isinstance(each, nn.ModuleList | nn.Sequential) and len(each) > 1]
    return max(lists, key=len, default=[])


def _again(forward: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: checkpoint(forward, *args, use_reentrant=False, **kwargs)


def count_step(subject: Subject, batch: int, recompute: bool = False) -> Step:
    """One forward and backward pass of a batch. Raises UserError for a model that cannot be run on zeros."""
    try:
        return _counted(subject.make, batch, recompute, pretended())
    except Exception:  # what looks at its numbers has to be given some
        try:
            return _counted(subject.make, batch, recompute, nullcontext())
        except Exception as error:  # whatever a user's code raises
            raise UserError(
                f"a step of {batch} examples cannot be counted, for it fails on inputs of zeros: {one_line(error)[:200]}"
            ) from error


def _counted(make: Make, batch: int, recompute: bool, mode: AbstractContextManager[None]) -> Step:
    with mode, Allocations() as memory:
        prepared = make(batch, recompute)
        weights = _bytes(prepared.held)
        memory.restart()
        before = memory.live
        loss = prepared.loss()
        kept = memory.live - before
        gradients = torch.autograd.grad(loss, list(prepared.trained), allow_unused=True)
        del loss, gradients
        parameters = sum(each.numel() for each in prepared.trained)
        return Step(parameters, weights, _bytes(prepared.trained), kept, memory.peak - weights)


def _bytes(tensors: Sequence[Tensor]) -> int:
    """Of distinct storages: a tied weight counts once."""
    return sum({id(each.untyped_storage()): each.untyped_storage().nbytes() for each in tensors}.values())


def budget(subject: Subject, batch: int, optimizer: str, limit: int | None = None, recompute: bool = False) -> Budget:
    """Of a batch, with the largest batch that fits into `limit` bytes. Raises UserError for an optimizer that is none."""
    step = count_step(subject, batch, recompute)
    state = state_numbers(optimizer) * FLOAT_BYTES * step.parameters
    found = Budget(batch, step, state)
    return found if limit is None else replace(found, largest=_largest(subject, recompute, step.weights + state, limit))


def state_numbers(optimizer: str) -> int:
    """Numbers of state that an optimizer keeps of each weight; the gradient that some keep here for a check is none."""
    return sum(name != "gradient" for name in optimizer_kind(optimizer).moments)


def _largest(subject: Subject, recompute: bool, fixed: int, limit: int) -> int:
    """The largest batch whose step fits beside what is fixed, up to LARGEST_BATCH; 0 where none does.

    The peak is the largest of what is held at each moment, a straight line in the batch each: convex. So a chord meets the
    limit at a batch that fits, and at the right one as soon as both its ends lie on the last of the lines.
    """

    def excess(batch: int) -> int:
        return fixed + count_step(subject, batch, recompute).peak - limit

    fits, least = 1, excess(1)
    if least > 0:
        return 0
    too_large = 8
    while (most := excess(too_large)) <= 0:
        if too_large >= LARGEST_BATCH:
            return too_large
        fits, least, too_large = too_large, most, 8 * too_large
    while too_large - fits > 1:
        met = fits - least * (too_large - fits) // (most - least)
        guess = min(max(met, fits + 1), too_large - 1)
        over = excess(guess)
        if over <= 0:
            fits, least = guess, over
        else:
            too_large, most = guess, over
    return fits
