"""A last phase with SGD: from a step on, a lane is trained by SGD with momentum in Adam's place (Keskar and Socher 2017,
Improving generalization performance by switching from Adam to SGD, arXiv:1712.07628).

The step and the LR are declared, where the paper finds both by a criterion. SGD starts without momentum; its weight decay is
L2, as SGD's always is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..declare import Training
from .optimizers.base import PackedOptimizer, Part
from .optimizers.sgd import SGD
from .part import Cost

if TYPE_CHECKING:
    from torch import Tensor


def with_switch(
    first: PackedOptimizer, lanes: Sequence[Training], parameters_KP: Tensor, decays_P: Tensor, parts: Sequence[Part] = ()
) -> PackedOptimizer:
    """The optimizer itself if SGD takes over from it in no lane."""
    return OptimizerSwitch(first, lanes, parameters_KP, decays_P, parts) if any(lane.sgd_from < 1 for lane in lanes) else first


class OptimizerSwitch(PackedOptimizer):
    """Both optimizers make every step of every lane, and each lane takes its own. Adam's moments go on."""

    setting, of_adam = "training.sgd_from", "SGD takes over from Adam"
    adds, line = Cost(copies=4), "optimizer"
    mup_rule = "adaptive"  # that of Adam, which it takes over from

    def __init__(
        self,
        first: PackedOptimizer,
        lanes: Sequence[Training],
        parameters_KP: Tensor,
        decays_P: Tensor,
        parts: Sequence[Part] = (),
    ):
        import torch

        self.lanes, self.parts = lanes, parts
        self.device, self.dtype = parameters_KP.device, parameters_KP.dtype
        self.first, self.then = first, SGD(lanes, parameters_KP, decays_P, parts)
        self.moments = first.moments  # type: ignore[misc]
        self.state = first.state | {f"sgd_{name}": value for name, value in self.then.state.items()}
        self.gradient_KP, self.scratch_KP = first.gradient_KP, first.scratch_KP
        # A lane that goes on after another trial has made more updates than it has steps.
        firsts = [lane.sgd_step if lane.sgd_from < 1 else math.inf for lane in lanes]
        self.from_K1 = torch.tensor(firsts, dtype=torch.float64, device=self.device).unsqueeze(1)
        self.factor_K1 = self.per_lane("sgd_lr")

    @staticmethod
    def words(training: Training) -> str:
        """The phase after Adam, in words."""
        factor = f" times {training.sgd_lr:.3g}" * (training.sgd_lr != 1)
        return f", after {training.sgd_from:.3g} of the steps SGD of {SGD.words(training)} at the LR{factor}"

    def update(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor, step: Tensor) -> None:
        import torch

        by_sgd_KP = parameters_KP.clone()
        self.first.update(parameters_KP, gradient_KP, lr_K1, step)
        self.then.update(by_sgd_KP, gradient_KP, lr_K1 * self.factor_K1, step)
        switched_K1 = step >= self.from_K1
        parameters_KP.copy_(torch.where(switched_K1, by_sgd_KP, parameters_KP))
        for moment_KP in self.then.state.values():
            moment_KP.copy_(torch.where(switched_K1, moment_KP, 0.0))

    def jumps(self, gradient_KP: Tensor) -> Tensor | None:
        return self.first.jumps(gradient_KP)
