"""Measures what optimizers keep, and how far those that scale by whole weights move them: the engine's own, on a small GPT."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...harness.declare import Configuration, Training, Workload
from ...harness.declare.computed import Curve, Plot, Table, Worked
from ...harness.declare.trials import Numbers
from ...harness.train.optimizers import make_optimizer
from ...harness.train.pack import Lane, Pack
from ...harness.train.workloads import workload_of
from ...harness.train.workloads.data import DataFacts, load
from .small_gpt import UNMEASURED

GPT = Workload(model="gpt", dataset="python-docs", width=16, depth=2, heads=2, context=16)
STEPS, BATCH = 60, 16
# A share of 1% of each matrix, if it is the LR, or the LR times the trust coefficient.
SHARE, TRUST = 0.01, 0.001
LAMB = {"optimizer": "lamb", "peak_lr": SHARE, "weight_decay": 0.1}
LARS = {"optimizer": "lars", "peak_lr": SHARE / TRUST, "trust_coefficient": TRUST, "weight_decay": 0.0, "momentum": 0.0}
# LARS as in its paper's section 5 and with its algorithm's momentum; also with as much decay as LAMB, so that decay shows.
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


def state() -> Worked:
    """lion_over_adam: numbers of state a weight of Lion over those of AdamW."""
    size, numbers = 1000, {}
    for name in ("adamw", "lion"):
        chosen = make_optimizer([Training(optimizer=name)], torch.zeros(1, size), torch.ones(size))
        numbers[name] = sum(tensor.numel() for tensor in chosen.state.values()) / size
    rows = tuple((name, f"{number:g}") for name, number in numbers.items())
    return Worked(
        {"lion_over_adam": numbers["lion"] / numbers["adamw"]}, tables=(Table(("optimizer", "numbers a weight"), rows),)
    )


def clamped() -> Worked:
    """smallest_share: the smallest update over weight, in LRs, that a clamp leaves of GPT-2 medium's size, at its start."""
    parameters = workload_of(MEDIUM).model(TOKENS).parameters
    norms = [p.initial_std * float(np.sqrt(np.prod(p.shape))) for p in parameters if len(p.shape) > 1]
    return Worked({"smallest_share": min(1.0, CLAMP / max(norms))})


@dataclass(frozen=True)
class Course:
    """Numbers of every step and matrix, [steps, matrices]. share: norm of the update over the weight's, over LR (and LARS's
    trust coefficient). of_update: distance of LAMB's update from LR |w| u / |u|, over its size, u being Adam's update with
    decay. of_gradient: |u| / |g|, what the share would be if it divided by the gradient's norm."""

    share: Numbers
    of_update: Numbers
    of_gradient: Numbers

    @property
    def spread(self) -> float:
        """Largest over smallest share."""
        return float(self.share.max() / self.share.min())


def layerwise(seed: int) -> Worked:
    """Largest over smallest share by which LAMB and LARS move a matrix, over 60 steps at a constant LR; how far LAMB is from a
    step by the norm of Adam's update, and the spread of shares if it divided by the gradient's norm."""
    courses = {run: course(run, seed) for run in RUNS}
    lamb, plain, decayed, with_momentum = courses.values()
    steps = np.arange(1.0, STEPS + 1)
    curves = tuple(Curve(run, steps, course.share.max(axis=1)) for run, course in courses.items())
    return Worked(
        {
            "lamb": lamb.spread,
            "lars": plain.spread,
            "lars_with_decay": decayed.spread,
            "lars_with_momentum": with_momentum.spread,
            "lamb_distance": lamb.of_update.max(),
            "lamb_by_gradient": lamb.of_gradient.max() / lamb.of_gradient.min(),
        },
        plots=(Plot("step", "largest update over weight of any matrix, in LRs", curves, log_x=False),),
        tables=(_share_table(courses),),
    )


def _share_table(courses: Mapping[str, Course]) -> Table:
    rows = []
    for run, course in courses.items():
        low, middle, high = course.share.min(), np.median(course.share), course.share.max()
        rows.append((run, f"{low:.4g}", f"{middle:.4g}", f"{high:.4g}"))
    return Table(("update over weight, in LRs", "smallest", "median", "largest"), tuple(rows))


def course(run: str, seed: int) -> Course:
    """A training, compared step by step."""
    training = {"steps": STEPS, "batch_size": BATCH, "schedule": "constant", "warmup_fraction": 0.0, **RUNS[run]}
    configuration = Configuration(workload=GPT, training=Training.model_validate(training), measurement=UNMEASURED)
    pack = Pack([Lane(configuration, seed)], load(GPT.dataset))
    rows = []
    while not pack.done:
        before = pack.network.flat_KP.detach().clone()
        gradient = pack.procedure.gradient(*pack.procedure.batch(_examples(pack)))[1].double()
        pack.advance(0)
        rows.append(_compared(pack, before.double(), gradient))
    return Course(*(np.stack(column) for column in zip(*rows, strict=True)))


def _examples(pack: Pack) -> Tensor:
    per_draw = pack.procedure.steps_per_draw
    drawn: Tensor = torch.from_numpy(pack.procedure.draw(pack.step // per_draw)[pack.step % per_draw])
    return drawn


def _compared(pack: Pack, before: Tensor, gradient: Tensor) -> tuple[Numbers, Numbers, Numbers]:
    training, network = pack.training, pack.network
    change = network.flat_KP.detach().double() - before
    lr = training.peak_lr * (training.trust_coefficient if training.optimizer == "lars" else 1.0)
    weight, moved, gradients = (network.matrix_norms(tensor)[0].numpy() for tensor in (before, change, gradient))
    share = moved / weight / lr
    if training.optimizer != "lamb":
        return share, np.full_like(share, np.nan), np.full_like(share, np.nan)
    update = _adams_update(pack, before)
    updates = network.matrix_norms(update)[0].numpy()
    sized = zip((part for part in pack.optimizer.parts if part.is_matrix), weight * lr, strict=True)
    off = [_distance(change[0, part.slice], update[0, part.slice], size) for part, size in sized]
    return share, np.array(off), updates / gradients


def _distance(change: Tensor, update: Tensor, size: float) -> float:
    """The distance of a change from the step of this size against an update, over the size."""
    return float((change + size * update / update.norm()).norm() / size)


def _adams_update(pack: Pack, before: Tensor) -> Tensor:
    """m / sqrt(v) with bias correction and decay, from the moments that the step left, [1, P]."""
    training = pack.training
    first, second = (pack.optimizer.state[name].double() for name in ("first", "second"))
    corrected = second / (1 - training.beta2**pack.step)
    adams = first / (1 - training.beta1**pack.step) / (corrected.sqrt() + training.epsilon)
    return adams + training.weight_decay * pack.network.decays_P.double() * before
