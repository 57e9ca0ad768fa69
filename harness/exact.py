"""Exact claims as checks: a number worked out from what the project itself computes with, or from torch's number formats.

No trial is read and no seed matters; a criterion's regions say which number is right.
"""

from collections.abc import Callable

import numpy as np
import torch

from harness.randomness import torch_generator
from harness.spec import Training
from harness.training.noise import noise_scale
from harness.training.schedules import learning_rates


def cosine_half_way() -> float:
    """The LR of the cosine schedule half-way through the run, over the peak."""
    training = Training(schedule="cosine", warmup_fraction=0.0, final_fraction=0.0, steps=1000, peak_lr=1.0)
    return float(learning_rates(training)[500])


def doubled_noise() -> float:
    """The noise scale of single-example gradients whose noise has twice the deviation, over that of the same ones before.

    tr(Sigma) grows by four and the mean gradient stays; the documents' wording, |G|^2 over tr(Sigma), would give 1/4.
    """
    generator = torch_generator(0, "exact:noise")
    mean, noise = torch.ones(64, dtype=torch.float64), torch.randn(4096, 64, generator=generator, dtype=torch.float64)
    noise -= noise.mean(dim=0)
    return noise_scale(mean + 2 * noise) / noise_scale(mean + noise)


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
