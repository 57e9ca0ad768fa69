"""A user's own optimizer: one for each lane, over parameters whose memory is the pack's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..declare import Training
from ..errors import UserCodeError, UserError
from .optimizers.base import PackedOptimizer
from .workloads.base import BaseWorkload

if TYPE_CHECKING:
    from torch import Tensor
    from torch.optim import Optimizer


class OwnOptimizer(PackedOptimizer):
    """torch.optim's interface: each group's LR is the study's, in the proportion that the factory gave the groups. What it
    keeps is its own: a pack that is interrupted starts again."""

    moments = ()
    mup_rule = None
    keeps_apart = True

    @staticmethod
    def words(training: Training) -> str:
        return "the workload's own, with its own weight decay"

    @classmethod
    def require(cls, training: Training, workload: BaseWorkload) -> None:
        """There must be one, and a training must ask nothing of it beside the LR of a step."""
        if workload.optimizer() is None:
            raise UserError(
                "optimizer 'own': is that of an own workload; give it one by OwnWorkload(optimizer=...), or name another"
            )
        asked = {"scaled_parameter": training.scaled_parameter is not None, "sgd_from": training.sgd_from < 1}
        asked |= {"outlier": training.outlier != "none", "loss_scaling": training.loss_scaling == "dynamic"}
        for field in (name for name, is_asked in asked.items() if is_asked):
            raise UserError(f"{field} = {getattr(training, field)}: an own optimizer does not follow it; leave it out")

    def attach(self, make: Callable[[list[Any]], Optimizer], lanes: Sequence[Sequence[Tensor]], parameters_KP: Tensor) -> None:
        """lanes: of each lane its parameters, whose values lie in its row of parameters_KP, in that order. Raises UserCodeError
        for a factory that gives no optimizer."""
        from torch.optim import Optimizer

        self.of_lanes = [list(each) for each in lanes]
        self.made: list[Optimizer] = []
        for parameters in self.of_lanes:
            made = make(parameters)
            if not isinstance(made, Optimizer):
                raise UserCodeError(f"optimizer() gives a {type(made).__name__}: must give a torch.optim.Optimizer")
            self.made.append(made)
        self.shares = [group["lr"] / self.made[0].param_groups[0]["lr"] for group in self.made[0].param_groups]

    def update(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor, step: Tensor) -> None:
        for lane, (made, parameters) in enumerate(zip(self.made, self.of_lanes, strict=True)):
            for each in parameters:
                each.grad = _shaped(gradient_KP[lane], parameters_KP[lane], each)
            for group, share in zip(made.param_groups, self.shares, strict=True):
                group["lr"] = float(lr_K1[lane, 0]) * share
            made.step()
            for each in parameters:
                each.grad = None


def _shaped(gradient_P: Tensor, row_P: Tensor, like: Tensor) -> Tensor:
    """What a flat gradient has where a parameter lies in its row."""
    import torch

    real = torch.view_as_real(like.detach()) if like.is_complex() else like.detach()
    at = real.storage_offset() - row_P.storage_offset()
    values = gradient_P[at : at + real.numel()].view(real.shape).clone()
    return torch.view_as_complex(values) if like.is_complex() else values
