"""Numbers of schedules, of the noise scale and of number formats."""

from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ...harness.declare import Training
from ...harness.declare.computed import Worked
from ...harness.declare.metrics.estimating.gradient_noise import noise_parts
from ...harness.randomness import numpy_generator, torch_generator
from ...harness.train.noise import half_batch_variance
from ...harness.train.schedules import learning_rates


def cosine() -> Worked:
    """half_way: the LR of the cosine schedule half-way through the run, over the peak."""
    training = Training(schedule="cosine", warmup_fraction=0.0, final_fraction=0.0, steps=1000, peak_lr=1.0)
    return Worked({"half_way": learning_rates(training)[500]})


def noise_scale() -> Worked:
    """doubled: the noise scale, as probes and estimators work it out from two batches, when the noise of single-example
    gradients has twice the deviation, over what it was before.

    tr(Sigma) grows by four and the mean gradient stays; the documents' wording, |G|^2 over tr(Sigma), would give 1/4.
    """
    batches, batch, half = 4096, 64, 32
    noise = numpy_generator(0, "computed:noise", 0).standard_normal((batches, batch, 16))
    scales = []
    for deviation in (1.0, 2.0):
        gradients = 1.0 + deviation * noise
        whole, part = gradients.mean(axis=1), gradients[:, :half].mean(axis=1)
        variance = float(half_batch_variance(torch.from_numpy(part), torch.from_numpy(whole), batch, half).mean())
        trace, signal = noise_parts(float(np.square(whole).sum(axis=1).mean()), variance, batch)
        scales.append(trace / signal)
    return Worked({"doubled": scales[1] / scales[0]})


def number_formats() -> Worked:
    """The largest finite FP16 number, the smallest positive one, and octaves of BF16's normal range over those of FP32's."""
    narrow, wide = (
        np.floor(np.log2(info.max)) - np.log2(info.tiny) for info in (torch.finfo(torch.bfloat16), torch.finfo(torch.float32))
    )
    return Worked({"fp16_largest": _fp16_largest(), "fp16_smallest": _fp16_smallest(), "bf16_exponent_bits": narrow / wide})


def _fp16_largest() -> float:
    """By doubling until it overflows and adding ever smaller halves."""
    value, step = 1.0, 1.0
    while torch.tensor(2 * value).half().isfinite():
        value *= 2
    step = value / 2
    while float(torch.tensor(value + step).half()) == value + step:
        value, step = value + step, step / 2
    return value


def _fp16_smallest() -> float:
    """Subnormal, by halving until it is flushed to zero."""
    value = 1.0
    while float(torch.tensor(value / 2).half()) > 0:
        value /= 2
    return value


def autocast() -> Worked:
    """Share of a small transformer's matrix products that FP16 autocast computes in 16 bits on the CPU: those of the forward
    pass, and those by which the same network's gradients are computed."""
    formats = autocast_products("cpu", torch.float16)
    return Worked({which: sum(dtype.itemsize == 2 for dtype in dtypes) / len(dtypes) for which, dtypes in formats.items()})


class Products(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the number format of the result of every matrix product that torch runs, also of those that autograd runs."""

    NAMES = ("mm", "addmm", "bmm", "baddbmm")

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.formats: list[torch.dtype] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func.overloadpacket.__name__ in self.NAMES:
            self.formats.append(result.dtype)
        return result


def autocast_products(device: str, number_format: torch.dtype) -> dict[str, list[torch.dtype]]:
    """The formats of the results of all matrix products of one training step, forward and backward.

    An attention head, layer norm and a hidden layer with GELU, FP32 weights, under torch.autocast as its documentation has it:
    forward pass and loss inside, backward pass outside, the loss scaled by 2^10.
    """
    width, tokens, classes = 16, 8, 11
    torch_rng = torch_generator(0, "exact:autocast")
    shapes = {"query": (width, width), "key": (width, width), "value": (width, width), "hidden": (width, width)}
    weights = {
        name: torch.randn(shape, generator=torch_rng).div(width**0.5).to(device).requires_grad_()
        for name, shape in {**shapes, "readout": (classes, width)}.items()
    }
    x = torch.randn(2, tokens, width, generator=torch_rng).to(device)
    linear, forward, backward = torch.nn.functional.linear, Products(), Products()
    with forward, torch.autocast(device, dtype=number_format):
        normed = torch.nn.functional.layer_norm(x, (width,))
        scores = linear(normed, weights["query"]) @ linear(normed, weights["key"]).transpose(1, 2)
        mixed = scores.softmax(dim=2) @ linear(normed, weights["value"])
        logits = linear(torch.nn.functional.gelu(linear(x + mixed, weights["hidden"])), weights["readout"])
        targets = torch.zeros(2 * tokens, dtype=torch.int64, device=device)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets)
    with backward:
        torch.autograd.grad(2.0**10 * loss, list(weights.values()))
    return {"forward": forward.formats, "backward": backward.formats}
