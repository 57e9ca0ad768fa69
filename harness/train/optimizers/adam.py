"""Adam (Kingma and Ba 2015, algorithm 1); weight decay enters the gradient as L2.

The arithmetic follows torch.optim.Adam, and a test holds it against that. Where the second moment starts at the first squared
gradient the bias correction is kept. Dropping it would leave entries whose first gradient happens to be small with steps
1 / sqrt(1 - beta2) too large (reports/log); keeping it makes early steps smaller, by up to sqrt(1 - beta2^t), and leaves an
entry with a first gradient of zero as in plain Adam.

Where the ramp is held the first moment starts at the first step that moves parameters, with its bias correction counted from
there: it would else point, for about 1 / (1 - beta1) steps, where the gradient did before any step was made.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, ClassVar

from ...declare import Training
from .base import PackedOptimizer

if TYPE_CHECKING:
    from torch import Tensor

# From this many parameters a lane a CPU spends its time on memory: torch's kernel makes one pass where ours makes eight.
KERNEL_FROM = 100_000


class Adam(PackedOptimizer):
    moments = ("first", "second")
    mup_rule: ClassVar[str | None] = "adaptive"
    kernel = "_fused_adam_"  # torch's own

    def prepare(self) -> None:
        import torch

        self.beta1, self.beta2, self.epsilon = (self.per_lane(name) for name in ("beta1", "beta2", "epsilon"))
        # Powers in float64: 0.999^t in float32 loses the digits that 1 - 0.999^t needs.
        self.beta1_64, self.beta2_64 = (
            torch.tensor([getattr(lane, name) for lane in self.lanes], dtype=torch.float64, device=self.device).unsqueeze(1)
            for name in ("beta1", "beta2")
        )
        first_gradient = [lane.second_moment_start == "first_gradient" for lane in self.lanes]
        self.starts_full = torch.tensor(first_gradient, device=self.device).unsqueeze(1)
        self.any_starts_full = any(first_gradient)
        held = [lane.warmup_steps if lane.ramp == "held" else 0 for lane in self.lanes]
        self.held_K1 = torch.tensor(held, dtype=torch.float64, device=self.device).unsqueeze(1)
        self.any_held = any(held)
        self.corrects = torch.tensor([lane.bias_correction for lane in self.lanes], device=self.device).unsqueeze(1)
        self.all_correct = all(lane.bias_correction for lane in self.lanes)
        self.runs = _runs(self.decays_P)

    @staticmethod
    def words(training: Training) -> str:
        text = f"betas {training.beta1:.6g} and {training.beta2:.6g}, epsilon {training.epsilon:g}"
        text += ", second moment from the first gradient" * (training.second_moment_start == "first_gradient")
        return text + ", no bias correction" * (not training.bias_correction)

    def update(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor, step: Tensor) -> None:
        import torch

        if self.kernel_serves(lr_K1, step):
            self.update_by_kernel(parameters_KP, gradient_KP, lr_K1, step)
            return
        gradient_KP = self.regularize(parameters_KP, gradient_KP, lr_K1)
        correction1, correction2 = self.accumulate(gradient_KP, step)
        # m / c1 / (sqrt(v / c2) + epsilon), with the corrections moved to where they are [K, 1].
        root2 = correction2.sqrt()
        denominator = torch.sqrt(self.state["second"], out=self.scratch_KP).add_(self.epsilon * root2)
        direction = torch.div(self.state["first"], denominator, out=self.scratch_KP)
        parameters_KP.addcmul_(direction, lr_K1 * (root2 / correction1), value=-1.0)

    def direction(self, correction1: Tensor, correction2: Tensor) -> Tensor:
        """m / c1 / (sqrt(v / c2) + epsilon), what the LR multiplies, [K, P]: in the scratch tensor.

        `update` has the last factor in the LR instead, which is a pass over memory less.
        """
        import torch

        root2 = correction2.sqrt()
        denominator = torch.sqrt(self.state["second"], out=self.scratch_KP).add_(self.epsilon * root2)
        return torch.div(self.state["first"], denominator, out=self.scratch_KP).mul_(root2 / correction1)

    def preconditioner(self, taken: Tensor) -> Tensor:
        """The divisor, [K, P], of the moving average of gradients after `taken` updates, float64 [1, 1] or [K, 1]:
        (1 - beta1^t) (sqrt(v / (1 - beta2^t)) + epsilon), of Cohen et al. 2022 (arXiv:2207.14484v2, equation 2)."""
        moving = (taken - self.held_K1).clamp(min=1)
        corrections = [(1 - self.beta1_64.pow(moving)).to(self.dtype), (1 - self.beta2_64.pow(taken)).to(self.dtype)]
        correction1, correction2 = (correction.where(self.corrects, 1.0) for correction in corrections)
        return correction1 * ((self.state["second"] / correction2).sqrt() + self.epsilon)

    def kernel_serves(self, lr_K1: Tensor, step: Tensor) -> bool:
        """Whether torch's own kernel does the same, faster: wide lanes on a CPU, in a step that is not compiled."""
        import torch

        wide = self.device.type == "cpu" and self.gradient_KP.shape[1] >= KERNEL_FROM
        alike = lr_K1.shape[1] == 1 and step.numel() == 1 and not self.any_starts_full
        return wide and alike and self.all_correct and not self.any_held and not torch.compiler.is_compiling()

    def update_by_kernel(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor, step: Tensor) -> None:
        """Lane by lane, for the kernel's hyperparameters are numbers. It counts steps from 1."""
        import torch

        kernel = getattr(torch, self.kernel)
        taken, rates = (step + 1).view(()).float(), lr_K1.view(-1).tolist()
        tensors = (parameters_KP, gradient_KP, self.state["first"], self.state["second"])
        for lane, rate, *rows in zip(self.lanes, rates, *tensors, strict=True):
            for decays, runs in self.runs.items():
                parameters, gradients, first, second = ([row[run] for run in runs] for row in rows)
                kernel(
                    parameters,
                    gradients,
                    first,
                    second,
                    [],
                    [taken] * len(runs),
                    lr=rate,
                    beta1=lane.beta1,
                    beta2=lane.beta2,
                    weight_decay=getattr(lane, self.decay_field) if decays else 0.0,
                    eps=lane.epsilon,
                    amsgrad=False,
                    maximize=False,
                )

    def regularize(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor) -> Tensor:
        return self.with_l2(parameters_KP, gradient_KP)

    def accumulate(self, gradient_KP: Tensor, step: Tensor) -> tuple[Tensor, Tensor]:
        """Move both averages on; returns the bias corrections 1 - beta^t, [K, 1] each, or ones where there are none."""
        import torch

        square = torch.square(gradient_KP, out=self.scratch_KP)
        if self.any_starts_full:
            starts_now = self.starts_full & (step == 0)
            self.state["second"].copy_(torch.where(starts_now, square, self.state["second"]))
        moving = (step - self.held_K1).clamp(min=0) if self.any_held else step
        weight = (1 - self.beta1) * (step >= self.held_K1) if self.any_held else 1 - self.beta1
        self.state["first"].lerp_(gradient_KP, weight)
        # Not lerp_: once a square has overflowed it would be nan from the next step on, and torch.optim's stays infinite.
        self.state["second"].mul_(self.beta2).addcmul_(square, 1 - self.beta2)
        corrections = [(1 - self.beta1_64.pow(moving + 1)).to(self.dtype), (1 - self.beta2_64.pow(step + 1)).to(self.dtype)]
        if not self.all_correct:
            corrections = [torch.where(self.corrects, correction, 1.0) for correction in corrections]
        return corrections[0], corrections[1]


def _runs(decays_P: Tensor) -> dict[bool, list[slice]]:
    """Whether weight decay acts -> the runs of parameters where it does, or does not."""
    edges = (decays_P[1:] != decays_P[:-1]).nonzero().view(-1).add(1).tolist()
    runs: dict[bool, list[slice]] = {}
    for start, end in itertools.pairwise([0, *edges, len(decays_P)]):
        runs.setdefault(bool(decays_P[start]), []).append(slice(start, end))
    return runs


OPTIMIZER = Adam
