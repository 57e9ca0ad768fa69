"""What training holds in memory and what it computes, counted: one step at a time, on any machine.

Memory is counted as torch asks for it (training/allocations.py), and operations by torch's own counter. What is asked of
gradients is asked of the engine's own procedures.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.checkpoint import set_checkpoint_early_stop
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

from folklore.harness.data import DataFacts
from folklore.harness.data.text import Text, tokenize
from folklore.harness.observables.estimating.exact.base import Check, Curve, Plot, Table
from folklore.harness.randomness import numpy_generator
from folklore.harness.spec import Configuration, Measurement, Training, Workload
from folklore.harness.training.allocations import Allocations, pretended
from folklore.harness.training.budget import (
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
from folklore.harness.training.optimizers import make_optimizer
from folklore.harness.training.pack import Lane, Pack

GB = 1e9
# Small, and with many tokens a step, so that activations outweigh weights and gradients a hundred times.
GPT = Workload(model="gpt", width=16, depth=4, heads=2, context=64)
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


@lru_cache(maxsize=1)
def _text() -> Text:
    """Letters without meaning: what is counted does not depend on them."""
    letters = numpy_generator(0, "exact:text", 0).integers(ord("a"), ord("a") + 26, 40 * 4096)
    return tokenize("exact", letters.astype(np.uint8).tobytes())


def engine(**training: Any) -> tuple[Pack, Tensor, Tensor]:
    """A pack of one lane that is to train GPT so, and its first batch."""
    configuration = Configuration(
        workload=GPT,
        training=Training.model_validate({"steps": 2, "warmup_fraction": 0.0, **training}),
        measurement=Measurement(probes=2, evaluations=1, evaluation_examples=2, final_examples=2),
    )
    pack = Pack([Lane(configuration, 0)], _text())
    inputs, targets = pack.procedure.batch(torch.from_numpy(pack.procedure.draw(0))[0])
    return pack, inputs, targets


@lru_cache(maxsize=1)
def accumulated_errors() -> dict[str, float]:
    """Number of micro-batches, or how they are unequal -> how far their gradient is from the whole batch's, over its size."""
    batch = 32
    pack, inputs, targets = engine(batch_size=batch)
    whole = pack.procedure.gradient(inputs, targets)[1].clone()

    def error(gradient: Tensor) -> float:
        return float((gradient - whole).norm() / whole.norm())

    found = {}
    for count in (2, 4, 8, 16):
        parted = engine(batch_size=batch, micro_batches=count)[0]
        found[f"{count} equal micro-batches"] = error(parted.procedure.gradient(inputs, targets)[1])
    for first in (batch // 4, 1):
        edges = ((0, first), (first, batch))
        parts = [pack.procedure.gradient(inputs[:, low:high], targets[:, low:high])[1].clone() for low, high in edges]
        found[f"2 of {first} and {batch - first} examples, each counted as half"] = error((parts[0] + parts[1]) / 2)
    return found


def accumulated_error() -> float:
    """Of equal micro-batches, the largest."""
    return max(value for name, value in accumulated_errors().items() if "equal micro" in name)


def unequal_error() -> float:
    """Of a quarter and three quarters of a batch, each counted as half of it."""
    return next(value for name, value in accumulated_errors().items() if "counted as half" in name)


def accumulation_table() -> Table:
    return Table(
        ("micro-batches", "distance from the whole batch's gradient"),
        tuple((name, f"{value:.1e}" if value < 1e-3 else f"{value:.0%}") for name, value in accumulated_errors().items()),
    )


@lru_cache(maxsize=16)
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


def accumulation_peak_slope() -> float:
    """Exponent of the peak of activations on the number of micro-batches of one size."""
    return slope(MICRO_BATCHES, _peaks([MICRO_BATCH * count for count in MICRO_BATCHES]))


def parted_peak_slope() -> float:
    """Exponent of the peak of activations on the number of micro-batches into which one batch is parted."""
    return slope(MICRO_BATCHES, _peaks([MICRO_BATCH * MICRO_BATCHES[-1]] * len(MICRO_BATCHES)))


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def accumulation_plot() -> Plot:
    counts = np.array(MICRO_BATCHES, dtype=float)
    whole = MICRO_BATCH * MICRO_BATCHES[-1]
    curves = (
        Curve(f"micro-batches of {MICRO_BATCH}", counts, np.array(_peaks([MICRO_BATCH * k for k in MICRO_BATCHES])) / GB, True),
        Curve(f"parts of one batch of {whole}", counts, np.array(_peaks([whole] * len(MICRO_BATCHES))) / GB, True),
    )
    return Plot("micro-batches a step", "peak of activations (GB)", curves)


@lru_cache(maxsize=64)
def _activations(depth: int, segments: int) -> int:
    """The peak of batch and activations, bytes; segments: 0 keeps all."""
    subject = built_in(GPT.model_copy(update={"depth": depth}), TOKENS, "fp32", segments or None)
    return count_step(subject, COUNTED_BATCH, recompute=segments > 0).activations


def _by_depth(segments: Callable[[int], int]) -> list[float]:
    return [float(_activations(depth, segments(depth))) for depth in DEPTHS]


def _none(depth: int) -> int:
    return 0


def _root(depth: int) -> int:
    return round(math.sqrt(depth))


def _every(depth: int) -> int:
    return depth


def kept_exponent() -> float:
    """Exponent of the peak of activations on the depth if all are kept."""
    return slope(DEPTHS, _by_depth(_none))


def recomputed_exponent() -> float:
    """The same with as many checkpoints as the root of the depth."""
    return slope(DEPTHS, _by_depth(_root))


def every_block_exponent() -> float:
    """The same with one at every block."""
    return slope(DEPTHS, _by_depth(_every))


def depth_plot() -> Plot:
    depths = np.array(DEPTHS, dtype=float)
    shown = (("all kept", _none), ("√depth checkpoints", _root), ("one at every block", _every))
    curves = tuple(Curve(name, depths, np.array(_by_depth(segments)) / GB, dots=True) for name, segments in shown)
    return Plot("blocks", "peak of activations (GB)", curves)


@lru_cache(maxsize=16)
def _operations(segments: int, early_stop: bool) -> int:
    """Floating point operations of a step of the large model: of matrix products, as torch counts them. segments: 0 keeps all.
    early_stop: whether what is computed again ends as soon as all that was kept is there, as torch has it."""
    subject = built_in(Workload.model_validate(LARGE), LARGE_TOKENS, "fp32", segments or None)
    with (
        pretended(),
        set_checkpoint_early_stop(early_stop),
        FlopCounterMode(display=False, custom_mapping=FUSED_ATTENTION) as counter,
    ):
        prepared = subject.make(1, segments > 0)
        torch.autograd.grad(prepared.loss(), list(prepared.trained))
    return int(counter.get_total_flops())


def _extra(segments: int, early_stop: bool = True) -> float:
    return _operations(segments, early_stop) / _operations(0, early_stop=True) - 1


def recomputed_operations() -> float:
    """What computing every block again adds to a step's operations, as a share of them: a GPT of the document's size."""
    return _extra(int(str(LARGE["depth"])), early_stop=False)


def recomputed_operations_here() -> float:
    """The same as torch does it, a checkpoint at every block: the last product of a block is not needed again."""
    return _extra(int(str(LARGE["depth"])))


def operations_table() -> Table:
    rows = [
        ("every block, all of it", f"+{recomputed_operations():.1%}"),
        *((f"as torch does it, {count} segments of 32 blocks", f"+{_extra(count):.1%}") for count in (6, 16, 32)),
    ]
    return Table(("computed again", "operations a step"), tuple(rows))


def weights_gb() -> float:
    """GB of 7 billion FP32 numbers, as torch would allocate them."""
    return torch.empty(SEVEN_BILLION, device="meta").untyped_storage().nbytes() / GB


def state_over_weights() -> float:
    """Bytes of the state of Adam over those of the FP32 weights, of the engine's optimizer."""
    weights = torch.zeros(1, 1000)
    optimizer = make_optimizer([Training(optimizer="adam")], weights, torch.ones(1000))
    return sum(each.untyped_storage().nbytes() for each in optimizer.state.values()) / weights.untyped_storage().nbytes()


def state_over_narrow_weights() -> float:
    """The same over weights that are kept in BF16, with a state in FP32."""
    return state_over_weights() * FLOAT_BYTES / torch.bfloat16.itemsize


@lru_cache(maxsize=16)
def large_step(batch: int = 8, context: int = 2048, precision: str = "fp32", recompute: bool = False) -> tuple[Step, int]:
    """A step of the large model, and all its memory at the worst moment; recomputed: block by block."""
    workload = Workload.model_validate({**LARGE, "context": context})
    step = count_step(built_in(workload, LARGE_TOKENS, precision), batch, recompute)
    return step, total(step, state_bytes(step, "adam"))


def parts_over_stated() -> float:
    """The document's parts over the GPU beside which they stand."""
    return sum(DOCUMENT.values()) / DOCUMENT_GPU


def batch_lever() -> float:
    """Memory of the large model at a batch of 32 over that at 8."""
    return large_step(batch=32)[1] / large_step()[1]


def sequence_lever() -> float:
    """At a context of 2048 over that at 1024."""
    return large_step()[1] / large_step(context=1024)[1]


def precision_lever() -> float:
    """With products in FP32 over that with products in 16 bits and weights, gradients and state in FP32."""
    return large_step()[1] / large_step(precision="bf16")[1]


def checkpoint_lever() -> float:
    """Share of the peak of activations that a checkpoint at every block saves."""
    return 1 - large_step(recompute=True)[0].activations / large_step()[0].activations


def budget_table() -> Table:
    """The document's parts beside those of a model of its size, at a batch of 8 sequences of 2048 tokens."""
    bytes_each = {"weights": FLOAT_BYTES, "gradients": FLOAT_BYTES, "Adam's state": state_numbers("adam") * FLOAT_BYTES}
    right = {name: f"{SEVEN_BILLION * size / GB:.0f} GB" for name, size in bytes_each.items()}
    kept, recomputed = (large_step(recompute=recompute)[0].activations / GB for recompute in (False, True))
    right |= {"activations": f"{kept:.0f} GB, or {recomputed:.0f} GB recomputed", "overhead": "not counted"}
    rows = tuple((name, f"{said} GB", right[name]) for name, said in DOCUMENT.items())
    before = sum(bytes_each.values()) * SEVEN_BILLION / GB
    whole = ("together", f"{sum(DOCUMENT.values())} GB of {DOCUMENT_GPU}", f"{before:.0f} GB before any activation")
    return Table(("of 7 billion parameters in FP32", "the document says", "counted"), (*rows, whole))


def levers_table() -> Table:
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
    found = budget(subject, MEDIUM_BATCH, "adam", GPU_BYTES, recompute).largest
    assert found is not None, "a limit was given"
    return found


@lru_cache(maxsize=16)
def _deepest(batch: int, recompute: bool) -> tuple[int, float]:
    """How many wide blocks fit the GPU, and the activations' share of its memory then."""

    @lru_cache(maxsize=64)
    def step(depth: int) -> Step:
        workload = Workload.model_validate({**WIDE, "depth": depth})
        return count_step(built_in(workload, LARGE_TOKENS, "fp32"), batch, recompute)

    def excess(depth: int) -> int:
        return total(step(depth), state_bytes(step(depth), "adam")) - GPU_BYTES

    found = largest_that_fits(excess, WIDE_DEPTHS[batch], growth=2)
    return found, step(found).activations / GPU_BYTES


def larger_batch() -> float:
    """The largest batch with checkpoints over that without."""
    return _largest_batch(True) / _largest_batch(False)


def deeper(batch: int) -> float:
    """The largest depth with checkpoints over that without."""
    return _deepest(batch, True)[0] / _deepest(batch, False)[0]


def size_table() -> Table:
    medium = f"batch of GPT-2 medium, {MEDIUM['depth']} blocks of width {MEDIUM['width']}"
    kept, again = map(_largest_batch, (False, True))
    rows = [(medium, f"{kept} sequences", f"{again} sequences", f"{again / kept:.2f}x")]
    for batch in WIDE_DEPTHS:
        (kept, share), (again, _) = (_deepest(batch, recompute) for recompute in (False, True))
        name = f"depth at a batch of {batch}, width {WIDE['width']}"
        rows.append((name, f"{kept} blocks, activations {share:.0%}", f"{again} blocks", f"{again / kept:.2f}x"))
    columns = (f"the largest that fits {DOCUMENT_GPU} GiB, 1024 tokens", "all kept", "with checkpoints", "ratio")
    return Table(columns, tuple(rows))


CHECKS = {
    "accumulated_gradient_error": Check(accumulated_error, None, accumulation_table),
    "unequal_micro_batches_error": Check(unequal_error, None, accumulation_table),
    "accumulation_peak_exponent": Check(accumulation_peak_slope, accumulation_plot),
    "parted_batch_peak_exponent": Check(parted_peak_slope, accumulation_plot),
    "kept_memory_exponent": Check(kept_exponent, depth_plot),
    "recomputed_memory_exponent": Check(recomputed_exponent, depth_plot),
    "every_block_memory_exponent": Check(every_block_exponent, depth_plot),
    "recomputed_operations": Check(recomputed_operations, None, operations_table),
    "recomputed_operations_in_torch": Check(recomputed_operations_here, None, operations_table),
    "fp32_weights_gb": Check(weights_gb, None, budget_table),
    "adam_state_over_weights": Check(state_over_weights),
    "adam_state_over_bf16_weights": Check(state_over_narrow_weights),
    "document_parts_over_stated": Check(parts_over_stated, None, levers_table),
    "batch_lever": Check(batch_lever, None, levers_table),
    "sequence_lever": Check(sequence_lever, None, levers_table),
    "precision_lever": Check(precision_lever, None, levers_table),
    "checkpoint_lever": Check(checkpoint_lever, None, levers_table),
    "checkpoint_larger_batch": Check(larger_batch, None, size_table),
    "checkpoint_deeper_batch_2": Check(lambda: deeper(2), None, size_table),
    "checkpoint_deeper_batch_8": Check(lambda: deeper(8), None, size_table),
    "checkpoint_deeper_batch_16": Check(lambda: deeper(16), None, size_table),
}
