"""A user's own optimizer, of a module by itself: over parameters whose memory is the pack's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....declare import Training
from ....errors import UserError
from ...optimizers.base import PackedOptimizer
from ..base import BaseWorkload

if TYPE_CHECKING:
    from torch import Tensor

    from .....models import Model
    from ..network import PackedNetwork


class OwnOptimizer(PackedOptimizer):
    """torch.optim's interface: each group's LR is the study's, in the proportion that the factory gave the groups. What it
    keeps is its own: a pack that is interrupted starts again."""

    moments = ()
    keeps_apart = True

    said = "the workload's own, with its own weight decay"

    @classmethod
    def require_model(cls, training: Training, workload: BaseWorkload, model: Model) -> None:
        """Raises UserError without an optimizer, and for a training that asks more of it than the LR of a step."""
        if not workload.has_optimizer:
            raise UserError(
                "optimizer 'own': is that of an own workload; give it one by OwnWorkload(optimizer=...), or name another"
            )
        asked = {"scaled_parameter": training.scaled_parameter is not None, "loss_scaling": training.loss_scaling == "dynamic"}
        asked["remedy"] = training.remedy in ("skip", "roll_back")  # which go back to an earlier state
        for field in (name for name, is_asked in asked.items() if is_asked):
            raise UserError(f"{field} = {getattr(training, field)}: an own optimizer does not follow it; leave it out")

    def attach(self, network: PackedNetwork) -> None:
        from .network import ByItself

        assert isinstance(network, ByItself), "the workload says that trials of its own optimizer are apart"
        self.network, self.made = network, network.optimizer()
        self.shares = [group["lr"] / self.made.param_groups[0]["lr"] for group in self.made.param_groups]

    def update(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor, step: Tensor) -> None:
        from .itself import as_complex

        gradients = zip(self.network.leaves, self.network.as_leaves(gradient_KP), self.network.took_part[0], strict=True)
        for parameter, gradient, took_part in gradients:
            values = as_complex(gradient.clone()) if parameter.is_complex() else gradient.clone()
            parameter.grad = values if took_part else None
        for group, share in zip(self.made.param_groups, self.shares, strict=True):
            group["lr"] = float(lr_K1[0, 0]) * share
        self.made.step()
        self.made.zero_grad()
