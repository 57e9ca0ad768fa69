"""What a plan will cost in time and memory, before anything is trained.

Time comes from stored trials of the same shape where there are any; from one timed step where a workload's operations are not
counted; else from the nominal rates below: then it is good to a factor of 1.5 on most CPUs, is a guess on a GPU, and says so.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..declare import Configuration, Measurement, Training, Workload
from ..train.machine.description import Device
from ..train.measured_steps import MOST_PRODUCTS
from ..train.optimizers import optimizer_kind
from ..train.precisions import precision_named
from ..train.workloads import workload_of
from ..train.workloads.data.base import EVALUATION_TARGETS
from .plan import PlannedPack

if TYPE_CHECKING:
    from ...models import Model

FLOAT_BYTES = 4


@dataclass(frozen=True)
class Rate:
    """What one worker of a kind of device takes besides the useful operations of its number format: a pack's step, or
    micro-batch, by itself; a step's activations and parameters, each of which is read and written several times; a start.
    busy_factor: how many times that whole packs take where workers share memory and caches."""

    step_overhead_seconds: float
    activation_seconds: float
    parameter_seconds: float
    start_seconds: float
    busy_factor: float


# Operations a second stand with the number formats.
# cpu: one core, one thread: fitted to the steps of all packs of all studies, and the factor to whole studies on two cores
# (reports/log, 28 November 2026).
# cuda: nominal, not measured: about a third of what an H100-class GPU's matrix units do, eager launches.
RATES = {
    "cpu": Rate(
        step_overhead_seconds=3e-4, activation_seconds=1.5e-9, parameter_seconds=3e-9, start_seconds=8.0, busy_factor=1.3
    ),
    "cuda": Rate(
        step_overhead_seconds=6e-3, activation_seconds=0.0, parameter_seconds=0.0, start_seconds=20.0, busy_factor=1.0
    ),
}
# What a plan assumes where it is made for a GPU on a machine that has none.
ASSUMED_GPU = Device("cuda", "H200-class GPU (assumed; none here)", 1, 141_000_000_000)
# What an eigenvalue usually takes (reports/log): products of the Hessian with a vector, and forward passes of one such product,
# which is a backward pass through forward and backward pass.
HESSIAN_PRODUCTS, HESSIAN_PASSES = 15, 6.0
# Share of the free memory that packs may take.
MEMORY_SHARE = 0.8


@dataclass(frozen=True)
class Estimate:
    """Seconds of wall time on `workers` workers, and bytes of the largest pack."""

    seconds: float
    pack_bytes: int
    workers: int
    source: str


NOTHING_LEFT = Estimate(0.0, 0, 1, "nothing is left")


def trial_passes(configuration: Configuration) -> float:
    """Forward passes of an example that a whole trial is worth: a backward pass costs two, and what is recomputed another."""
    training, measurement = configuration.training, configuration.measurement
    trained = _passes(training) * (training.examples + 0.5 * measurement.probes * training.examples / training.steps)
    evaluated = (measurement.evaluations + 1) * measurement.evaluation_examples + 2 * measurement.final_examples
    evaluated += measurement.evaluations * (measurement.training_examples + measurement.test_examples)
    # Gradients of fixed examples, one look for each measurement; and eigenvalues.
    flow = 3.0 * measurement.flow_examples * measurement.probes * (measurement.gradient_flow + measurement.dead_units)
    looks = {"off": 0, "end": 1, "probes": measurement.probes}[measurement.sharpness]
    looks *= 1 + measurement.preconditioned_sharpness
    sharpness = float(looks * HESSIAN_PRODUCTS * HESSIAN_PASSES * measurement.sharpness_examples)
    return trained + evaluated + sharpness + flow


def _passes(training: Training) -> float:
    """What a step costs, in forward passes."""
    backward = 4.0 if training.recompute_segments else 3.0
    if optimizer_kind(training.optimizer).estimates_curvature:
        # Labels are sampled in a forward pass of their own.
        return backward + (backward + 1) / training.hessian_every
    return backward


def lane_bytes(configuration: Configuration, model: "Model") -> int:
    """Peak memory of one lane: weights, two gradients, the optimizer's state (two tensors of it at least, as Adam's), three
    temporaries, and the activations held at once.

    With micro-batches a third gradient is summed into; the probe of underflow looks at a whole batch all the same. An LR of
    each entry's own takes two more, looking at an embedding's rows at most one. What recomputation saves is not counted: probed
    steps keep everything.
    """
    training = configuration.training
    activation_bytes = precision_named(training.precision).activation_bytes
    parameters = sum(math.prod(p.shape) for p in model.parameters)
    held = training.largest_batch_size if configuration.measurement.underflow else training.micro_batch_size
    state = max(2, len(optimizer_kind(training.optimizer).moments))
    copies = (
        6
        + state
        + (training.micro_batches > 1)
        + 2 * (training.outlier != "none")
        + 9 * (training.remedy != "none")
        + 4 * (training.sgd_from < 1)
    )
    copies += 2 * (training.scaled_parameter is not None) + configuration.measurement.token_rows
    trained = copies * FLOAT_BYTES * parameters + activation_bytes * held * model.activations_per_example
    return trained + _sharpness_bytes(configuration.measurement, configuration.workload, parameters, model)


def _sharpness_bytes(measurement: Measurement, workload: Workload, parameters: int, model: "Model") -> int:
    """The most that looking for an eigenvalue adds: its basis, what probes remember, and what forward pass, backward pass and a
    backward pass through both keep of as many examples as are passed at once."""
    if measurement.sharpness == "off":
        return 0
    targets = workload.context if workload_of(workload).reads_text else 1
    at_once = min(measurement.sharpness_examples, max(1, EVALUATION_TARGETS // targets))
    remembered = (measurement.sharpness == "probes") * (1 + measurement.preconditioned_sharpness)
    return FLOAT_BYTES * ((MOST_PRODUCTS + 3 + remembered) * parameters + 3 * at_once * model.activations_per_example)


def estimate(
    packs: tuple[PlannedPack, ...],
    device: Device,
    model_of: "Callable[[Workload], Model]",
    measured: Mapping[str, float],
    timed: Mapping[str, float] | None = None,
) -> Estimate:
    """Cost of these packs. measured: pack key -> seconds a trial, where trials of that shape are stored. timed: shape key ->
    seconds of a lane's step, where one was timed."""
    if not packs:
        return NOTHING_LEFT
    rate, seconds, largest, sources = RATES[device.kind], 0.0, 0, Counter[str]()
    for pack in packs:
        configuration = pack.trials[0].configuration
        model = model_of(configuration.workload)
        largest = max(largest, len(pack.trials) * lane_bytes(configuration, model))
        per_trial, step = measured.get(configuration.pack_key), (timed or {}).get(configuration.shape_key)
        if per_trial is not None:
            seconds += per_trial * len(pack.trials)
            sources["measured on this store"] += len(pack.trials)
        elif step is not None:
            of_a_step = _passes(configuration.training) * configuration.training.batch_size
            seconds += step * trial_passes(configuration) / of_a_step * len(pack.trials)
            sources["one step timed"] += len(pack.trials)
        else:
            sources["nominal rates"] += len(pack.trials)
            steps = configuration.training.steps
            passes = trial_passes(configuration) * _pass_seconds(configuration, model, device.kind)
            busy = 1.0 if configuration.measurement.solo else rate.busy_factor
            seconds += busy * len(pack.trials) * (passes + steps * _update_seconds(model, device.kind))
            seconds += busy * steps * configuration.training.micro_batches * rate.step_overhead_seconds
    workers = min(device.count, len(packs))
    return Estimate(seconds / workers + rate.start_seconds, largest, workers, _named(sources))


def _named(sources: Counter[str]) -> str:
    """Where an estimate comes from; of several sources, for how many trials each."""
    total = sum(sources.values())
    several = [f"{source} for {count} of {total} trials" for source, count in sources.items()]
    return "; ".join(several) if len(several) > 1 else next(iter(sources))


def _pass_seconds(configuration: Configuration, model: "Model", device: str) -> float:
    """Nominal time of an example's forward pass, a third of a step's: by the format's own rate, or FP32's on a device that does
    not have the format."""
    rates = precision_named(configuration.training.precision).flops_per_second
    per_second = rates.get(device, precision_named("fp32").flops_per_second[device])
    return model.flops_per_example / per_second + RATES[device].activation_seconds * model.activations_per_example / 3


def _update_seconds(model: "Model", device: str) -> float:
    """Nominal time of what a step does with a lane's parameters."""
    return RATES[device].parameter_seconds * sum(math.prod(p.shape) for p in model.parameters)


def lanes_that_fit(configuration: Configuration, model: "Model", free_bytes: int) -> int:
    """How many lanes of a pack a worker's free memory allows; 0 where not even one fits."""
    return int(MEMORY_SHARE * free_bytes // lane_bytes(configuration, model))


def lane_step_seconds(configuration: Configuration, model: "Model", device: str, lanes: int) -> float:
    """Nominal time of a trial's step in packs of this many lanes."""
    training = configuration.training
    passes = _passes(training) * training.examples / training.steps
    overhead_seconds = training.micro_batches * RATES[device].step_overhead_seconds
    return passes * _pass_seconds(configuration, model, device) + _update_seconds(model, device) + overhead_seconds / lanes
