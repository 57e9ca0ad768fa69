"""Counts what the batch size does to a step: the variance of its gradient, its operations, its memory.

Gradients are the engine's own, at weights that stand still, of batches as its samplings draw them; operations and memory are
counted as in memory.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from ...harness.declare import Configuration, Training, Workload
from ...harness.declare.computed import Curve, Plot, Table, Worked
from ...harness.train.pack import Lane, Pack
from ...harness.train.procedures import SAMPLINGS
from ...harness.train.workloads.data import load
from .memory import DOCUMENT_GPU, FUSED_ATTENTION, GB, large_operations, large_step, slope
from .small_gpt import UNMEASURED

# The models of gradients: small ones, on the data they are trained on elsewhere, after some shares of a run.
MODELS = {
    "mlp": {"model": "mlp", "dataset": "digits", "width": 64, "depth": 2},
    "gpt": {"model": "gpt", "dataset": "python-docs", "width": 16, "depth": 1, "heads": 2, "context": 16},
}
TRAINED = {"optimizer": "adamw", "peak_lr": 2.0**-7, "batch_size": 32, "steps": 300}
MOMENTS = {"at the start": 0.0, "after 10%": 0.1, "at the end": 1.0}
BATCHES = tuple(2**power for power in range(1, 9))
# Nearly all of the 1,079 training examples, where leaving out what was drawn shows.
FURTHER_BATCHES = (*BATCHES, 512, 1024)
# Batches of a size, at least, for each seed of the study, and at least this many examples: small batches have
# long tails.
# And how many examples are differentiated at once.
DRAWN, EXAMPLES, AT_ONCE = 16, 1024, 2048
# Seeds of draws between those of two seeds of the study.
APART = 10_000
# The batch sizes of operations and memory.
STEP_BATCHES = tuple(2**power for power in range(1, 11))
LARGE_BATCHES = (1, 4, 16, 64, 256)


def _configuration(model: str, **training: Any) -> Configuration:
    return Configuration(
        workload=Workload.model_validate(MODELS[model]),
        training=Training.model_validate({**TRAINED, **training}),
        measurement=UNMEASURED,
    )


def _pack(model: str, seeds: Sequence[int], **training: Any) -> Pack:
    configuration = _configuration(model, **training)
    return Pack([Lane(configuration, seed) for seed in seeds], load(MODELS[model]["dataset"]))


@lru_cache(maxsize=2)
def _weights(model: str, seed: int) -> dict[str, Tensor]:
    """Moment of a run -> weights, [P]."""
    pack, weights = _pack(model, [seed]), {}
    for moment, share in MOMENTS.items():
        while pack.step < round(share * pack.training.steps):
            pack.advance(seconds=0.0)
        weights[moment] = pack.network.flat_KP[0].detach().clone()
    return weights


@lru_cache(maxsize=32)
def _drawn(model: str, seed: int, sampling: str, batch: int) -> tuple[tuple[Tensor, Tensor], ...]:
    """Batches of a size, a seed each: inputs and targets of those that are differentiated at once."""
    dataset, network = load(MODELS[model]["dataset"]), _lanes(model, 1).network
    configuration, drawn = _configuration(model, batch_size=batch, sampling=sampling), []
    count, at_once = max(DRAWN, EXAMPLES // batch), max(1, AT_ONCE // batch)
    for start in range(0, count, at_once):
        seeds = range(seed * APART + start, seed * APART + min(count, start + at_once))
        # The draws of this many seeds, but of one network: they do not depend on it.
        procedure = SAMPLINGS[sampling](configuration, seeds, dataset, network)
        drawn.append(procedure.batch(torch.from_numpy(procedure.draw(0)[0])))
    return tuple(drawn)


@lru_cache(maxsize=2)
def _lanes(model: str, count: int) -> Pack:
    return _pack(model, [0] * count)


def _gradients(pack: Pack, weights_P: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
    """The gradient of each lane's batch, at weights that are the same for all, [lanes, P], float64."""
    with torch.no_grad():
        pack.network.flat_KP.copy_(weights_P)
    return pack.procedure.gradient(inputs, targets)[1].double()


def variance(model: str, seed: int, moment: str, sampling: str, batch: int) -> float:
    """Trace of the covariance of the batch gradient."""
    weights_P = _weights(model, seed)[moment]
    parts = [_gradients(_lanes(model, len(drawn[1])), weights_P, *drawn) for drawn in _drawn(model, seed, sampling, batch)]
    return float(torch.cat(parts).var(dim=0).sum())


def of_single_examples(seed: int, moment: str) -> tuple[int, float]:
    """The number of the MLP's training examples, and the trace of the covariance of their gradients, all of them."""
    pack = _pack("mlp", [seed], batch_size=2)
    index = torch.from_numpy(load(MODELS["mlp"]["dataset"]).examples_index(0))
    drawn = pack.procedure.batch(index[:, None])
    gradient_NP = _gradients(_lanes("mlp", len(index)), _weights("mlp", seed)[moment], *drawn)
    return len(index), float(gradient_NP.var(dim=0, correction=0).sum())


def predicted(examples: int, of_one: float, sampling: str, batch: int) -> float:
    """The variance of the mean of B independent draws from N examples is one B-th of an example's; of draws without replacement
    it is that times (N - B) / (N - 1) (Cochran 1977, theorem 2.2)."""
    correction = (examples - batch) / (examples - 1) if sampling == "epochs" else 1.0
    return of_one / batch * correction


# Sampling -> moment -> variance at each of the batch sizes.
Variances = dict[str, dict[str, list[float]]]


def _variances(model: str, seed: int, batches: Sequence[int]) -> Variances:
    return {
        sampling: {moment: [variance(model, seed, moment, sampling, batch) for batch in batches] for moment in MOMENTS}
        for sampling in ("replacement", "epochs")
    }


def _exponents(variances: Variances, sampling: str) -> dict[str, float]:
    """Moment -> exponent of the variance on the batch size, 2 to 256."""
    return {moment: slope(BATCHES, values[: len(BATCHES)]) for moment, values in variances[sampling].items()}


def gpt_gradient_variance(seed: int) -> Worked:
    """exponent: of the gradient's variance on the batch size, drawn with replacement; mean over three moments of a run."""
    variances = _variances("gpt", seed, BATCHES)
    exponent = np.mean(list(_exponents(variances, "replacement").values()))
    return Worked({"exponent": float(exponent)}, tables=(_variance_table("GPT", variances),))


def mlp_gradient_variance(seed: int) -> Worked:
    """The same of an MLP, and without replacement, as epochs draw; errors: by how much the variance is above what its single
    examples predict, over that, on average over moments and batch sizes up to 1,024."""
    variances = _variances("mlp", seed, FURTHER_BATCHES)
    singles = {moment: of_single_examples(seed, moment) for moment in MOMENTS}
    theory = {
        sampling: {moment: [predicted(*singles[moment], sampling, batch) for batch in FURTHER_BATCHES] for moment in MOMENTS}
        for sampling in variances
    }
    errors = {
        sampling: np.mean([np.divide(by_moment[moment], theory[sampling][moment]) - 1 for moment in MOMENTS])
        for sampling, by_moment in variances.items()
    }
    return Worked(
        {
            "exponent": float(np.mean(list(_exponents(variances, "replacement").values()))),
            "epochs_exponent": float(np.mean(list(_exponents(variances, "epochs").values()))),
            "replacement_error": float(errors["replacement"]),
            "epochs_error": float(errors["epochs"]),
        },
        plots=(_variance_plot(variances, theory),),
        tables=(_variance_table("MLP", variances),),
    )


def _variance_plot(variances: Variances, theory: Variances) -> Plot:
    """At the end of a run, where what is left out by epochs shows."""
    batches, curves = np.array(FURTHER_BATCHES, dtype=float), []
    for sampling, name in (("replacement", "with replacement"), ("epochs", "without, as epochs")):
        curves.append(Curve(f"drawn {name}", batches, np.array(variances[sampling]["at the end"]), dots=True))
        curves.append(Curve(f"predicted {name}", batches, np.array(theory[sampling]["at the end"])))
    return Plot("batch size", "variance of the gradient (nats²)", tuple(curves))


def _variance_table(name: str, variances: Variances) -> Table:
    exponents = {sampling: _exponents(variances, sampling) for sampling in variances}
    rows = tuple((name, moment, *(f"{exponents[sampling][moment]:.3f}" for sampling in exponents)) for moment in MOMENTS)
    return Table(("model", "weights", "exponent with replacement", "without, as epochs"), rows)


class Entries(TorchDispatchMode):
    """Counts an operation for every entry that an operation computes; products are counted apart."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not func.is_view:
            self.count += sum(tensor.numel() for tensor in tree_leaves(result) if isinstance(tensor, Tensor))
        return result


def step_operations(batch: int) -> tuple[int, int]:
    """Counts of a whole step of the engine's MLP, with its update: operations of products, and entries of everything
    computed."""
    pack = _pack("mlp", [0], batch_size=batch)
    with FlopCounterMode(display=False, custom_mapping=FUSED_ATTENTION) as products:
        pack.time_steps(1)
    with Entries() as entries:
        pack.time_steps(1)
    return int(products.get_total_flops()), entries.count


@dataclass(frozen=True)
class Straight:
    """The straight line through what the two largest batches take. deviation: the largest relative distance from it."""

    deviation: float
    constant: float
    per_example: float


def straight(batches: Sequence[int], values: Sequence[float]) -> Straight:
    per_example = (values[-1] - values[-2]) / (batches[-1] - batches[-2])
    constant = values[-1] - per_example * batches[-1]
    line = constant + per_example * np.array(batches)
    # The rest from rounding is no deviation.
    deviation = round(float(np.abs(np.array(values) / line - 1).max()), 12)
    return Straight(deviation, float(constant), float(per_example))


def operations() -> Worked:
    """How far a step's operations are from a straight line in the batch size. large_deviation: products of a GPT of the
    document's size; small_deviation: all that the engine's own step of a small MLP computes; small_constant: those at any batch
    size, above all the update's, in examples."""
    products, entries = np.array([step_operations(batch) for batch in STEP_BATCHES], dtype=float).T
    batches, small = np.array(STEP_BATCHES, dtype=float), straight(STEP_BATCHES, list(products + entries))
    curves = (Curve("products of matrices", batches, products, True), Curve("everything", batches, products + entries, True))
    return Worked(
        {
            "large_deviation": straight(LARGE_BATCHES, [float(large_operations(batch)) for batch in LARGE_BATCHES]).deviation,
            "small_deviation": small.deviation,
            "small_constant": small.constant / small.per_example,
        },
        plots=(Plot("batch size", "operations of a step of a small MLP", curves),),
    )


def memory() -> Worked:
    """The memory of a step of the large model. deviation: how far its memory is from a straight line in the batch size, from 4
    to 256; constant_gb and sequence_gb: of that line; smallest_over_line: by how much a batch of 1 is above it; saved_gb: what
    a batch of 8 takes less than one of 32; smallest_over_gpu: all memory at a batch of 1 over the document's GPU."""
    steps = {batch: large_step(batch=batch) for batch in sorted({*LARGE_BATCHES, 8, 32})}
    whole = np.array([steps[batch][1] for batch in LARGE_BATCHES], dtype=float)
    activations = np.array([steps[batch][0].activations for batch in LARGE_BATCHES], dtype=float)
    batches, line = np.array(LARGE_BATCHES, dtype=float), straight(LARGE_BATCHES[1:], list(whole[1:] / GB))
    curves = (Curve("all", batches, whole / GB, True), Curve("activations", batches, activations / GB, True))
    rows = tuple(
        (f"{batch}", f"{step.activations / GB:.0f} GB", f"{bytes_ / GB:.0f} GB") for batch, (step, bytes_) in steps.items()
    )
    return Worked(
        {
            "deviation": line.deviation,
            "constant_gb": line.constant,
            "sequence_gb": line.per_example,
            "smallest_over_line": steps[1][1] / GB / (line.constant + line.per_example) - 1,
            "saved_gb": (steps[32][1] - steps[8][1]) / GB,
            "smallest_over_gpu": steps[1][1] / GB / DOCUMENT_GPU,
        },
        plots=(Plot("batch size", "memory of a step of a GPT of 6.7 billion parameters (GB)", curves),),
        tables=(Table(("batch", "activations", "all memory"), rows),),
    )
