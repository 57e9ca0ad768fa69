"""Estimates what a plan will cost in time and memory, before anything is trained.

Time comes from stored trials of the same shape where there are any; from one timed step where a workload's operations are not
counted; else from the nominal rates below: then it is good to a factor of 1.5 on most CPUs, is a guess on a GPU, and says so.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..declare import Configuration, Workload
from ..train.machine.description import Device
from ..train.parts import added_cost
from ..train.precisions import precision_named
from .plan import PlannedPack

if TYPE_CHECKING:
    from ...models import Model

FLOAT_BYTES = 4


@dataclass(frozen=True)
class Rate:
    """Costs of one worker of a kind of device besides the useful operations of its number format: a pack's step, or
    micro-batch, by itself; a step's activations and parameters, each of which is read and written several times; a start.
    busy_factor: how many times as long whole packs take where workers share memory and caches."""

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
# The GPU that a plan assumes on a machine that has none.
ASSUMED_GPU = Device("cuda", "H200-class GPU (assumed; none here)", 1, 141_000_000_000)
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
    trained = _passes(configuration) * (training.examples + 0.5 * measurement.probes * training.examples / training.steps)
    evaluated = (measurement.evaluations + 1) * measurement.evaluation_examples + 2 * measurement.final_examples
    evaluated += measurement.evaluations * (measurement.training_examples + measurement.test_examples)
    return trained + evaluated + added_cost(configuration).passes


def _passes(configuration: Configuration) -> float:
    """The cost of a step in forward passes."""
    added = added_cost(configuration)
    gradient = 3.0 + added.passes_a_gradient
    return gradient + added.gradients * (gradient + 1)


def lane_bytes(configuration: Configuration, model: "Model") -> int:
    """Peak memory of one lane: weights, two gradients, the optimizer's state (two tensors of it at least, as Adam's), three
    temporaries, and the activations held at once.

    What its parts hold comes on top; what recomputation saves is not counted, because probed steps keep everything.
    """
    training, added = configuration.training, added_cost(configuration)
    parameters = sum(math.prod(p.shape) for p in model.parameters)
    an_activation = precision_named(training.precision).activation_bytes * training.micro_batch_size + added.activation_bytes
    return (6 + added.copies) * FLOAT_BYTES * parameters + an_activation * model.activations_per_example


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
            of_a_step = _passes(configuration) * configuration.training.batch_size
            seconds += step * trial_passes(configuration) / of_a_step * len(pack.trials)
            sources["one step timed"] += len(pack.trials)
        else:
            sources["typical speeds of such devices"] += len(pack.trials)
            steps = configuration.training.steps
            passes = trial_passes(configuration) * _pass_seconds(configuration, model, device.kind)
            busy = 1.0 if configuration.measurement.solo else rate.busy_factor
            seconds += busy * len(pack.trials) * (passes + steps * _update_seconds(model, device.kind))
            seconds += busy * steps * configuration.training.micro_batches * rate.step_overhead_seconds
    workers = min(device.count, len(packs))
    return Estimate(seconds / workers + rate.start_seconds, largest, workers, _named(sources))


def _named(sources: Counter[str]) -> str:
    """The source of an estimate; of several, with the number of trials of each."""
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
    passes = _passes(configuration) * training.examples / training.steps
    overhead_seconds = training.micro_batches * RATES[device].step_overhead_seconds
    return passes * _pass_seconds(configuration, model, device) + _update_seconds(model, device) + overhead_seconds / lanes
