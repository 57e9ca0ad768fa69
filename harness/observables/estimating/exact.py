"""Exact claims as checks: a number worked out from what the project itself computes with, or from torch's number formats.

No trial is read and no seed matters; a criterion's regions say which number is right.
"""

from collections.abc import Callable

import numpy as np
import torch

from folklore.harness.randomness import torch_generator
from folklore.harness.spec import Training
from folklore.harness.training.noise import half_batch_variance, noise_parts
from folklore.harness.training.schedules import learning_rates


def cosine_half_way() -> float:
    """The LR of the cosine schedule half-way through the run, over the peak."""
    training = Training(schedule="cosine", warmup_fraction=0.0, final_fraction=0.0, steps=1000, peak_lr=1.0)
    return float(learning_rates(training)[500])


def doubled_noise() -> float:
    """The noise scale, as probes and estimators work it out from two batches, when the noise of single-example gradients has
    twice the deviation, over what it was before.

    tr(Sigma) grows by four and the mean gradient stays; the documents' wording, |G|^2 over tr(Sigma), would give 1/4.
    """
    batches, batch, half = 4096, 64, 32
    generator = torch_generator(0, "exact:noise")
    noise = torch.randn(batches, batch, 16, generator=generator, dtype=torch.float64)
    scales = []
    for deviation in (1.0, 2.0):
        gradients = 1.0 + deviation * noise
        whole, part = gradients.mean(dim=1), gradients[:, :half].mean(dim=1)
        variance = float(half_batch_variance(part, whole, batch, half).mean())
        trace, signal = noise_parts(float(whole.square().sum(1).mean()), variance, batch)
        scales.append(trace / signal)
    return scales[1] / scales[0]


def fp16_largest() -> float:
    """The largest finite FP16 number, by doubling until it overflows and adding ever smaller halves."""
    value, step = 1.0, 1.0
    while torch.tensor(2 * value).half().isfinite():
        value *= 2
    step = value / 2
    while float(torch.tensor(value + step).half()) == value + step:
        value, step = value + step, step / 2
    return value


def fp16_smallest() -> float:
    """The smallest positive FP16 number, subnormal, by halving until it is flushed to zero."""
    value = 1.0
    while float(torch.tensor(value / 2).half()) > 0:
        value /= 2
    return value


def bf16_exponent_bits() -> float:
    """Octaves of BF16's normal range over those of FP32's."""
    narrow, wide = (
        np.floor(np.log2(info.max)) - np.log2(info.tiny) for info in (torch.finfo(torch.bfloat16), torch.finfo(torch.float32))
    )
    return float(narrow / wide)


CHECKS: dict[str, Callable[[], float]] = {
    "cosine_half_way": cosine_half_way,
    "doubled_noise": doubled_noise,
    "fp16_largest": fp16_largest,
    "fp16_smallest": fp16_smallest,
    "bf16_exponent_bits": bf16_exponent_bits,
}
