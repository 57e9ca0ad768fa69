"""What the batch size does to a step, counted: the variance of its gradient, its operations, its memory.

Gradients are the engine's own, at weights that stand still, of batches as its samplings draw them; operations and memory are
counted as in memory.py.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from folklore.harness.data import load
from folklore.harness.observables.estimating.exact.base import Check, Curve, Plot, Table
from folklore.harness.observables.estimating.exact.memory import (
    DOCUMENT_GPU,
    FUSED_ATTENTION,
    GB,
    LARGE,
    LARGE_TOKENS,
    large_step,
    slope,
)
from folklore.harness.spec import Configuration, Measurement, Training, Workload
from folklore.harness.training.allocations import pretended
from folklore.harness.training.budget import built_in
from folklore.harness.training.pack import Lane, Pack
from folklore.harness.training.procedures import SAMPLINGS

# Of the gradients: small models on the data they are trained on elsewhere, after some shares of a run.
MODELS = {
    "mlp": {"model": "mlp", "dataset": "digits", "width": 64, "depth": 2},
    "gpt": {"model": "gpt", "dataset": "python-docs", "width": 16, "depth": 1, "heads": 2, "context": 16},
}
TRAINED = {"optimizer": "adamw", "peak_lr": 2.0**-7, "batch_size": 32, "steps": 300}
MOMENTS = {"at the start": 0.0, "after 10%": 0.1, "at the end": 1.0}
BATCHES = tuple(2**power for power in range(1, 9))
# Nearly all of the 1,079 training examples, where leaving out what was drawn shows.
FURTHER_BATCHES = (*BATCHES, 512, 1024)
# Batches of a size, a seed each, at least, and at least so many examples in them: small batches have long tails. And how many
# examples are differentiated at once.
DRAWN, EXAMPLES, AT_ONCE = 64, 4096, 2048
# Of operations and memory.
STEP_BATCHES = tuple(2**power for power in range(1, 11))
LARGE_BATCHES = (1, 4, 16, 64, 256)


def _configuration(model: str, **training: Any) -> Configuration:
    return Configuration(
        workload=Workload.model_validate(MODELS[model]),
        training=Training.model_validate({**TRAINED, **training}),
        measurement=Measurement(probes=2, evaluations=1, evaluation_examples=2, final_examples=2),
    )


def _pack(model: str, seeds: Sequence[int], **training: Any) -> Pack:
    configuration = _configuration(model, **training)
    return Pack([Lane(configuration, seed) for seed in seeds], load(MODELS[model]["dataset"]))


@lru_cache(maxsize=4)
def weights(model: str) -> dict[str, Tensor]:
    """Moment of a run -> weights, [P]."""
    pack, found = _pack(model, [0]), {}
    for moment, share in MOMENTS.items():
        while pack.step < round(share * pack.training.steps):
            pack.advance(seconds=0.0)
        found[moment] = pack.network.flat_KP[0].detach().clone()
    return found


def _in_groups(batch: int) -> list[range]:
    """The seeds whose batches are drawn, so many at once."""
    seeds, size = range(max(DRAWN, EXAMPLES // batch)), max(1, AT_ONCE // batch)
    return [seeds[start : start + size] for start in range(0, len(seeds), size)]


@lru_cache(maxsize=64)
def _drawn(model: str, sampling: str, batch: int) -> tuple[tuple[Tensor, Tensor], ...]:
    """The first batch of each of so many seeds: inputs and targets of those that are differentiated at once."""
    found, dataset, network = [], load(MODELS[model]["dataset"]), _lanes(model, 1).network
    configuration = _configuration(model, batch_size=batch, sampling=sampling)
    for seeds in _in_groups(batch):
        # Of so many seeds, but of one network: what is drawn does not depend on it.
        procedure = SAMPLINGS[sampling](configuration, seeds, dataset, network)
        found.append(procedure.batch(torch.from_numpy(procedure.draw(0)[0])))
    return tuple(found)


@lru_cache(maxsize=2)
def _lanes(model: str, count: int) -> Pack:
    return _pack(model, [0] * count)


def gradients(model: str, moment: str, sampling: str, batch: int) -> Tensor:
    """Of the first batch of each of so many seeds, at weights that are the same for all, [seeds, P]."""
    found, weights_P = [], weights(model)[moment]
    for inputs, targets in _drawn(model, sampling, batch):
        pack = _lanes(model, len(targets))
        with torch.no_grad():
            pack.network.flat_KP.copy_(weights_P)
        found.append(pack.procedure.gradient(inputs, targets)[1].double())
    return torch.cat(found)


@lru_cache(maxsize=128)
def variance(model: str, moment: str, sampling: str, batch: int) -> float:
    """Trace of the covariance of the batch gradient."""
    return float(gradients(model, moment, sampling, batch).var(dim=0).sum())


@lru_cache(maxsize=4)
def of_single_examples(moment: str) -> tuple[int, float]:
    """Of the MLP: how many training examples there are, and the trace of the covariance of their gradients, all of them."""
    pack = _pack("mlp", range(1), batch_size=2)
    dataset = load(MODELS["mlp"]["dataset"])
    index = torch.from_numpy(dataset.examples_index(0))
    one_each, weights_P = _lanes("mlp", len(index)), weights("mlp")[moment]
    with torch.no_grad():
        one_each.network.flat_KP.copy_(weights_P)
    gradient_NP = one_each.procedure.gradient(*pack.procedure.batch(index[:, None]))[1].double()
    return len(index), float(gradient_NP.var(dim=0, correction=0).sum())


def exponents(model: str, sampling: str) -> dict[str, float]:
    """Moment -> exponent of the variance on the batch size, 2 to 256."""
    return {moment: slope(BATCHES, [variance(model, moment, sampling, batch) for batch in BATCHES]) for moment in MOMENTS}


def exponent(model: str, sampling: str = "replacement") -> float:
    """Mean over the moments."""
    return float(np.mean(list(exponents(model, sampling).values())))


def predicted(moment: str, sampling: str, batch: int) -> float:
    """Of independent draws from N examples the mean of B has one B-th of an example's variance; of draws without replacement
    that times (N - B) / (N - 1) (Cochran 1977, theorem 2.2)."""
    examples, variance = of_single_examples(moment)
    left = (examples - batch) / (examples - 1) if sampling == "epochs" else 1.0
    return variance / batch * left


def predicted_error(sampling: str) -> float:
    """Of the MLP: how far the variance is from what its single examples predict, over that, on average over moments and batch
    sizes up to 1,024."""
    errors = [
        variance("mlp", moment, sampling, batch) / predicted(moment, sampling, batch) - 1
        for moment in MOMENTS
        for batch in FURTHER_BATCHES
    ]
    return float(np.mean(np.abs(errors)))


def variance_plot() -> Plot:
    """Of the MLP at the end of its run, where what is left out by epochs shows."""
    batches = np.array(FURTHER_BATCHES, dtype=float)
    curves = []
    for sampling, name in (("replacement", "with replacement"), ("epochs", "without, as epochs")):
        seen = [variance("mlp", "at the end", sampling, batch) for batch in FURTHER_BATCHES]
        curves.append(Curve(f"drawn {name}", batches, np.array(seen), dots=True))
        theory = [predicted("at the end", sampling, batch) for batch in FURTHER_BATCHES]
        curves.append(Curve(f"predicted {name}", batches, np.array(theory)))
    return Plot("batch size", "variance of the gradient (nats²)", tuple(curves))


def variance_table() -> Table:
    rows = tuple(
        (name, moment, *(f"{exponents(model, sampling)[moment]:.3f}" for sampling in ("replacement", "epochs")))
        for model, name in (("mlp", "MLP"), ("gpt", "GPT"))
        for moment in MOMENTS
    )
    return Table(("model", "weights", "exponent with replacement", "without, as epochs"), rows)


class Entries(TorchDispatchMode):
    """Counts an operation for every entry that an operation computes; products are counted apart."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not func.is_view:
            self.count += sum(each.numel() for each in tree_leaves(result) if isinstance(each, Tensor))
        return result


@lru_cache(maxsize=32)
def step_operations(batch: int) -> tuple[int, int]:
    """Of a whole step of the engine's MLP, its update among it: operations of products, and entries of everything computed."""
    pack = _pack("mlp", [0], batch_size=batch)
    with FlopCounterMode(display=False, custom_mapping=FUSED_ATTENTION) as products:
        pack.time_steps(1)
    with Entries() as entries:
        pack.time_steps(1)
    return int(products.get_total_flops()), entries.count


@lru_cache(maxsize=16)
def large_operations(batch: int) -> int:
    """Operations of the products of a gradient of the large model."""
    subject = built_in(Workload.model_validate(LARGE), LARGE_TOKENS, "fp32")
    with pretended(), FlopCounterMode(display=False, custom_mapping=FUSED_ATTENTION) as counter:
        prepared = subject.make(batch, False)
        torch.autograd.grad(prepared.loss(), list(prepared.trained))
    return int(counter.get_total_flops())


def large_operations_exponent() -> float:
    """Of the products of a step of a GPT of the document's size, batches of 1 to 256."""
    return slope(LARGE_BATCHES, [large_operations(batch) for batch in LARGE_BATCHES])


def operations_exponent() -> float:
    """Of the products of the engine's own step of a small MLP, batches of 2 to 1,024."""
    return slope(STEP_BATCHES, [step_operations(batch)[0] for batch in STEP_BATCHES])


def all_operations_exponent() -> float:
    """The same with all else that a step computes: the optimizer's update does not know the batch size."""
    return slope(STEP_BATCHES, [sum(step_operations(batch)) for batch in STEP_BATCHES])


def operations_plot() -> Plot:
    batches = np.array(STEP_BATCHES, dtype=float)
    products, entries = (np.array(each, dtype=float) for each in zip(*map(step_operations, STEP_BATCHES), strict=True))
    curves = (Curve("products of matrices", batches, products, True), Curve("everything", batches, products + entries, True))
    return Plot("batch size", "operations of a step of a small MLP", curves)


def _memory(of: Callable[[int], int]) -> list[float]:
    return [float(of(batch)) for batch in LARGE_BATCHES]


def _whole(batch: int) -> int:
    return large_step(batch=batch)[1]


def _activations(batch: int) -> int:
    return large_step(batch=batch)[0].activations


def memory_exponent() -> float:
    """Of all memory of the large model, batches of 1 to 256."""
    return slope(LARGE_BATCHES, _memory(_whole))


def activations_exponent() -> float:
    """Of the peak of its activations."""
    return slope(LARGE_BATCHES, _memory(_activations))


def saved_gb() -> float:
    """GB that a batch of 8 takes less than one of 32."""
    return (_whole(32) - _whole(8)) / GB


def smallest_over_gpu() -> float:
    """All memory at a batch of 1 over the document's GPU."""
    return _whole(1) / GB / DOCUMENT_GPU


def memory_table() -> Table:
    rows = tuple(
        (f"{batch}", f"{_activations(batch) / GB:.0f} GB", f"{_whole(batch) / GB:.0f} GB")
        for batch in sorted({*LARGE_BATCHES, 8, 32})
    )
    return Table(("batch", "activations", "all memory"), rows)


def memory_plot() -> Plot:
    batches = np.array(LARGE_BATCHES, dtype=float)
    curves = (
        Curve("all", batches, np.array(_memory(_whole)) / GB, True),
        Curve("activations", batches, np.array(_memory(_activations)) / GB, True),
    )
    return Plot("batch size", "memory of a step of a GPT of 6.7 billion parameters (GB)", curves)


CHECKS = {
    "gradient_variance_exponent_mlp": Check(lambda: exponent("mlp"), variance_plot, variance_table),
    "gradient_variance_exponent_gpt": Check(lambda: exponent("gpt"), variance_plot, variance_table),
    "epochs_variance_exponent_mlp": Check(lambda: exponent("mlp", "epochs"), variance_plot, variance_table),
    "replacement_variance_error": Check(lambda: predicted_error("replacement"), variance_plot, variance_table),
    "epochs_variance_error": Check(lambda: predicted_error("epochs"), variance_plot, variance_table),
    "large_step_operations_exponent": Check(large_operations_exponent, operations_plot),
    "step_operations_exponent": Check(operations_exponent, operations_plot),
    "step_all_operations_exponent": Check(all_operations_exponent, operations_plot),
    "memory_on_batch_exponent": Check(memory_exponent, memory_plot, memory_table),
    "activations_on_batch_exponent": Check(activations_exponent, memory_plot, memory_table),
    "smaller_batch_saves_gb": Check(saved_gb, memory_plot, memory_table),
    "smallest_batch_over_gpu": Check(smallest_over_gpu, memory_plot, memory_table),
}
