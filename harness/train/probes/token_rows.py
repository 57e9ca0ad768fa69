"""How far rows of the embedding move for each occurrence of their token, and how that goes with its frequency.

Of all steps from a fifth of the run up to the probed one (procedures/token_rows.py): the lengths of a row's updates, summed,
over the occurrences of its token in the inputs, and over the row's mean length. Only tokens that occurred LEAST times since
then count: of fewer, what was begun before or is not yet ended is a large part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...declare.curves.of_probes import (
    OF_PROBES,
    TOKEN_LENGTH_SLOPE,
    TOKEN_SLOPE,
    TOKEN_STEP_SLOPE,
    TOKEN_UPDATE_COMMON,
    TOKEN_UPDATE_RARE,
)
from .base import Probe, ProbedStep

if TYPE_CHECKING:
    from torch import Tensor

LEAST = 10


class TokenRowMotion(Probe):
    curves = OF_PROBES["token_rows"]
    setting = "measurement.token_rows"
    unseen = "model '{w.model}' is not known to have an embedding of tokens; choose gpt, or leave it out"

    def before_update(self, step: ProbedStep) -> dict[str, Tensor]:
        tallies = step.tallies
        counts_KV, steps_K1 = tallies["row_counts"], tallies["row_steps"].unsqueeze(1)
        there_KV = counts_KV >= LEAST
        # Both sums are of the same steps: their quotient is movement a step over the row's mean norm.
        relative_KV = (tallies["row_paths"] / tallies["row_norms"]).log()
        frequency_KV = tallies["token_occurrences"].float().log()
        by_occurrence_KV = relative_KV + (steps_K1 / counts_KV).log()
        return {
            TOKEN_SLOPE.name: slope(frequency_KV, by_occurrence_KV, there_KV),
            TOKEN_LENGTH_SLOPE.name: slope(frequency_KV, (tallies["row_paths"] / counts_KV).log(), there_KV),
            TOKEN_STEP_SLOPE.name: slope(frequency_KV, relative_KV, there_KV),
            TOKEN_UPDATE_RARE.name: quarter_mean(frequency_KV, by_occurrence_KV, there_KV, rare=True),
            TOKEN_UPDATE_COMMON.name: quarter_mean(frequency_KV, by_occurrence_KV, there_KV, rare=False),
        }


def slope(x_KV: Tensor, y_KV: Tensor, there_KV: Tensor) -> Tensor:
    """Slope of the least-squares line through the points that are there, [K]; nan for fewer than three."""
    count_K1 = there_KV.sum(dim=1, keepdim=True)
    x_KV, y_KV = (
        (points_KV - points_KV.where(there_KV, 0.0).sum(dim=1, keepdim=True) / count_K1).where(there_KV, 0.0)
        for points_KV in (x_KV, y_KV)
    )
    found_K = (x_KV * y_KV).sum(dim=1) / x_KV.square().sum(dim=1)
    return found_K.where(count_K1[:, 0] >= 3, float("nan"))


def quarter_mean(x_KV: Tensor, y_KV: Tensor, there_KV: Tensor, rare: bool) -> Tensor:
    """exp of the mean of y over the quarter of the points that are there with the least x, or with the largest, [K]; nan if
    none is."""
    x_KV = x_KV.where(there_KV, float("nan"))
    edge_K1 = x_KV.nanquantile(0.25 if rare else 0.75, dim=1, keepdim=True)
    inside_KV = x_KV <= edge_K1 if rare else x_KV >= edge_K1
    return y_KV.where(inside_KV, float("nan")).nanmean(dim=1).exp()


PROBE = TokenRowMotion()
