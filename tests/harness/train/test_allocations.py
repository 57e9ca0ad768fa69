"""Bytes as counted: against arithmetic by hand, on tensors with numbers and without."""

from contextlib import nullcontext
from itertools import pairwise

import pytest
import torch

from folklore.harness.train.allocations import Allocations, pretended


@pytest.fixture(params=[False, True], ids=["real", "pretended"])
def mode(request: pytest.FixtureRequest):
    return pretended() if request.param else nullcontext()


def test_what_a_step_holds(mode) -> None:
    """Two matrices and a ReLU; every tensor by hand."""
    batch, features, hidden, outputs = 32, 64, 128, 10
    with mode, Allocations() as memory:
        first = torch.zeros(features, hidden, requires_grad=True)
        second = torch.zeros(hidden, outputs, requires_grad=True)
        x = torch.zeros(batch, features)
        weights = 4 * (features * hidden + hidden * outputs)
        before = weights + 4 * batch * features
        assert (memory.live, memory.peak) == (before, before)
        active = torch.relu(x @ first)
        # The product is gone, and was there beside what the ReLU made of it.
        assert (memory.live, memory.peak) == (before + 4 * batch * hidden, before + 8 * batch * hidden)
        memory.restart()
        assert memory.peak == memory.live
        loss = (active @ second).square().sum()
        kept = before + 4 * batch * (hidden + outputs) + 4
        assert memory.live == kept
        gradients = torch.autograd.grad(loss, [first, second])
        # The square's input went with the graph, which alone held it.
        assert memory.live == kept + weights - 4 * batch * outputs
        del gradients, loss, active
        assert memory.live == before


def test_a_view_holds_nothing_of_its_own(mode) -> None:
    with mode, Allocations() as memory:
        whole = torch.zeros(100)
        parts = [whole[:50], whole.view(10, 10), whole.reshape(50, 2)]
        assert memory.live == 400
        del whole
        assert memory.live == 400, "the views hold it"
        del parts
        assert memory.live == 0


def test_what_was_there_before_counts_when_told() -> None:
    there = torch.zeros(100)
    with Allocations() as memory:
        there.add_(1)
        assert memory.live == 400, "an operation in place gives what it changed"
        memory.hold(there, there[:5])
        assert memory.live == 400


@pytest.mark.gpu
def test_a_gpu_holds_what_is_counted() -> None:
    """torch.cuda's own peak, which rounds every tensor up to 512 bytes."""
    sizes = (512, 1024, 256)
    matrices = [torch.randn(a, b, device="cuda", requires_grad=True) for a, b in pairwise(sizes)]
    x = torch.randn(64, sizes[0], device="cuda")

    def step() -> None:
        loss = torch.relu(x @ matrices[0]).matmul(matrices[1]).square().sum()
        torch.autograd.grad(loss, matrices)

    step()  # libraries make their workspaces
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    step()
    theirs = torch.cuda.max_memory_allocated() - before
    with Allocations() as memory:
        memory.hold(*matrices, x)
        held = memory.live
        step()
    assert memory.peak - held == pytest.approx(theirs, rel=0.02)
