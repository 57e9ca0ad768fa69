"""A memory budget against arithmetic, against a step that was really taken, and against every smaller batch."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from typer.testing import CliRunner

from folklore.harness.declare import Training, Workload
from folklore.harness.errors import UserError
from folklore.harness.train import budget as counted
from folklore.harness.train.budget import budget, built_in, count_step, largest_that_fits, state_bytes, total
from folklore.harness.train.optimizers import make_optimizer
from folklore.harness.train.real_step import real_peak
from folklore.harness.train.workloads.data import DataFacts
from folklore.harness.train.workloads.own.budget import own
from folklore.harness.train.workloads.own.workload import OwnWorkload
from folklore.harness.use.cli import app
from folklore.harness.use.cli.budget import _real
from tests.harness.train.own_workloads import Made, linear, made

TEXT = DataFacts(hash="", classes=50)
GPT = Workload(model="gpt", width=32, depth=9, heads=2, context=32)
SHALLOW = GPT.model_copy(update={"depth": 2})


def workload(module, inputs: torch.Tensor | None = None, loss=None) -> OwnWorkload:
    x = torch.randn(12, 8) if inputs is None else inputs
    data = (x, torch.zeros(len(x), dtype=torch.int64))
    judge = loss or (lambda outputs, targets: nn.functional.cross_entropy(outputs, targets, reduction="none"))
    return OwnWorkload(name="a", module=module, loss=judge, training=data, validation=data, test=data)


def test_seven_billion_parameters_take_four_bytes_each() -> None:
    """The example of SG: 28 GB of weights in FP32, where it says 7; and with Adam 112 GB before any activation."""
    large = Workload(model="gpt", width=4096, depth=32, heads=32, context=16)
    step = count_step(built_in(large, DataFacts(hash="", classes=32_000), "fp32"), 1)
    width, state = 4096, state_bytes(step, "adamw")
    by_hand = 32 * (12 * width**2 + 13 * width) + 2 * width + 2 * 32_000 * width + 16 * width
    assert step.parameters == by_hand
    assert (step.weights, step.gradients, state) == (4 * by_hand, 4 * by_hand, 8 * by_hand)
    assert 100e9 < step.weights + step.gradients + state < 112e9


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("recompute", [False, True])
def test_without_numbers_as_with_them(precision: str, recompute: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = built_in(SHALLOW, TEXT, precision)
    count = count_step(subject, 4, recompute)
    monkeypatch.setattr(counted, "pretended", nullcontext)
    count_step.cache_clear()
    assert count_step(subject, 4, recompute) == count


def test_recomputation_keeps_the_inputs_of_segments() -> None:
    """Three segments of nine blocks: of the blocks three streams [B, T, W] remain."""
    subject, batch = built_in(GPT, TEXT, "fp32", segments=3), 16
    plain, again = (count_step(subject, batch, recompute) for recompute in (False, True))
    assert subject.recomputed == "in 3 segments of its 9 blocks"
    stream = 4 * batch * GPT.context * GPT.width
    without = count_step(built_in(GPT.model_copy(update={"depth": 1}), TEXT, "fp32"), batch)
    two = count_step(built_in(SHALLOW, TEXT, "fp32"), batch)
    a_block = two.kept - without.kept
    # A residual stream belongs to the block that made it, whose inner tensors are gone.
    assert plain.kept - again.kept == pytest.approx(9 * a_block - 3 * stream, rel=0.03)
    assert again.peak < plain.peak


@pytest.mark.parametrize(("optimizer", "numbers"), [("adamw", 2), ("sgd", 1), ("lion", 1), ("rmsprop", 2), ("lars", 1)])
def test_the_state_is_what_an_optimizer_holds(optimizer: str, numbers: int) -> None:
    assert counted.state_numbers(optimizer) == numbers
    state = make_optimizer([Training(optimizer=optimizer)], torch.zeros(1, 40), torch.ones(40)).state
    kept_for_a_check = sum(name == "gradient" for name in state)
    assert sum(tensor.numel() for tensor in state.values()) == 40 * (numbers + kept_for_a_check)


@pytest.mark.parametrize("recompute", [False, True])
def test_the_largest_batch_fits_and_the_next_does_not(recompute: bool) -> None:
    mlp = Workload(model="mlp", dataset="digits", width=64, depth=3)
    subject, limit = built_in(mlp, DataFacts(hash="", classes=10, features=(8, 8)), "fp32"), 2**20
    memory = budget(subject, 2, "adamw", limit, recompute)
    assert memory.largest is not None
    totals = {batch: budget(subject, batch, "adamw", None, recompute).total for batch in (memory.largest, memory.largest + 1)}
    assert totals[memory.largest] <= limit < totals[memory.largest + 1]
    assert budget(subject, 2, "adamw", memory.step.weights).largest == 0


def test_no_step_is_counted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A 7B model's step takes a second to count, and its budget asked for 14 of which 5 differ. Weights that are larger than
    the memory need no smaller batch to be tried."""
    counts: list[tuple[int, bool]] = []
    count = counted._counted

    def recorded(make: counted.Make, batch: int, recompute: bool, mode: AbstractContextManager[None]) -> counted.Step:
        counts.append((batch, recompute))
        return count(make, batch, recompute, mode)

    monkeypatch.setattr(counted, "_counted", recorded)
    size = ["--width", "2048", "--depth", "9", "--heads", "2", "--context", "8"]
    arguments = ["budget", "gpt", *size, "--memory", "1", "--json"]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.output)["largest_batch"] == 0
    assert counts == [(8, True), (8, True), (8, False), (16, False), (16, True)], "in 3 and in 9 segments, plain, and again"


def test_a_peak_of_several_lines() -> None:
    """Small batches are bound by gradients, large ones by activations: the chord must not stop at the bend. And batches too
    small to be run, as batch normalization has one."""

    def peak(batch: int) -> int:
        return max(1000 + batch, 7 * batch - 500, 20 * batch - 9000)

    for least in (1, 2, 3):
        for limit in (900, 1001, 1100, 1300, 5000, 100_000):
            for start in (4, 8, 64):

                def excess(batch: int, least: int = least, limit: int = limit) -> int:
                    if batch < least:
                        raise UserError("too small")
                    return peak(batch) - limit

                best = max((batch for batch in range(least, 6000) if peak(batch) <= limit), default=0)
                assert largest_that_fits(excess, start) == best, (least, limit, start)


def test_a_users_module_with_buffers_and_a_tied_weight() -> None:
    def tied() -> nn.Module:
        first, second = nn.Linear(8, 8, bias=False), nn.Linear(8, 8, bias=False)
        second.weight = first.weight
        return Made(lambda m, x: m.second(torch.relu(m.norm(m.first(x)))), first=first, norm=nn.BatchNorm1d(8), second=second)

    subject = own(workload(tied), "fp32")
    memory = budget(subject, 6, "adamw")
    assert memory.step.parameters == 64 + 16
    assert memory.step.weights == 4 * (64 + 16 + 16) + 8, "running mean and variance, and a count of 8 bytes"
    assert memory.state == 8 * (64 + 16)
    assert subject.recomputed == ""
    assert budget(subject, 6, "adamw", 2**20).largest is not None, "its norm has no batch of one"


SLICED = {
    "a slice": lambda: torch.randn(4096, 8)[:16],
    "a column": lambda: torch.randn(16, 4096)[:, :8],
    "expanded": lambda: torch.randn(1, 8).expand(16, 8),
    "a piece of a flat buffer": lambda: torch.randn(4096)[7 : 7 + 128].view(16, 8),
}


@pytest.mark.parametrize("kind", SLICED)
@pytest.mark.parametrize("buffer", [False, True])
def test_a_part_of_a_storage_counts_as_itself(kind: str, buffer: bool) -> None:
    """On a device it takes its own size, and its gradient does everywhere."""

    def sliced() -> nn.Module:
        made = nn.Linear(8, 16)
        if buffer:
            made.register_buffer("table", SLICED[kind]())
        else:
            made.weight = nn.Parameter(SLICED[kind]())
        return made

    subject = own(workload(sliced), "fp32")
    step = count_step(subject, 8)
    assert step.gradients == 4 * (16 * 8 + 16)
    assert step.weights == step.gradients + buffer * 4 * 16 * 8
    assert step.gradients < step.peak < 4096
    assert real_peak(subject, 8) == pytest.approx(step.peak, rel=0.01)


@pytest.mark.parametrize(
    ("factor", "said"), [(1.0, True), (1.009, True), (0.992, True), (1.02, False), (0.98, False), (0.1, False)]
)
def test_as_counted_is_said_within_a_factor_both_ways(factor: float, said: bool) -> None:
    step = count_step(built_in(SHALLOW, TEXT, "fp32"), 2)
    line = _real(counted.Budget(2, step, 0), round(factor * step.peak))
    assert ("as counted, within 1%" in line) is said
    assert ("were counted" in line) is not said


def test_blocks_of_a_users_module_are_recomputed() -> None:
    def deep() -> nn.Module:
        return nn.Sequential(
            nn.Linear(8, 32), *(nn.Sequential(nn.Linear(32, 32), nn.GELU()) for _ in range(6)), nn.Linear(32, 8)
        )

    subject = own(workload(deep), "fp32")
    plain, again = (count_step(subject, 64, recompute) for recompute in (False, True))
    assert subject.recomputed == "module by module of the module itself, 8 of them"
    # Of each of the six what GELU needs is gone: 32 numbers an example.
    assert plain.kept - again.kept >= 6 * 4 * 64 * 32
    assert (plain.parameters, plain.weights) == (again.parameters, again.weights)


def test_a_module_that_looks_at_its_numbers_is_counted_on_real_ones() -> None:
    looks = made(lambda m, x: m.map(x) if float(x.square().sum()) >= 0 else x, map=linear(8, 8))
    subject = own(workload(looks), "fp32")
    step = count_step(subject, 6)
    assert (step.parameters, step.pretended) == (72, False)
    # By a line, for a gigabyte of real numbers would be a gigabyte.
    largest = budget(subject, 6, "adamw", 2**30).largest
    assert largest is not None
    a_batch = (count_step(subject, 600).peak - count_step(subject, 300).peak) / 300
    assert largest == pytest.approx(2**30 / a_batch, rel=0.01)


def test_a_module_that_fails_says_so() -> None:
    def broken(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("no loss\ntoday")

    with pytest.raises(
        UserError, match=r"a step of 8 examples cannot be counted, for it fails on its first ones: no loss today"
    ):
        count_step(own(workload(lambda: nn.Linear(8, 8), loss=broken), "fp32"), 6)


def test_bf16_halves_what_products_keep() -> None:
    fp32, bf16 = (budget(built_in(SHALLOW, TEXT, precision), 64, "adamw") for precision in ("fp32", "bf16"))
    assert fp32.step.weights == bf16.step.weights
    kept = [memory.step.kept - memory.constant for memory in (fp32, bf16)]
    assert 0.45 < kept[1] / kept[0] < 0.75
    # Two bytes a weight, but for embeddings, whose copies the backward pass does not need, and vectors that are added.
    matrices = SHALLOW.depth * 12 * GPT.width**2 + GPT.width * 50
    assert fp32.constant < 0.01 * kept[0]
    assert bf16.constant == pytest.approx(2 * matrices, rel=0.1)


def test_the_list_that_saves_most_is_recomputed() -> None:
    """Not the longest one, and not the one around it."""

    def call(module: Any, x: torch.Tensor) -> torch.Tensor:
        for block in module.trunk:
            x = x + block(x)
        return torch.stack([head(x) for head in module.heads]).sum(dim=0)

    forked = made(
        call,
        trunk=lambda: nn.ModuleList([nn.Sequential(nn.Linear(8, 64), nn.GELU(), nn.Linear(64, 8)) for _ in range(4)]),
        heads=lambda: nn.ModuleList([nn.Linear(8, 8) for _ in range(6)]),
    )
    assert own(workload(forked), "fp32").recomputed == "module by module of trunk, 4 of them"
    assert own(workload(lambda: nn.Sequential(forked(), nn.ReLU())), "fp32").recomputed.startswith(
        "module by module of 0.trunk"
    )


def test_only_fp32_parameters_are_counted() -> None:
    with pytest.raises(UserError, match=r"parameter weight is torch.bfloat16: must be float32; call .float\(\)"):
        own(workload(lambda: nn.Linear(8, 8).bfloat16()), "fp32")


def recurrent(kind: type[nn.RNNBase]) -> Callable[[], nn.Module]:
    return made(
        lambda m, x: m.out(m.layer(x.unsqueeze(1).expand(-1, 10, -1))[0][:, -1]),
        layer=lambda: kind(8, 32, num_layers=2, batch_first=True),
        out=linear(32, 8),
    )


def looked_up(sparse: bool) -> Callable[[], nn.Module]:
    return made(
        lambda m, x: m.out(m.table((x * 1000).long().abs() % 3000).mean(1)),
        table=lambda: nn.Embedding(3000, 32, sparse=sparse),
        out=linear(32, 8),
    )


# Keeps a view of a large storage.
sliced = made(lambda m, x: m.out(torch.tanh(x.repeat(1, 100)[:, :8])), out=linear(8, 8))


def again(module: Any, x: torch.Tensor) -> torch.Tensor:
    for block in module.blocks:
        x = checkpoint(block, x, use_reentrant=False)
    return x


recomputed = made(
    again,
    blocks=lambda: nn.ModuleList(nn.Sequential(nn.Linear(8, 128), nn.Tanh(), nn.Linear(128, 8)) for _ in range(3)),
)


def in_place() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 64), nn.ReLU(inplace=True), nn.Linear(64, 8))


@pytest.mark.parametrize(
    ("module", "apart"),
    [
        (recurrent(nn.RNN), 0.02), (recurrent(nn.GRU), 0.02), (recurrent(nn.LSTM), 0.25),
        (looked_up(True), 0.02), (looked_up(False), 0.02), (sliced, 0.02), (recomputed, 0.02), (in_place, 0.02),
    ],
    ids=["rnn", "gru", "lstm", "sparse", "dense", "sliced", "recomputed", "in place"],
)  # fmt: skip
def test_a_real_step_holds_what_is_counted(module: Callable[[], nn.Module], apart: float) -> None:
    """torch's own allocator is listened to. A CPU's LSTM holds a workspace in its backward pass that no tensor shows."""
    subject = own(workload(module), "fp32")
    assert real_peak(subject, 512) == pytest.approx(count_step(subject, 512).peak, rel=apart)


def test_the_largest_batch_holds_what_a_real_step_holds() -> None:
    """Where that is more than is counted, fewer fit."""
    subject, limit = own(workload(recurrent(nn.LSTM)), "fp32"), 2 << 20
    held, counted = real_peak(subject, 8), count_step(subject, 8)
    most = budget(subject, 8, "sgd", limit, more=held / counted.peak).largest
    assert most
    assert total(replace(counted, peak=real_peak(subject, most)), state_bytes(counted, "sgd")) <= limit
    assert total(replace(counted, peak=real_peak(subject, 2 * most)), state_bytes(counted, "sgd")) > limit


def test_a_list_that_cannot_be_computed_again_is_left() -> None:
    """A ReLU in place changes what the layer before it gave: recomputed alone it finds its own output."""
    assert own(workload(in_place), "fp32").recomputed == ""
    assert own(workload(recomputed), "fp32").recomputed == "module by module of blocks, 3 of them"
