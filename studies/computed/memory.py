"""Counts what training holds in memory and what it computes: one step at a time, on any machine.

Memory is counted as torch asks for it (train/allocations.py), and operations by torch's own counter. What is asked of
gradients is asked of the engine's own procedures.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.checkpoint import set_checkpoint_early_stop
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

from ...harness.declare import Training, Workload
from ...harness.declare.computed import Curve, Plot, Table, Worked
from ...harness.train.allocations import Allocations, pretended
from ...harness.train.budget import (
    FLOAT_BYTES,
    Step,
    best_segments,
    budget,
    built_in,
    count_step,
    largest_that_fits,
    state_bytes,
    state_numbers,
    total,
)
from ...harness.train.optimizers import make_optimizer
from ...harness.train.workloads.data import DataFacts
from .small_gpt import GPT, engine

GB = 1e9
DEPTHS = (4, 9, 16, 25, 36)
TOKENS = DataFacts(hash="", classes=32)
COUNTED_BATCH = 64
MICRO_BATCH = 8
MICRO_BATCHES = (1, 2, 4, 8, 16)
# The document's example and what is about as large: a GPT of 6.7 billion parameters.
SEVEN_BILLION = 7_000_000_000
LARGE = {"model": "gpt", "width": 4096, "depth": 32, "heads": 32, "context": 2048}
LARGE_TOKENS = DataFacts(hash="", classes=32_000)
# The document's budget of a GPU of 24 GB, in GB, and what its levers are said to save.
DOCUMENT = {"weights": 7, "gradients": 7, "Adam's state": 14, "activations": 2, "overhead": 1}
DOCUMENT_GPU = 24
# For the question how much larger a model or a batch may be, on a GPU of the document's size: GPT-2 medium, and blocks of a
# model of a billion parameters at batches at which activations take little, half or most of it. Where to begin to look.
GPU_BYTES = DOCUMENT_GPU * 2**30
MEDIUM = {"model": "gpt", "width": 1024, "depth": 24, "heads": 16, "context": 1024}
WIDE = {"model": "gpt", "width": 2048, "heads": 16, "context": 1024}
WIDE_DEPTHS = {2: 22, 8: 12, 16: 6}
MEDIUM_BATCH = 32


def _attention_forward(query: Any, key: Any, value: Any, *rest: Any, **settings: Any) -> int:
    return int(sdpa_flop_count(query, key, value))  # type: ignore[no-untyped-call]


def _attention_backward(gradient: Any, query: Any, key: Any, value: Any, *rest: Any, **settings: Any) -> int:
    return int(sdpa_backward_flop_count(gradient, query, key, value))  # type: ignore[no-untyped-call]


# torch's counter knows the fused attention of GPUs, and takes that of a CPU for nothing.
FUSED_ATTENTION = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _attention_forward,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: _attention_backward,
}


def accumulation(seed: int) -> Worked:
    """How far the gradient of micro-batches is from the whole batch's, over its size. error: of equal ones, the largest;
    unequal_error: of a quarter and three quarters of a batch, each counted as half of it."""
    batch = 32
    pack, inputs, targets = engine(seed, batch_size=batch)
    whole = pack.procedure.gradient(inputs, targets)[1].clone()

    def error(gradient: Tensor) -> float:
        return float((gradient - whole).norm() / whole.norm())

    equal, unequal = {}, {}
    for count in (2, 4, 8, 16):
        parted = engine(seed, batch_size=batch, micro_batches=count)[0]
        equal[f"{count} equal micro-batches"] = error(parted.procedure.gradient(inputs, targets)[1])
    for first in (batch // 4, 1):
        edges = ((0, first), (first, batch))
        parts = [pack.procedure.gradient(inputs[:, low:high], targets[:, low:high])[1].clone() for low, high in edges]
        unequal[f"2 of {first} and {batch - first} examples, each counted as half"] = error((parts[0] + parts[1]) / 2)
    rows = tuple((name, f"{value:.1e}" if value < 1e-3 else f"{value:.0%}") for name, value in (equal | unequal).items())
    table = Table(("micro-batches", "distance from the whole batch's gradient"), rows)
    return Worked({"error": max(equal.values()), "unequal_error": next(iter(unequal.values()))}, tables=(table,))


def _activation_peak(batch: int, micro_batches: int) -> int:
    """Bytes that computing a gradient holds at the worst moment, without the batch and the gradients themselves."""
    pack, inputs, targets = engine(batch_size=batch, micro_batches=micro_batches)
    with Allocations() as memory:
        memory.hold(inputs, targets)
        batch_bytes = memory.live
        pack.procedure.gradient(inputs, targets, out_KP=pack.optimizer.gradient_KP)
    # The sum of the gradients, and a part's own beside it.
    gradients = pack.network.flat_KP.untyped_storage().nbytes() * (2 if micro_batches > 1 else 1)
    return int(memory.peak - batch_bytes - gradients)


def _peaks(batches: Sequence[int]) -> list[float]:
    return [float(_activation_peak(batch, count)) for batch, count in zip(batches, MICRO_BATCHES, strict=True)]


def slope(x: Sequence[float], y: Sequence[float] | NDArray[np.float64]) -> float:
    """Exponent of y on x."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def accumulation_peak() -> Worked:
    """Exponents of the peak of activations: on the number of micro-batches of one size, and on the number of parts of one
    batch."""
    counts, whole = np.array(MICRO_BATCHES, dtype=float), MICRO_BATCH * MICRO_BATCHES[-1]
    growing = np.array(_peaks([MICRO_BATCH * count for count in MICRO_BATCHES]))
    parted = np.array(_peaks([whole] * len(MICRO_BATCHES)))
    curves = (
        Curve(f"micro-batches of {MICRO_BATCH}", counts, growing / GB, True),
        Curve(f"parts of one batch of {whole}", counts, parted / GB, True),
    )
    return Worked(
        {"exponent": slope(MICRO_BATCHES, growing), "parted_exponent": slope(MICRO_BATCHES, parted)},
        plots=(Plot("micro-batches a step", "peak of activations (GB)", curves),),
    )


def _activations(depth: int, segments: int) -> int:
    """The peak of batch and activations, bytes; segments: 0 keeps all."""
    subject = built_in(GPT.model_copy(update={"depth": depth}), TOKENS, "fp32", segments or None)
    return count_step(subject, COUNTED_BATCH, recompute=segments > 0).activations


def depth() -> Worked:
    """Exponents of the peak of activations on the depth: if all are kept, with as many checkpoints as the root of the depth,
    and with one at every block."""
    segments: dict[str, Callable[[int], int]] = {
        "all kept": lambda depth: 0,
        "√depth checkpoints": lambda depth: round(math.sqrt(depth)),
        "one at every block": lambda depth: depth,
    }
    peaks = {name: np.array([float(_activations(depth, count(depth))) for depth in DEPTHS]) for name, count in segments.items()}
    curves = tuple(Curve(name, np.array(DEPTHS, dtype=float), peak / GB, dots=True) for name, peak in peaks.items())
    kept, root, every_block = (slope(DEPTHS, peak) for peak in peaks.values())
    return Worked(
        {"kept": kept, "root": root, "every_block": every_block}, plots=(Plot("blocks", "peak of activations (GB)", curves),)
    )


def large_operations(batch: int = 1, segments: int = 0, early_stop: bool = True) -> int:
    """Floating point operations of a step of the large model: of matrix products, as torch counts them. segments: 0 keeps all.
    early_stop: whether what is computed again ends as soon as all that was kept is there, as torch has it."""
    subject = built_in(Workload.model_validate(LARGE), LARGE_TOKENS, "fp32", segments or None)
    with (
        pretended(),
        set_checkpoint_early_stop(early_stop),
        FlopCounterMode(display=False, custom_mapping=FUSED_ATTENTION) as counter,
    ):
        prepared = subject.make(batch, segments > 0)
        torch.autograd.grad(prepared.loss(), list(prepared.trained))
    return int(counter.get_total_flops())


def recomputed_operations() -> Worked:
    """The operations that computing every block again adds to a step, as a share of its own, of a GPT of the document's size:
    all of it, and as torch does it, which leaves out the last product of a block."""
    plain, blocks = large_operations(), int(str(LARGE["depth"]))
    whole = large_operations(segments=blocks, early_stop=False) / plain - 1
    in_torch = {count: large_operations(segments=count) / plain - 1 for count in (6, 16, blocks)}
    rows = [
        ("every block, all of it", f"+{whole:.1%}"),
        *((f"as torch does it, {count} segments of 32 blocks", f"+{extra:.1%}") for count, extra in in_torch.items()),
    ]
    table = Table(("computed again", "operations a step"), tuple(rows))
    return Worked({"extra": whole, "extra_in_torch": in_torch[blocks]}, tables=(table,))


def weights() -> Worked:
    """fp32_gb: GB of 7 billion FP32 numbers, as torch would allocate them."""
    gigabytes = torch.empty(SEVEN_BILLION, device="meta").untyped_storage().nbytes() / GB
    return Worked({"fp32_gb": gigabytes}, tables=(_budget_table(),))


def adam_state() -> Worked:
    """Bytes of the state of Adam, the engine's own in FP32, over those of FP32 weights and of BF16 weights."""
    weights = torch.zeros(1, 1000)
    optimizer = make_optimizer([Training(optimizer="adam")], weights, torch.ones(1000))
    held = sum(tensor.untyped_storage().nbytes() for tensor in optimizer.state.values()) / weights.untyped_storage().nbytes()
    return Worked({"over_fp32_weights": held, "over_bf16_weights": held * FLOAT_BYTES / torch.bfloat16.itemsize})


@lru_cache(maxsize=16)
def large_step(batch: int = 8, context: int = 2048, precision: str = "fp32", recompute: bool = False) -> tuple[Step, int]:
    """A step of the large model, and all its memory at the worst moment; recomputed: block by block."""
    workload = Workload.model_validate({**LARGE, "context": context})
    step = count_step(built_in(workload, LARGE_TOKENS, precision), batch, recompute)
    return step, total(step, state_bytes(step, "adam"))


def levers() -> Worked:
    """All memory of the large model before a lever over that after it; checkpoints: the share of the peak of activations that
    one at every block saves; parts_over_stated: the document's parts over the GPU beside which they stand."""
    plain = large_step()
    return Worked(
        {
            "batch": large_step(batch=32)[1] / plain[1],
            "sequence": plain[1] / large_step(context=1024)[1],
            "precision": plain[1] / large_step(precision="bf16")[1],
            "checkpoints": 1 - large_step(recompute=True)[0].activations / plain[0].activations,
            "parts_over_stated": sum(DOCUMENT.values()) / DOCUMENT_GPU,
        },
        tables=(_levers_table(),),
    )


def _budget_table() -> Table:
    """The document's parts beside those of a model of its size, at a batch of 8 sequences of 2048 tokens."""
    bytes_each = {"weights": FLOAT_BYTES, "gradients": FLOAT_BYTES, "Adam's state": state_numbers("adam") * FLOAT_BYTES}
    right = {name: f"{SEVEN_BILLION * size / GB:.0f} GB" for name, size in bytes_each.items()}
    kept, recomputed = (large_step(recompute=recompute)[0].activations / GB for recompute in (False, True))
    right |= {"activations": f"{kept:.0f} GB, or {recomputed:.0f} GB recomputed", "overhead": "not counted"}
    rows = tuple((name, f"{said} GB", right[name]) for name, said in DOCUMENT.items())
    before = sum(bytes_each.values()) * SEVEN_BILLION / GB
    whole = ("together", f"{sum(DOCUMENT.values())} GB of {DOCUMENT_GPU}", f"{before:.0f} GB before any activation")
    return Table(("of 7 billion parameters in FP32", "the document says", "counted"), (*rows, whole))


def _levers_table() -> Table:
    def row(lever: str, said: str, own: float, before: tuple[Step, int], after: tuple[Step, int]) -> tuple[str, ...]:
        whole = f"{before[1] / after[1]:.2f}x, {before[1] / GB:.0f} to {after[1] / GB:.0f} GB"
        return lever, said, f"{own:.2f}x", whole, f"{before[0].activations / after[0].activations:.2f}x"

    parts = sum(DOCUMENT.values())
    rows = (
        row("batch 32 to 8", "4x less, or 6 GB", (parts + 6) / parts, large_step(batch=32), large_step()),
        row("sequence 2048 to 1024", "2x less, or 1 GB", parts / (parts - 1), large_step(), large_step(context=1024)),
        row("FP32 to mixed precision", "2x less, or 7 GB", parts / (parts - 7), large_step(), large_step(precision="bf16")),
        row("checkpoints", "2 GB", parts / (parts - 2), large_step(), large_step(recompute=True)),
    )
    columns = ("lever", "the document says", "by its own GB, of its 31", "counted, all memory", "counted, activations")
    return Table(columns, rows)


@lru_cache(maxsize=4)
def _largest_batch(recompute: bool) -> int:
    """The largest batch of GPT-2 medium that fits the GPU; its blocks are parted as is best at a large batch."""
    workload = Workload.model_validate(MEDIUM)
    segments = best_segments(workload, LARGE_TOKENS, "fp32", MEDIUM_BATCH) if recompute else None
    subject = built_in(workload, LARGE_TOKENS, "fp32", segments)
    largest = budget(subject, MEDIUM_BATCH, "adam", GPU_BYTES, recompute).largest
    assert largest is not None, "a limit was given"
    return largest


@lru_cache(maxsize=16)
def _deepest(batch: int, recompute: bool) -> tuple[int, float]:
    """How many wide blocks fit the GPU, and the activations' share of its memory then."""

    @lru_cache(maxsize=64)
    def step(depth: int) -> Step:
        workload = Workload.model_validate({**WIDE, "depth": depth})
        return count_step(built_in(workload, LARGE_TOKENS, "fp32"), batch, recompute)

    def excess(depth: int) -> int:
        return total(step(depth), state_bytes(step(depth), "adam")) - GPU_BYTES

    deepest = largest_that_fits(excess, WIDE_DEPTHS[batch], growth=2)
    return deepest, step(deepest).activations / GPU_BYTES


def with_checkpoints() -> Worked:
    """The largest batch, and the largest depth at some batches, that fit the document's GPU with checkpoints over without."""
    depths = {batch: _deepest(batch, True)[0] / _deepest(batch, False)[0] for batch in WIDE_DEPTHS}
    numbers = {"batch": _largest_batch(True) / _largest_batch(False)}
    return Worked(numbers | {f"depth_at_{batch}": ratio for batch, ratio in depths.items()}, tables=(_size_table(),))


def _size_table() -> Table:
    medium = f"batch of GPT-2 medium, {MEDIUM['depth']} blocks of width {MEDIUM['width']}"
    kept, again = map(_largest_batch, (False, True))
    rows = [(medium, f"{kept} sequences", f"{again} sequences", f"{again / kept:.2f}x")]
    for batch in WIDE_DEPTHS:
        (kept, share), (again, _) = (_deepest(batch, recompute) for recompute in (False, True))
        name = f"depth at a batch of {batch}, width {WIDE['width']}"
        rows.append((name, f"{kept} blocks, activations {share:.0%}", f"{again} blocks", f"{again / kept:.2f}x"))
    columns = (f"the largest that fits {DOCUMENT_GPU} GiB, 1024 tokens", "all kept", "with checkpoints", "ratio")
    return Table(columns, tuple(rows))
