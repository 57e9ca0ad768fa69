"""The memory that a real step takes on this machine, from the events of torch's allocator."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils._pytree import tree_leaves

from .budget import Subject

# A step whose count exceeds this, weights included, is not made.
MOST_BYTES = 4 << 30
ALLOCATION = "[memory]"


def real_peak(subject: Subject, batch: int, recompute: bool = False) -> int:
    """The most that the batch, activations and gradients of a step hold at once, beside the weights. Whatever a user's code
    raises is raised."""
    prepared = subject.make(batch, recompute)
    batch_bytes: int = sum(tensor.nbytes for tensor in tree_leaves(prepared.batch))
    with _quietly(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recording:
        loss = prepared.loss()
        gradients = torch.autograd.grad(loss, list(prepared.trained), allow_unused=True)
        del loss, gradients
    held, most = 0, 0
    events = (event for event in recording.profiler.kineto_results.events() if event.name() == ALLOCATION)
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += int(event.nbytes())
        most = max(most, held)
    return int(batch_bytes) + most


@contextmanager
def _quietly() -> Iterator[None]:
    """Some builds of torch write to standard error that a profiler starts."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
