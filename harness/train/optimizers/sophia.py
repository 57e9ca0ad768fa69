"""Sophia-G (Liu et al. 2023, arXiv:2305.14342, algorithm 3): momentum over the curvature of each entry, clipped at one LR.

    m <- beta1 m + (1 - beta1) g,    x <- x - lr decay x,    x <- x - lr clip(m / max(gamma h, epsilon), 1)

h is an exponential average of estimates of the diagonal of the Gauss-Newton matrix (Gauss-Newton-Bartlett, algorithm 2), one
every `EVERY` steps, the first before the first step; procedures/curvature.py makes them. Neither average is corrected
for having begun at zero, as in the paper: first steps are clipped, and so of the LR's size in every entry.

The form with Hessian-vector products (Hutchinson's estimator, Sophia-H) is another one, and is not here. Hyper-parameters for
language models are beta1 0.96 (0.965 in the paper's code, repo Liuhong99/Sophia), beta2 0.99, gamma 0.03 to 0.05, epsilon
1e-12, decay 0.2, and an estimate every 10 steps; that code adds 1e-15 to the denominator in place of the maximum, and estimates
after the last of these steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import PackedOptimizer

if TYPE_CHECKING:
    from torch import Tensor

# Steps from one estimate of the curvature to the next, as in the paper's experiments.
EVERY = 10
# Relative error of the momentum: roundings of FP32, and some to spare.
ROUNDING = 2**-21
# A change by rounding of less than this share of a whole step is no jump.
SHARE = 2**-11


class Sophia(PackedOptimizer):
    moments = ("momentum", "hessian")
    settings = ("training.hessian_factor",)
    said = (
        "betas {t.beta1:.6g} and {t.beta2:.6g}, epsilon {t.epsilon:g}, gamma {t.hessian_factor:g},"
        f" curvature every {EVERY} steps"
    )

    def prepare(self) -> None:
        self.beta1, self.beta2, self.epsilon = (self.per_lane(name) for name in ("beta1", "beta2", "epsilon"))
        self.factor = self.per_lane("hessian_factor")

    def update(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor, step: Tensor) -> None:
        import torch

        gradient_KP = self.shrink(parameters_KP, gradient_KP, lr_K1)
        momentum = self.state["momentum"].lerp_(gradient_KP, 1 - self.beta1)
        denominator = torch.mul(self.state["hessian"], self.factor, out=self.scratch_KP).clamp_(min=self.epsilon)
        direction = torch.div(momentum, denominator, out=self.scratch_KP).clamp_(-1.0, 1.0)
        parameters_KP.addcmul_(direction, lr_K1, value=-1.0)

    def estimate(self, curvature_KP: Tensor) -> None:
        """Takes an estimate of every entry's curvature into the average; nothing of a lane whose estimate is not finite."""
        import torch

        finite_K1 = curvature_KP.isfinite().all(dim=1, keepdim=True)
        hessian = self.state["hessian"]
        hessian.copy_(torch.where(finite_K1, hessian.lerp(curvature_KP, 1 - self.beta2), hessian))

    def jumps(self, gradient_KP: Tensor) -> Tensor:
        """Where the curvature is so small that the rounding of the momentum is no small part of a step, and clipping does not
        hide it: as of a sign at zero."""
        momentum_KP = self.state["momentum"]
        floor_KP = (self.state["hessian"] * self.factor).clamp(min=self.epsilon)
        error_KP = ROUNDING * (momentum_KP.abs() + gradient_KP.abs())
        return (error_KP > SHARE * floor_KP) & (momentum_KP.lerp(gradient_KP, 1 - self.beta1).abs() <= floor_KP + error_KP)


OPTIMIZER = Sophia
