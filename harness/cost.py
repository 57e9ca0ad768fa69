"""What a plan will cost in time and memory, before anything is trained.

Time comes from stored trials of the same shape where there are any, else from the nominal rates below: then it is good
to a factor of about two on a CPU and is a guess on a GPU, and says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from harness.machine import Device
from harness.plan import Plan, PlannedPack
from harness.spec import Configuration

FLOAT_BYTES = 4


@dataclass(frozen=True)
class Rate:
    """What one worker of a kind of device does: useful floating-point operations, and time lost a pack step."""

    flops_per_second: dict[str, float]  # by precision
    step_overhead_seconds: float
    start_seconds: float


# cpu: one core, one thread, 33k-parameter GPT in packs of 16 (AMD EPYC, 1.8 ms a trial-step).
# cuda: nominal, not measured: about a third of what an H100-class GPU's matrix units do, eager launches.
RATES = {
    "cpu": Rate({"fp32": 3.0e10, "bf16": 1.0e10}, step_overhead_seconds=1e-3, start_seconds=8.0),
    "cuda": Rate({"fp32": 2.5e13, "tf32": 1.2e14, "bf16": 2.5e14}, step_overhead_seconds=6e-3, start_seconds=20.0),
}
# What a plan assumes where it is made for a GPU on a machine that has none.
ASSUMED_GPU = Device("cuda", "H200-class GPU (assumed; none here)", 1, 141_000_000_000)
DEFAULT_LANES = {"cpu": 16, "cuda": 128}
# Share of the free memory that packs may take.
MEMORY_SHARE = 0.8


@dataclass(frozen=True)
class Estimate:
    """Seconds of wall time on `workers` workers, and bytes of the largest pack."""

    seconds: float
    pack_bytes: int
    workers: int
    source: str


def step_flops(configuration: Configuration, matmul_parameters: int) -> float:
    """Forward and backward of one training step of one lane: 6 a parameter and token, and attention's two products.

    Kaplan et al. 2020, section 2.1, with the attention term of 12 * depth * width * context a token.
    """
    work, training = configuration.workload, configuration.training
    tokens = training.batch_size * work.context
    return tokens * (6.0 * matmul_parameters + 12.0 * work.depth * work.width * work.context)


def trial_flops(configuration: Configuration, matmul_parameters: int) -> float:
    """A whole trial: its steps, half a step for each probe, a third for each evaluated batch."""
    measurement, training = configuration.measurement, configuration.training
    evaluated = (measurement.evaluations + 1) * measurement.evaluation_examples + 2 * measurement.final_examples
    steps = training.steps + 0.5 * measurement.probes + evaluated / training.batch_size / 3.0
    return steps * step_flops(configuration, matmul_parameters)


def lane_bytes(configuration: Configuration, parameters: int, vocabulary: int) -> int:
    """Peak memory of one lane: weights, two gradients, two moments, three temporaries, and the step's activations."""
    work, training = configuration.workload, configuration.training
    rows = training.batch_size * work.context
    activation_bytes = FLOAT_BYTES // (2 if training.precision == "bf16" else 1)
    # 34 activations of a block a token (Korthikanti et al. 2023, table 2, attention fused); logits and their gradient.
    activations = rows * (activation_bytes * 34 * work.depth * work.width + FLOAT_BYTES * 3 * vocabulary)
    return FLOAT_BYTES * 8 * parameters + activations


def estimate(
    plan: Plan, packs: tuple[PlannedPack, ...], device: Device, shape: tuple[int, int, int], measured: Mapping[str, float]
) -> Estimate:
    """Cost of these packs. shape: parameters, matmul parameters, vocabulary. measured: pack key -> seconds a trial."""
    parameters, matmul_parameters, vocabulary = shape
    rate, seconds, known = RATES[device.kind], 0.0, 0
    for pack in packs:
        configuration = pack.trials[0].configuration
        per_trial = measured.get(configuration.pack_key)
        if per_trial is not None:
            seconds += per_trial * len(pack.trials)
            known += len(pack.trials)
        else:
            flops = trial_flops(configuration, matmul_parameters) * len(pack.trials)
            precision = configuration.training.precision
            seconds += flops / rate.flops_per_second.get(precision, rate.flops_per_second["fp32"])
            seconds += configuration.training.steps * rate.step_overhead_seconds
    workers = max(1, min(device.count, len(packs)))
    total = sum(len(pack.trials) for pack in packs)
    source = f"measured on this store for {known} of {total} trials" if known else "nominal rates"
    start = rate.start_seconds if packs else 0.0
    largest = max((len(pack.trials) for pack in packs), default=0)
    lane = lane_bytes(plan.trials[0].configuration, parameters, vocabulary)
    return Estimate(seconds / workers + start, largest * lane, workers, source)


def lanes_that_fit(configuration: Configuration, parameters: int, vocabulary: int, device: Device, free_bytes: int) -> int:
    """How many lanes a pack may have: the device's default width, or what memory allows; 0 where not even one fits."""
    workers = device.count if device.kind == "cpu" else 1
    budget = MEMORY_SHARE * free_bytes / workers
    return min(DEFAULT_LANES[device.kind], int(budget // lane_bytes(configuration, parameters, vocabulary)))
