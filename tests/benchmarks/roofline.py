"""How far from the machine's limits a pack's step is: products at the measured matmul rate, bytes at the measured copy rate."""

import math
import time
from functools import cache

import torch

from folklore.harness.train.workloads import workload_of
from tests.benchmarks.works import Work

SIDE = {"cpu": 1024, "cuda": 8192}
COPIED_BYTES = {"cpu": 2**28, "cuda": 2**32}
SECONDS = 0.5
DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16}
# Of weights: read with their gradient and two moments, written with both moments; FP32.
WEIGHT_BYTES = 7 * 4
# Of an activation: written and read going forward, and read and its gradient written going back.
ACTIVATION_PASSES = 4


@cache
def matmul_flops_per_second(device: str, precision: str) -> float:
    """The rate of one worker: one thread of a CPU, a whole GPU."""
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    a, b = (torch.randn(SIDE[device], SIDE[device], device=device, dtype=DTYPES[precision]) for _ in range(2))
    return 2.0 * SIDE[device] ** 3 * _rate(device, lambda: torch.mm(a, b))


@cache
def copy_bytes_per_second(device: str) -> float:
    """Read and written."""
    source = torch.zeros(COPIED_BYTES[device] // 4, device=device)
    target = torch.empty_like(source)
    return 2.0 * COPIED_BYTES[device] * _rate(device, lambda: target.copy_(source))


def share(work: Work, device: str, lane_steps_per_second: float) -> dict[str, float]:
    """The time that a step would take at these rates, the longer of the two, as a share of the time it takes."""
    configuration = work.configuration(0)
    model, training = workload_of(configuration.workload).model(work.dataset().facts), configuration.training
    flops = 3.0 * training.batch_size * model.flops_per_example
    weights = sum(math.prod(parameter.shape) for parameter in model.parameters)
    activations = training.batch_size * model.activations_per_example * (2 if training.precision == "bf16" else 4)
    matmul = matmul_flops_per_second(device, training.precision)
    limit = max(flops / matmul, (WEIGHT_BYTES * weights + ACTIVATION_PASSES * activations) / copy_bytes_per_second(device))
    return {
        "share_of_roofline": limit * lane_steps_per_second,
        "share_of_matmul_rate": flops * lane_steps_per_second / matmul,
        "matmul_flops_per_second": matmul,
        "copy_bytes_per_second": copy_bytes_per_second(device),
    }


def _rate(device: str, work: object) -> float:
    assert callable(work)
    for _ in range(2):
        work()
    _synchronize(device)
    started, count = time.perf_counter(), 0
    while time.perf_counter() - started < SECONDS:
        work()
        count += 1
        _synchronize(device)
    return count / (time.perf_counter() - started)


def _synchronize(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()
