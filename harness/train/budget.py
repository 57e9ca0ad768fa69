"""The memory that training a model takes: weights, gradients, optimizer state and activations, counted and not guessed.

It is plain PyTorch training of one model: weights, gradients and state in FP32, products in FP32 or BF16. A step's activations
and gradients are counted operation by operation (allocations.py) on tensors without numbers, so that no size is too large.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor

from ...models import View
from ..declare import Workload
from ..errors import UserError, quoted
from ..words import counted
from .allocations import Allocations, pretended
from .machine.device_memory import is_memory_end
from .optimizers import optimizer_kind
from .workloads import workload_of
from .workloads.data import DataFacts

# Of products; weights, gradients and state are FP32.
PRECISIONS = ("fp32", "bf16")
FLOAT_BYTES = 4
LARGEST_BATCH = 1 << 24


@dataclass(frozen=True)
class Prepared:
    """A model and a batch: tensors that it holds, those that are trained, the loss, and the batch, a tree of tensors."""

    held: Sequence[Tensor]
    trained: Sequence[Tensor]
    loss: Callable[[], Tensor]
    batch: object = ()


# Makes a model and a batch of this many examples; whether its blocks are computed again in the backward pass.
Make = Callable[[int, bool], Prepared]


@dataclass(frozen=True)
class Subject:
    """A model to be counted. recomputed: which of its parts can be computed again, in words; '' if none are known. numbers:
    whether its tensors need numbers to be counted, for kernels that keep more than they show without."""

    make: Make
    recomputed: str
    numbers: bool = False


@dataclass(frozen=True)
class Step:
    """Bytes of a step. parameters: how many are trained. weights: with buffers and what is frozen. kept: for the backward pass,
    at the end of the forward pass, the batch left out. peak: the most of batch, activations and gradients at any moment;
    activations: the most of batch and activations alone, which may be another moment. pretended: whether it was counted
    without numbers."""

    parameters: int
    weights: int
    gradients: int
    kept: int
    peak: int
    activations: int
    pretended: bool = True


@dataclass(frozen=True)
class Budget:
    """Bytes. state: of the optimizer. constant: the kept part that does not grow with the batch, as copies of the weights in
    another format. total: at the worst moment of a step. largest: the largest batch that fits, None where no size is given.

    That moment is in the backward pass or in the optimizer's update, for which torch's own optimizers (foreach, their default
    on a GPU) hold temporaries as large as the weights beside weights, gradients and state.
    """

    batch: int
    step: Step
    state: int
    constant: int = 0
    largest: int | None = None

    @property
    def total(self) -> int:
        return total(self.step, self.state)


def total(step: Step, state: int) -> int:
    return step.weights + state + max(step.peak, step.gradients + FLOAT_BYTES * step.parameters)


def state_bytes(step: Step, optimizer: str) -> int:
    """Bytes of an optimizer's state in FP32."""
    return state_numbers(optimizer) * FLOAT_BYTES * step.parameters


@lru_cache(maxsize=64)
def built_in(workload: Workload, facts: DataFacts, precision: str, segments: int | None = None) -> Subject:
    """A model that a study may name, for data of these facts. Raises UserError where the two do not fit. segments: into how
    many its blocks are parted if they are recomputed; none: every block is one."""
    model = workload_of(workload).model(facts)
    segments = len(model.blocks) if segments is None else segments
    narrow = torch.bfloat16 if precision == "bf16" else torch.float32

    def make(batch: int, recompute: bool) -> Prepared:
        weights = {parameter.name: torch.zeros(1, *parameter.shape, requires_grad=True) for parameter in model.parameters}
        shape = facts.features or (workload.context,)
        inputs = torch.zeros(1, batch, *shape, dtype=torch.float32 if facts.features else torch.int64)

        def loss() -> Tensor:
            view = View({name: weight.to(narrow) for name, weight in weights.items()}, segments=segments * recompute)
            outputs = model(view, inputs.to(narrow) if facts.features else inputs).float()
            if not facts.classes:
                return outputs.square().mean()
            return F.cross_entropy(outputs.flatten(0, -2), torch.zeros(outputs.shape[:-1].numel(), dtype=torch.int64))

        return Prepared(list(weights.values()), list(weights.values()), loss, inputs)

    words = f"in {counted(segments, 'segment')} of its {len(model.blocks)} blocks" if segments else ""
    return Subject(make, words)


def best_segments(workload: Workload, facts: DataFacts, precision: str, batch: int) -> int:
    """Into how many segments the blocks are best parted for a batch: every block, which keeps least at once of a large block,
    or as many as the root of their number, which keeps least at the end of the forward pass."""
    count = len(workload_of(workload).model(facts).blocks)

    def peak(segments: int) -> int:
        return count_step(built_in(workload, facts, precision, segments), batch, True).peak

    return min(sorted({count, round(math.sqrt(count))}), key=peak) if count else 0


@lru_cache(maxsize=64)
def count_step(subject: Subject, batch: int, recompute: bool = False) -> Step:
    """One forward and backward pass of a batch, counted once, for a deep model takes a second. Raises UserError for a model
    that cannot be run."""
    if not subject.numbers:
        with suppress(Exception):  # what looks at its numbers has to be given some
            return _counted(subject.make, batch, recompute, pretended())
    try:
        return replace(_counted(subject.make, batch, recompute, nullcontext()), pretended=False)
    except Exception as error:  # whatever a user's code raises
        if is_memory_end(error):
            raise UserError(
                f"a step of {batch} examples looks at its numbers, and this machine's memory does not hold it; count a"
                " smaller --batch-size"
            ) from error
        raise UserError(
            f"a step of {batch} examples cannot be counted, for it fails on its first ones: {quoted(error)}"
        ) from error


def _counted(make: Make, batch: int, recompute: bool, mode: AbstractContextManager[None]) -> Step:
    with mode, Allocations() as memory:
        prepared = make(batch, recompute)
        storages = _of_storages(prepared.held)
        memory.restart()
        before = memory.live
        for weight in prepared.trained:
            weight.register_hook(memory.put_aside)  # type: ignore[no-untyped-call]
        loss = prepared.loss()
        kept = memory.live - before
        gradients = torch.autograd.grad(loss, list(prepared.trained), allow_unused=True)
        del loss, gradients
        parameters = sum(weight.numel() for weight in prepared.trained)
        peaks = memory.peak - storages, memory.peak_beside - storages
        return Step(parameters, _of_weights(prepared.held), sum(weight.nbytes for weight in prepared.trained), kept, *peaks)


def _of_weights(tensors: Sequence[Tensor]) -> int:
    """Bytes of tensors once they are moved to a device: a slice counts its own bytes, a tied weight once."""
    distinct = {
        (id(tensor.untyped_storage()), tensor.storage_offset(), tensor.shape, tensor.stride()): tensor for tensor in tensors
    }
    return sum(tensor.nbytes for tensor in distinct.values())


def _of_storages(tensors: Sequence[Tensor]) -> int:
    """Bytes of distinct storages."""
    return sum({id(tensor.untyped_storage()): tensor.untyped_storage().nbytes() for tensor in tensors}.values())


def budget(
    subject: Subject, batch: int, optimizer: str, limit: int | None = None, recompute: bool = False, more: float = 1.0
) -> Budget:
    """The memory of a batch, with the largest batch that fits into `limit` bytes. more: the factor by which a real step holds
    more than is counted, beside the weights. Raises UserError for an unknown optimizer."""
    step = count_step(subject, batch, recompute)
    estimate = Budget(batch, step, state_bytes(step, optimizer))
    if step.pretended:  # what is kept is a straight line in the batch
        estimate = replace(estimate, constant=max(0, 2 * step.kept - count_step(subject, 2 * batch, recompute).kept))
    if limit is None:
        return estimate
    if total(replace(step, peak=0), estimate.state) > limit:  # the weights alone, whatever the batch
        return replace(estimate, largest=0)

    def excess(size: int) -> int:
        counted = count_step(subject, size, recompute)
        return total(replace(counted, peak=math.ceil(more * counted.peak)), estimate.state) - limit

    return replace(estimate, largest=largest_that_fits(excess, batch) if step.pretended else _on_the_line(excess, batch))


def state_numbers(optimizer: str) -> int:
    """Numbers of state that an optimizer here keeps of each weight."""
    return len(optimizer_kind(optimizer).moments)


def largest_that_fits(excess: Callable[[int], int], start: int, growth: int = 8) -> int:
    """The largest batch, up to LARGEST_BATCH, whose excess over a limit is not positive; 0 where none is found. A batch for
    which it raises UserError does not count: batch normalization has no batch of 1. growth: by how much what fits is made
    larger until it does not; small where counting what is large takes long, as a deep model does.

    The peak is the largest of what is held at each moment, a straight line in the batch each: convex. So a chord meets the
    limit at a batch that fits, and at the right one as soon as both its ends lie on the last of the lines.
    """
    over = excess(start)
    if over > 0:
        return _below(excess, start)
    fits, least, too_large = start, over, growth * start
    while (most := excess(too_large)) <= 0:
        if too_large >= LARGEST_BATCH:
            return too_large
        fits, least, too_large = too_large, most, growth * too_large
    while too_large - fits > 1:
        met = fits - least * (too_large - fits) // (most - least)
        guess = min(max(met, fits + 1), too_large - 1)
        over = excess(guess)
        if over <= 0:
            fits, least = guess, over
        else:
            too_large, most = guess, over
    return fits


def _below(excess: Callable[[int], int], too_large: int) -> int:
    """The largest batch that fits, by bisection below one that does not."""
    tried, fits = 0, 0
    while too_large - tried > 1:
        middle = (tried + too_large) // 2
        try:
            over = excess(middle)
        except UserError:  # too small to be run
            tried = middle
            continue
        if over <= 0:
            tried = fits = middle
        else:
            too_large = middle
    return fits


def _on_the_line(excess: Callable[[int], int], batch: int) -> int:
    """The batch at which the straight line through this batch and one twice as large meets the limit; for a model that has to
    run on real numbers, which take the memory in question."""
    here, there = excess(batch), excess(2 * batch)
    slope = (there - here) / batch
    return max(0, math.floor(batch - here / slope)) if slope > 0 else 0
