"""How far an update moves the weights.

The update-to-weight ratio is |change| / |weights before|; a layer that is all zero before has no ratio (nan).

Weight matrices are also measured apart from gains and biases: these start at one and at zero, so that an update of theirs is a
different share of them. A matrix is a parameter with two sides or more, as an embedding and a convolution's kernels are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...declare.curves.of_probes import (
    LAYER_UPDATE_RATIO,
    MATRIX_UPDATE_RATIO,
    MATRIX_UPDATE_RATIO_HIGH,
    MATRIX_UPDATE_RATIO_LEAST,
    MATRIX_UPDATE_RATIO_LOW,
    MATRIX_UPDATE_RATIO_MOST,
    MEDIAN_UPDATE_RATIO,
    UPDATE_RATIO,
    WEIGHT_NORM,
)
from .base import Probe, ProbedStep

if TYPE_CHECKING:
    from torch import Tensor

    from ..workloads.network import PackedNetwork

QUANTILES = {
    MATRIX_UPDATE_RATIO: 0.5,
    MATRIX_UPDATE_RATIO_LOW: 0.25,
    MATRIX_UPDATE_RATIO_HIGH: 0.75,
    MATRIX_UPDATE_RATIO_LEAST: 0.0,
    MATRIX_UPDATE_RATIO_MOST: 1.0,
}


class Updates(Probe):
    curves = (UPDATE_RATIO, WEIGHT_NORM, MEDIAN_UPDATE_RATIO, LAYER_UPDATE_RATIO, *QUANTILES)

    def after_update(self, step: ProbedStep, before_KP: Tensor) -> dict[str, Tensor]:
        network = step.network
        change_KP = network.flat_KP - before_KP
        weight, change = network.layer_norms(before_KP), network.layer_norms(change_KP)
        return {
            UPDATE_RATIO.name: change_KP.norm(dim=1) / before_KP.norm(dim=1),
            WEIGHT_NORM.name: before_KP.norm(dim=1),
            LAYER_UPDATE_RATIO.name: (change / weight).where(weight > 0, float("nan")),
            **_over_matrices(network, change_KP, before_KP),
        }

    def derived(self, records: Mapping[str, NDArray[np.float64]]) -> dict[str, list[float]]:
        return {MEDIAN_UPDATE_RATIO.name: [_median(row) for row in records[LAYER_UPDATE_RATIO.name]]}


def _over_matrices(network: PackedNetwork, change_KP: Tensor, before_KP: Tensor) -> dict[str, Tensor]:
    """Quantiles over the weight matrices of |change| / |weights before|, [K] each; none where a model has no matrix."""
    changes, weights = network.matrix_norms(change_KP), network.matrix_norms(before_KP)
    if not weights.shape[1]:
        return {}
    ratios = (changes / weights).where(weights > 0, float("nan"))
    return {curve.name: ratios.nanquantile(share, dim=1) for curve, share in QUANTILES.items()}


def _median(values: NDArray[np.float64]) -> float:
    """The median over the layers that have a value; nan where none has."""
    there = values[~np.isnan(values)]
    return float(np.median(there)) if len(there) else math.nan


PROBE = Updates()
