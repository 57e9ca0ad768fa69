"""A user's own module as a model of the engine: found by its address, made, tried and proved once a process."""

import logging
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from ....declare.own_address import OwnAddress
from ....errors import UserError, quoted
from ...precisions import precision_named
from .examples import MOST_ASKED, Batch, Examples, joined
from .finding import find_again
from .keyed import keyed
from .model import OwnModule, Parted
from .place import place
from .reduction import candidates
from .workload import OwnWorkload

log = logging.getLogger(__name__)

# Examples a module is tried on: half a batch of them still has a variance.
EXAMPLES = 4
# Besides, this many that count most and least by each way to count; and one of each class if classes are this few.
UNLIKE, FEW_CLASSES = 1, 8
# Examples whose counts are asked at once.
AT_ONCE = 4096


@lru_cache(maxsize=4)
def own_module(address: OwnAddress, device: str, precision: str) -> OwnModule:
    """The module of an own workload, made and tried once a process. Raises UserError where it cannot be trained."""
    found_workload = find_again(address)
    workload = found_workload.workload
    apart = "the workload says packed=False" if not workload.packed else ""
    if workload.examples["training"].is_ragged:
        apart = "its loader puts batches together by itself"
    try:
        few, count, parted = tried(workload)
        dtype = precision_named(precision).dtype
        made = OwnModule(workload.objective, *few, (count, parted), device, dtype, workload.counts, apart)
        log.info("workload '%s': %s", found_workload.address, made.proof)
    except UserError:
        raise
    except ValueError as error:
        where = place(error.__cause__ or error)
        raise UserError(f"workload '{found_workload.address}': {error}{where and f' in {where}'}") from None
    return made


def tried(workload: OwnWorkload) -> tuple[Batch, int, Parted]:
    """Training examples a module is tried on; and those that show what its loss is a mean of, how many and as batches of
    some: spread evenly, and beside them those that are unlike the others wherever that may count.

    Raises UserError for examples that cannot be put together.
    """
    examples = workload.examples["training"]
    asked = _spread(len(examples), MOST_ASKED if examples.is_read else len(examples))

    try:
        with keyed(0):
            held = examples.held(asked)
        batch = _by_one_key(held)
        unlike = _unlike(workload, batch(range(len(asked))), len(asked))
    except (ValueError, RuntimeError, TypeError) as error:
        raise UserError(
            f"workload '{workload.name}': its training examples cannot be put together in a batch"
            f" ({quoted(error)}); give a DataLoader whose collate_fn does"
        ) from error
    few, more = (sorted({*_spread(len(asked), count).tolist(), *unlike}) for count in (EXAMPLES, MOST_ASKED))
    return batch(few), len(more), lambda which: batch([more[place] for place in which])


def _by_one_key(held: Callable[[Sequence[int]], Batch]) -> Callable[[Sequence[int]], Batch]:
    """Batches whose collate_fn draws by one key."""

    def batch(which: Sequence[int]) -> Batch:
        with keyed(0):
            return held(which)

    return batch


def _unlike(workload: OwnWorkload, batch: Batch, count: int) -> set[int]:
    """Examples that count most and least by some way of counting, and one of every class where these are few."""
    chosen: set[int] = set()
    for way in candidates(workload.loss, *batch, count, workload.counts):
        order = way.counts_of(*batch, count).argsort(stable=True)
        chosen |= {*order[:UNLIKE].tolist(), *order[-UNLIKE:].tolist()}
    for values in tree_leaves(batch[1]):
        if isinstance(values, Tensor) and values.dim() == 1 and not values.is_floating_point():
            kinds = set(values.tolist())
            chosen |= {int((values == kind).nonzero()[0]) for kind in kinds} if len(kinds) <= FEW_CLASSES else set()
    return chosen


def _spread(count: int, wanted: int) -> Tensor:
    return torch.from_numpy(np.linspace(0, count - 1, min(count, wanted)).round().astype(np.int64))


@lru_cache(maxsize=4)
def own_data(address: OwnAddress, device: str = "cpu") -> Examples:
    """All examples of an own workload, split after split, on the device."""
    return joined(list(find_again(address).workload.examples.values())).to(device)


@lru_cache(maxsize=4)
def counts_of(address: OwnAddress, device: str = "cpu", precision: str = "fp32") -> Tensor:
    """How much each of these examples counts in the mean that the loss is, [N], float64."""
    reduction, examples = own_module(address, device, precision).reduction, own_data(address, device)
    if reduction.counts is None:
        return torch.ones(len(examples), dtype=torch.float64, device=device)
    parts = torch.split(torch.arange(len(examples)), 1 if examples.is_read else AT_ONCE)
    with keyed(0):  # what a dataset draws as it is read
        return torch.cat([reduction.counts_of(*examples.batch(part), len(part)) for part in parts]).to(device)
