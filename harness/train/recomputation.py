"""Activations that are computed again in the backward pass, stretch by stretch of the model's blocks (network.segments)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..declare import Training
from ..errors import UserError
from .part import Cost, EnginePart

if TYPE_CHECKING:
    from ...models import Model
    from .workloads.base import BaseWorkload


class Recomputation(EnginePart):
    """Its savings are not counted in a lane's memory: probed steps keep everything."""

    setting, adds = "training.recompute_segments", Cost(passes_a_gradient=1)
    said = ", activations recomputed in {t.recompute_segments} segments"

    @classmethod
    def require_model(cls, training: Training, workload: BaseWorkload, model: Model) -> None:
        segments, blocks = training.recompute_segments, len(model.blocks)
        if segments > blocks:
            way_out = f"choose at most {blocks}" if blocks else "leave it at 0"
            raise UserError(
                f"recompute_segments = {segments}: model '{workload.declared.model}' has {blocks} blocks whose activations"
                f" could be computed again; {way_out}"
            )
