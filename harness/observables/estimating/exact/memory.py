"""What training holds in memory and what it computes, counted: one step at a time, on any machine.

Memory is counted as torch asks for it (training/allocations.py), and operations by torch's own counter. What is asked of
gradients is asked of the engine's own procedures.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from folklore.harness.data import DataFacts
from folklore.harness.data.text import Text, tokenize
from folklore.harness.observables.estimating.exact.base import Check, Curve, Plot, Table
from folklore.harness.randomness import numpy_generator
from folklore.harness.spec import Configuration, Measurement, Training, Workload
from folklore.harness.training.allocations import Allocations, pretended
from folklore.harness.training.budget import Budget, Step, budget, built_in, count_step, largest_that_fits, state_numbers
from folklore.harness.training.optimizers import make_optimizer
from folklore.harness.training.pack import Lane, Pack

GB = 1e9
FLOAT_BYTES = 4
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
# model of a billion parameters, with which activations fill it at a batch of 8, weights, gradients and Adam's state at 1.
GPU_BYTES = int(DOCUMENT_GPU * GB)
MEDIUM = {"model": "gpt", "width": 1024, "depth": 24, "heads": 16, "context": 1024}
WIDE = {"model": "gpt", "width": 2048, "depth": 12, "heads": 16}
MEDIUM_BATCH, WIDE_BATCH, WIDE_CONTEXT, SHORT_CONTEXT = 8, 8, 1024, 256


@lru_cache(maxsize=1)
def _text() -> Text:
    """Letters without meaning: what is counted does not depend on them."""
    letters = numpy_generator(0, "exact:text", 0).integers(ord("a"), ord("a") + 26, 40 * 4096)
    return tokenize("exact", letters.astype(np.uint8).tobytes())


def _engine(**training: int) -> tuple[Pack, Tensor, Tensor]:
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
    pack, inputs, targets = _engine(batch_size=batch)
    whole = pack.procedure.gradient(inputs, targets)[1].clone()

    def error(gradient: Tensor) -> float:
        return float((gradient - whole).norm() / whole.norm())

    found = {}
    for count in (2, 4, 8, 16):
        parted = _engine(batch_size=batch, micro_batches=count)[0]
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
    """Bytes that computing a gradient holds at the worst moment, without the gradients themselves."""
    pack, inputs, targets = _engine(batch_size=batch, micro_batches=micro_batches)
    with Allocations() as memory:
        pack.procedure.gradient(inputs, targets, out_KP=pack.optimizer.gradient_KP)
    # The sum of the gradients, and a part's own beside it.
    held = pack.network.flat_KP.untyped_storage().nbytes() * (2 if micro_batches > 1 else 1)
    return int(memory.peak - held)


def _peaks(batches: Sequence[int]) -> list[float]:
    return [float(_activation_peak(batch, count)) for batch, count in zip(batches, MICRO_BATCHES, strict=True)]


def accumulation_peak_slope() -> float:
    """Exponent of the peak of activations on the number of micro-batches of one size."""
    return _slope(MICRO_BATCHES, _peaks([MICRO_BATCH * count for count in MICRO_BATCHES]))


def parted_peak_slope() -> float:
    """Exponent of the peak of activations on the number of micro-batches into which one batch is parted."""
    return _slope(MICRO_BATCHES, _peaks([MICRO_BATCH * MICRO_BATCHES[-1]] * len(MICRO_BATCHES)))


def _slope(x: Sequence[float], y: Sequence[float]) -> float:
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
def _step(depth: int, recompute: bool) -> Step:
    return count_step(built_in(GPT.model_copy(update={"depth": depth}), TOKENS, "fp32"), COUNTED_BATCH, recompute)


def _by_depth(recompute: bool) -> list[float]:
    """The peak without the gradients, bytes."""
    return [float(step.peak - step.gradients) for step in (_step(depth, recompute) for depth in DEPTHS)]


def kept_exponent() -> float:
    """Exponent of the peak of activations on the depth if all are kept."""
    return _slope(DEPTHS, _by_depth(recompute=False))


def recomputed_exponent() -> float:
    """The same with as many checkpoints as the root of the depth."""
    return _slope(DEPTHS, _by_depth(recompute=True))


def depth_plot() -> Plot:
    depths = np.array(DEPTHS, dtype=float)
    curves = tuple(
        Curve(name, depths, np.array(_by_depth(recompute)) / GB, dots=True)
        for name, recompute in (("all kept", False), ("√depth checkpoints", True))
    )
    return Plot("blocks", "peak of activations (GB)", curves)


@lru_cache(maxsize=16)
def _operations(workload: Workload, facts: DataFacts, batch: int, recompute: bool) -> int:
    """Floating point operations of a forward and a backward pass: of matrix products, as torch counts them."""
    with pretended(), FlopCounterMode(display=False) as counter:
        prepared = built_in(workload, facts, "fp32").make(batch, recompute)
        torch.autograd.grad(prepared.loss(), list(prepared.trained))
    return int(counter.get_total_flops())


def recomputed_operations() -> float:
    """What recomputing every block adds to a step's operations, as a share of them: a GPT of the document's size."""
    large = Workload.model_validate(LARGE)
    plain, again = (_operations(large, LARGE_TOKENS, 1, recompute) for recompute in (False, True))
    return again / plain - 1


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
def _large(batch: int = 8, context: int = 2048, precision: str = "fp32", recompute: bool = False) -> Budget:
    workload = Workload.model_validate({**LARGE, "context": context})
    return budget(built_in(workload, LARGE_TOKENS, precision), batch, "adam", recompute=recompute)


def parts_over_stated() -> float:
    """The document's parts over the GPU that they are said to fill."""
    return sum(DOCUMENT.values()) / DOCUMENT_GPU


def batch_lever() -> float:
    """Memory of the large model at a batch of 32 over that at 8."""
    return _large(batch=32).total / _large().total


def sequence_lever() -> float:
    """At a context of 2048 over that at 1024."""
    return _large().total / _large(context=1024).total


def precision_lever() -> float:
    """With products in FP32 over that with products in 16 bits and weights, gradients and state in FP32."""
    return _large().total / _large(precision="bf16").total


def checkpoint_lever() -> float:
    """Share of the peak of activations that checkpointing saves."""
    plain, again = (step.peak - step.gradients for step in (_large().step, _large(recompute=True).step))
    return 1 - again / plain


def budget_table() -> Table:
    """The document's parts beside those of a model of its size, at a batch of 8 sequences of 2048 tokens."""
    bytes_each = {"weights": FLOAT_BYTES, "gradients": FLOAT_BYTES, "Adam's state": state_numbers("adam") * FLOAT_BYTES}
    right = {name: f"{SEVEN_BILLION * size / GB:.0f} GB" for name, size in bytes_each.items()}
    plain, again = (_large(recompute=recompute).step for recompute in (False, True))
    kept, recomputed = ((step.peak - step.gradients) / GB for step in (plain, again))
    right |= {"activations": f"{kept:.0f} GB, or {recomputed:.0f} GB recomputed", "overhead": "not counted"}
    rows = tuple((name, f"{said} GB", right[name]) for name, said in DOCUMENT.items())
    total = sum(bytes_each.values()) * SEVEN_BILLION / GB
    whole = ("together", f"{sum(DOCUMENT.values())} GB of {DOCUMENT_GPU}", f"{total + recomputed:.0f} to {total + kept:.0f} GB")
    return Table(("of 7 billion parameters in FP32", "the document says", "counted"), (*rows, whole))


def levers_table() -> Table:
    rows = (
        ("batch 32 to 8", "4x less, or 6 GB", f"{batch_lever():.2f}x less"),
        ("sequence 2048 to 1024", "2x less, or 1 GB", f"{sequence_lever():.2f}x less"),
        ("FP32 to 16 bits", "2x less, or 7 GB", f"{precision_lever():.2f}x less"),
        ("checkpointing", "2 GB, all of its activations", f"{checkpoint_lever():.0%} of the activations"),
    )
    return Table(("lever", "the document says", "counted, of all memory"), rows)


@lru_cache(maxsize=4)
def _largest_batch(recompute: bool) -> int:
    """The largest batch of GPT-2 medium that fits the GPU."""
    found = budget(built_in(Workload.model_validate(MEDIUM), LARGE_TOKENS, "fp32"), 8, "adam", GPU_BYTES, recompute).largest
    assert found is not None, "a limit was given"
    return found


@lru_cache(maxsize=4)
def _largest_depth(batch: int, context: int, recompute: bool) -> int:
    """How many wide blocks fit the GPU."""

    @lru_cache(maxsize=64)
    def excess(depth: int) -> int:
        workload = Workload.model_validate({**WIDE, "context": context, "depth": depth})
        step = count_step(built_in(workload, LARGE_TOKENS, "fp32"), batch, recompute)
        return step.weights + step.peak + state_numbers("adam") * FLOAT_BYTES * step.parameters - GPU_BYTES

    return largest_that_fits(excess, int(str(WIDE["depth"])))


def larger_batch() -> float:
    """The largest batch with checkpoints over that without."""
    return _largest_batch(True) / _largest_batch(False)


def deeper_model() -> float:
    """The largest depth with checkpoints over that without, where activations fill the GPU."""
    return _largest_depth(WIDE_BATCH, WIDE_CONTEXT, True) / _largest_depth(WIDE_BATCH, WIDE_CONTEXT, False)


def deeper_model_of_weights() -> float:
    """The same where weights, gradients and state fill it."""
    return _largest_depth(1, SHORT_CONTEXT, True) / _largest_depth(1, SHORT_CONTEXT, False)


def size_table() -> Table:
    def row(name: str, unit: str, kept: int, recomputed: int) -> tuple[str, str, str]:
        return name, f"{kept} {unit}", f"{recomputed} {unit}"

    rows = [
        row(f"batch of {MEDIUM['depth']} blocks of width {MEDIUM['width']}", "sequences", *map(_largest_batch, (False, True)))
    ]
    for batch, context in ((WIDE_BATCH, WIDE_CONTEXT), (1, SHORT_CONTEXT)):
        name = f"blocks of width {WIDE['width']}, a batch of {batch} x {context} tokens"
        rows.append(row(name, "blocks", *(_largest_depth(batch, context, again) for again in (False, True))))
    return Table((f"the largest that fits {DOCUMENT_GPU} GB", "all kept", "with checkpoints"), tuple(rows))


CHECKS = {
    "accumulated_gradient_error": Check(accumulated_error, None, accumulation_table),
    "unequal_micro_batches_error": Check(unequal_error, None, accumulation_table),
    "accumulation_peak_exponent": Check(accumulation_peak_slope, accumulation_plot),
    "parted_batch_peak_exponent": Check(parted_peak_slope, accumulation_plot),
    "kept_memory_exponent": Check(kept_exponent, depth_plot),
    "recomputed_memory_exponent": Check(recomputed_exponent, depth_plot),
    "recomputed_operations": Check(recomputed_operations),
    "fp32_weights_gb": Check(weights_gb, None, budget_table),
    "adam_state_over_weights": Check(state_over_weights),
    "adam_state_over_bf16_weights": Check(state_over_narrow_weights),
    "document_parts_over_stated": Check(parts_over_stated, None, levers_table),
    "batch_lever": Check(batch_lever, None, levers_table),
    "sequence_lever": Check(sequence_lever, None, levers_table),
    "precision_lever": Check(precision_lever, None, levers_table),
    "checkpoint_lever": Check(checkpoint_lever, None, levers_table),
    "checkpoint_larger_batch": Check(larger_batch, None, size_table),
    "checkpoint_deeper_model": Check(deeper_model, None, size_table),
    "checkpoint_deeper_model_of_weights": Check(deeper_model_of_weights, None, size_table),
}
