"""How far an update moves the weights.

The update-to-weight ratio is |change| / |weights before|; a layer that is all zero before has no ratio (nan).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from folklore.harness.training.curve import Curve
from folklore.harness.training.probes.base import Probe, ProbedStep

if TYPE_CHECKING:
    from torch import Tensor

RATIO = Curve(
    "probe_update_ratio", "", "norm of the update over that of the weights", tracked="update/ratio_to_weights", place=8
)
WEIGHT_NORM = Curve("probe_weight_norm", "", "norm of all weights", tracked="weights/norm", place=9)
MEDIAN_RATIO = Curve("probe_median_update_ratio", "", "median over the layers of update over weights", place=10, derived=True)
LAYER_RATIO = Curve(
    "probe_layer_update_ratio",
    "",
    "update over weights of each layer, in the order of `layers`",
    across="layers",
    heavy=True,
    place=1,
)


class Updates(Probe):
    curves = (RATIO, WEIGHT_NORM, MEDIAN_RATIO, LAYER_RATIO)

    def after_update(self, step: ProbedStep, before_KP: Tensor) -> dict[str, Tensor]:
        network = step.network
        change_KP = network.flat_KP - before_KP
        weight, change = network.layer_norms(before_KP), network.layer_norms(change_KP)
        return {
            RATIO.name: change_KP.norm(dim=1) / before_KP.norm(dim=1),
            WEIGHT_NORM.name: before_KP.norm(dim=1),
            LAYER_RATIO.name: (change / weight).where(weight > 0, float("nan")),
        }

    def derived(self, records: Mapping[str, NDArray[np.float64]]) -> dict[str, list[float]]:
        return {MEDIAN_RATIO.name: [_median(row) for row in records[LAYER_RATIO.name]]}


def _median(values: NDArray[np.float64]) -> float:
    """Over the layers that have a value; nan where none has."""
    there = values[~np.isnan(values)]
    return float(np.median(there)) if len(there) else math.nan


PROBE = Updates()
