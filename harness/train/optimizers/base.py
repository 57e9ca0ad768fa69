"""The protocol of an optimizer over a pack: parameters and gradients are [K, P], hyperparameters [K, 1], one update for all
lanes. `decays` [P] marks the parameters that weight decay acts on, and `parts` says which entries are one weight of the model,
for optimizers that look at whole weights. An update changes the parameters in place.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ...declare import Training
from ...declare.configuration import OPTIMIZERS
from ...declare.registry import registered
from ...errors import UserError
from ..part import Cost, EnginePart

if TYPE_CHECKING:
    from torch import Tensor

    from ....models import Model
    from ..workloads.base import BaseWorkload
    from ..workloads.network import PackedNetwork


@dataclass(frozen=True)
class Part:
    """One weight of the model in the flat buffer: what slice it is, as what shape. hidden: a matrix both of whose sides grow
    with the model's width, so no embedding and no readout."""

    start: int
    shape: tuple[int, ...]
    hidden: bool = False

    @property
    def slice(self) -> slice:
        return slice(self.start, self.start + math.prod(self.shape))

    @property
    def is_matrix(self) -> bool:
        """Whether it is a matrix. Weight decay and updates by whole weights leave gains and biases alone."""
        return len(self.shape) >= 2


class PackedOptimizer(EnginePart, ABC):
    """Holds the hyperparameters of K lanes and the state of one kind of optimizer, in the parameters' number format."""

    # Names of the state tensors [K, P].
    moments: ClassVar[tuple[str, ...]]
    # The rule of models/parametrization.py by which muP scales its LR; None: none is published.
    mup_rule: ClassVar[str | None] = None
    # Whether it differs from another optimizer in hidden matrices alone.
    of_hidden_matrices: ClassVar[bool] = False
    # The field of a training that decay goes by.
    decay_field: ClassVar[str] = "weight_decay"
    # Whether it keeps a state that a pack's state does not hold.
    keeps_apart: ClassVar[bool] = False
    # Two moments, as Adam's; fewer count as many.
    adds = Cost(copies=2)
    line = "hyperparameters"

    def __init__(self, lanes: Sequence[Training], parameters_KP: Tensor, decays_P: Tensor, parts: Sequence[Part] = ()):
        import torch

        self.lanes, self.parts, self.decays_P = lanes, parts, decays_P
        self.device, self.dtype = parameters_KP.device, parameters_KP.dtype
        self.decay_KP = self.per_lane(self.decay_field) * decays_P
        self.state = {name: torch.zeros_like(parameters_KP) for name in self.moments}
        # Tensors of this size made again would be mapped and unmapped by the allocator at every step. The first holds the
        # gradient of every step, after clipping, until the next one: an update leaves it as it is.
        self.gradient_KP, self.scratch_KP = torch.empty_like(parameters_KP), torch.empty_like(parameters_KP)
        self.prepare()

    def prepare(self) -> None:
        """Set up whatever else it holds of the lanes."""

    @classmethod
    def require_model(cls, training: Training, workload: BaseWorkload, model: Model) -> None:
        if cls.mup_rule is None and workload.declared.parametrization == "mup":
            ruled = [name for name in OPTIMIZERS if registered("optimizer", "train/optimizers", "OPTIMIZER", name).mup_rule]
            raise UserError(
                f"optimizer '{training.optimizer}' has no published rule in muP: choose parametrization = standard, or one of"
                f" {', '.join(ruled)}"
            )
        if cls.of_hidden_matrices and not any(p.growing_sides == 2 for p in model.parameters):
            raise UserError(
                f"optimizer '{training.optimizer}': {workload.without_hidden_matrix}, and without one it is adamw; choose that"
            )

    def attach(self, network: PackedNetwork) -> None:
        """Called once with the network whose parameters it updates."""

    def decay_apart_from(self, multiplier: Tensor) -> None:
        """Called once with the factors of each entry's LR, [P] or [K, P]: independent decay leaves them out."""
        if self.decay_field != "weight_decay":
            self.decay_KP = self.decay_KP / multiplier.where(self.per_lane("independent_decay") > 0, 1.0)

    def per_lane(self, field: str) -> Tensor:
        import torch

        values = [getattr(lane, field) for lane in self.lanes]
        return torch.tensor(values, dtype=self.dtype, device=self.device).unsqueeze(1)

    @property
    def decays_any(self) -> bool:
        return any(lane.weight_decay for lane in self.lanes)

    def shrink(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor) -> Tensor:
        """Decoupled decay: the parameters shrink by LR times decay, and the gradient is as it was."""
        import torch

        if self.decays_any:
            parameters_KP.addcmul_(parameters_KP, torch.mul(self.decay_KP, lr_K1, out=self.scratch_KP), value=-1.0)
        return gradient_KP

    def with_l2(self, parameters_KP: Tensor, gradient_KP: Tensor) -> Tensor:
        """The gradient of the loss and of half the decay times the parameters' squares."""
        return gradient_KP.addcmul(self.decay_KP, parameters_KP) if self.decays_any else gradient_KP

    @abstractmethod
    def update(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor, step: Tensor) -> None:
        """Apply the update of `step` (from 0), float64 [1, 1], or where lanes skip updates what each lane has made, [K, 1].

        lr_K1 may be [K, P]. Every pass over [K, P] counts: on a CPU a large pack spends its time on memory here.
        """

    def jumps(self, gradient_KP: Tensor) -> Tensor | None:
        """Where the update by this gradient, to be made yet, depends on its rounding, [K, P]; None if nowhere, because it is a
        continuous function."""
        return None
