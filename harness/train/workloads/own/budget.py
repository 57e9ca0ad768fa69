"""The memory of a user's own module: what `folklore budget MODULE:ATTRIBUTE` counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.checkpoint import checkpoint

from ....errors import UserError
from ...budget import Make, Prepared, Subject, count_step
from .examples import Batch, Examples
from .workload import OwnWorkload

# At most this many lists of a user's module are tried for recomputation: longer ones first.
MOST_LISTS = 8
# Examples by which lists are compared: so many that activations outweigh gradients, where they take no memory.
FEW, MANY = 8, 4096
# Counts with numbers and without may differ by this share.
SLACK = 0.01


def own(workload: OwnWorkload, precision: str) -> Subject:
    """A user's module with a batch of its training data's shape. Raises UserError for one whose parameters are not FP32."""
    module = workload.made(0)
    for name, parameter in module.named_parameters():
        if parameter.dtype != torch.float32:
            raise UserError(
                f"workload '{workload.name}': parameter {name} is {parameter.dtype}: must be float32; call .float()"
            )
    whole = Subject(_own_make(workload, precision, ""), "")
    # The workspace of a CPU's recurrent kernels shows only where they run.
    without, with_them = (count_step(replace(whole, numbers=with_numbers), FEW) for with_numbers in (False, True))
    numbers = with_them.kept > (1 + SLACK) * without.kept
    # Which list's modules follow each other is not written anywhere: it is the one that saves most.
    lists = _lists(module)
    batch = FEW if numbers or not count_step(whole, FEW).pretended else MANY

    def peak(path: str) -> float:
        try:
            return count_step(Subject(_own_make(workload, precision, path), "", numbers), batch, recompute=True).peak
        except UserError:  # a module that writes in place cannot be computed again
            return math.inf

    peaks = {path: peak(path) for path in lists}
    best = min(peaks, key=lambda path: peaks[path], default="")
    best = best if best and peaks[best] < math.inf else ""
    words = f"module by module of {best}, {lists[best]} of them" if best else ""
    return Subject(_own_make(workload, precision, best), words, numbers)


def _own_make(workload: OwnWorkload, precision: str, path: str) -> Make:
    """path: of the list whose modules are recomputed."""

    def make(batch: int, recompute: bool) -> Prepared:
        objective = workload.objective(0)
        if recompute and path:
            for block in _at(objective.module, path).children():
                block.forward = _again(block.forward)
        inputs, targets = _first(workload.examples["training"], batch)

        def loss() -> Tensor:
            with torch.autocast("cpu", torch.bfloat16) if precision == "bf16" else nullcontext():
                loss: Tensor = objective(inputs, targets)
                return loss

        trained = [parameter for parameter in objective.parameters() if parameter.requires_grad]
        return Prepared([*objective.parameters(), *objective.buffers()], trained, loss, (inputs, targets))

    return make


def _first(examples: Examples, count: int) -> Batch:
    """The first this many examples, again and again if they are fewer; where tensors have no numbers, as many of that shape."""
    batch = examples.batch(torch.zeros(1, dtype=torch.int64))
    if isinstance(tree_leaves(batch)[0], FakeTensor):
        zeros: Batch = tree_map(lambda values: torch.zeros(count, *values.shape[1:], dtype=values.dtype), batch)
        return zeros
    return examples.batch(torch.arange(count) % len(examples))


WHOLE = "the module itself"


def _at(module: nn.Module, path: str) -> nn.Module:
    return module if path == WHOLE else module.get_submodule(path)


def _lists(module: nn.Module) -> dict[str, int]:
    """Path -> length of the lists and sequences of modules in it: those of two or more, the longest first."""
    lengths = {
        path or WHOLE: len(submodule)
        for path, submodule in module.named_modules()
        if isinstance(submodule, nn.ModuleList | nn.Sequential) and len(submodule) > 1
    }
    return dict(sorted(lengths.items(), key=lambda pair: -pair[1])[:MOST_LISTS])


def _again(forward: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: checkpoint(forward, *args, use_reentrant=False, **kwargs)
