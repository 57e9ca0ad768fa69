"""The measurements of a pack, on its device until the pack ends."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from ..declare import Configuration
from ..declare.configuration import LOSS_SCALES
from .probes.base import Probe
from .procedures import Evaluation
from .result import LOSSES, NORMS, Numbers, ends, has_left
from .workloads.network import PackedNetwork, Scores

# Steps that a progress display takes the mean of.
RECENT_STEPS = 20


class Records(dict[str, Tensor]):
    """Name -> values: of every step [steps, K], of evaluations [K] or [evaluations, K], of probes [probes, K] or, across
    layers, taps or loss scales, [probes, K, layers]. nan marks what was not reached."""

    def __init__(
        self,
        configuration: Configuration,
        network: PackedNetwork,
        evaluations: Iterable[Evaluation],
        probes: Iterable[Probe],
        probed: int,
        taps: Sequence[str],
    ):
        """probed: how many steps are."""
        lanes, steps = len(network.flat_KP), configuration.training.steps
        across = {"": (), "layers": (len(network.layers),), "taps": (len(taps),), "loss_scales": (len(LOSS_SCALES),)}
        recorded = [curve for probe in probes for curve in probe.curves if not curve.derived]
        shapes: dict[str, tuple[int, ...]] = {
            LOSSES: (steps, lanes),
            **({NORMS: (steps, lanes)} if configuration.measurement.gradient_norms else {}),
            **{
                name: (len(evaluation.after), lanes) if evaluation.is_curve else (lanes,)
                for evaluation in evaluations
                for name in (evaluation.record, *([evaluation.accuracy] if evaluation.accuracy and network.measures else []))
            },
            **{curve.name: (probed, lanes, *across[curve.across]) for curve in recorded},
        }
        device = network.flat_KP.device
        super().__init__({name: torch.full(shape, float("nan"), device=device) for name, shape in shapes.items()})

    def note_evaluation(self, evaluation: Evaluation, step: int, scores: Scores) -> None:
        """Record the scores of an evaluation after `step` steps."""
        values = {evaluation.record: scores.loss}
        if evaluation.accuracy is not None and scores.accuracy is not None:
            values[evaluation.accuracy] = scores.accuracy
        for name, values_K in values.items():
            (self[name][evaluation.after.index(step)] if evaluation.is_curve else self[name]).copy_(values_K)

    def best(self, step: int) -> tuple[int, float] | None:
        """The lane with the lowest recent training loss, and that loss: for a progress display only."""
        recent = self["train_loss"][max(0, step - RECENT_STEPS) : step].mean(0)
        finite = torch.where(recent.isfinite(), recent, math.inf)
        if not step or not finite.isfinite().any():
            return None
        lane = int(finite.argmin())
        return lane, float(finite[lane])

    def diverged_lanes(self, step: int, done: bool) -> int:
        """Lanes whose training loss is not finite any more; once the pack is done, also those that ended above their start."""
        if not step:
            return 0
        lost_K = ~self["train_loss"][:step].isfinite().all(0)
        if done:
            start, end = ends(self)
            lost_K |= has_left(self[start], self[end], self)
        return int(lost_K.sum())

    def risen(self) -> Tensor:
        """Lanes that end above their start, however that is measured, [K]."""
        start, end = ends(self)
        return ~(self[end] <= self[start])

    def rose(self) -> bool:
        """Whether some lane of a finished pack has a finite loss that has left its start."""
        start, end = ends(self)
        return bool((has_left(self[start], self[end], self) & self[end].isfinite()).any())

    def of_lanes(self) -> list[dict[str, Numbers]]:
        """Each lane's values, without the axis of lanes."""
        values = {name: tensor.cpu().numpy().astype(np.float64) for name, tensor in self.items()}
        lanes = range(len(self["initial_loss"]))
        return [{name: array[:, lane] if array.ndim > 1 else array[lane] for name, array in values.items()} for lane in lanes]
