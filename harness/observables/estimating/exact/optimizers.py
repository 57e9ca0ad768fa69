"""What optimizers keep, and how far those that look at whole weights move them: the engine's own, on a small GPT."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from folklore.harness.data import DataFacts, load
from folklore.harness.observables.estimating.exact.base import Check, Curve, Numbers, Plot, Table
from folklore.harness.spec import Configuration, Measurement, Training, Workload
from folklore.harness.training.network import build
from folklore.harness.training.optimizers import make_optimizer
from folklore.harness.training.optimizers.base import Part
from folklore.harness.training.pack import Lane, Pack

GPT = Workload(model="gpt", dataset="python-docs", width=16, depth=2, heads=2, context=16)
STEPS, BATCH = 60, 16
# A share of 1% of each matrix, if it is the LR, or the LR times the trust coefficient.
SHARE, TRUST = 0.01, 0.001
LAMB = {"optimizer": "lamb", "peak_lr": SHARE, "weight_decay": 0.1}
LARS = {"optimizer": "lars", "peak_lr": SHARE / TRUST, "trust_coefficient": TRUST, "weight_decay": 0.0, "momentum": 0.0}
# Of LARS's paper: section 5, and its algorithm's momentum. As much decay as LAMB's, too: so that it is seen.
RUNS: dict[str, dict[str, Any]] = {
    "LAMB, decay 0.1": LAMB,
    "LARS, no momentum, no decay": LARS,
    "LARS, no momentum, decay 0.1": {**LARS, "weight_decay": 0.1},
    "LARS, momentum 0.9, decay 0.0005": {**LARS, "momentum": 0.9, "weight_decay": 5e-4},
}
# Some codes take norms of weights as 10 at the most. Of GPT-2 medium's size.
CLAMP = 10.0
MEDIUM = Workload(model="gpt", width=1024, depth=24, heads=16, context=1024)
TOKENS = DataFacts(hash="", classes=50_257)


@dataclass(frozen=True)
class Course:
    """Of every step and matrix, [steps, matrices]. share: norm of the update over the weight's, over LR (and LARS's trust
    coefficient). of_update: distance of LAMB's update from LR |w| u / |u|, over its size, u being Adam's update with decay.
    of_gradient: |u| / |g|, what the share would be if it divided by the gradient's norm."""

    share: Numbers
    of_update: Numbers
    of_gradient: Numbers


@lru_cache(maxsize=1)
def _state_numbers() -> dict[str, float]:
    """Optimizer -> numbers of state a weight."""
    size = 1000
    found = {}
    for name in ("adamw", "lion"):
        chosen = make_optimizer([Training(optimizer=name)], torch.zeros(1, size), torch.ones(size))
        found[name] = sum(each.numel() for each in chosen.state.values()) / size
    return found


def lion_state() -> float:
    return _state_numbers()["lion"] / _state_numbers()["adamw"]


def state_table() -> Table:
    return Table(("optimizer", "numbers a weight"), tuple((name, f"{each:g}") for name, each in _state_numbers().items()))


@lru_cache(maxsize=len(RUNS))
def course(run: str) -> Course:
    """A training at a constant LR, looked at step by step."""
    training = {"steps": STEPS, "batch_size": BATCH, "schedule": "constant", "warmup_fraction": 0.0, **RUNS[run]}
    configuration = Configuration(
        workload=GPT,
        training=Training.model_validate(training),
        measurement=Measurement(probes=2, evaluations=1, evaluation_examples=2, final_examples=2),
    )
    pack = Pack([Lane(configuration, 0)], load(GPT.dataset))
    rows = []
    while not pack.done:
        before = pack.network.flat_KP.detach().clone()
        gradient = pack.procedure.gradient(*pack.procedure.batch(_examples(pack)))[1].double()
        pack.advance(0)
        rows.append(_seen(pack, before.double(), gradient))
    return Course(*(np.stack(each) for each in zip(*rows, strict=True)))


def _examples(pack: Pack) -> Tensor:
    per_draw = pack.procedure.steps_per_draw
    drawn: Tensor = torch.from_numpy(pack.procedure.draw(pack.step // per_draw)[pack.step % per_draw])
    return drawn


def _seen(pack: Pack, before: Tensor, gradient: Tensor) -> tuple[Numbers, Numbers, Numbers]:
    training, network = pack.training, pack.network
    change = network.flat_KP.detach().double() - before
    lr = training.peak_lr * (training.trust_coefficient if training.optimizer == "lars" else 1.0)
    weight, moved, gradients = (network.matrix_norms(each)[0].numpy() for each in (before, change, gradient))
    share = moved / weight / lr
    if training.optimizer != "lamb":
        return share, np.full_like(share, np.nan), np.full_like(share, np.nan)
    update = _adams_update(pack, before)
    updates = network.matrix_norms(update)[0].numpy()
    sized = zip(_matrices(pack), weight * lr, strict=True)
    off = [_distance(change[0, part.slice], update[0, part.slice], size) for part, size in sized]
    return share, np.array(off), updates / gradients


def _matrices(pack: Pack) -> list[Part]:
    return [part for part in pack.network.parts if part.is_matrix]


def _distance(change: Tensor, update: Tensor, size: float) -> float:
    """Of a change from the step of this size against an update, over the size."""
    return float((change + size * update / update.norm()).norm() / size)


def _adams_update(pack: Pack, before: Tensor) -> Tensor:
    """m / sqrt(v) with bias correction and decay, from the moments that the step left, [1, P]."""
    training = pack.training
    first, second = (pack.optimizer.state[name].double() for name in ("first", "second"))
    corrected = second / (1 - training.beta2**pack.step)
    adams = first / (1 - training.beta1**pack.step) / (corrected.sqrt() + training.epsilon)
    return adams + training.weight_decay * pack.network.decays_P.double() * before


def spread(run: str) -> float:
    """Largest over smallest share."""
    found = course(run).share
    return float(np.nanmax(found) / np.nanmin(found))


def lamb_spread() -> float:
    return spread("LAMB, decay 0.1")


def lars_spread() -> float:
    return spread("LARS, no momentum, no decay")


def lars_decay_spread() -> float:
    return spread("LARS, no momentum, decay 0.1")


def lars_momentum_spread() -> float:
    return spread("LARS, momentum 0.9, decay 0.0005")


def lamb_of_update() -> float:
    return float(course("LAMB, decay 0.1").of_update.max())


def lamb_of_gradient() -> float:
    """Largest over smallest share if LAMB divided by the norm of the gradient."""
    found = course("LAMB, decay 0.1").of_gradient
    return float(found.max() / found.min())


def clamped_share() -> float:
    """The smallest update over weight, in LRs, that a clamp leaves of a model of GPT-2 medium's size, at its start."""
    norms = [p.initial_std * float(np.sqrt(np.prod(p.shape))) for p in build(MEDIUM, TOKENS).parameters if len(p.shape) > 1]
    return min(1.0, CLAMP / max(norms))


def share_table() -> Table:
    rows = []
    for run in RUNS:
        found = course(run).share
        low, middle, high = np.nanmin(found), np.nanmedian(found), np.nanmax(found)
        rows.append((run, f"{low:.4g}", f"{middle:.4g}", f"{high:.4g}"))
    return Table(("update over weight, in LRs", "smallest", "median", "largest"), tuple(rows))


def share_plot() -> Plot:
    steps = np.arange(1.0, STEPS + 1)
    curves = tuple(Curve(run, steps, np.nanmax(course(run).share, axis=1)) for run in RUNS)
    return Plot("step", "largest update over weight of any matrix, in LRs", curves, log_x=False)


CHECKS = {
    "lion_state_over_adam": Check(lion_state, None, state_table),
    "lamb_share_spread": Check(lamb_spread, share_plot, share_table),
    "lars_share_spread": Check(lars_spread, share_plot, share_table),
    "lars_share_spread_with_decay": Check(lars_decay_spread, share_plot, share_table),
    "lars_share_spread_with_momentum": Check(lars_momentum_spread, share_plot, share_table),
    "lamb_distance_by_update_norm": Check(lamb_of_update),
    "lamb_spread_by_gradient_norm": Check(lamb_of_gradient),
    "lamb_clamped_share": Check(clamped_share),
}
